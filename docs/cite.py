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
#
# The page of [each derivation](d/index.py) has [its reference](d/ZFRM.py#cite-this) as text, BibTeX,
# RIS and CSL-JSON, and in its head what reference managers look for. `python -m attnref cite` prints
# the same. The package knows no address of a site; `--site URL` puts one in.

# %%
from attnref.__main__ import main

main(["cite", "ZFRM"])
main(["cite", "ZFRM", "--format", "bibtex"])

# %% [markdown]
# ## A derivation that was cited
#
# Every tag that was ever given stands in a register, with each statement it has had. So a reader who
# finds a tag and a fingerprint in a paper can ask what became of them:

# %%
code = main(["check-citation", "ZFRM", "731ff370f77e"])

# %% [markdown]
# Here the exit code was `{python} code`. It is 0 if nothing changed; 1 if the statement was reworded or
# corrected since, or the tag withdrawn, and each change is named; 2 if this tag never had that
# fingerprint. A withdrawn tag keeps its address, where the reason stands and what took its place.
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
