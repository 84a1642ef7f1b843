"""The buttons on code copy it, to the letter; what code printed has none."""

from html.parser import HTMLParser
from pathlib import Path

import pytest
from playwright.sync_api import Locator

from checks.visitor import Visit, Visitor

PLACES = ["guide/z-form/", "contract/", "d/ZFRM/", "cite/"]
SHOWN = ".md-code__button:visible"


class Code(HTMLParser):
    """The text of each block of code on a page; outputs and signatures are none."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.blocks: list[str] = []
        self.kind, self.inside = "", False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what kind of block begins."""
        if tag == "div":
            self.kind = dict(attrs).get("class") or ""
        if tag == "pre" and not {"no-copy", "doc-signature"} & set(self.kind.split()):
            self.blocks.append("")
            self.inside = True

    def handle_endtag(self, tag: str) -> None:
        """End a block."""
        self.inside = self.inside and tag != "pre"

    def handle_data(self, data: str) -> None:
        """Add to the block that is open."""
        if self.inside:
            self.blocks[-1] += data


def _reader(visit: Visit, place: str) -> Visitor:
    visitor = visit(permissions=["clipboard-read", "clipboard-write"])
    visitor.page.goto(place)
    visitor.arrived()
    visitor.unfold()
    return visitor


def _copied(visitor: Visitor, button: Locator) -> str:
    visitor.page.evaluate("navigator.clipboard.writeText('')")
    button.click()
    visitor.page.locator(".md-dialog--active").wait_for()
    return str(visitor.page.evaluate("navigator.clipboard.readText()"))


def _all_copied(visitor: Visitor) -> list[str]:
    """Copy whatever is shown; of tabs, one after the other is."""
    labels = visitor.page.locator(".tabbed-labels > label").all()
    buttons = visitor.page.locator(SHOWN).all() if not labels else []
    copied = [_copied(visitor, button) for button in buttons]
    for label in labels:
        label.click()
        found = [_copied(visitor, button) for button in visitor.page.locator(SHOWN).all()]
        copied += [text for text in found if text not in copied]
    return copied


@pytest.mark.parametrize("place", PLACES)
def test_buttons_copy_the_code(place: str, site: Path, visit: Visit) -> None:
    """Each block of code has a button, and what it copies is the code, without a line's end."""
    blocks = Code((site / place / "index.html").read_text(encoding="utf-8")).blocks
    assert len(blocks) >= 2
    copied = _all_copied(_reader(visit, place))
    assert sorted(copied) == sorted(block.rstrip() for block in blocks)


def test_copied_code_is_the_program(site: Path, visit: Visit) -> None:
    """Put together, what the buttons of a page copy is what its program runs."""
    program = (site / "guide/z-form.py").read_text(encoding="utf-8")
    code = [text for text in _all_copied(_reader(visit, "guide/z-form/")) if "np." in text]
    assert len(code) >= 4
    assert all(text in program for text in code)


@pytest.mark.parametrize("place", ["guide/z-form/", "contract/", "reference/merging/"])
def test_outputs_have_no_button(place: str, visit: Visit) -> None:
    """What code has printed is nothing to run, nor is a session with its prompts or a signature."""
    page = _reader(visit, place).page
    assert page.locator(".no-copy, .doc-signature").count() >= 1
    assert page.locator(":is(.no-copy, .doc-signature) button:visible").count() == 0
