"""Every page under the rules of axe-core, in both schemes, on a wide window and on a phone."""

from importlib.resources import files

import pytest

from checks.conftest import PAGES
from checks.visitor import DESKTOP, PHONE, Visit, Visitor

AXE = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
RUN = """async () => {
  const values = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
  const only = { runOnly: { type: "tag", values }, resultTypes: ["violations"] };
  const { passes, violations } = await axe.run(only);
  const places = ({ html, failureSummary }) => `${failureSummary.split("\\n")[1]}: ${html}`;
  return {
    passed: passes.map((rule) => rule.id),
    broken: violations.map(({ id, nodes }) => [id, ...nodes.map(places)]),
  };
}"""


def _held(visitor: Visitor) -> list[list[str]]:
    """Hold the page against the rules; return those that it breaks, and where."""
    visitor.drawn()
    found = visitor.page.evaluate(RUN)
    assert {"color-contrast", "landmark-unique", "target-size"} <= set(found["passed"])
    return list(found["broken"])


@pytest.mark.parametrize("place", PAGES)
def test_page_keeps_every_rule(place: str, visit: Visit) -> None:
    """WCAG 2.2 at level AA and what is good practice beside it, with all that is folded open.

    Colours are looked at in both schemes, and what a page is made of in both layouts.
    """
    visitor = visit(viewport=DESKTOP, color_scheme="light", reduced_motion="reduce")
    visitor.page.goto(place)
    visitor.arrived()
    visitor.unfold()
    visitor.page.evaluate(AXE)
    assert _held(visitor) == []
    visitor.page.locator(".md-header__option label:visible").click()
    visitor.page.set_viewport_size(PHONE)
    assert visitor.page.evaluate("document.body.dataset.mdColorScheme") == "slate"
    assert _held(visitor) == []
