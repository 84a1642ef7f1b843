# %% [markdown]
# # BWDQ: the gradient in the queries
#
# The last part of the backward pass: what each query takes.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("BWDQ"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify BWDQ` proves every step again and refuses every wrong line.
# The gradient in the scores is that of [BWDS](BWDS.py); [BWDK](BWDK.py) is the other half. The gradients
# that Torch finds for `attnref.torch.attention` are these.
