"""The site itself, built strictly: what is in it, what it weighs, and what it asks of others."""

import gzip
import json
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest

import pages
from attnref.derivations import RECORDS
from sitebuild import script

TYPICAL = "guide/z-form/index.html"
SCRIPTS = [path.relative_to(pages.ROOT / "docs") for path in script.pages(pages.ROOT / "docs")]
PAGES = sorted(
    (path.parent / ("" if path.stem == "index" else path.stem) / "index.html").as_posix()
    for path in SCRIPTS
)


class Elements(HTMLParser):
    """Every start tag of a page with its attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the tag; an attribute without a value counts as empty."""
        self.found.append((tag, {name: value or "" for name, value in attrs}))


def _html(site: Path, page: str) -> str:
    return (site / page).read_text(encoding="utf-8")


def _assets(site: Path, page: str) -> set[Path]:
    """Return the files that a browser loads for a page, the page and its font included."""
    loaded = {site / page, *site.glob("assets/fonts/*.woff2")}
    for tag, attributes in Elements(_html(site, page)).found:
        source = attributes.get("src") or attributes.get("href", "")
        loads = tag == "link" and attributes.get("rel") != "canonical"
        if loads or "src" in attributes:
            loaded.add((site / page).parent / source.split("?")[0])
    return {path.resolve() for path in loaded}


@pytest.mark.parametrize("page", PAGES)
def test_page_asks_nothing_of_other_servers(page: str, site: Path) -> None:
    """Everything a page loads is a file of the site."""
    for path in _assets(site, page):
        assert path.is_relative_to(site.resolve())
        assert path.exists()
    for style in site.rglob("*.css"):
        assert not re.search(r"url\([\"']?https?:", style.read_text(encoding="utf-8")), style


@pytest.mark.parametrize("page", PAGES)
def test_page_is_light(page: str, site: Path) -> None:
    """A typical page is at most 40 kB, compressed 9 kB; none is above 50; a first visit 450 kB."""
    html = (site / page).read_bytes()
    assert len(html) <= (40_000 if page == TYPICAL else 50_000)
    assert len(gzip.compress(html, 9, mtime=0)) <= (9_000 if page == TYPICAL else 10_000)
    assert sum(path.stat().st_size for path in _assets(site, page)) <= 450_000


@pytest.mark.parametrize("page", PAGES)
def test_mathematics_needs_no_script(page: str, site: Path) -> None:
    """Formulas are MathML in the page; the scripts are the theme's own and two of ours."""
    found = [a.get("src") for tag, a in Elements(_html(site, page)).found if tag == "script"]
    folder = "assets/javascripts"
    known = rf"[./]*{folder}/(?:on-demand|within-reach|bundle\.\w+\.min|theme/\w+)\.js"
    assert all(re.fullmatch(known, source) for source in found if source)
    for name in ("katex", "mathjax"):
        assert name not in _html(site, page).lower()


@pytest.mark.parametrize("page", PAGES)
def test_theme_has_no_idle_script(page: str, site: Path) -> None:
    """It remembers a reader's choices and the scheme; where there are tabs, it opens one."""
    scripts = re.findall(r'<script src="[^"]*/theme/', _html(site, page))
    assert len(scripts) == 2 + ('class="tabbed-' in _html(site, page))


@pytest.mark.parametrize("page", PAGES)
def test_no_formula_is_left_as_source(page: str, site: Path) -> None:
    """No TeX is on the page but in annotations and in BibTeX."""
    text = re.sub(
        r"<annotation.*?</annotation>|<pre>.*?</pre>", "", _html(site, page), flags=re.DOTALL
    )
    for raw in ("\\(", "\\[", "\\frac", "\\eqref", "\\label", "$$", "arithmatex"):
        assert raw not in text


@pytest.mark.parametrize("page", PAGES)
def test_every_displayed_equation_has_an_address(page: str, site: Path) -> None:
    """Each block formula stands in an element with an id that is a word, and a link to it."""
    html = _html(site, page)
    labels = re.findall(r'<div class="equation" id="([A-Za-z][A-Za-z0-9-]*)">', html)
    assert len(labels) == html.count('display="block"')
    assert all(f'class="equation-number" href="#{label}"' in html for label in labels)


@pytest.mark.parametrize("page", PAGES)
def test_ids_are_unique(page: str, site: Path) -> None:
    """An address leads to one place."""
    ids = Counter(a["id"] for _, a in Elements(_html(site, page)).found if "id" in a)
    assert [name for name, count in ids.items() if count > 1] == []


