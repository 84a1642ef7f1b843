# %% [markdown]
# # KRNL: attention as a kernel average
#
# Attention seen as an average over neighbours.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("KRNL"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify KRNL` proves every step again and refuses every wrong line.
# [KGAU](KGAU.py) is the case of keys of one length. The factor of the query cancels as in
# [SHFT](SHFT.py), and [the Z form](../guide/z-form.py) is where it starts.
