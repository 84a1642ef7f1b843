# %% [markdown]
# # LINA: linear attention
#
# What becomes of attention if a product of features takes the place of exp.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("LINA"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify LINA` proves every step again and refuses every wrong line.
# [LINS](LINS.py) is the state, key after key. [ONLN](ONLN.py) is what exp has in its place.
