# %% [markdown]
# # ECOR: the mean of a correlated dot product
#
# What a query and a key that go together have in common.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("ECOR"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify ECOR` proves every step again and refuses every wrong line.
# [VCOR](VCOR.py) is the variance. [Why divide by √dₖ](../guide/scaling.py) tells the story of vectors that
# are independent.
