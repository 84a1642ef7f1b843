# %% [markdown]
# # SCMK: a soft cap leaves every key a weight
#
# Why a mask comes after the cap and not before it.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("SCMK"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify SCMK` proves every step again and refuses every wrong line.
# It uses [CAPW](CAPW.py). [The contract](../contract.py) says in which order `attnref.attention` applies
# its options: the cap first.
