# %% [markdown]
# # ONLN: online softmax
#
# Why keys may be read once, block after block, with no maximum known in advance.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("ONLN"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify ONLN` proves every step again and refuses every wrong line.
# [MSHF](MSHF.py) merges two states, [MBLK](MBLK.py) says what the sums of a block are, and
# [the Z form](../guide/z-form.py) tells what is folded.
