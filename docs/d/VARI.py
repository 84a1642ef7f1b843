# %% [markdown]
# # VARI: softmax is the best of all weights
#
# What softmax is the answer to.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("VARI"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify VARI` proves every step again and refuses every wrong line.
# [VENT](VENT.py) says that softmax attains the bound. [BREG](BREG.py) is the divergence of two queries.
