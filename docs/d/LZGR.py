# %% [markdown]
# # LZGR: the gradient of log Z in the scores
#
# How far the logarithm of the normaliser follows each score.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("LZGR"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify LZGR` proves every step again and refuses every wrong line.
# `attnref.log_partition` is $\log Z_t$, `attnref.softmax` its gradient. Twice differentiated it gives the
# Jacobian of softmax, [SJAC](SJAC.py). A backward pass meets it in [BWDS](BWDS.py).
