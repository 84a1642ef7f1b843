# %% [markdown]
# # BWDS: the gradient in the scores
#
# The middle of the backward pass, where the dot product with the output is often forgotten.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("BWDS"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify BWDS` proves every step again and refuses every wrong line.
# It is the backward pass through the Jacobian of [SJAC](SJAC.py) and through [LZGR](LZGR.py).
# [BWDQ](BWDQ.py) and [BWDK](BWDK.py) carry it on, [BWDR](BWDR.py) is a check of it. In
# `attnref.torch.attention` a bias takes this gradient.
