# %% [markdown]
# # The Z form
#
# What attention for one query is, with its normaliser in sight: the statement, what it rests on,
# every step, and the mistakes that the same check refuses.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("ZFRM"))
