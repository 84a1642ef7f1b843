"""What a page weighs as it is published: with its address, its card and how to cite it."""

import gzip
from pathlib import Path

import pytest

from checks.conftest import PAGES

TYPICAL = "guide/z-form/"


@pytest.mark.parametrize("place", PAGES)
def test_published_page_is_light(place: str, site: Path) -> None:
    """A typical page is at most 40 kB, compressed 9 kB; none is above 50, compressed 10."""
    html = (site / place / "index.html").read_bytes()
    assert len(html) <= (40_000 if place == TYPICAL else 50_000)
    assert len(gzip.compress(html, 9, mtime=0)) <= (9_000 if place == TYPICAL else 10_000)
