"""With the keys alone: everything can be reached, and what has the focus is seen."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, ViewportSize

from checks.visitor import DESKTOP, PHONE, Visit, Visitor

FOCUS = (Path(__file__).parent / "focus.js").read_text(encoding="utf-8")
MISSED = """() => [...document.querySelectorAll(
    "a[href], button, summary, label[tabindex]," +
    ".equation-body, .md-typeset__scrollwrap, pre > code")]
  .filter((one) => one.checkVisibility({ visibilityProperty: true }) && one.tabIndex !== -1)
  .filter((one) => one.matches("a, button, summary, label") || one.scrollWidth > one.clientWidth)
  .filter((one) => one.dataset.met === undefined).map((one) => one.outerHTML.slice(0, 120))"""
PLACES = ["guide/z-form/", "d/BWDR/", "notation/", "reference/masks/"]


def _reader(visit: Visit, place: str, window: ViewportSize) -> Visitor:
    """Let in somebody for whom nothing glides, so that no key meets a page in motion."""
    visitor = visit(viewport=window, reduced_motion="reduce")
    visitor.page.goto(place, wait_until="networkidle")
    return visitor


def _focus(page: Page) -> dict[str, Any]:
    """Return what has the focus; what opens or scrolls with it may need a moment."""
    for _ in range(20):
        stop: dict[str, Any] = page.evaluate(FOCUS) or {}
        if not stop or not stop["covered"]:
            break
        page.wait_for_timeout(150)
    return stop


def _stops(page: Page) -> list[dict[str, Any]]:
    """Go from stop to stop until the focus leaves the page."""
    stops: list[dict[str, Any]] = []
    page.keyboard.press("Tab")
    while stop := _focus(page):
        stops.append(stop)
        page.keyboard.press("Tab")
    return stops


def _stops_back(page: Page, number: int) -> list[dict[str, Any]]:
    """Go back from the end over as many stops."""
    back = []
    for _ in range(number):
        page.keyboard.press("Shift+Tab")
        back.append(_focus(page))
    return back


def _tab_to(page: Page, name: str) -> None:
    page.keyboard.press("Tab")
    while stop := _focus(page):
        if stop["name"] == name:
            return
        page.keyboard.press("Tab")
    pytest.fail(f"no key leads to {name}")


@pytest.mark.parametrize("window", [PHONE, DESKTOP], ids=["phone", "desktop"])
@pytest.mark.parametrize("place", PLACES)
def test_every_stop_is_seen(place: str, window: ViewportSize, visit: Visit) -> None:
    """Forth and back, the focus has a ring and nothing lies over it, and it misses nothing."""
    page = _reader(visit, place, window).page
    stops = _stops(page)
    assert stops[0]["name"] == "Skip to content"
    assert page.evaluate(MISSED) == []
    back = _stops_back(page, len(stops))
    assert [stop["name"] for stop in back] == [stop["name"] for stop in reversed(stops)]
    assert [stop for stop in stops + back if stop["covered"] or not stop["ringed"]] == []


def test_the_first_stop_skips_to_the_text(visit: Visit) -> None:
    """Nobody has to pass the navigation of each page."""
    page = _reader(visit, "guide/z-form/", DESKTOP).page
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.locator("article :target").wait_for()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('main article') !== null")


def test_a_link_of_the_navigation_is_followed(visit: Visit) -> None:
    """On a wide window the navigation is part of the page."""
    page = _reader(visit, "guide/z-form/", DESKTOP).page
    _tab_to(page, "How far numbers spread")
    page.keyboard.press("Enter")
    page.locator("h1#how-far-numbers-spread").wait_for()


def test_on_a_phone_the_navigation_opens_and_closes(visit: Visit) -> None:
    """Its button takes the focus, and its links only while they are seen."""
    page = _reader(visit, "d/BWDR/", PHONE).page
    _tab_to(page, "Navigation")
    page.keyboard.press("Enter")
    _tab_to(page, "The contract")
    assert not _focus(page)["covered"]
    page.keyboard.press("Enter")
    page.locator("h1#the-contract").wait_for()
    page.locator(".md-sidebar--primary").wait_for(state="hidden")


def test_search_closes_with_a_key(visit: Visit) -> None:
    """What one key has opened, another closes, and the focus leaves it.

    On a page of its own: when a page changes the theme closes the search too, at a time of its own.
    """
    page = _reader(visit, "guide/z-form/", DESKTOP).page
    page.keyboard.press("/")
    page.locator(".md-search__output").wait_for()
    page.keyboard.press("Escape")
    page.locator(".md-search__input:focus").wait_for(state="detached")
    page.locator(".md-search__output").wait_for(state="hidden")


def test_search_is_a_key_away(visit: Visit) -> None:
    """A key opens it, and arrows lead through what it finds."""
    page = _reader(visit, "guide/z-form/", DESKTOP).page
    page.keyboard.press("/")
    page.keyboard.type("lse shift")
    page.locator(".md-search-result__link").first.wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")  # over what folds the rest of the first page's results
    page.keyboard.press("ArrowDown")
    stop = _focus(page)
    assert stop["tag"] == "a"
    assert stop["ringed"]
    assert not stop["covered"]
    page.keyboard.press("Enter")
    page.locator("main h1:not(#the-z-form)").wait_for()  # results have one each, too


def test_answers_unfold(visit: Visit) -> None:
    """Enter opens a folded answer, and closes it."""
    page = _reader(visit, "guide/z-form/", DESKTOP).page
    answer = page.locator("details.question").first
    answer.locator("summary").focus()
    page.keyboard.press("Enter")
    answer.locator("p").first.wait_for()
    page.keyboard.press("Enter")
    answer.locator("p").first.wait_for(state="hidden")


@pytest.mark.parametrize(
    ("place", "box"), [("d/BWDR/", ".equation-body"), ("notation/", ".md-typeset__scrollwrap")]
)
def test_what_is_wide_scrolls(place: str, box: str, visit: Visit) -> None:
    """A formula or a table that is wider than a phone is moved by the arrows."""
    page = _reader(visit, place, PHONE).page
    wide = page.locator(f"{box}[tabindex='0']").first
    wide.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_timeout(100)
    assert wide.evaluate("(box) => box.scrollLeft") > 0


def test_the_scheme_is_switched(visit: Visit) -> None:
    """Enter on the switch."""
    page = _reader(visit, "guide/z-form/", DESKTOP).page
    _tab_to(page, "Switch to the dark scheme")
    page.keyboard.press("Enter")
    page.locator("body[data-md-color-scheme=slate]").wait_for()
    assert _focus(page)["name"] == "Switch to the light scheme"


def test_the_form_of_a_citation_is_chosen(visit: Visit) -> None:
    """Arrows lead from tab to tab."""
    page = _reader(visit, "d/ZFRM/", DESKTOP).page
    page.locator(".tabbed-set > input").first.focus()
    page.keyboard.press("ArrowRight")
    page.locator("code", has_text="@techreport").wait_for()
    assert _focus(page)["ringed"]
