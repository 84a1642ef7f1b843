# %% [markdown]
# # How to cite
#
# A page, a derivation, a single equation or the software: each has a reference that will still lead
# where it leads today.
#
# ## A derivation
#
# Give its tag, the version and the statement's fingerprint. The tag never changes and is never used
# again. The fingerprint is computed from the statement and its assumptions: as long as it is the
# same, so are they. These are the derivations of this version, each with a page of its own:
# [ZFRM](d/ZFRM.py), [VDOT](d/VDOT.py), [VSCL](d/VSCL.py).

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
# may shift, so cite the address.
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
# The file `CITATION.cff` in the repository says the same to machines.
#
# ## What may be reused
#
# Code is under the MIT licence, text and figures under
# [CC BY 4.0](https://creativecommons.org/licenses/by/4.0/): reuse them, and say where they are from.
