# %% [markdown]
# # MBLK: two blocks of keys
#
# Why attention may be computed block by block, each with a maximum of its own.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("MBLK"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify MBLK` proves every step again and refuses every wrong line.
# The merging is that of [MSHF](MSHF.py), and [MASS](MASS.py) carries it to any number of blocks.
# `attnref.attention` is what they merge into.
