"""Make a finished page lighter without changing what it shows.

The style sheet colours keywords, strings, numbers and comments, and leaves the rest of the code
in ink: a span around every name and bracket would be two fifths of a page. And a template's
indentation is for whoever reads the template.
"""

import re

from sitebuild.equations import outside_code

UNCOLOURED = re.compile(r'<span class="(?![ksmc])[a-z][a-z0-9]{0,2}">([^<]*)</span>|<span></span>')
INDENTATION = re.compile(r"\s*\n\s*")


def quiet(page: str) -> str:
    """Drop the spans that no colour is for, and the white space between lines outside code."""
    page = UNCOLOURED.sub(lambda span: span[1] or "", page)
    return outside_code(page, lambda text: INDENTATION.sub("\n", text))
