# %% [markdown]
# # BWDV: the gradient in the values
#
# The first part of the backward pass: what each value takes.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("BWDV"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify BWDV` proves every step again and refuses every wrong line.
# [BWDS](BWDS.py) is the next part. The gradients that Torch finds for `attnref.torch.attention` are these;
# the tests hold them against this statement.
