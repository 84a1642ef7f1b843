"""Figures for pages: SVG in the page's own colours and type, titled and described."""

from attnref.figures._drawn import Figure
from attnref.figures._frame import ACCENT, CATEGORIES, INK, MUTED
from attnref.figures._weights import WeightMap

__all__ = ["ACCENT", "CATEGORIES", "INK", "MUTED", "Figure", "WeightMap"]
