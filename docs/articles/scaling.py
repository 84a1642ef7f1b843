# %% [markdown]
# # The article on scaling: why divide
#
# Find here every statement of the first half of the article on scaling, up to the division by √dₖ, and
# what becomes of it when it is computed.
#
# The article is the seventh of a Chinese series that teaches Transformers from the ground. It begins with
# vectors one can multiply in one's head, recalls what a variance is before it needs one, and prints its
# numbers, step by step. That is why they can be checked at all, and more than half of what it says holds.
#
# An entry gives the statement in our words, what the article *prints*, what was *executed* when this page
# was made, and by how much the print is *off*, printed less executed. Then it says what is true. `S` and a
# number is an entry's address. The rule behind the verdicts is told with
# [both articles](index.py); the idea itself in [Why divide by √dₖ](../guide/scaling.py).

# %% tags=["hide-input"]
from attnref import show
from claims import (
    VERDICTS,
    Audit,
    scaling_gradient,
    scaling_saturation,
    scaling_spread,
)

modules = scaling_spread, scaling_saturation, scaling_gradient
audit = Audit(judgement for module in modules for judgement in module.JUDGEMENTS)
counts = [f"{audit.counts[v]} {v}" for v in VERDICTS if audit.counts[v]]
held = audit.counts["holds"] + audit.counts["holds after rounding"]
assert 2 * held > len(audit.judgements)

# %% [markdown]
# Of the `{python} len(audit.judgements)` statements, `{python} held` hold, exactly or after rounding. By
# verdict: `{python} ", ".join(counts)`.
#
# ## Wrong
#
# False as they stand.

# %% tags=["hide-input"]
show(audit.of("wrong"))

# %% [markdown]
# ## Inconsistent
#
# At odds with another statement of the article.

# %% tags=["hide-input"]
show(audit.of("inconsistent"))

# %% [markdown]
# ## Imprecise
#
# True under a condition that is not stated, or a number off by more than half a unit in its last place and by one
# at most.

# %% tags=["hide-input"]
show(audit.of("imprecise"))

# %% [markdown]
# ## Cannot be known
#
# The article does not give what one would need to tell.

# %% tags=["hide-input"]
show(audit.of("cannot be known"))

# %% [markdown]
# ## Holds after rounding
#
# Right in every digit that is printed.

# %% tags=["hide-input"]
show(audit.of("holds after rounding"))

# %% [markdown]
# ## Holds

# %% tags=["hide-input"]
show(audit.of("holds"))

# %% [markdown]
# ## Sources
#
# - The seventh article of a Chinese series on Transformers, on scaling, softmax and the weighted sum.
# - A. Vaswani and others, *Attention Is All You Need*, 2017, [arXiv:1706.03762](https://arxiv.org/abs/1706.03762),
#   section 3.2.1: the division by √dₖ.
# - J. Devlin and others, *BERT*, 2018, [arXiv:1810.04805](https://arxiv.org/abs/1810.04805), section 3: 768
#   numbers and 12 heads in BERT base.
# - The vocabulary of [bert-base-chinese](https://huggingface.co/google-bert/bert-base-chinese), for the ids.
