# %% [markdown]
# # EUNI: the mean score of uniform numbers
#
# Where the scores of test data lie that are drawn from [0, 1).

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("EUNI"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify EUNI` proves every step again and refuses every wrong line.
# [VUNI](VUNI.py) is how far they spread. `attnref.make_array` draws such numbers, and
# [why divide by √dₖ](../guide/scaling.py) tells the story.
