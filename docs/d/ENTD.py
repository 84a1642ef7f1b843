# %% [markdown]
# # ENTD: entropy falls as the scale grows
#
# How a larger scale makes a row more decided.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("ENTD"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify ENTD` proves every step again and refuses every wrong line.
# It uses [ENTR](ENTR.py). [Why divide by √dₖ](../guide/scaling.py) tells what that does to a row.
