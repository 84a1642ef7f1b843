# %% [markdown]
# # AGRD: attention is a gradient
#
# What `attnref.attention` returns is the slope of what `attnref.log_partition` does.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("AGRD"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify AGRD` proves every step again and refuses every wrong line.
# With the keys for values, [LZGQ](LZGQ.py) says the same of the query. [The Z form](../guide/z-form.py) tells
# what $Z_t$ is.
