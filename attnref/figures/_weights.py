"""Weights as a map of shaded cells, the number in each: rows are queries, columns are keys."""

from collections.abc import Sequence
from xml.etree import ElementTree

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnref.figures._frame import ACCENT, MUTED, SVG, Framed, framed

WIDTH, LETTER, TOP, GAP = 331.0, 6.0, 34.0, 1.0  # in the units of a drawing's type, 10 high
CELL_WIDTH, CELL_HEIGHT, NUMBER_WIDTH = 46.0, 24.0, 22.0
DARKEST = 0.45  # how much of the accent weight 1 gets: ink on it is legible in both schemes


class WeightMap(Framed):
    """A map of weights: the shade of a cell is its weight, on the same scale, 0 to 1, everywhere.

    p_ts in row t and column s; Σ_s p_ts = 1

    Arguments:
        title: what it is, a few words; the accessible name.
        weights: p, (L, S), at least one of each; every row sums to 1, or is 0 where a query may
            attend to nothing.
        caption: what to see, then how it was made; Markdown.
        queries: L labels, one a row.
        keys: S labels, one a column.
        description: what it shows, for those who can't see it; unless given, the largest weight of
            every row.

    Raises:
        ValueError: weights that are no weights, or labels that are not as many as rows and columns.

    Source: Vaswani et al. 2017, arXiv:1706.03762, figures 3 to 5, show weights as shades.

    >>> weights = [[0.25, 0.75], [0.5, 0.5]]
    >>> print(WeightMap("Two by two", weights, "…", queries="ab", keys="ab"))
    [Figure: Two by two. Rows are queries, columns are keys. The largest weight of
    a: 0.75 on b; of b: 0.50 on a.]
    """

    def __init__(
        self,
        title: str,
        weights: ArrayLike,
        caption: str,
        *,
        queries: Sequence[str],
        keys: Sequence[str],
        description: str | None = None,
    ) -> None:
        self.weights = _weights(weights, queries, keys)
        self.queries, self.keys = list(queries), list(keys)
        super().__init__(title, description or self._largest(), caption)

    def svg(self) -> str:
        """Return the map as one SVG element: titled, described, in CSS variables."""
        left = 14 + LETTER * max(_width(label) for label in ["query", *self.queries])
        cell = min(CELL_WIDTH, (WIDTH - left) / len(self.keys))
        bottom = TOP + CELL_HEIGHT * len(self.queries)
        root = _element("svg", viewBox=f"0 0 {WIDTH:g} {bottom:g}")
        root.append(self._titles(left))
        root.append(self._labels(left, cell))
        root.append(self._shades(left, cell))
        if cell >= NUMBER_WIDTH:
            root.append(self._numbers(left, cell))
        return framed(root, self.title, self.description)

    def _largest(self) -> str:
        rows = zip(self.queries, self.weights, strict=True)
        parts = (f"{query}: {row.max():.2f} on {self.keys[row.argmax()]}" for query, row in rows)
        return f"Rows are queries, columns are keys. The largest weight of {'; of '.join(parts)}."

    def _titles(self, left: float) -> ElementTree.Element:
        group = _element("g", style=f"fill: {MUTED}; font-size: 9px")
        group.append(_text("query", left - 8, 11, **{"text-anchor": "end"}))
        group.append(_text("key", left, 11))
        return group

    def _labels(self, left: float, cell: float) -> ElementTree.Element:
        group = _element("g", style="font-size: 10px")
        for t, label in enumerate(self.queries):
            group.append(_text(label, left - 8, _line(t), **{"text-anchor": "end"}))
        keys = _element("g", **{"text-anchor": "middle"})
        keys.extend(
            _text(label, left + (s + 0.5) * cell, TOP - 8) for s, label in enumerate(self.keys)
        )
        group.append(keys)
        return group

    def _shades(self, left: float, cell: float) -> ElementTree.Element:
        group = _element("g", style=f"fill: {ACCENT}; stroke: {MUTED}; stroke-opacity: 0.25")
        for (t, s), weight in np.ndenumerate(self.weights):
            place = {"x": f"{left + s * cell:.1f}", "y": f"{TOP + t * CELL_HEIGHT:g}"}
            size = {"width": f"{cell - GAP:.1f}", "height": f"{CELL_HEIGHT - GAP:g}"}
            shade = {"fill-opacity": f"{DARKEST * weight:.2f}"}
            group.append(_element("rect", **place, **size, **shade))
        return group

    def _numbers(self, left: float, cell: float) -> ElementTree.Element:
        group = _element("g", style="font-size: 9px", **{"text-anchor": "middle"})
        for (t, s), weight in np.ndenumerate(self.weights):
            group.append(_text(f"{weight:.2f}", left + (s + 0.5) * cell, _line(t)))
        return group


def _weights(
    weights: ArrayLike, queries: Sequence[str], keys: Sequence[str]
) -> NDArray[np.float64]:
    p = np.asarray(weights, np.float64)
    if p.ndim != 2 or 0 in p.shape or p.shape != (len(queries), len(keys)):
        labels = f"{len(queries)} queries, {len(keys)} keys"
        raise ValueError(f"weights must have a row a query, a column a key: {p.shape}, {labels}")
    sums, rounding = p.sum(axis=-1), p.shape[-1] * float(np.finfo(np.float32).eps)
    if not (p >= 0).all() or not ((abs(sums - 1) <= rounding) | (sums == 0)).all():
        found = f"least {p.min()}, sums {sums}"
        raise ValueError(f"weights must be 0 or more, and the sum of a row 1, or 0: {found}")
    return p


def _width(label: str) -> float:
    """Return how wide a label is, in Latin letters; a Chinese one is as wide as two."""
    return sum(1 if ord(letter) < 0x2E80 else 1.8 for letter in label)


def _line(t: int) -> float:
    return TOP + (t + 0.5) * CELL_HEIGHT + 3


def _element(tag: str, **attributes: str) -> ElementTree.Element:
    return ElementTree.Element(f"{{{SVG}}}{tag}", attributes)


def _text(text: str, x: float, y: float, **attributes: str) -> ElementTree.Element:
    element = _element("text", x=f"{x:.1f}", y=f"{y:.1f}", **attributes)
    element.text = text
    return element
