# %% [markdown]
# # Derivations
#
# Each derivation is a record: a statement, what it rests on, and steps that a program has checked one by
# one.
#
# - [ZFRM](ZFRM.py), the Z form: attention for one query, divided once.
# - [VDOT](VDOT.py), the variance of a dot product: $d_k$, and what that needs.
# - [VSCL](VSCL.py), the variance of a score: 1, after the division by $\sqrt{d_k}$.
#
# A step may use only the laws it names, so the page of a derivation can say where each assumption is
# needed. And each derivation was also given wrong lines, some of them once in print, which the same check
# must refuse. Here it runs again:

# %%
from attnref.derivations import RECORDS, verify

for record in RECORDS:
    verdict = verify(record)
    steps, variants = len(verdict.steps), len(verdict.variants)
    print(
        f"{record.tag} proved: {verdict.proved}; {steps} steps, {variants} wrong lines refused"
    )

# %% [markdown]
# ## How a step is checked
#
# Both lines are brought into a normal form: sums are opened, constants leave them, indices are renamed,
# and each exponential counts as a positive unknown. What is left are fractions of polynomials, and
# whether two of them are equal can be decided. A step that is not shown to be equal is not proved, and a
# division by what might be 0 is no step. The number of keys $m$ and the width $d_k$ stay letters
# throughout, so a proof holds for all of them.
