# %% [markdown]
# # LOGP: the weight of one key ahead of many
#
# How much weight a key keeps when many others are behind it by the same amount.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("LOGP"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify LOGP` proves every step again and refuses every wrong line.
# [LOGN](LOGN.py) asks the other way round: how far ahead a key has to be. [TGAP](TGAP.py) is the bound where the
# others differ.
