"""Make a finished page lighter without changing what it shows.

The style sheet colours keywords, strings, numbers and comments, and leaves the rest of the code
in ink: a span around every name and bracket would be two fifths of a page. And a template's
indentation is for whoever reads the template.
"""

import re

from sitebuild.equations import VERBATIM, outside_code

UNCOLOURED = re.compile(
    r'<span class="(?:n[a-z]?|v[a-z]|ow?|p|w|bp|fm)">([^<]*)</span>|<span></span>'
)
INDENTATION = re.compile(r"[ \t\n]*\n[ \t\n]*")


def quiet(page: str) -> str:
    """Drop the spans that no colour is for, and the white space between lines outside code."""
    page = VERBATIM.sub(lambda code: UNCOLOURED.sub(lambda span: span[1] or "", code[0]), page)
    return outside_code(page, lambda text: INDENTATION.sub("\n", text))
