# %% [markdown]
# # VCOR: the variance of a correlated dot product
#
# How far the dot product spreads when query and key go together.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("VCOR"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify VCOR` proves every step again and refuses every wrong line.
# The mean is that of [ECOR](ECOR.py), the independent case that of [VDOT](VDOT.py).
# [Why divide by √dₖ](../guide/scaling.py) tells the story.
