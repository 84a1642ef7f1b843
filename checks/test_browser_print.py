"""What comes out of a printer: the page with all that it folds away, and nothing to click."""

import io
import re

import pytest
from playwright.sync_api import Page, ViewportSize
from pypdf import PdfReader

from checks.visitor import Visit

A4: ViewportSize = {"width": 717, "height": 1046}  # CSS pixels between the margins of printed paper
FOLDED = {
    "guide/z-form/": [
        "key 4 has the score 0",
        "whose SHA-256 begins",
        "@misc{attnref-guide-z-form",
    ],
    "d/ZFRM/": ["whose SHA-256 begins", "@techreport{", "TY - ", '"type": "report"'],
    "contract/": ["def plain(q, k, v", "@misc{attnref-contract"],
}
FRAME = ["Skip to content", "Several heads", "Previous", "Next", "Search", "Switch to"]
WIDE = """() => [...document.querySelectorAll(".equation-body, pre > code, table")]
  .filter((box) => box.scrollWidth > Math.max(box.clientWidth, 1) + 1)
  .map((box) => box.textContent.slice(0, 80))"""


def _printed(page: Page) -> str:
    """Return the text of the page's PDF."""
    leaves = PdfReader(io.BytesIO(page.pdf(format="A4"))).pages
    return _joined("".join(leaf.extract_text() for leaf in leaves))


def _joined(text: str) -> str:
    """Return text without its spaces, for a line ends on paper where there is room."""
    return re.sub(r"\s+", "", text)


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no-scripts"])
@pytest.mark.parametrize("place", FOLDED)
def test_paper_holds_what_the_screen_folds(place: str, scripts: bool, visit: Visit) -> None:
    """Answers, provenance and every form of the citation are printed; the site's frame is not."""
    visitor = visit(java_script_enabled=scripts)
    visitor.page.goto(place, wait_until="networkidle")
    printed = _printed(visitor.page)
    assert [text for text in FOLDED[place] if _joined(text) not in printed] == []
    assert [text for text in FRAME if _joined(text) in printed] == []


@pytest.mark.parametrize("place", [*FOLDED, "notation/", "reference/masks/"])
def test_nothing_is_cut_off_at_the_edge(place: str, visit: Visit) -> None:
    """On paper nothing scrolls: formulas, tables and code fit."""
    page = visit(viewport=A4).page
    page.goto(place, wait_until="networkidle")
    page.emulate_media(media="print")
    assert page.evaluate(WIDE) == []
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


@pytest.mark.parametrize("system", ["light", "dark"])
def test_paper_is_light(system: str, visit: Visit) -> None:
    """Whoever reads white on black does not print so."""
    page = visit(color_scheme=system).page
    page.goto("guide/z-form/", wait_until="networkidle")
    page.emulate_media(media="print")
    for name, colour in {"color": "rgb(27, 27, 26)", "colorScheme": "light"}.items():
        assert page.evaluate(f"getComputedStyle(document.body).{name}") == colour
