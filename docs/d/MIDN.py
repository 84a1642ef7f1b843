# %% [markdown]
# # MIDN: the empty state is the identity
#
# A set of keys that holds none changes nothing when it is merged.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("MIDN"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify MIDN` proves every step again and refuses every wrong line.
# [MSHF](MSHF.py) says what is merged. [SEMP](SEMP.py) is about rows without keys, and
# [the contract](../contract.py) says what attnref gives there.
