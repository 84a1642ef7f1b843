# %% [markdown]
# # BREG: the divergence of two rows of weights
#
# How far the weights of two queries are apart, read from $\log Z$ alone.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("BREG"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify BREG` proves every step again and refuses every wrong line.
# [VARI](VARI.py) says that a divergence is never negative. `attnref.log_partition` gives $L$,
# `attnref.attention_weights` the weights.
