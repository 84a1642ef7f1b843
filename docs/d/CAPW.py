# %% [markdown]
# # CAPW: a weight under a soft cap
#
# A form of the weight that shows how small it can get.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("CAPW"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify CAPW` proves every step again and refuses every wrong line.
# It uses [CAPU](CAPU.py) and [CAPL](CAPL.py), and [SCMK](SCMK.py) uses it.
