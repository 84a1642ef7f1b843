"""Make a finished page lighter without changing what it shows.

The style sheet colours keywords, strings, numbers and comments, and leaves the rest of the code
in ink: a span around every name and bracket would be two fifths of a page. And a template's
indentation is for whoever reads the template, its script for tabs for pages that have some. Inside
HTML an SVG needs no name space.
"""

import re

from sitebuild.equations import VERBATIM, outside_code

UNCOLOURED = re.compile(
    r'<span class="(?:n[a-z]?|v[a-z]|ow?|p|w|bp|fm)">([^<]*)</span>|<span></span>'
)
TABS = re.compile(r"<script>var target=[^<]*__tabbed_[^<]*</script>")
CONFIG = re.compile(r'<script id="__config".*?</script>')
UNSET = re.compile(r'(?:"(?:annotate|tags|version)": null|"select\.version": "[^"]*")(?:, )?')
IDLE = re.compile(r'(?<=<svg) xmlns="http://www\.w3\.org/2000/svg"|<meta name="generator"[^>]*>')
INDENTATION = re.compile(r"[ \t\n]*\n[ \t\n]*")


def quiet(page: str) -> str:
    """Drop spans that no colour is for, white space between lines outside code, idle scripts."""
    page = CONFIG.sub(lambda found: UNSET.sub("", found[0]).replace(", }", "}"), page)
    page = IDLE.sub("", page if 'class="tabbed-' in page else TABS.sub("", page))
    page = VERBATIM.sub(lambda code: UNCOLOURED.sub(lambda span: span[1] or "", code[0]), page)
    return outside_code(page, lambda text: INDENTATION.sub("\n", text))
