# %% [markdown]
# # MSHF: merging at any reference exponent
#
# Partial results of two sets of keys, and how they become one.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("MSHF"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify MSHF` proves every step again and refuses every wrong line.
# [MBLK](MBLK.py) puts two blocks of keys in. [MCOM](MCOM.py), [MASS](MASS.py) and [MIDN](MIDN.py) say that the
# order does not matter. [The Z form](../guide/z-form.py) tells what is merged.
