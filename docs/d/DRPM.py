# %% [markdown]
# # DRPM: the mean under dropout
#
# What weights that are dropped at random give in the mean.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("DRPM"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify DRPM` proves every step again and refuses every wrong line.
# [DRPV](DRPV.py) is the variance. It is the `dropout_p` of `attnref.scaled_dot_product_attention`, in the
# [reference](../reference/attention.md).
