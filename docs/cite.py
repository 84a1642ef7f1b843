# %% [markdown]
# # How to cite
#
# A page, a derivation, a single equation and the software each have a reference of their own, made to
# keep leading where it leads today.
#
# ## A derivation
#
# Give its tag, the version and the statement's fingerprint. The tag never changes and is never used
# again. The fingerprint is twelve digits of a hash over the statement, its definitions and its
# assumptions, those of the derivations it uses included: should one of them be changed, it changes.
# These are [the derivations](d/index.py) of this version:

# %%
from attnref.derivations import RECORDS

for record in RECORDS:
    print(f"{record.title}\n    {record.citation}\n")

# %% [markdown]
# To see whether a citation still says what it said, run `python -m attnref show ZFRM` and compare.
#
# ## An equation
#
# Follow the number beside it; the address it leads to ends in the equation's name, as in
# [guide/z-form/#z-form](guide/z-form.py#z-form). Names stay. Numbers are for reading on the page and
# may shift, so cite the name. Of a step that a guide page shows as well, cite the derivation's own page:
# [d/VDOT/#VDOT-general](d/VDOT.py#VDOT-general).
#
# ## A page
#
# Every page that computes ends with the versions it ran with and a BibTeX entry for it.
#
# ## The software

# %%
import attnref

print(f"""@software{{attnref,
  title   = {{attnref: the reference on scaled dot-product attention}},
  author  = {{{{The attnref developers}}}},
  version = {{{attnref.__version__}}},
  date    = {{{attnref.__date__}}},
}}""")

# %% [markdown]
# ## What may be reused
#
# Code is under the MIT licence, text and figures under
# [CC BY 4.0](https://creativecommons.org/licenses/by/4.0/): reuse them, and say where they are from.
