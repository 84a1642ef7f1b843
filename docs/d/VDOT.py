# %% [markdown]
# # VDOT: the variance of a dot product
#
# How far the inner product of two random vectors spreads, and what that needs.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("VDOT"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify VDOT` proves every step again and refuses every wrong line.
# [Why divide by √dₖ](../guide/scaling.py) tells the story, and [VSCL](VSCL.py) uses this statement.
# `attnref.scores` divides by the root of this variance unless it is given another scale.
