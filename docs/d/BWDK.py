# %% [markdown]
# # BWDK: the gradient in the keys
#
# The last part of the backward pass: what each key takes.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("BWDK"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify BWDK` proves every step again and refuses every wrong line.
# The gradient in the scores is that of [BWDS](BWDS.py); [BWDQ](BWDQ.py) is the other half, and
# [GQAG](GQAG.py) is the case of a key that many heads read.
