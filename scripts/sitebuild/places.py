"""Give displayed equations their places before their formulas are set, and take them back after.

On the site an equation is the element that its label names. In plain Markdown it is LaTeX yet, and
a builder that checks links would find none of those that lead to equations.
"""

import re

FORMULA_OR_CODE = re.compile(
    r"^ *(?P<fence>`{3,}|~{3,}).*?^ *(?P=fence)[`~]*$|^\$\$\n(?P<tex>.*?)^\$\$$",
    re.MULTILINE | re.DOTALL,
)
LABEL = re.compile(r"\\label\{(?P<label>[^}]*)\}")
PLACE = re.compile(r'<p><a id="[^"]*"></a></p>\s*(?=<div class="arithmatex">)')


def mark(markdown: str) -> str:
    """Put before each labelled equation an anchor of its name."""
    return FORMULA_OR_CODE.sub(_marked, markdown)


def take_back(page: str) -> str:
    """Remove from a built page what `mark` put there, whose names the equations then have."""
    return PLACE.sub("", page)


def _marked(block: re.Match[str]) -> str:
    label = LABEL.search(block["tex"] or "")
    return f'<a id="{label["label"]}"></a>\n\n{block[0]}' if label else block[0]
