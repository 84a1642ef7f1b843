# %% [markdown]
# # GQAG: the gradient of a shared key
#
# What a key takes that a group of query heads reads.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("GQAG"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify GQAG` proves every step again and refuses every wrong line.
# For one head it is [BWDK](BWDK.py). [The contract](../contract.py) says which heads of
# `attnref.torch.attention` share a key.
