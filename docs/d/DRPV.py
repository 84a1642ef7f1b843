# %% [markdown]
# # DRPV: the variance under dropout
#
# How much noise dropping weights at random makes.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("DRPV"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify DRPV` proves every step again and refuses every wrong line.
# The mean is that of [DRPM](DRPM.py). It is the `dropout_p` of
# `attnref.scaled_dot_product_attention`, in the [reference](../reference/attention.md).
