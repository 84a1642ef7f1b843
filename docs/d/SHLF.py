# %% [markdown]
# # SHLF: no eigenvalue of the Jacobian of softmax is above 1/2
#
# How much softmax can magnify a change of its scores: it halves it at least.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("SHLF"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify SHLF` proves every step again and refuses every wrong line.
# It uses [SVAR](SVAR.py), which is the bound on the other side. `attnref.softmax` is the function.
