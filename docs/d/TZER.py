# %% [markdown]
# # TZER: a scale of 0 gives the mean
#
# What attention does if it does not look at the scores.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("TZER"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify TZER` proves every step again and refuses every wrong line.
# [TGAP](TGAP.py) is the other end of the scale. [Why divide by √dₖ](../guide/scaling.py) tells what lies between.
