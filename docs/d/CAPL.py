# %% [markdown]
# # CAPL: a capped score is above the negative cap
#
# How close a capped score comes to its cap from the other side.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("CAPL"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify CAPL` proves every step again and refuses every wrong line.
# [CAPU](CAPU.py) is the other side, and [CAPW](CAPW.py) uses both. `attnref.scores` is given a cap by
# `softcap`.
