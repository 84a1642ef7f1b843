"""Figures: SVG that follows the page's colours and says what it shows."""

import re
from xml.etree import ElementTree

import pytest

from attnref.figures import ACCENT, CATEGORIES, INK, MUTED, Figure

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def figure() -> Figure:
    """Draw a bit of everything, some of it in no colour of its own."""
    figure = Figure("All of it", "Lines, bars and words.", "A caption with $d_k$.")
    for colour in (ACCENT, MUTED, INK, *CATEGORIES):
        figure.axes.plot([0, 1], [0, 1], color=colour)
    figure.axes.plot([0, 1], [1, 0])
    figure.axes.barh(0, 1, facecolor=(ACCENT, 0.08), edgecolor="black")
    figure.axes.text(0.5, 0.5, "words")
    figure.axes.set(xlabel="x", ylabel="y")
    return figure


def test_figure_names_and_describes_itself(figure: Figure) -> None:
    """The accessible name is the title, the description follows, and both are referred to."""
    root = ElementTree.fromstring(figure.svg())  # noqa: S314  # our own
    title, description = root[0], root[1]
    assert (title.tag, title.text) == (f"{SVG}title", "All of it")
    assert (description.tag, description.text) == (f"{SVG}desc", "Lines, bars and words.")
    named = f"{title.get('id')} {description.get('id')}"
    assert (root.get("role"), root.get("aria-labelledby")) == ("img", named)


def test_figure_has_no_colour_that_a_scheme_cannot_change(figure: Figure) -> None:
    """Every colour is the page's ink or a variable; what has no colour of its own is ink too."""
    svg = figure.svg()
    bare = re.sub(r"var\(--figure-[a-z0-9-]+, #[0-9a-f]{6}\)", "", svg)
    assert re.findall(r"#[0-9a-f]{6}", bare) == [INK]  # of the element itself, for want of a page
    assert ElementTree.fromstring(svg).get("fill") == "currentColor"  # noqa: S314  # our own


def test_figure_keeps_a_faint_colour_visible(figure: Figure) -> None:
    """Digits are dropped from places, not from what little colour there is."""
    assert "fill-opacity: 0.08" in figure.svg() or "opacity: 0.08" in figure.svg()


def test_figure_refers_only_to_ids_it_has(figure: Figure) -> None:
    """No reference is left over, and no id that nothing refers to."""
    svg = figure.svg()
    ids = set(re.findall(r' id="([^"]+)"', svg))
    used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', svg))
    assert used <= ids
    assert ids - used == {"all-of-it-title", "all-of-it-desc"}


def test_figure_is_the_same_each_time(figure: Figure) -> None:
    """No date and no chance gets into the drawing."""
    assert figure.svg() == figure.svg()


def test_figure_in_a_terminal_says_what_it_shows(figure: Figure) -> None:
    """Where nothing can be drawn, title and description stand for it."""
    assert str(figure) == "[Figure: All of it. Lines, bars and words.]"
