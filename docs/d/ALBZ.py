# %% [markdown]
# # ALBZ: the normaliser of ALiBi
#
# What a bias that grows with the distance leaves of the keys.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("ALBZ"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify ALBZ` proves every step again and refuses every wrong line.
# [ALBD](ALBD.py) is the mean distance. `attnref.masks.alibi` is the bias.
