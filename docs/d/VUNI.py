# %% [markdown]
# # VUNI: the variance of scores of uniform numbers
#
# How far the scores of test data spread that are drawn from [0, 1).

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("VUNI"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify VUNI` proves every step again and refuses every wrong line.
# It is [VGEN](VGEN.py) with numbers put in; [VROW](VROW.py) is the part that softmax sees.
# [Why divide by √dₖ](../guide/scaling.py) tells the story.
