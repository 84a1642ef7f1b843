# %% [markdown]
# # VENT: log Z is the mean score and the entropy
#
# What $\log Z$ is made of.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("VENT"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify VENT` proves every step again and refuses every wrong line.
# [VARI](VARI.py) says that no other weights reach as much. [BREG](BREG.py) uses the divergence for two queries.
