# %% [markdown]
# # CMRG: covariances merge
#
# How the spread of all keys comes from that of two parts.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("CMRG"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify CMRG` proves every step again and refuses every wrong line.
# This derivation uses [PAXT](PAXT.py). [MBLK](MBLK.py) is the same for the output: sums over the parts add.
