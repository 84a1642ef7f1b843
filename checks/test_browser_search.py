"""Search finds what stands in the middle of a page, and its index comes when somebody searches."""

import re
from pathlib import Path

import pytest

from checks.visitor import Visit, Visitor

INDEX = "search/search_index.json"
PLACE = "guide/z-form/"
WORD = r"\b[a-z]{7,}\b"
NUMBER = r"\b\d+\.\d{4}\b"


def _text(site: Path, place: str) -> str:
    """Return what a page says, from the Markdown beside it, without its code."""
    markdown = (site / f"{place.rstrip('/')}.md").read_text(encoding="utf-8")
    return re.sub(r"^```python.*?^```", "", markdown, flags=re.DOTALL | re.MULTILINE)


def _only_here(site: Path, pattern: str) -> str:
    """Return what matches in the middle half of the page, and on no other page."""
    text = _text(site, PLACE)
    middle = text[len(text) // 4 : -len(text) // 4]
    others = [p for p in site.rglob("*.md") if p != site / f"{PLACE.rstrip('/')}.md"]
    elsewhere = " ".join(path.read_text(encoding="utf-8") for path in others).lower()
    matches = (match[0] for match in re.finditer(pattern, middle))
    return next(match for match in matches if match not in elsewhere)


def _sought(visitor: Visitor, what: str) -> list[str]:
    """Search, and return where the first results lead."""
    visitor.page.locator(".md-search__input").fill(what)
    visitor.page.keyboard.press("End")  # a key, for which the search waits
    visitor.page.locator(".md-search-result__link").first.wait_for()
    links = visitor.page.locator(".md-search-result__link").all()
    return [str(link.evaluate("(link) => link.href")).removeprefix(visitor.home) for link in links]


@pytest.mark.parametrize("pattern", [WORD, NUMBER], ids=["word", "output"])
def test_what_stands_in_the_middle_is_found(pattern: str, site: Path, visit: Visit) -> None:
    """A word of the text, and a number that code has printed, lead to the page and its section."""
    sought = _only_here(site, pattern)
    visitor = visit()
    visitor.page.goto("cite/", wait_until="networkidle")
    found = _sought(visitor, sought)
    assert found[0].startswith(PLACE)
    assert len({place.partition("#")[0] for place in found}) == 1
    visitor.page.keyboard.press("Enter")
    visitor.page.locator("#the-z-form").wait_for()
    visitor.page.locator("main").get_by_text(sought).first.wait_for()


def test_the_index_is_sent_for_when_somebody_searches(visit: Visit) -> None:
    """Whoever reads does not pay for it; focus on the box is enough, and once is enough."""
    visitor = visit()
    visitor.page.goto("", wait_until="networkidle")
    visitor.page.goto(PLACE, wait_until="networkidle")
    visitor.page.locator(".md-nav__link", has_text="How to cite").click()
    visitor.page.locator("#how-to-cite").wait_for()
    visitor.page.wait_for_timeout(300)  # with a new page the theme closes the search, a little late
    assert INDEX not in visitor.addresses()
    with visitor.page.expect_response(f"**/{INDEX}"):
        visitor.page.locator(".md-search__input").focus()
    assert _sought(visitor, "normaliser")
    assert visitor.addresses().count(INDEX) == 1


def test_on_a_phone_the_index_is_sent_for_too(visit: Visit) -> None:
    """There the box hides behind a button."""
    visitor = visit(viewport={"width": 360, "height": 740})
    visitor.page.goto(PLACE, wait_until="networkidle")
    visitor.page.locator(".md-header__button[for=__search]").click()
    assert "d/ZFRM/" in {place.partition("#")[0] for place in _sought(visitor, "ZFRM")}


def test_what_stands_nowhere_is_not_found(visit: Visit) -> None:
    """The search says so."""
    visitor = visit()
    visitor.page.goto("", wait_until="networkidle")
    visitor.page.locator(".md-search__input").fill("zyzzyva")
    visitor.page.keyboard.press("End")
    visitor.page.get_by_text("No matching documents").wait_for()
