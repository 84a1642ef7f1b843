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
from claims import VERDICTS, Audit, softmax_formula, softmax_row

audit = Audit([*softmax_formula.JUDGEMENTS, *softmax_row.JUDGEMENTS])
counts = ", ".join(f"{audit.counts[v]} {v}" for v in VERDICTS if audit.counts[v])

# %% [markdown]
# Of `{python} len(audit.judgements)` statements, these are `{python} counts`.
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
# True under a condition that is not stated, or a number off by less than one in its last place.

# %% tags=["hide-input"]
show(audit.of("imprecise"))

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
# The article goes on with [the weighted sum and the code](weighted-sum.py).
#
# ## Sources
#
# - The seventh article of a Chinese series on Transformers, on scaling, softmax and the weighted sum.
# - J. Devlin and others, *BERT*, 2018, [arXiv:1810.04805](https://arxiv.org/abs/1810.04805), section 3: [CLS]
#   is the first token of every sequence.
