# %% [markdown]
# # The article on scaling: weighted sum and code
#
# Find here what the article on scaling says from the weighted sum on, through its class, its references and
# its quiz, and what becomes of each statement when it is computed.
#
# The article does here what few do: it puts the whole layer into a class of a few lines, runs it, and
# then asks its readers three questions. The class is right; we have rebuilt it and run it. What is left to
# mend are places where the text and the code speak of different widths, one line of output, and the answers
# to the quiz.
#
# An entry gives the statement in our words, what the article *prints*, what was *executed* when this page
# was made, and by how much the print is *off*, printed less executed. Then it says what is true. The rule
# behind the verdicts stands with [both articles](index.py); the ideas in
# [The weighted sum](../guide/weighted-sum.py) and [Self-attention of one sentence](../guide/self-attention.py).

# %% tags=["hide-input"]
from attnref import show
from claims import Grouped, single_head, summary, weighted_sum

audit = Grouped(
    [*weighted_sum.JUDGEMENTS, *single_head.JUDGEMENTS, *summary.JUDGEMENTS]
)

# %% [markdown]
# Of `{python} len(audit.judgements)` statements, these are `{python} audit.said`.

# %% tags=["hide-input"]
show(audit)

# %% [markdown]
# ## Sources
#
# - The seventh article of a Chinese series on Transformers, on scaling, softmax and the weighted sum.
# - A. Vaswani and others, *Attention Is All You Need*, 2017, [arXiv:1706.03762](https://arxiv.org/abs/1706.03762),
#   section 3.2: scaled dot-product attention, and several heads.
# - J. Devlin and others, *BERT*, 2018, [arXiv:1810.04805](https://arxiv.org/abs/1810.04805), section 3: 768
#   numbers and 12 heads in BERT base.
