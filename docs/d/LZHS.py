# %% [markdown]
# # LZHS: the Hessian of log Z in the query
#
# How fast the expected key moves as the query does.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("LZHS"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify LZHS` proves every step again and refuses every wrong line.
# It is [LZGQ](LZGQ.py), differentiated again. For one direction the same sum of squares as in
# [SVAR](SVAR.py) shows that it is never below 0.
