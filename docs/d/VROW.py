# %% [markdown]
# # VROW: the variance within a row of uniform numbers
#
# Why test data from [0, 1) give weights that are nearly equal.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("VROW"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify VROW` proves every step again and refuses every wrong line.
# The variance across keys is that of [VKEY](VKEY.py), that over queries and keys [VUNI](VUNI.py).
# `attnref.make_array` draws such numbers.
