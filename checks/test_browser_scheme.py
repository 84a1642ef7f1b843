"""Light and dark: first as the system has it, then as the reader chose."""

import pytest
from playwright.sync_api import Page

from checks.visitor import Visit

PAPER = {"light": "rgb(253, 252, 248)", "dark": "rgb(21, 23, 26)"}
OTHER = {"light": "dark", "dark": "light"}
SWITCH = ".md-header__option label:visible"

systems = pytest.mark.parametrize("system", ["light", "dark"])


def _scheme(page: Page) -> str:
    """Return the scheme in which the page stands, by its ground and its text."""
    ground, ink = page.evaluate(
        "() => { const { backgroundColor, color } = getComputedStyle(document.body);"
        " return [backgroundColor, color] }"
    )
    scheme = next(name for name, paper in PAPER.items() if paper == ground)
    brightness = sum(map(int, ink.removeprefix("rgb(").removesuffix(")").split(",")))
    assert (brightness > 3 * 127) == (scheme == "dark")
    return scheme


@systems
def test_at_first_it_is_the_system_s(system: str, visit: Visit) -> None:
    """Nobody is dazzled; what the browser draws itself, as scroll bars, goes along."""
    page = visit(color_scheme=system).page
    page.goto("guide/z-form/")
    assert _scheme(page) == system
    said = page.evaluate("getComputedStyle(document.body).colorScheme")
    assert (said == "dark") == (system == "dark")


@systems
def test_the_switch_is_remembered(system: str, visit: Visit) -> None:
    """A click changes it at once, for the next page, for a new load and for a new window."""
    visitor = visit(color_scheme=system)
    page = visitor.page
    page.goto("guide/z-form/", wait_until="networkidle")
    page.locator(SWITCH).click()
    assert _scheme(page) == OTHER[system]
    page.get_by_role("link", name="How far numbers spread").first.click()
    page.locator("h1", has_text="How far numbers spread").wait_for()
    assert _scheme(page) == OTHER[system]
    page.reload()
    assert _scheme(page) == OTHER[system]
    another = visitor.context.new_page()
    another.goto("contract/")
    assert _scheme(another) == OTHER[system]


@systems
def test_the_switch_switches_back(system: str, visit: Visit) -> None:
    """And says each time what it would do."""
    page = visit(color_scheme=system).page
    page.goto("guide/z-form/")
    for scheme in (system, OTHER[system], system):
        assert _scheme(page) == scheme
        assert page.locator(SWITCH).get_attribute("title") == (
            f"Switch to the {OTHER[scheme]} scheme"
        )
        page.locator(SWITCH).click()
