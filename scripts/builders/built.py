"""What is in a built site, whoever built it, and what is wrong with it."""

import re
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urljoin, urlsplit

from bs4 import BeautifulSoup, Tag

from sitebuild.equations import LEFT_RAW, REFERENCE, outside_code

# What stands in the text of a page for those who use the site, and that every builder words anew.
FURNITURE = ".headerlink, .beside, .md-content__button, .md-source-file, aside, form"
ORIGIN = "http://site.invalid/"  # an address to resolve others by; nothing is asked of it


COLOPHON = "Run and cite this page"
FORMULA = re.compile(r'<(?:div|span) class="arithmatex">.*?</(?:div|span)>', re.DOTALL)
MISSING = "not installed: pip install"
DATA = "application/ld+json"
ELSEWHERE = re.compile(r"https?://(?!www\.w3\.org/)[^\s\"'&<]+")


class Page(NamedTuple):
    """A page: what can be linked to in it, where it leads, what it says.

    And what is wrong with it by itself: its open formulas, and the addresses of others that its
    scripts know.
    """

    ids: frozenset[str]
    links: tuple[str, ...]
    words: str
    formulas: int
    foreign: tuple[str, ...]

    @property
    def body(self) -> "Page":
        """The page without its end, which says with which versions it ran."""
        return self._replace(words=self.words.partition(COLOPHON)[0])


def read(site: Path) -> dict[str, Page]:
    """Return the pages of a site by their addresses; the one for wrong addresses is none."""
    files = sorted(site.rglob("*.html"))
    return {_address(site, file): page(file.read_text("utf-8")) for file in files if _counts(file)}


def page(html: str) -> Page:
    """Take in one page."""
    soup = BeautifulSoup(html, "html.parser")
    ids = frozenset(str(tag["id"]) for tag in soup.find_all(id=True))
    found = (str(tag.get("href") or tag.get("src") or "") for tag in soup.find_all(True))
    links = tuple(link for link in found if link)
    scripts = [str(tag) for tag in soup.find_all("script") if tag.get("type") != DATA]
    foreign = tuple(address for script in scripts for address in ELSEWHERE.findall(script))
    return Page(ids, links, _words(soup), open_formulas(html), foreign)


def open_formulas(html: str) -> int:
    """Count what is LaTeX yet, or refers to an equation without a number."""
    found: list[str] = []

    def look(text: str) -> str:
        found.extend(FORMULA.findall(text))
        rest = FORMULA.sub("", text)
        found.extend(match[0] for raw in (LEFT_RAW, REFERENCE) for match in raw.finditer(rest))
        return text

    outside_code(html, look)
    return len(found)


def broken(site: Path, pages: dict[str, Page], elsewhere: dict[str, Page]) -> list[str]:
    """Return the links that lead to no file of the site, and to no page that may be elsewhere."""
    known = elsewhere | pages
    return [
        f"{address or '/'} → {link}"
        for address, page in pages.items()
        for link in dict.fromkeys(page.links)
        if not _leads_somewhere(site, known, urljoin(ORIGIN + address, link))
    ]


def differing(pages: dict[str, Page], others: dict[str, Page]) -> list[str]:
    """Return the addresses that say something else in the other site, or are in one site only."""
    addresses = sorted(pages.keys() | others.keys())
    return [a or "/" for a in addresses if _said(pages, a) != _said(others, a)]


def differing_in_part(pages: dict[str, Page], others: dict[str, Page]) -> list[str]:
    """Return the addresses in this site that say something else in the other, or are not there.

    Neither the end of a page counts, nor a page that says itself what it misses.
    """
    told = {a: page.body for a, page in pages.items() if MISSING not in page.words}
    return differing(told, {a: others[a].body for a in told if a in others})


def _said(pages: dict[str, Page], address: str) -> str | None:
    return pages[address].words if address in pages else None


def _words(soup: BeautifulSoup) -> str:
    text = soup.find("article")
    if not isinstance(text, Tag):
        return ""
    for furniture in text.select(FURNITURE):
        furniture.decompose()
    return re.sub(r"\s+", " ", text.get_text()).strip()


def _leads_somewhere(site: Path, pages: dict[str, Page], link: str) -> bool:
    if not link.startswith(ORIGIN):
        return True
    parts = urlsplit(link)
    address = unquote(parts.path).removeprefix("/").removesuffix("index.html")
    if address in pages:
        fragment = unquote(parts.fragment)
        return not fragment or fragment in pages[address].ids
    return (site / address).is_file()


def _counts(file: Path) -> bool:
    return file.name != "404.html"


def _address(site: Path, file: Path) -> str:
    return file.relative_to(site).as_posix().removesuffix("index.html")