@pytest.mark.parametrize("page", PAGES)
def test_page_ends_with_how_to_run_and_cite_it(page: str, site: Path) -> None:
    """Command, versions and a BibTeX entry stand on every executed page."""
    end = _html(site, page).partition('id="run-and-cite-this-page"')[2]
    assert "python docs/" in end
    assert "It ran with Python 3." in end
    assert re.search(r"@(?:misc|techreport){attnref-", end)


def test_each_page_has_a_title_and_a_description_of_its_own(site: Path) -> None:
    """A list of results tells them apart, and shows each description whole."""
    for pattern in (r"<title>(.+?)</title>", r'<meta name="description" content="([^"]+)">'):
        found = [re.findall(pattern, _html(site, page)) for page in PAGES]
        assert all(len(one) == 1 for one in found)
        assert len({one[0] for one in found}) == len(PAGES)
        assert max(len(one[0]) for one in found) <= 300


def test_no_two_pages_are_cited_under_one_key(site: Path) -> None:
    """A bibliography can hold every page of the site."""
    ends = [_html(site, page).partition('id="run-and-cite-this-page"')[2] for page in PAGES]
    keys = [re.findall(r"@(?:misc|techreport){([\w-]+)", end) for end in ends]
    assert all(len(found) == 1 for found in keys)
    assert len({key for (key,) in keys}) == len(PAGES)


def test_figures_have_a_title_and_a_description(site: Path) -> None:
    """Each figure is an SVG that names and describes itself, in colours the page can set."""
    figures = [f for page in PAGES for f in re.findall(r"<figure>.*?</figure>", _html(site, page))]
    assert len(figures) >= 2
    for figure in figures:
        assert re.search(r"<title id=[^>]+>\w", figure)
        assert re.search(r"<desc id=[^>]+>\w", figure)
        assert "var(--figure-" in figure
    raster = [path.name for ending in ("png", "jpg", "webp") for path in site.rglob(f"*.{ending}")]
    assert raster == ["favicon.png"]


def test_derivations_are_shown_step_by_step(site: Path) -> None:
    """The records stand on their pages, each step with an address under the record's tag."""
    for page, tag in (("guide/z-form/index.html", "ZFRM"), ("guide/scaling/index.html", "VDOT")):
        steps = re.findall(rf'class="equation" id="{tag}-[a-z-]+"', _html(site, page))
        assert len(steps) >= 5


def test_the_pages_of_the_first_release_stand_where_they_stood() -> None:
    """The addresses that were given out once: a page may be added, and none may go."""
    first = {"index.html", TYPICAL, "guide/scaling/index.html", "cite/index.html", "d/index.html"}
    first |= {f"d/{tag}/index.html" for tag in ("ZFRM", "VDOT", "VSCL")}
    assert first <= set(PAGES)


def test_every_derivation_is_listed(site: Path) -> None:
    """The list of derivations leads to the page of each record."""
    listed = re.findall(r'href="(\w{4})/"', _html(site, "d/index.html"))
    assert listed == [record.tag for record in RECORDS]
    assert {f"d/{tag}/index.html" for tag in listed} <= set(PAGES)


def test_published_address_is_one_setting(site: Path) -> None:
    """Without it, no page names an address of its own, and nothing is there that needs one."""
    html = "".join(_html(site, page) for page in PAGES)
    assert not re.search(r'rel="canonical"|property="og:|rss\+xml|Edit this page', html)
    absent = ("sitemap.xml", "sitemap.xml.gz", "feed.xml", "assets/cards")
    assert not [name for name in absent if (site / name).exists()]


def test_search_index_holds_what_is_sought(site: Path) -> None:
    """Of a derivation the statement is found and not its steps; of no page how it is cited."""
    docs = json.loads((site / "search/search_index.json").read_text(encoding="utf-8"))["docs"]
    places = {entry["location"] for entry in docs}
    assert {"d/ONLN/", "d/ONLN/#check-it-and-use-it", "contract/#order", "errata/"} <= places
    anchors = {place.partition("#")[2] for place in places if place.startswith("d/ONLN/")}
    assert not anchors & {"symbols", "definitions", "steps", "refused", "sources"}
    assert not [place for place in places if place.endswith(("#cite-this", "-cite-this-page"))]


def test_search_index_holds_no_latex(site: Path) -> None:
    """Titles and texts show formulas as they are seen; code keeps its backslashes."""
    docs = json.loads((site / "search/search_index.json").read_text(encoding="utf-8"))["docs"]
    assert "Why divide by √dk" in [entry["title"] for entry in docs]
    for entry in docs:
        text = re.sub(r"<code>.*?</code>", "", entry["title"] + entry["text"], flags=re.DOTALL)
        assert not re.search(r"\\[a-zA-Z(\[]", text), entry["location"]
