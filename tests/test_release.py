"""One version, one date, one name, wherever they stand."""

import tomllib

import attnref
from pages import ROOT


def _text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_version_is_the_same_everywhere() -> None:
    """The package, its metadata, the citation file and the changelog name one version."""
    assert tomllib.loads(_text("pyproject.toml"))["project"]["version"] == attnref.__version__
    assert f"\nversion: {attnref.__version__}\n" in _text("CITATION.cff")
    assert f"\n## {attnref.__version__} ({attnref.__date__})\n" in _text("CHANGELOG.md")


def test_date_is_the_same_everywhere() -> None:
    """The package and the citation file name one date."""
    assert f"\ndate-released: {attnref.__date__}\n" in _text("CITATION.cff")


def test_every_pin_is_exact() -> None:
    """constraints.txt pins each package to one version, without a build's local suffix."""
    pins = [line for line in _text("constraints.txt").splitlines() if line and line[0] != "#"]
    assert len(pins) > 50
    assert all(pin.count("==") == 1 and "+" not in pin for pin in pins)


def test_readme_fits_a_screenful_or_two() -> None:
    """At most 90 lines."""
    assert len(_text("README.md").splitlines()) <= 90
