"""The register: every tag that was ever given, what it has claimed, and what became of it.

register.toml says what its lines mean. A tag is never taken away, renamed or used again.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = ["Entry", "Statement", "Tombstone", "read", "register", "since", "why_not", "withdrawal"]

_REGISTRATION = {"tag", "date", "version", "statement", "title"}
_CHANGE = {"tag", "date", "version", "statement", "note"}
_WITHDRAWAL = {"tag", "date", "version", "withdrawn"}


@dataclass(frozen=True)
class Statement:
    """What a tag claims from a version on; note: how it differs from what was claimed before."""

    fingerprint: str
    version: str
    date: date
    note: str = ""


@dataclass(frozen=True)
class Tombstone:
    """Why a tag was withdrawn, in which version, and which tag took its place, if one did."""

    reason: str
    successor: str
    version: str
    date: date


@dataclass(frozen=True)
class Entry:
    """All that is registered of a tag; title: as it was when the tag was given."""

    tag: str
    title: str
    statements: tuple[Statement, ...]
    tombstone: Tombstone | None = None


@cache
def register() -> dict[str, Entry]:
    """Return what is registered, by tag, in the order in which the tags were given."""
    return read(files("attnref.derivations").joinpath("register.toml").read_text(encoding="utf-8"))


def read(text: str) -> dict[str, Entry]:
    """Read a register, and refuse one with a line that can't follow those before it."""
    entries: dict[str, Entry] = {}
    for number, line in enumerate(tomllib.loads(text)["register"], start=1):
        try:
            entry = _next(entries, line)
        except ValueError as error:
            tag = line.get("tag", "no tag")
            raise ValueError(f"line {number} of the register ({tag}) {error}") from None
        entries[entry.tag] = entry
    return entries


def since(entry: Entry, fingerprint: str) -> tuple[Statement, ...] | None:
    """Return the statements that came after the one with this fingerprint; None if none has it."""
    claims = [statement.fingerprint for statement in entry.statements]
    if fingerprint not in claims:
        return None
    return entry.statements[len(claims) - claims[::-1].index(fingerprint) :]


def why_not(tag: str, known: Iterable[str], entries: Mapping[str, Entry]) -> str:
    """Say why no derivation has this tag: it was withdrawn, or never given."""
    entry = entries.get(tag.upper())
    if entry and entry.tombstone:
        return f"{entry.tag} ({entry.title}) was {withdrawal(entry.tombstone)}"
    near = get_close_matches(tag.upper(), known, n=1, cutoff=0.5)
    meant = f"did you mean {near[0]}? " if near else ""
    return f"no derivation has the tag {tag!r}; {meant}`python -m attnref list` names all"


def withdrawal(stone: Tombstone) -> str:
    """Say when, why, and what follows."""
    next_tag = f"{stone.successor} took its place" if stone.successor else "nothing took its place"
    return f"withdrawn in version {stone.version}, {stone.date}: {stone.reason}; {next_tag}"


def _next(entries: Mapping[str, Entry], line: dict[str, Any]) -> Entry:
    """Return the entry of a line's tag as the line leaves it."""
    keys = set(line)
    _check_values(line)
    if keys == _REGISTRATION:
        return _registered(entries, line)
    if keys != _CHANGE and keys - {"successor"} != _WITHDRAWAL:
        kinds = "; ".join(", ".join(sorted(kind)) for kind in (_REGISTRATION, _CHANGE, _WITHDRAWAL))
        raise ValueError(f"has the keys {', '.join(sorted(keys))}; a line has {kinds}, successor")
    entry = entries.get(line["tag"])
    if entry is None:
        raise ValueError("changes a tag that is not registered above")
    if entry.tombstone:
        raise ValueError("changes a tag that is withdrawn, where nothing changes any more")
    return _changed(entry, line) if keys == _CHANGE else _withdrawn(entries, entry, line)


def _check_values(line: dict[str, Any]) -> None:
    if not isinstance(line.get("date"), date):
        raise ValueError("has no date written 2026-11-30, without quotes")
    for key, value in line.items():
        if key != "date" and not (isinstance(value, str) and value.strip()):
            raise ValueError(f"has {key} = {value!r}, which is no text")
    if not re.fullmatch("[A-Z0-9]{4}", line.get("tag", "")):
        raise ValueError("needs a tag of four characters, A to Z and 0 to 9")
    if not re.fullmatch("[0-9a-f]{12}", line.get("statement", "0" * 12)):
        raise ValueError("needs a statement of twelve hexadecimal digits")


def _registered(entries: Mapping[str, Entry], line: dict[str, Any]) -> Entry:
    if line["tag"] in entries:
        raise ValueError("registers a tag that is given already: no tag is used twice")
    return Entry(line["tag"], line["title"], (_statement(line),))


def _changed(entry: Entry, line: dict[str, Any]) -> Entry:
    if not re.match(r"(reworded|corrected): \S", line["note"]):
        raise ValueError('needs a note that begins with "reworded: " or "corrected: "')
    return replace(entry, statements=(*entry.statements, _statement(line)))


def _statement(line: dict[str, Any]) -> Statement:
    return Statement(line["statement"], line["version"], line["date"], line.get("note", ""))


def _withdrawn(entries: Mapping[str, Entry], entry: Entry, line: dict[str, Any]) -> Entry:
    successor = line.get("successor", "")
    if successor == entry.tag or (successor and successor not in entries):
        raise ValueError(f"names a successor, {successor}, that is no other tag registered above")
    stone = Tombstone(line["withdrawn"], successor, line["version"], line["date"])
    return replace(entry, tombstone=stone)
