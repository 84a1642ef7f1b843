# %% [markdown]
# # Mistakes in print
#
# Formulas that were once printed or coded wrong, each put in the place of the right line and refused by
# the check that proves the right one.
#
# Everybody misprints, and where a correction is known to us it is said. They are here because the same
# mistakes come back, and because a check that refuses none of them would prove nothing.

# %% tags=["hide-input"]
import re

from attnref import show
from attnref.derivations import RECORDS, verify

PUBLIC = re.compile(r"issues? \d|pull request|arXiv|commit |edition of|copy of")


class Errata:
    """The refused lines that have a public source, a list on the page and in a terminal."""

    def __init__(self):
        self.lines = []
        for record in RECORDS:
            printed = [v for v in record.variants if PUBLIC.search(v.why)]
            refused = (
                {v.name: v.good for v in verify(record).variants} if printed else {}
            )
            for variant in printed:
                assert refused[variant.name], f"{record.tag}: {variant.name}"
                self.lines.append(
                    f"- [{record.tag}](d/{record.tag}.py), *{variant.name}*, in the step "
                    f"“{variant.step}”. {variant.why}"
                )

    def __str__(self):
        return "\n".join(self.lines)

    _repr_markdown_ = __str__


errata = Errata()
show(errata)

# %% [markdown]
# These are `{python} len(errata.lines)` of the `{python} sum(len(r.variants) for r in RECORDS)` wrong lines
# that the derivations carry; each stands on the page of its derivation, with the step it goes wrong in.
# The references are to public repositories, by issue or pull request.
