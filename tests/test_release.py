"""One version, one date, one name, wherever they stand."""

import re
import tomllib
from datetime import date

from mkdocs.utils.yaml import yaml_load

import attnref
from pages import ROOT
from sitebuild import head

CFF_TEXTS = {"cff-version", "message", "title", "type", "version", "abstract", "doi", "url"}
CFF_TEXTS |= {"repository-code", "repository", "commit"}


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


def test_citation_file_is_valid() -> None:
    """CITATION.cff keeps to the Citation File Format 1.2.0: its keys, its kinds, its licences."""
    found = yaml_load(_text("CITATION.cff"))
    assert found.keys() >= {"cff-version", "message", "title", "authors"}
    assert found.keys() <= {*CFF_TEXTS, "authors", "license", "keywords", "date-released"}
    assert all(isinstance(found[key], str) and found[key] for key in CFF_TEXTS & found.keys())
    assert (found["cff-version"], found["type"]) == ("1.2.0", "software")
    assert isinstance(found["date-released"], date)
    assert found["license"] == ["MIT", "CC-BY-4.0"]
    assert len(set(found["keywords"])) == len(found["keywords"])
    assert [author.keys() for author in found["authors"]] == [{"name"}]
    assert re.fullmatch(r"\d+\.\d+\.\d+", found["version"])


def test_authors_are_the_same_everywhere() -> None:
    """The package's metadata, from which derivations are cited, and the citation file agree."""
    authors = tomllib.loads(_text("pyproject.toml"))["project"]["authors"]
    assert authors == yaml_load(_text("CITATION.cff"))["authors"]
    assert authors == [{"name": head.AUTHOR}]


def test_every_pin_is_exact() -> None:
    """constraints.txt pins each package to one version, without a build's local suffix."""
    pins = [line for line in _text("constraints.txt").splitlines() if line and line[0] != "#"]
    assert len(pins) > 50
    assert all(pin.count("==") == 1 and "+" not in pin for pin in pins)


def test_readme_fits_a_screenful_or_two() -> None:
    """At most 90 lines."""
    assert len(_text("README.md").splitlines()) <= 90
