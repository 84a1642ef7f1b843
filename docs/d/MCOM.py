# %% [markdown]
# # MCOM: merging is commutative
#
# Partial results may be merged in either order.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("MCOM"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify MCOM` proves every step again and refuses every wrong line.
# [MSHF](MSHF.py) says what is merged, and [MASS](MASS.py) that the brackets do not matter.
# [The Z form](../guide/z-form.py) tells where the sums come from.
