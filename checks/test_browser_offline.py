"""The zip for reading offline, opened from a folder: what a server's site can, it can too."""

from pathlib import Path

import pytest

from checks.conftest import PAGES, SITE
from checks.visitor import Visit, Visitor

GROUND = "getComputedStyle(document.body).backgroundColor"
SET = """document.fonts.ready.then(() => [...document.fonts].map((font) => font.status))"""


def _file(place: str) -> str:
    """Return the file in which a page stands that a server has under this place."""
    alone = place.rstrip("/")
    return f"{alone}.html" if (SITE / f"{alone}.md").is_file() else f"{place}index.html"


def _reader(visit: Visit, offline: Path, place: str, **window: object) -> Visitor:
    visitor = visit(home=f"{offline.as_uri()}/", **window)
    visitor.page.goto(f"{visitor.home}{place}")
    visitor.arrived()
    return visitor


def test_the_zip_holds_every_page_and_no_other(offline: Path) -> None:
    """What a server has as an address, the folder has as a file."""
    found = {path.relative_to(offline).as_posix() for path in offline.rglob("*.html")}
    assert found == set(map(_file, PAGES))


@pytest.mark.parametrize("place", PAGES)
def test_page_is_whole(place: str, offline: Path, visit: Visit) -> None:
    """It has its style, its font and its links, and asks for files of the folder alone."""
    visitor = _reader(visit, offline, _file(place))
    assert visitor.page.evaluate(GROUND) == "rgb(253, 252, 248)"
    assert visitor.page.evaluate(SET) == ["loaded"]
    links = visitor.page.evaluate("[...document.links].map((link) => link.href.split('#')[0])")
    inside = [link for link in links if link.startswith("file:")]
    assert len(inside) >= 8
    for link in inside:
        assert link.startswith(visitor.home)
        assert (offline / link.removeprefix(visitor.home)).is_file(), link


def test_links_are_followed(offline: Path, visit: Visit) -> None:
    """A click opens the next file."""
    page = _reader(visit, offline, "guide/z-form.html").page
    page.get_by_role("link", name="How far numbers spread").first.click()
    page.locator("h1#how-far-numbers-spread").wait_for()


def test_code_is_copied(offline: Path, visit: Visit) -> None:
    """The buttons copy, as they do on a server."""
    allowed = ["clipboard-read", "clipboard-write"]
    page = _reader(visit, offline, "guide/z-form.html", permissions=allowed).page
    page.locator(".md-code__button").first.click()
    page.locator(".md-dialog--active").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("import numpy as np")
    assert copied in (offline / "guide/z-form.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("system", ["light", "dark"])
def test_the_scheme_is_switched_and_remembered(system: str, offline: Path, visit: Visit) -> None:
    """First as the system has it, then as the reader chose, on the next page too."""
    page = _reader(visit, offline, "index.html", color_scheme=system).page
    first = page.evaluate(GROUND)
    assert (first == "rgb(21, 23, 26)") == (system == "dark")
    page.locator(".md-header__option label:visible").click()
    chosen = page.evaluate(GROUND)
    assert chosen != first
    page.locator(".md-nav__link", has_text="The contract").click()
    page.locator("h1#the-contract").wait_for()
    assert page.evaluate(GROUND) == chosen


def test_search_finds_without_a_worker(offline: Path, visit: Visit) -> None:
    """No worker starts from a folder; the search finds all the same, and leads there."""
    page = _reader(visit, offline, "cite.html").page
    page.locator(".md-search__input").click()
    page.locator(".md-search__input").fill("20.1161")
    page.keyboard.press("End")
    page.locator(".md-search-result__link").first.wait_for()
    page.keyboard.press("Enter")
    page.locator("h1#the-z-form").wait_for()
