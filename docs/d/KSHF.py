# %% [markdown]
# # KSHF: one vector added to every key
#
# Why moving all keys by one vector moves no output.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("KSHF"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify KSHF` proves every step again and refuses every wrong line.
# The shift is that of [SHFT](SHFT.py), and [VKEY](VKEY.py) is what it means for random keys.
# `attnref.attention` keeps to it within rounding.
