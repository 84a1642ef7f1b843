"""A page and the record of its run → Markdown, in which each output stands below its code."""

import re
from pathlib import Path
from textwrap import indent
from typing import Any

from sitebuild import colophon, describe, provenance, relations, rules
from sitebuild.describe import Document
from sitebuild.memory import Record
from sitebuild.script import INLINE, Cell, PageError, read

OUTPUT = "{ .text .output .no-copy }"


def convert(
    page: Path,
    record: Record,
    *,
    commit: str = "",
    url: str = "",
    derivation: dict[str, Any] | None = None,
) -> Document:
    """Set the page's prose, code and outputs as Markdown, and its colophon at the end."""
    cells = read(page)
    parts = [_cell(cell, events) for cell, events in zip(cells, record["cells"], strict=True)]
    body = "\n\n".join(part for part in parts if part)
    prose = "\n\n".join(p for c, p in zip(cells, parts, strict=True) if c.kind == "markdown")
    title = describe.heading(prose)
    if not title:
        raise PageError(page, None, "has no heading `# …` to be cited by")
    around = relations.markdown(derivation["relations"]) if derivation else ""
    made_from = provenance.of(page, record, commit)
    end = colophon.markdown(made_from, title, url, derivation)
    whole = "\n\n".join(part for part in (body, around, end) if part)
    return Document(whole, describe.title(prose), describe.summary(prose))


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
