# %% [markdown]
# # VKEY: the variance across keys, for one query
#
# What is left to chance when the query is known.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("VKEY"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify VKEY` proves every step again and refuses every wrong line.
# [VROW](VROW.py) is its mean over queries, and [KSHF](KSHF.py) says why the mean of the keys does nothing.
# [Why divide by √dₖ](../guide/scaling.py) tells the story.
