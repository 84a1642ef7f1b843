# %% [markdown]
# # ENTR: the entropy of a row of weights
#
# How undecided a row is.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("ENTR"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify ENTR` proves every step again and refuses every wrong line.
# [ENTD](ENTD.py) differentiates it, and [VENT](VENT.py) says it without a scale.
# `attnref.log_partition` is $\log Z_t$.
