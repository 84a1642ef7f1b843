"""llms.txt: what the site holds, as a list of its pages in Markdown."""

from collections.abc import Iterable
from typing import NamedTuple


class Entry(NamedTuple):
    """A page: where its Markdown is, what it is called and what it is for."""

    address: str
    title: str
    purpose: str


def text(name: str, purpose: str, sections: Iterable[tuple[str, list[Entry]]]) -> str:
    """Return the file: the site, then a list for each section that has pages."""
    lists = [f"## {title}\n\n{_list(entries)}" for title, entries in sections if entries]
    return "\n\n".join([f"# {name}", f"> {purpose}", *lists]) + "\n"


def _list(entries: list[Entry]) -> str:
    return "\n".join(f"- [{e.title}]({e.address}): {e.purpose}".rstrip(": ") for e in entries)
