# %% [markdown]
# # SCAP: the slope of a soft cap
#
# How a capped score moves with the score.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("SCAP"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify SCAP` proves every step again and refuses every wrong line.
# `attnref.scores` is given a cap by `softcap`. [CAPU](CAPU.py) and [CAPL](CAPL.py) say how far the capped
# score is from the cap, and [the contract](../contract.py) in which order the options are applied.
