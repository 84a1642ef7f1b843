"""What becomes of a page that may not be published: it ends a build, and a server goes on.

A served page says at its top what is wrong with it, and so does the terminal. The fix appears like
any other edit.
"""

import html
import logging
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.pages import Page

BOX = """\
<div class="admonition failure" role="alert">
<p class="admonition-title">{title}</p>
<pre>{reasons}</pre>
</div>
"""
CONTENT = re.compile(r'(<article class="md-content__inner[^>]*>)')
EMPTY = '<!doctype html><html lang="en"><meta charset="utf-8"><body>{}</body></html>'

log = logging.getLogger("mkdocs.hooks.attnref")
found: dict[str, list[str]] = {}


class Listener(logging.Handler):
    """Hears what MkDocs warns of, a link that leads nowhere for one, and notes it for its page."""

    serving = False

    def emit(self, record: logging.LogRecord) -> None:
        """Note a warning for every page that it names."""
        said = record.getMessage()
        for name in re.findall(r"'([^']+\.(?:py|md))'", said)[:1]:
            found.setdefault(name, []).append(said)


listener = Listener(logging.WARNING)


def serve() -> None:
    """From now on be a server: go on with a page that is wrong."""
    listener.serving = True
    logging.getLogger("mkdocs").addHandler(listener)


def begin() -> None:
    """Forget the faults of another build."""
    found.clear()


def refuse(faults: dict[str, Exception], summary: str = "") -> None:
    """End the build with what is wrong with pages; a server notes and tells it."""
    details = "\n\n".join(filter(None, [summary, *map(str, faults.values())]))
    if not listener.serving:
        raise PluginError(details) from None
    for name, error in faults.items():
        found.setdefault(name, []).append(str(error))
    log.error(details)


def tell(pages: dict[str, Page]) -> None:
    """Put at the top of each page what is wrong with it."""
    for name, reasons in found.items():
        if name in pages:
            path = Path(pages[name].file.abs_dest_path)
            before, start, after = CONTENT.split(path.read_text(encoding="utf-8"), maxsplit=1)
            box = _box("This page may not be published", reasons)
            path.write_text(f"{before}{start}{box}{after}", encoding="utf-8")


def survive(build: Callable[..., None], site: Path) -> Callable[..., None]:
    """Let a build that fails as a whole leave pages that say so, where it was about to hang."""

    def attempt(*arguments: Any, **options: Any) -> None:
        try:
            build(*arguments, **options)
        except (Exception, SystemExit) as error:
            log.exception("The site could not be built")
            reasons = [*(told for page in found.values() for told in page), _reason(error)]
            page = EMPTY.format(_box("The site could not be built", reasons))
            for path in [site / "index.html", *site.rglob("*.html")]:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(page, encoding="utf-8")

    return attempt


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _box(title: str, reasons: list[str]) -> str:
    return BOX.format(title=title, reasons=html.escape("\n\n".join(dict.fromkeys(reasons))))
