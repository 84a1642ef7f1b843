# %% [markdown]
# # LINS: the state of linear attention adds
#
# Why the keys of linear attention may be forgotten once they are read.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("LINS"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify LINS` proves every step again and refuses every wrong line.
# [LINA](LINA.py) is the output. [ONLN](ONLN.py) is the same for attention with exp, where sums are rescaled.
