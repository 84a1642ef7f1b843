"""How a derivation is cited: four formats, one reference, on the page as in the terminal."""

import json
import re
from dataclasses import replace
from datetime import date
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import attnref
import pages
from attnref.derivations import RECORDS, Record, get
from attnref.derivations._citing import FORMATS, Citation, citation, cite, in_latex
from sitebuild import head

SITE = "https://example.org/attnref/"
WORK = Citation(
    tag="ABCD",
    title="A title",
    author="The authors",
    version="1.2.3",
    date=date(2027, 3, 5),
    statement="0123456789ab",
    url="https://example.org/d/ABCD/",
)
each_record = pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.tag)

# Of the tags of the RIS specification (2011) and the names of the CSL-JSON schema (1.0.2), ours:
RIS_TAGS = {"TY", "ID", "AU", "TI", "PB", "M3", "SN", "ET", "PY", "DA", "N1", "UR", "ER"}
CSL_NAMES = {"id", "type", "title", "author", "publisher", "genre", "number", "version", "issued"}
CSL_NAMES |= {"note", "URL"}


def _bibtex_fields(entry: str) -> dict[str, str]:
    """Read an entry with one field a line, braces and all."""
    return dict(re.findall(r"^  (\w+) = (.*),$", entry, re.MULTILINE))


def _ris_fields(text: str) -> dict[str, str]:
    assert all(re.fullmatch(r"[A-Z][A-Z0-9]  - .*", line) for line in text.split("\n"))
    return {line[:2]: line[6:] for line in text.split("\n")}


def _csl_item(text: str) -> dict[str, Any]:
    (item,) = json.loads(text)
    return dict(item)


# One reference, four formats ----------------------------------------------------------------------


@each_record
def test_citation_names_all_that_a_reader_needs(record: Record) -> None:
    """Every format has tag, title, authors, version, date, statement and, where known, address."""
    for form in FORMATS:
        cited = cite(record, form, site=SITE)
        for part in (
            record.tag,
            record.title if form != "bibtex" else in_latex(record.title),
            "The attnref developers",
            attnref.__version__,
            record.date[:4],
            record.fingerprint,
            f"{SITE}d/{record.tag}/",
        ):
            assert part in cited, form
        assert "http" not in cite(record, form)


def test_address_is_the_one_that_is_given() -> None:
    """The package knows none of its own; with or without a last slash, a site is the same."""
    assert citation(get("ZFRM")).url == ""
    for site in (SITE, SITE.rstrip("/")):
        assert citation(get("ZFRM"), site=site).url == f"{SITE}d/ZFRM/"


def test_record_cites_itself_as_text() -> None:
    """The short form is what the terminal prints when nothing is asked."""
    assert get("ZFRM").citation == cite(get("ZFRM"))
    assert cite(replace(get("ZFRM"), date="2026-11-29")) == (
        f"The attnref developers. The Z form. Derivation ZFRM, attnref {attnref.__version__}, "
        "2026-11-29. Statement 731ff370f77e."
    )


def test_bibtex_is_a_report() -> None:
    """One entry: the tag is the report's number, braces keep capitals, the month is a macro."""
    entry = FORMATS["bibtex"](WORK)
    assert entry.splitlines()[0] == "@techreport{attnref-d-ABCD,"
    assert entry.splitlines()[-1] == "}"
    assert _bibtex_fields(entry) == {
        "title": "{{A title}}",
        "author": "{{The authors}}",
        "institution": "{attnref}",
        "type": "{Derivation}",
        "number": "{ABCD}",
        "year": "{2027}",
        "month": "mar",
        "note": "{Version 1.2.3, statement 0123456789ab}",
        "url": "{https://example.org/d/ABCD/}",
    }


def test_keys_are_the_published_ones() -> None:
    """A key is the page's address: it has been the same since the first release, one a tag."""
    keys = {record.tag: citation(record).key for record in RECORDS}
    assert keys == {record.tag: f"attnref-d-{record.tag}" for record in RECORDS}


def test_ris_is_a_report() -> None:
    """Tags of the specification, a type first, the end last, the date with slashes."""
    text = FORMATS["ris"](WORK)
    fields = _ris_fields(text)
    assert set(fields) == RIS_TAGS
    assert text.startswith("TY  - RPRT\n")
    assert text.endswith("\nER  - ")
    assert (fields["SN"], fields["PY"], fields["DA"]) == ("ABCD", "2027", "2027/03/05")
    assert (fields["TI"], fields["ET"]) == ("A title", "1.2.3")


def test_csl_json_is_a_report() -> None:
    """A list of one item with names of the schema, the date in parts, the author as he is."""
    item = _csl_item(FORMATS["csl-json"](WORK))
    assert set(item) == CSL_NAMES
    assert item["type"] == "report"
    assert item["issued"] == {"date-parts": [[2027, 3, 5]]}
    assert item["author"] == [{"literal": "The authors"}]
    assert (item["number"], item["version"]) == ("ABCD", "1.2.3")


@pytest.mark.parametrize(
    ("words", "latex"),
    [
        ("50 % & more_or #1 $", r"50 \% \& more\_or \#1 \$"),
        (
            "{a} ~ ^ \\",
            r"\textbraceleft{}a\textbraceright{} \textasciitilde{} "
            r"\textasciicircum{} \textbackslash{}",
        ),
        ("√d₀ – β²", r"$\surd$d$_0$ -- $\beta$$^2$"),
        ("Gâteaux’s “∂”", r"Gâteaux's ``$\partial$''"),
    ],
)
def test_special_characters_are_escaped(words: str, latex: str) -> None:
    """LaTeX sets what the title says, and reads none of it as a command."""
    assert in_latex(words) == latex


