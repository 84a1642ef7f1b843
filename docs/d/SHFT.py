# %% [markdown]
# # SHFT: a shift of the scores
#
# What happens when the same number is added to all scores of a row.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("SHFT"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify SHFT` proves every step again and refuses every wrong line.
# [The Z form](../guide/z-form.py) shows where $Z_t$ comes from. [KSHF](KSHF.py) is such a shift, and
# `attnref.softmax` takes the maximum off every row by this right.
