# %% [markdown]
# # SJAC: the Jacobian of softmax
#
# How each weight of a row moves with each score.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("SJAC"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify SJAC` proves every step again and refuses every wrong line.
# [SNUL](SNUL.py) adds up its rows, [SVAR](SVAR.py) and [SHLF](SHLF.py) bound its eigenvalues, and
# [BWDS](BWDS.py) is the backward pass through it. `attnref.softmax` is the function.
