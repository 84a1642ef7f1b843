"""Every page, reached by clicks alone: what is asked for and shown on the way."""

import re
from collections import deque
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser

from checks.conftest import PAGES
from checks.visitor import DESKTOP, LOOK, Visitor

ARRIVE = """document$.subscribe(({ body }) => {
    body.dataset.arrived = location.href.split("#")[0] })"""
FIND = """(place) => [...document.links].find((link) =>
    link.href.split("#")[0] === place && link.checkVisibility({ visibilityProperty: true }))"""
TEX = re.compile(r"\$|\\[a-zA-Z([]|[_^]\{")

pytestmark = pytest.mark.xdist_group("walk")


class Walk:
    """A walk over all pages, in a window that is loaded once."""

    def __init__(self, visitor: Visitor) -> None:
        self.page, self.visitor = visitor.page, visitor
        self.seen: dict[str, dict[str, Any]] = {}
        self.page.goto("", wait_until="networkidle")  # the list of pages too, by then
        self.page.evaluate(ARRIVE)
        self._look("")
        while way := self._way():
            for place in way:
                self._click(place)

    def _way(self) -> list[str]:
        """Return the shortest way over pages seen to one that is not."""
        ways = deque([[self.here]])
        met = {self.here}
        while ways:
            way = ways.popleft()
            if way[-1] not in self.seen:
                return way[1:]
            for place in self.seen[way[-1]]["places"]:
                if place not in met:
                    met.add(place)
                    ways.append([*way, place])
        return []

    def _click(self, place: str) -> None:
        """Follow a link; a window that is loaded anew forgets to note it, and ends the walk."""
        link = self.page.evaluate_handle(FIND, self.visitor.home + place).as_element()
        assert link
        link.click()
        self.page.locator(f'body[data-arrived="{self.visitor.home}{place}"]').wait_for()
        self._look(place)

    def _look(self, place: str) -> None:
        self.here = place
        if place not in self.seen:
            self.visitor.unfold()
            self.seen[place] = self.page.evaluate(LOOK)
            found = (link.removeprefix(self.visitor.home) for link in self.seen[place]["links"])
            self.seen[place]["places"] = [name for name in dict.fromkeys(found) if name in PAGES]


@pytest.fixture(scope="module")
def walk(browser: Browser, address: str) -> Iterator[Walk]:
    """Walk once, for all that is checked of it."""
    visitor = Visitor(browser, address, viewport=DESKTOP)
    yield Walk(visitor)
    visitor.context.close()


def test_every_page_is_reached_by_clicks(walk: Walk) -> None:
    """From the start page links that are seen lead everywhere, and each page follows in place."""
    assert sorted(walk.seen) == PAGES
    documents = [r for r in walk.visitor.asked if r.resource_type == "document"]
    assert len(documents) == 1


def test_nothing_goes_wrong_on_the_way(walk: Walk) -> None:
    """No page asks another server, gets no answer, or has anything to say in the console."""
    assert walk.visitor.wrong == []


def test_no_formula_is_left_as_it_was_written(walk: Walk) -> None:
    """Outside code and what is kept for machines, no page shows TeX."""
    raw = {place: TEX.findall(look["text"]) for place, look in walk.seen.items()}
    assert {place: found for place, found in raw.items() if found} == {}


def test_every_formula_is_mathml(walk: Walk) -> None:
    """The browser sets each formula itself, and where a formula is expected, one is."""
    assert sum(look["formulas"] for look in walk.seen.values()) > 1000
    assert {place: look["unset"] for place, look in walk.seen.items() if look["unset"]} == {}
    assert {place: look["bare"] for place, look in walk.seen.items() if look["bare"]} == {}
