# %% [markdown]
# # SEMP: the empty row as a limit
#
# Why a row without keys gives 0: with a sink it is a limit, without one a definition.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("SEMP"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify SEMP` proves every step again and refuses every wrong line.
# The sink is that of [SINK](SINK.py); without one [SHFT](SHFT.py) says that nothing changes.
# [The contract](../contract.py) says what `attnref.attention` gives for an empty row.
