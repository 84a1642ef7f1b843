# %% [markdown]
# # MSNK: a sink is merged once
#
# How a sink goes into partial results: in one of them, or on its own.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("MSNK"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify MSNK` proves every step again and refuses every wrong line.
# The gate that comes out is that of [SINK](SINK.py), the merging that of [MSHF](MSHF.py).
# [The contract](../contract.py) says how `attnref.attention` is given a sink.
