# %% [markdown]
# # SINK: a sink is a gate
#
# What one more key does that has a score and no value.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("SINK"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify SINK` proves every step again and refuses every wrong line.
# [MSNK](MSNK.py) merges the sink, and [SEMP](SEMP.py) shows a row that only the sink is left in.
# It is the `sink` of `attnref.attention`; [the contract](../contract.py) says how it is given.
