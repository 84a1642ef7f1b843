# %% [markdown]
# # LZGQ: the gradient of log Z in the query
#
# How far the logarithm of the normaliser follows the query.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("LZGQ"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify LZGQ` proves every step again and refuses every wrong line.
# It rests on the same chain as [LZGR](LZGR.py); [LZHS](LZHS.py) differentiates it once more.
# `attnref.log_partition` is $\log Z_t$, and `attnref.attention_weights` are the weights.
