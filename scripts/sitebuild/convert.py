"""A page and the record of its run → Markdown, in which each output stands below its code."""

import html
import re
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent
from typing import Any

from sitebuild import colophon, relations, rules
from sitebuild.equations import as_text
from sitebuild.memory import Record
from sitebuild.script import INLINE, Cell, PageError, read

FORMULA = re.compile(r"\$([^$]+)\$")
OUTPUT = "{ .text .output .no-copy }"


@dataclass(frozen=True)
class Document:
    """A page ready for any Markdown renderer."""

    markdown: str
    description: str
    title: str


def convert(
    page: Path, record: Record, *, url: str = "", derivation: dict[str, Any] | None = None
) -> Document:
    """Set the page's prose, code and outputs as Markdown, and its colophon at the end."""
    cells = read(page)
    parts = [_cell(cell, events) for cell, events in zip(cells, record["cells"], strict=True)]
    body = "\n\n".join(part for part in parts if part)
    prose = (part for cell, part in zip(cells, parts, strict=True) if cell.kind == "markdown")
    title, description = _title("\n\n".join(prose))
    if not title:
        raise PageError(page, None, "has no heading `# …` to be cited by")
    around = relations.markdown(derivation["relations"]) if derivation else ""
    end = colophon.markdown(page, title, record["versions"], url, derivation)
    whole = "\n\n".join(part for part in (body, around, end) if part)
    return Document(whole, description, _seen(title))


def fence(text: str, info: str) -> str:
    """Return a fenced block whose fence is longer than any run of backquotes inside."""
    longest = max(map(len, re.findall(r"`+", text)), default=0)
    marks = "`" * max(3, longest + 1)
    return f"{marks}{info}\n{text.rstrip()}\n{marks}"


def _cell(cell: Cell, events: list[rules.Event]) -> str:
    if cell.kind == "markdown":
        values = iter(event["text"] for event in events)
        return INLINE.sub(lambda _: next(values), cell.source)
    code = [] if "hide-input" in cell.tags else [_code(cell)]
    outputs = [] if "hide-output" in cell.tags else [_output(event) for event in events]
    return "\n\n".join([*code, *outputs])


def _code(cell: Cell) -> str:
    code = fence(cell.source, "python")
    return f'??? quote "Code"\n\n{indent(code, 4 * " ")}' if "fold-input" in cell.tags else code


def _output(event: rules.Event) -> str:
    if event["kind"] == "display":
        return _display(event["data"])
    return fence(event["summary"] if event["kind"] == "error" else event["text"], OUTPUT)


def _display(data: dict[str, str]) -> str:
    mime = rules.richest(data)
    form = data[mime].strip()
    if mime == "text/plain":
        return fence(form, OUTPUT)
    if mime == "image/svg+xml":
        return f"<figure>{form}</figure>"
    return form


def _title(body: str) -> tuple[str, str]:
    """Return the page's heading, and the paragraph that follows it as plain text."""
    heading = re.search(r"^# (?P<title>.+)\n+(?P<first>(?:.+\n?)+)", body, re.MULTILINE)
    if not heading:
        return "", ""
    return heading["title"].strip(), _plain(heading["first"])


def _seen(title: str) -> str:
    """Return a heading as it is seen, its formulas too."""
    return html.unescape(as_text(html.escape(FORMULA.sub(r"\\(\1\\)", title), quote=False)))


def _plain(markdown: str) -> str:
    without_links = re.sub(r"\[([^]]+)\]\([^)]*\)", r"\1", markdown)
    return re.sub(r"\s+", " ", re.sub(r"[*`$\\{}]", "", without_links)).strip()
