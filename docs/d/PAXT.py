# %% [markdown]
# # PAXT: a covariance around another point
#
# What changes when the keys of a part are measured from a point that is not their mean.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("PAXT"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify PAXT` proves every step again and refuses every wrong line.
# [CMRG](CMRG.py) uses this for two parts of the keys.
