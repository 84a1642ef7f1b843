# %% [markdown]
# # CAPU: a capped score is below the cap
#
# How close a capped score comes to its cap.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("CAPU"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify CAPU` proves every step again and refuses every wrong line.
# [CAPL](CAPL.py) is the other side, and [CAPW](CAPW.py) uses both. `attnref.scores` is given a cap by
# `softcap`.