@given(st.text(st.characters(exclude_categories=["C", "Z"])))
def test_no_title_can_end_a_field(title: str) -> None:
    """BibTeX counts braces: whatever a title holds, they are balanced."""
    depth = 0
    for character in _bibtex_fields(FORMATS["bibtex"](replace(WORK, title=title)))["title"]:
        depth += {"{": 1, "}": -1}.get(character, 0)
        assert depth >= 0
    assert depth == 0
    assert _csl_item(FORMATS["csl-json"](replace(WORK, title=title)))["title"] == title


@each_record
def test_latex_has_every_character_of_a_title(record: Record) -> None:
    """What is no Latin letter is in the table of `in_latex`: add it there."""
    assert [c for c in in_latex(record.title) if ord(c) > 0x24F] == []


# On the page --------------------------------------------------------------------------------------


class Page(HTMLParser):
    """What a program finds on a page: meta tags, JSON-LD, and the text of each block of code."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.meta: dict[str, str] = {}
        self.blocks: list[str] = []
        self.json_ld: list[Any] = []
        self.canonical = ""
        self._inside = ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep what names a work."""
        attributes = dict(attrs)
        if tag == "meta" and (attributes.get("name") or "").startswith("citation_"):
            assert attributes["name"] not in self.meta
            self.meta[str(attributes["name"])] = str(attributes["content"])
        if tag == "link" and attributes.get("rel") == "canonical":
            self.canonical = str(attributes["href"])
        if tag == "pre":
            self.blocks.append("")
            self._inside = "pre"
        if tag == "script" and attributes.get("type") == "application/ld+json":
            self._inside = "json"

    def handle_data(self, data: str) -> None:
        """Keep text where it counts."""
        if self._inside == "pre":
            self.blocks[-1] += data
        if self._inside == "json":
            self.json_ld.append(json.loads(data))

    def handle_endtag(self, tag: str) -> None:
        """Leave a block."""
        if tag in ("pre", "script"):
            self._inside = ""


def _reference(page: Page) -> dict[str, str]:
    """Build a reference from the head alone, as a program would."""
    (work,) = page.json_ld
    marks = {mark["propertyID"]: mark["value"] for mark in work["identifier"]}
    assert work["headline"] == page.meta["citation_title"]
    assert work["author"]["name"] == page.meta["citation_author"]
    assert work["datePublished"].replace("-", "/") == page.meta["citation_publication_date"]
    assert marks["tag"] == page.meta["citation_technical_report_number"]
    assert work.get("url") == page.meta.get("citation_public_url")
    return {
        "tag": marks["tag"],
        "title": work["headline"],
        "author": work["author"]["name"],
        "version": work["version"],
        "date": work["datePublished"],
        "statement": marks["statement"],
        "url": work.get("url", ""),
    }


@each_record
def test_head_of_a_page_is_a_complete_reference(record: Record, site: Path) -> None:
    """A program that reads only the head can cite the derivation."""
    page = Page(site / "d" / record.tag / "index.html")
    work = citation(record)
    assert _reference(page) == vars(work) | {"date": str(work.date)}
    assert page.json_ld[0]["@context"] == "https://schema.org"
    assert page.json_ld[0]["@type"] == "ScholarlyArticle"


def test_head_survives_any_title(tmp_path: Path) -> None:
    """A title that looks like markup ends neither a tag nor the data."""
    title = '"</script><b>& √d'
    work = {name: str(value) for name, value in vars(replace(WORK, title=title)).items()}
    path = tmp_path / "page.html"
    path.write_text(head.of_derivation(work), encoding="utf-8")
    assert _reference(Page(path))["title"] == title


@each_record
def test_page_cites_as_the_terminal_does(record: Record, site: Path) -> None:
    """Each format stands on the derivation's page, character for character."""
    page = Page(site / "d" / record.tag / "index.html")
    assert page.blocks[-len(FORMATS) :] == [f"{cite(record, form)}\n" for form in FORMATS]


def test_other_pages_have_a_reference_too(site: Path) -> None:
    """The head of a guide page names its title, its formulas as they are seen, author and date."""
    page = Page(site / "guide/scaling/index.html")
    assert page.meta == {
        "citation_title": "Why divide by √dk",
        "citation_author": "The attnref developers",
        "citation_publication_date": attnref.__date__.replace("-", "/"),
    }


def test_published_address_is_in_every_reference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the one setting, canonical link, head and every format name the same address."""
    monkeypatch.setenv("ATTNREF_SITE_URL", SITE)
    (tmp_path / "docs" / "d").mkdir(parents=True)
    prose = pages.PROSE.replace("A page", "A \\<b> & “c”")
    pages.page(tmp_path / "docs", "x = 1", name="index", prose=prose)
    pages.page(tmp_path / "docs" / "d", "x = 1", name="ZFRM")
    build = pages.site(tmp_path)
    assert build.returncode == 0, build.stderr
    derivation = Page(tmp_path / "site/d/ZFRM/index.html")
    assert _reference(derivation)["url"] == derivation.canonical == f"{SITE}d/ZFRM/"
    cited = [f"{cite(get('ZFRM'), form, site=SITE)}\n" for form in FORMATS]
    assert derivation.blocks[-len(FORMATS) :] == cited
    home = Page(tmp_path / "site/index.html")
    assert home.meta["citation_public_url"] == home.canonical == SITE
