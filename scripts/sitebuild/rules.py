"""What a page may show, and what only where its cell says so."""

import re
from pathlib import Path
from typing import Any

from sitebuild.script import Cell, PageError

Event = dict[str, Any]

RICH = ("text/markdown", "image/svg+xml", "text/html", "text/latex", "text/plain")
NOT_A_NUMBER = re.compile(r"(?<![\w.])[-+]?((?i:s?nan|inf)|Infinity|NaT)(?!\w)")
FOREIGN = re.compile(
    r"<(?:script|style|link|img|image|foreignObject|iframe|object|embed)\b|\son\w+\s*=\s*[\"']|!\[",
    re.IGNORECASE,
)
ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}\b", re.IGNORECASE)
TAGS = {
    "raises-exception": "an exception",
    "expect-stderr": "a warning or other text on standard error",
    "expect-nan": "NaN or inf",
    "expect-address": "an object's address",
}
KNOWN_TAGS = {*TAGS, "fold-input", "hide-input", "hide-output"}


def check(page: Path, cell: Cell, events: list[Event]) -> None:
    """Refuse a cell that shows what its tags don't announce, or announces what it does not show."""
    if unknown := cell.tags - KNOWN_TAGS:
        raise _refusal(page, cell, f"unknown tag {', '.join(sorted(unknown))}")
    shown = " ".join(map(text_of, events))
    found = {
        "raises-exception": _first(events, "error", "text"),
        "expect-stderr": _first(events, "stderr", "text"),
        "expect-nan": _match(NOT_A_NUMBER, shown),
        "expect-address": _match(ADDRESS, shown),
    }
    for tag, what in found.items():
        if what is not None and tag not in cell.tags:
            message = f"shows {TAGS[tag]}, and is not tagged {tag}\n{what}"
            raise _refusal(page, cell, message, _first(events, "error", "line"))
        if what is None and tag in cell.tags:
            raise _refusal(page, cell, f"is tagged {tag} and does not show {TAGS[tag]}")
    if cell.kind == "markdown" and any(event["kind"] != "value" for event in events):
        raise _refusal(
            page, cell, "is prose and takes values only: print and show in a cell of code"
        )
    for event in events:
        if event["kind"] == "display":
            _check_display(page, cell, event["data"])


def data_of(page: Path, record: dict[str, Any]) -> str | None:
    """Return what a page shows as data too, which stands beside it as JSON."""
    shown = (event.get("data", {}) for events in record["cells"] for event in events)
    found = [forms["application/json"] for forms in shown if "application/json" in forms]
    if len(found) > 1:
        raise PageError(page, None, f"shows {len(found)} things as data, and has one file")
    return found[0] if found else None


def text_of(event: Event) -> str:
    """Return what a reader sees of an event."""
    if event["kind"] == "display":
        return str(event["data"].get(richest(event["data"]), ""))
    return str(event["summary" if event["kind"] == "error" else "text"])


def richest(data: dict[str, str]) -> str:
    """Return the first form, in the order of RICH, that an object offers."""
    return next((mime for mime in RICH if mime in data), "")


def _check_display(page: Path, cell: Cell, data: dict[str, str]) -> None:
    mime = richest(data)
    raster = [form for form in data if form.startswith("image/") and form != "image/svg+xml"]
    if not mime or (mime == "text/plain" and raster):
        raise _refusal(page, cell, f"shows {', '.join(data)}; a figure must be SVG, never raster")
    if mime != "text/plain" and (foreign := FOREIGN.search(data[mime])):
        what = "a script, a raster image or foreign content"
        raise _refusal(page, cell, f"shows something with {what}: {foreign[0].strip()}")
    for svg in re.findall(r"<svg\b.*?</svg>", data[mime], re.DOTALL | re.IGNORECASE):
        for needed in ("<title", "<desc"):
            if not re.search(rf"{needed}\b[^>]*>\s*[^<\s]", svg):
                missing = f"shows an SVG without {needed}>, for those who can't see it"
                raise _refusal(page, cell, missing)


def _refusal(page: Path, cell: Cell, message: str, line: int | None = None) -> PageError:
    return PageError(page, line or cell.line, f"the cell «{cell.first_line}» {message}")


def _first(events: list[Event], kind: str, key: str) -> Any:
    return next((event[key] for event in events if event["kind"] == kind), None)


def _match(pattern: re.Pattern[str], text: str) -> str | None:
    found = pattern.search(text)
    return found and text[max(0, found.start() - 60) : found.end() + 20].strip()
