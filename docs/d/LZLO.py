# %% [markdown]
# # LZLO: log Z is at least every score
#
# The lower of the two bounds that hold $\log Z$ to the greatest score.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("LZLO"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify LZLO` proves every step again and refuses every wrong line.
# [LZUP](LZUP.py) is the bound from above: the two say why $\log Z$ is called a soft maximum.
# `attnref.log_partition` computes it.
