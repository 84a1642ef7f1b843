# %% [markdown]
# # The article on scaling: softmax
#
# Find here every statement that the article on scaling makes about softmax, with one row of nine scores as
# its example, and what becomes of it when it is computed.
#
# This is the article at its best: it takes one row through every step, scores, divided scores, exponentials,
# their sum, weights, and prints them all, so that anyone with a pocket calculator can follow. The row
# itself comes out right in nearly every digit. A few numbers of a script do not, and some sentences about
# *stronger* and *weaker* say more than the row does.
#
# An entry gives the statement in our words, what the article *prints*, what was *executed* when this page
# was made, and by how much the print is *off*, printed less executed. Then it says what is true. The rule
# behind the verdicts stands with [both articles](index.py); the idea itself in [Softmax](../guide/softmax.py).

# %% tags=["hide-input"]
from attnref import show
from claims import Grouped, softmax_formula, softmax_row

audit = Grouped([*softmax_formula.JUDGEMENTS, *softmax_row.JUDGEMENTS])

# %% [markdown]
# Of `{python} len(audit.judgements)` statements, these are `{python} audit.said`.

# %% tags=["hide-input"]
show(audit)

# %% [markdown]
# The article goes on with [the weighted sum and the code](weighted-sum.py).
#
# ## Sources
#
# - The seventh article of a Chinese series on Transformers, on scaling, softmax and the weighted sum.
# - J. Devlin and others, *BERT*, 2018, [arXiv:1810.04805](https://arxiv.org/abs/1810.04805), section 3: [CLS]
#   is the first token of every sequence.
