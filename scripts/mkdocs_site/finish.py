"""What becomes of a page's HTML once the search index has its text: formulas, head, scripts."""

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.pages import Page
from mkdocs.utils import get_relative_url

from mkdocs_site import faults, pages, publish
from sitebuild import font, head
from sitebuild.equations import EquationError, Equations
from sitebuild.policy import Scripts
from sitebuild.quiet import quiet
from sitebuild.script import PageError

FONT = "assets/fonts/stix-two-math.woff2"
SCRIPTS = "assets/javascripts/theme"

characters: set[str] = set()
scripts = Scripts()


def begin() -> None:
    """Forget what the pages of another build needed."""
    characters.clear()
    scripts.files.clear()


def page(output: str, page: Page, config: MkDocsConfig, *, guarded: bool) -> str:
    """Return a page with its formulas as MathML and its head complete."""
    equations = Equations()
    try:
        finished = equations.render(output)
    except EquationError as error:
        faults.refuse({page.file.src_uri: _located(page, error)})
        finished = output
    page.present_anchor_ids = (page.present_anchor_ids or set()) | equations.numbers.keys()
    characters.update(equations.characters)
    finished = finished.replace("</head>", f"{_head(page, config)}</head>", 1)
    folder = get_relative_url(SCRIPTS, page.url)
    finished = quiet(finished)  # before its scripts go where no one sees which are idle
    return scripts.secure(finished, folder) if guarded else finished


def template(output: str, config: MkDocsConfig) -> str:
    """Return a page that belongs to no source, the one for wrong addresses, under the policy."""
    root = re.sub(r"^[a-z]+://[^/]*", "", config.site_url or "").rstrip("/")
    return scripts.secure(output, f"{root}/{SCRIPTS}")


def write_assets(config: MkDocsConfig) -> None:
    """Write the font that the formulas are set in, and the scripts that stood in pages."""
    files = {FONT: font.cut(characters, pages.MEMORY / "fonts")}
    files |= {f"{SCRIPTS}/{name}": code.encode() for name, code in scripts.files.items()}
    for name, content in files.items():
        target = Path(config.site_dir, name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def _head(page: Page, config: MkDocsConfig) -> str:
    """Return what programs look for in the head, Scholar and those that show a link."""
    name, url = page.file.src_uri, page.canonical_url or ""
    shared = head.shared(*publish.told(page), publish.places(page, config)) if url else ""
    if derivation := pages.derivations.get(name):
        return shared + head.of_derivation(derivation["work"])
    return shared + (head.of_page(pages.titles[name], url) if name in pages.records else "")


def _located(page: Page, error: EquationError) -> PageError:
    """Find the formula in the page's source, so that the message can name its line.

    The last place where it stands is the one meant: of two equal labels, the second is too much.
    """
    script = Path(page.file.abs_src_path or "").read_text(encoding="utf-8")
    prose = re.sub(r"^# ?", "", script, flags=re.MULTILINE)
    place = prose.rfind(error.tex.strip())
    line = prose.count("\n", 0, place) + 1 if place >= 0 else None
    return PageError(page.file.src_uri, line, str(error))
