# %% [markdown]
# # MASS: merging is associative
#
# Partial results may be merged in a chain, in a tree or around a ring.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("MASS"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify MASS` proves every step again and refuses every wrong line.
# [MSHF](MSHF.py) says what is merged, and [MCOM](MCOM.py) that the order does not matter.
# [The Z form](../guide/z-form.py) tells where the sums come from.
