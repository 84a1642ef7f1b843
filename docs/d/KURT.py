# %% [markdown]
# # KURT: the kurtosis of a score
#
# How soon the score of many components is like a normal number.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("KURT"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify KURT` proves every step again and refuses every wrong line.
# Its variance is that of [VSCL](VSCL.py). [Why divide by √dₖ](../guide/scaling.py) tells the story.
