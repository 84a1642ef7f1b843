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
    Grouped,
    scaling_gradient,
    scaling_saturation,
    scaling_spread,
)

modules = scaling_spread, scaling_saturation, scaling_gradient
audit = Grouped(judgement for module in modules for judgement in module.JUDGEMENTS)
held = audit.counts["holds"] + audit.counts["holds after rounding"]
assert 2 * held > len(audit.judgements)

# %% [markdown]
# Of the `{python} len(audit.judgements)` statements, `{python} held` hold, exactly or after rounding. By
# verdict: `{python} audit.said`.

# %% tags=["hide-input"]
show(audit)

# %% [markdown]
# ## Sources
#
# - The seventh article of a Chinese series on Transformers, on scaling, softmax and the weighted sum.
# - A. Vaswani and others, *Attention Is All You Need*, 2017, [arXiv:1706.03762](https://arxiv.org/abs/1706.03762),
#   section 3.2.1: the division by √dₖ.
# - J. Devlin and others, *BERT*, 2018, [arXiv:1810.04805](https://arxiv.org/abs/1810.04805), section 3: 768
#   numbers and 12 heads in BERT base.
# - [langml](https://github.com/4AI/langml), `tests/test_tokenizer.py`: the ids of [CLS], 我 and 喜. We have not
#   seen the vocabulary itself.
