# %% [markdown]
# # VGEN: the variance of a dot product, with means
#
# How far a dot product spreads when its components are not centred.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("VGEN"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify VGEN` proves every step again and refuses every wrong line.
# [VDOT](VDOT.py) is the case without means, [VUNI](VUNI.py) that of uniform numbers.
# [Why divide by √dₖ](../guide/scaling.py) tells the story.
