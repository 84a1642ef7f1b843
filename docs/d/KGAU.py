# %% [markdown]
# # KGAU: attention as a Gaussian smoother
#
# When attention is an average by distance alone.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("KGAU"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify KGAU` proves every step again and refuses every wrong line.
# It is [KRNL](KRNL.py) for keys of one length; [the Z form](../guide/z-form.py) is where that starts.
