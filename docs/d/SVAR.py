# %% [markdown]
# # SVAR: the Jacobian of softmax as a variance
#
# Why no eigenvalue of the Jacobian of softmax is negative.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("SVAR"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify SVAR` proves every step again and refuses every wrong line.
# It uses [SJAC](SJAC.py) and [PSUM](PSUM.py). [SHLF](SHLF.py) is the bound on the other side.
