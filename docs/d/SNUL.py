# %% [markdown]
# # SNUL: raising all scores alike does nothing
#
# Why the rows of the Jacobian of softmax add up to 0.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("SNUL"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify SNUL` proves every step again and refuses every wrong line.
# It uses [SJAC](SJAC.py) and [PSUM](PSUM.py). [SHFT](SHFT.py) says the same without a derivative.
