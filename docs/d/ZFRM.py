# %% [markdown]
# # ZFRM: the Z form
#
# What attention for one query is, with its normaliser in sight.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("ZFRM"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify ZFRM` proves every step again and refuses every wrong line.
# [The Z form](../guide/z-form.py) tells the story. `attnref.expanded_attention` is the last line in plain
# loops, `attnref.attention` the same for all queries at once; the tests hold both against this
# statement, evaluated by independent loops.
