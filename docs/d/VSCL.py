# %% [markdown]
# # VSCL: the variance of a score
#
# Why dividing by the root of $d_k$ brings the variance to 1.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("VSCL"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify VSCL` proves every step again and refuses every wrong line.
# [Why divide by √dₖ](../guide/scaling.py) tells the story. This derivation uses [VDOT](VDOT.py).
# `attnref.scores` multiplies by $1/\sqrt{d_k}$ unless it is given another scale.
