# %% [markdown]
# # PSUM: the weights of a row add up to 1
#
# What the normaliser is for.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("PSUM"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify PSUM` proves every step again and refuses every wrong line.
# [SNUL](SNUL.py), [SVAR](SVAR.py), [BWDR](BWDR.py) and [ENTR](ENTR.py) use it. `attnref.softmax` keeps it for
# every row that allows a key; [the contract](../contract.py) says what the others get.
