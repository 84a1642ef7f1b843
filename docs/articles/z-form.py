# %% [markdown]
# # The article on the Z form
#
# Find here every statement of the article on the Z form, formulas and code, and what becomes of it when it is
# computed.
#
# The article begins with a question that one is usually too shy to ask: the formula of attention here has a $Z$
# in it, and the one everybody prints has none; where does it come from? It answers by writing the sum out,
# one query and one key at a time, and then in code that runs. No formula is wrong. What is left to mend is
# mostly what words promise: a constant, a nearest text, an interval.
#
# An entry gives the statement in our words, in one case what the article *prints*, what was *executed* when
# this page was made, and then what is true. Where the article's code had to be run, a few lines of ours do
# the same. `Z` and a number is an entry's address. The rule behind the verdicts stands with
# [both articles](index.py), the idea itself in [The Z form](../guide/z-form.py), and the demo, whole, in
# [Making and inspecting arrays](../guide/tools.py#the-demo-whole).

# %% tags=["hide-input"]
from attnref import show
from claims import (
    Grouped,
    z_form_code,
    z_form_demo,
    z_form_formulas,
    z_form_library,
    z_form_printing,
)

modules = (
    z_form_formulas,
    z_form_library,
    z_form_code,
    z_form_printing,
    z_form_demo,
)
judgements = [judgement for module in modules for judgement in module.JUDGEMENTS]
audit = Grouped(judgements)
wrong = audit.of("wrong").judgements
assert not any(judgement.claim["kind"] == "formula" for judgement in wrong)

# %% [markdown]
# The `{python} len(audit.judgements)` statements, by verdict: `{python} audit.said`.

# %% tags=["hide-input"]
show(audit)

# %% [markdown]
# ## Sources
#
# - 「把 Scaled Dot-Product Attention 展开写一遍」, 村儿网通: the article.
# - A. Vaswani and others, *Attention Is All You Need*, 2017, [arXiv:1706.03762](https://arxiv.org/abs/1706.03762),
#   equation 1 and figure 2: the matrix formula, and the optional mask.
