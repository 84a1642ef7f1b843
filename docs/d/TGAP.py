# %% [markdown]
# # TGAP: what the greatest score leaves to the others
#
# How fast softmax becomes the choice of the greatest score.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("TGAP"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify TGAP` proves every step again and refuses every wrong line.
# [LOGP](LOGP.py) is the case where all others tie. [TZER](TZER.py) is the other end of the scale.
