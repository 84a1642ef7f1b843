# %% [markdown]
# # Two articles, checked
#
# Every checkable statement of the two articles that this site grew out of, computed again: what holds, what
# does not, and what is right instead.
#
# Both are good articles. One writes attention out with its normaliser $Z$; the other explains scaling, softmax
# and the weighted sum with numbers that one can follow by hand. This site would not be here without them. What
# is found below is usual for the genre: numbers get typed, rounded and copied, and nothing runs them again.
#
# ## The count

# %% tags=["hide-input"]
from attnref import show
from claims import Audit, Counts
from claims.everything import JUDGEMENTS

audit = Audit(JUDGEMENTS)
show(Counts(JUDGEMENTS))

# %% [markdown]
# All `{python} len(JUDGEMENTS)` statements, with what was computed for each, stand on four pages, and as
# [JSON](index.json) for programs:
#
# - [The article on the Z form](z-form.py);
# - [The article on scaling: why divide](scaling.py);
# - [The article on scaling: softmax](softmax.py);
# - [The article on scaling: weighted sum and code](weighted-sum.py).
#
# ## The rule
#
# For a printed number nobody chooses the verdict. The page computes the value, and counts by how many units
# in the last printed place the number is off. Not at all: it *holds*. Half a unit at most: it holds *after
# rounding*. One unit at most: it is *imprecise*. More: it is *wrong*. Of several numbers the worst decides.
#
# For a sentence a person chose the verdict, and it stands on a condition that the page computes; were the
# condition false, this page would not have been built. *Inconsistent* means that two statements can't both
# be right, *imprecise* that a condition is missing without which the sentence is false, and *cannot be known*
# that the article does not give what one would need.
#
# ## What is wrong

# %% tags=["hide-input"]
show(audit.of("wrong"))

# %% [markdown]
# ## What does not fit together

# %% tags=["hide-input"]
show(audit.of("inconsistent"))

# %% [markdown]
# ## The articles
#
# - 「把 Scaled Dot-Product Attention 展开写一遍」, 村儿网通: the article on the Z form.
# - The seventh article of a Chinese series on Transformers, on scaling, softmax and the weighted sum: the
#   article on scaling.
#
# The statements are told in our words. If we have misread one of them, the mistake is ours.
