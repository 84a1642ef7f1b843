# %% [markdown]
# # The variance of a score
#
# Why dividing by $\sqrt{d_k}$ brings the variance back to 1: the statement, what it rests on, every
# step, and the mistakes that the same check refuses.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("VSCL"))
