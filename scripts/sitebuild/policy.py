"""A Content-Security-Policy that every page satisfies: it runs and loads this site's files alone.

The theme writes scripts into its pages. Each becomes a file that is named by what it holds, so that
no page has to permit scripts that stand in it.
"""

import hashlib
import re
from dataclasses import dataclass, field

RULES = {
    "default-src": "'none'",
    "script-src": "'self'",
    "worker-src": "'self'",
    "connect-src": "'self'",
    "font-src": "'self'",
    "img-src": "'self' data:",  # the theme's icons stand in its style sheet
    "style-src": "'self'",
    "style-src-attr": "'unsafe-inline'",  # attributes only: figures and the columns of tables
    "base-uri": "'none'",
    "form-action": "'none'",
}
META = '<meta http-equiv="Content-Security-Policy" content="{}">'.format(
    "; ".join(f"{name} {allowed}" for name, allowed in RULES.items())
)
CHARSET = re.compile(r'<meta charset="utf-8">', re.IGNORECASE)
WRITTEN = re.compile(r"<script>(?P<code>.*?)</script>", re.DOTALL)


@dataclass
class Scripts:
    """The scripts that stood in pages, by the name of the file that each becomes."""

    files: dict[str, str] = field(default_factory=dict)

    def secure(self, page: str, folder: str) -> str:
        """Return a page without scripts in it, and with the policy; they lie in the folder."""
        moved = WRITTEN.sub(lambda script: self._move(script["code"], folder), page)
        return CHARSET.sub(lambda charset: charset[0] + META, moved, count=1)

    def _move(self, code: str, folder: str) -> str:
        name = f"{hashlib.sha256(code.encode()).hexdigest()[:12]}.js"
        self.files[name] = code
        return f'<script src="{folder}/{name}"></script>'
