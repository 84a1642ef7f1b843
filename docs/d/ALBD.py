# %% [markdown]
# # ALBD: the mean distance under ALiBi
#
# How far back a head looks where the keys say nothing.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("ALBD"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify ALBD` proves every step again and refuses every wrong line.
# [ALBZ](ALBZ.py) is the normaliser to divide by. `attnref.masks.alibi` is the bias.
