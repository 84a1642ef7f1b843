"""Every link of the built site leads somewhere: its address answers, its fragment is an id there.

The pages are asked of a server and followed from link to link. What leads to other sites is listed
and not followed. Of the programs that do this, LinkChecker 10.6 and linkinator 7.6 pass over broken
fragments, each over other ones, and hyperlink 5.0 brings 400 packages along.
"""

import json
import re
import urllib.error
import urllib.request
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import pytest

LINKING = ("action", "data", "href", "poster", "src")
IN_CSS = re.compile(r"""url\(["']?([^"')]+)""")
CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
IN_TEXT = re.compile(r"\]\(([^)\s]+)\)|<(?:loc|link|guid[^>]*)>([^<]+)<")
INDEX = "search/search_index.json"
BESIDE = ("404.html", "feed.xml", "llms.txt", "sitemap.xml", INDEX)

# The sites that ours leads to. A new one is written down, so that it is never one by mistake.
HOSTS = {
    "arxiv.org",
    "creativecommons.org",
    "crfm.stanford.edu",
    "docs.python.org",
    "doi.org",
    "example.org",  # where a page is edited, in the build that is checked
    "github.com",
    "jalammar.github.io",
    "numpy.org",
    "pytorch.org",
}

pytestmark = pytest.mark.xdist_group("links")  # the site is read once


class Answer(NamedTuple):
    """What the server answers: the kind of file, where its links lead, and the ids it has."""

    kind: str
    links: tuple[str, ...]
    ids: frozenset[str]


class Page(HTMLParser):
    """The ids of a page and all that it names by an address."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the id, the links, and an address that stands as data in the head."""
        found = {name: value or "" for name, value in attrs}
        self.ids |= {found[name] for name in ("id", "name") if name in found and tag != "meta"}
        self.links += [found[name] for name in LINKING if name in found]
        self.links += [part.split()[0] for part in found.get("srcset", "").split(",") if part]
        if tag == "meta" and re.match("https?:", found.get("content", "")):
            self.links.append(found["content"])


@cache
def ask(url: str) -> Answer | None:
    """Ask for a file of our own server; there is nothing where it doesn't answer."""
    try:
        with urllib.request.urlopen(url) as answer:  # noqa: S310  # the server of the checks
            kind, body = answer.headers.get_content_type(), answer.read()
    except urllib.error.HTTPError:
        return None
    if kind == "text/html":
        page = Page(body.decode())
        return Answer(kind, tuple(page.links), frozenset(page.ids))
    return Answer(kind, tuple(named(url, kind, body)), frozenset())


def named(url: str, kind: str, body: bytes) -> list[str]:
    """Return the addresses in what is no page: styles, Markdown, a feed, what search finds."""
    if kind == "text/css":
        return IN_CSS.findall(body.decode())
    if kind in ("text/markdown", "text/plain", "text/xml", "application/xml"):
        return ["".join(found) for found in IN_TEXT.findall(CODE.sub("", body.decode()))]
    if url.endswith(INDEX):
        return [f"../{entry['location']}" for entry in json.loads(body)["docs"]]
    return []


@pytest.fixture(scope="session")
def links(address: str) -> dict[str, set[str]]:
    """Return every address that the site names, and the files that name it."""
    named_by: dict[str, set[str]] = {address + name: set() for name in ("", *BESIDE)}
    waiting = [*named_by]
    while waiting:
        here = waiting.pop()
        answer = ask(urldefrag(here).url) if here.startswith(address) else None
        for there in {urljoin(here, link) for link in answer.links} if answer else ():
            if there not in named_by:
                waiting.append(there)
            named_by.setdefault(there, set()).add(urldefrag(here).url)
    return {there: files for there, files in named_by.items() if not there.startswith("data:")}


def leads_somewhere(link: str) -> bool:
    """Say whether the server answers, and has what stands after the # as an id of that page."""
    url, fragment = urldefrag(link)
    answer = ask(url)
    whole = not fragment or (answer and answer.kind != "text/html")
    return bool(answer and (whole or unquote(fragment) in answer.ids))


def test_links_within_the_site_lead_somewhere(links: dict[str, set[str]], address: str) -> None:
    """No link is dead: of a page, of its Markdown, of a style sheet, of what search finds."""
    ours = {link for link in links if link.startswith(urljoin(address, "/"))}
    dead = [f"{link} in {min(links[link])}" for link in ours if not leads_somewhere(link)]
    assert len(ours) > 2000
    assert not dead, "\n".join(sorted(dead))


def test_every_page_is_led_to(links: dict[str, set[str]], address: str, site: Path) -> None:
    """Whoever starts at the first page and only follows links can come to any other."""
    led_to: set[str] = set()
    waiting = {address}
    while waiting:
        led_to |= waiting
        answers = [(here, ask(here)) for here in waiting]
        found = {urljoin(here, link) for here, answer in answers if answer for link in answer.links}
        waiting = {urldefrag(link).url for link in found & links.keys()} - led_to
        waiting = {url for url in waiting if url.startswith(address) and url.endswith("/")}
    folders = {path.parent.relative_to(site).as_posix() for path in site.rglob("index.html")}
    assert {address + f"{folder}/".removeprefix("./") for folder in folders} == led_to


def test_other_sites_are_those_that_are_listed(links: dict[str, set[str]], address: str) -> None:
    """What leaves the site goes over https, to a host that is known."""
    leaving = {link for link in links if not link.startswith(urljoin(address, "/"))}
    print(*sorted(leaving), sep="\n")
    assert {urlsplit(link).scheme for link in leaving} == {"https"}
    assert {urlsplit(link).hostname for link in leaving} == HOSTS
