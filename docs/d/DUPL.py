# %% [markdown]
# # DUPL: a key that is repeated
#
# How often a key is there can be said by a bias.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("DUPL"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify DUPL` proves every step again and refuses every wrong line.
# If all keys are repeated equally often this is the shift of [SHFT](SHFT.py).
# The bias is that of `attnref.attention`; [the contract](../contract.py) says how it is given.
