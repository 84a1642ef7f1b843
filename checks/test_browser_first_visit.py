"""The first visit of each page, by a browser that remembers nothing: its weight and its calm."""

import pytest
from playwright.sync_api import ViewportSize

from checks.conftest import PAGES
from checks.visitor import DESKTOP, LOOK, PHONE, Visit, Visitor

WEIGHT = 450_000  # bytes, as they are before any compression
SHIFT = 0.05
WATCH = """window.shifted = 0;
new PerformanceObserver((list) => {
  for (const { hadRecentInput, value } of list.getEntries()) if (!hadRecentInput) shifted += value;
}).observe({ type: "layout-shift", buffered: true });"""


def _throttle(visitor: Visitor) -> None:
    """Let every answer take a while, so that what is asked for late comes late."""
    session = visitor.context.new_cdp_session(visitor.page)
    line = {"latency": 40, "downloadThroughput": 6e6, "uploadThroughput": 6e6, "offline": False}
    session.send("Network.emulateNetworkConditions", line)


@pytest.mark.parametrize("window", [PHONE, DESKTOP], ids=["phone", "desktop"])
@pytest.mark.parametrize("place", PAGES)
def test_page_is_light_and_steady(place: str, window: ViewportSize, visit: Visit) -> None:
    """A first visit costs 450 kB at most, and nothing moves when the font of the formulas comes.

    All that a reader may want to see can be reached: the page is no wider than the window, and a
    formula that is stands in a box that scrolls to both its ends.
    """
    visitor = visit(viewport=window)
    visitor.context.add_init_script(WATCH)
    _throttle(visitor)
    visitor.page.goto(place, wait_until="networkidle")
    assert visitor.page.evaluate("document.fonts.ready.then(() => shifted)") <= SHIFT
    responses = [request.response() for request in visitor.asked]
    assert sum(len(response.body()) for response in responses if response) <= WEIGHT
    visitor.unfold()
    looked = visitor.page.evaluate(LOOK)
    assert looked["cut"] == []
    assert looked["wider"] <= 0
