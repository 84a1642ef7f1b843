# %% [markdown]
# # LZUP: log Z exceeds the greatest score by log m at most
#
# The upper of the two bounds that hold $\log Z$ to the greatest score.

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("LZUP"))

# %% [markdown]
# ## Check it and use it
#
# `python -m attnref verify LZUP` proves every step again and refuses every wrong line.
# [LZLO](LZLO.py) is the bound from below. Together they say why scores less their maximum can neither overflow
# nor vanish in `attnref.log_partition`.
