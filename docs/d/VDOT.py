# %% [markdown]
# # The variance of a dot product
#
# How far the inner product of two random vectors spreads, and what that needs: the statement, the
# assumptions, every step, and the mistakes that the same check refuses.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("VDOT"))
