# %% [markdown]
# # LOGN: the log n law
#
# How far ahead a key has to be to keep its weight, however many others there are.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("LOGN"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify LOGN` proves every step again and refuses every wrong line.
# [LOGP](LOGP.py) is the same from the lead to the weight. `attnref.attention` does not change its scale with the
# number of keys; `scale` may.
