"""What a page is called and what it is for, as plain text."""

import html
import re
from dataclasses import dataclass

from sitebuild.equations import as_text

LONG = 200  # characters: lists of results show no more
FORMULA = re.compile(r"\$([^$]+)\$")
HEADING = re.compile(r"^# (?P<title>.+)\n+(?P<first>(?:.+\n?)*)", re.MULTILINE)


@dataclass(frozen=True)
class Document:
    """A page ready for any Markdown renderer."""

    markdown: str
    title: str
    description: str


def document(markdown: str) -> Document:
    """Return a page that is Markdown already."""
    return Document(markdown, title(markdown), summary(markdown))


def heading(markdown: str) -> str:
    """Return a page's heading as it is written, or nothing where there is none."""
    found = HEADING.search(markdown)
    return found["title"].strip() if found else ""


def title(markdown: str) -> str:
    """Return a page's heading as it is seen, its formulas too."""
    written = FORMULA.sub(r"\\(\1\\)", heading(markdown))
    return html.unescape(as_text(html.escape(written, quote=False)))


def summary(markdown: str) -> str:
    """Return what the paragraph below a page's heading says first: what the page is for."""
    found = HEADING.search(markdown)
    without_links = re.sub(r"\[([^]]+)\]\([^)]*\)", r"\1", found["first"] if found else "")
    plain = re.sub(r"\s+", " ", re.sub(r"[*`$\\{}]", "", without_links)).strip()
    first, *sentences = re.split(r"(?<=[.!?]) ", plain)
    for sentence in sentences:
        if len(first) + len(sentence) >= LONG:
            break
        first = f"{first} {sentence}"
    return first
