"""Figures: SVG that follows the page's colours and says what it shows."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from attnref.figures import ACCENT, CATEGORIES, INK, MUTED, Figure, WeightMap

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


def test_figure_draws_each_mark_where_it_stands(figure: Figure) -> None:
    """Ticks are paths moved to their places; there is no `use`, whose link scripts would follow."""
    svg = figure.svg()
    assert "<use" not in svg
    assert "href" not in svg
    assert svg.count('transform="translate(') >= 4


def test_two_figures_share_no_id(figure: Figure) -> None:
    """Figures of other titles may stand on one page, the same marks drawn in both."""
    other = Figure("Another", "The same marks.", "A caption.")
    for drawn in (figure, other):
        drawn.axes.plot([0, 1], [0, 1], "o")
    one, two = (set(re.findall(r' id="([^"]+)"', drawn.svg())) for drawn in (figure, other))
    assert len(one) > 2
    assert not one & two


def test_figure_is_the_same_each_time(figure: Figure) -> None:
    """No date and no chance gets into the drawing."""
    assert figure.svg() == figure.svg()


def test_figure_in_a_terminal_says_what_it_shows(figure: Figure) -> None:
    """Where nothing can be drawn, title and description stand for it."""
    assert str(figure) == "[Figure: All of it. Lines, bars and words.]"


WEIGHTS = np.array([[0.25, 0.75, 0.0], [0.0, 0.0, 0.0], [0.2, 0.3, 0.5]])


def weight_map(weights: object = WEIGHTS, *, keys: str = "abc") -> WeightMap:
    """Return a map of weights for three queries."""
    return WeightMap("Weights", np.asarray(weights), "A caption.", queries="abc", keys=keys)


def test_weight_map_shades_on_one_scale_whatever_the_weights() -> None:
    """The same weight has the same shade in every map: the scale is 0 to 1 and not the data's."""
    shades = re.findall(r'fill-opacity="([\d.]+)"', weight_map().svg())
    assert len(shades) == WEIGHTS.size
    whole = re.findall(r'fill-opacity="([\d.]+)"', weight_map(np.eye(3)).svg())
    assert {*whole} == {"0.00", max(whole)}
    for shade, weight in zip(shades, WEIGHTS.flat, strict=True):
        assert float(shade) == pytest.approx(float(max(whole)) * weight, abs=0.0051)


def test_weight_map_writes_the_number_into_each_cell() -> None:
    """Whoever can't tell shades apart reads the numbers; cells too narrow for them have none."""
    texts = [t.text for t in ElementTree.fromstring(weight_map().svg()).iter(f"{SVG}text")]  # noqa: S314  # our own
    assert texts[:8] == ["query", "key", *"abcabc"]
    assert texts[8:] == [f"{weight:.2f}" for weight in WEIGHTS.flat]
    wide = WeightMap("W", np.full((1, 29), 1 / 29), "C", queries="q", keys=["k"] * 29).svg()
    assert ">0.03<" not in wide


def test_weight_map_is_named_and_coloured_like_every_figure() -> None:
    """Title, description and colours are those of the frame; the description has the numbers."""
    root = ElementTree.fromstring(weight_map().svg())  # noqa: S314  # our own
    assert (root[0].text, root.get("fill")) == ("Weights", "currentColor")
    assert root[1].text is not None
    assert root[1].text.endswith("of a: 0.75 on b; of b: 0.00 on a; of c: 0.50 on c.")
    bare = re.sub(r"var\(--figure-[a-z0-9-]+, #[0-9a-f]{6}\)", "", weight_map().svg())
    assert re.findall(r"#[0-9a-f]{6}", bare) == [INK]


@pytest.mark.parametrize(
    ("weights", "found"),
    [
        ([[0.5, 0.75, -0.25]] * 3, "least -0.25"),
        ([[0.5, 0.25, 0.125]] * 3, r"sums \[0.875 0.875 0.875\]"),
        ([[0.5, np.nan, 0.5]] * 3, "least nan"),
    ],
)
def test_weight_map_refuses_what_are_no_weights(weights: object, found: str) -> None:
    """Weights are never negative, and a row sums to 1, or to 0 where it is empty."""
    with pytest.raises(ValueError, match=f"the sum of a row 1, or 0: .*{found}"):
        weight_map(weights)


def test_weight_map_refuses_labels_of_another_number() -> None:
    """Every row and every column has one label."""
    with pytest.raises(ValueError, match=r"a column a key: \(3, 3\), 3 queries, 2 keys"):
        weight_map(keys="ab")
    with pytest.raises(ValueError, match=r"a row a query, a column a key: \(3,\)"):
        weight_map(WEIGHTS[0])
