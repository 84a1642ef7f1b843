"""Make a finished page lighter without changing what it shows.

The style sheet colours keywords, strings and comments, and leaves the rest of the code in ink: a
span around every name, number and bracket would be two fifths of a page. And a template's
indentation is for whoever reads the template, its script for tabs for pages that have some, and
a list of features for a script that looks for a few of them, the page before and the one after
for browsers that no longer ask. Inside HTML an SVG needs no name space.
"""

import re

from sitebuild.equations import VERBATIM, outside_code

UNCOLOURED = re.compile(
    r'<span class="(?:n[a-z]?|v[a-z]|m[a-z]?|il|kc|ow?|p|w|bp|fm|si)">([^<]*)</span>|<span></span>'
)
ALIKE = re.compile(r'(?<=<span class=")(?:(k)[dnprt]|(s)[12])(?=">)')
TABS = re.compile(r"<script>var target=[^<]*__tabbed_[^<]*</script>")
CONFIG = re.compile(r'<script id="__config".*?</script>')
UNSET = re.compile(
    r'(?:"(?:annotate|tags|version)": null|"select\.version": "[^"]*"'
    r'|"navigation\.(?:footer|prune)"|"toc\.integrate")(?:, )?'
)
LAST = re.compile(r", (?=[]}])")
IDLE = re.compile(
    r'(?<=<svg) xmlns="http://www\.w3\.org/2000/svg"|<meta name="generator"[^>]*>'
    r'|<link rel="(?:prev|next)"[^>]*>'
)
INDENTATION = re.compile(r"[ \t\n]*\n[ \t\n]*")


def quiet(page: str) -> str:
    """Drop spans that no colour is for, white space between lines outside code, idle scripts."""
    page = CONFIG.sub(lambda found: LAST.sub("", UNSET.sub("", found[0])), page)
    page = IDLE.sub("", page if 'class="tabbed-' in page else TABS.sub("", page))
    page = VERBATIM.sub(lambda code: _coloured(code[0]), page)
    return outside_code(page, lambda text: INDENTATION.sub("\n", text))


def _coloured(code: str) -> str:
    """Leave a span to what has a colour, and one name to what has the same one."""
    code = UNCOLOURED.sub(lambda span: span[1] or "", code)
    return ALIKE.sub(lambda name: name[1] or name[2], code)
