# %% [markdown]
# # BWDR: row sums of the score gradient
#
# A number to check a backward pass by.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("BWDR"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify BWDR` proves every step again and refuses every wrong line.
# It uses [BWDS](BWDS.py) and [PSUM](PSUM.py). Where the loss does not see $\log Z_t$ the sum is 0, as
# [SNUL](SNUL.py) has it.
