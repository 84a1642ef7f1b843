"""Read a page: a Python script in percent format, as jupytext defines it."""

import io
import re
import tokenize
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jupytext

# A comment that looks like a magic of IPython is a comment.
PERCENT = {"extension": ".py", "format_name": "percent", "comment_magics": False}
MARKER = re.compile(r"# ?%%")
INLINE = re.compile(r"`\{python\} (?P<expression>[^`]+)`")


class PageError(Exception):
    """A page that may not be published: says which, where, and why."""

    def __init__(self, page: Path | str, line: int | None, message: str) -> None:
        self.page = page
        place = f"{page}, line {line}" if line else str(page)
        super().__init__(f"{place}: {message}")


@dataclass(frozen=True)
class Cell:
    """A cell of prose or code, and the line of the script where its text starts."""

    kind: str
    source: str
    tags: frozenset[str]
    line: int

    @property
    def first_line(self) -> str:
        """What names the cell in a message: its first line with anything on it."""
        return next((line for line in self.source.splitlines() if line.strip()), "")

    @property
    def expressions(self) -> list[str]:
        """What prose takes from the code, written `{python} expression` in backquotes."""
        return INLINE.findall(self.source) if self.kind == "markdown" else []


def pages(docs: Path) -> list[Path]:
    """Return the pages under a folder: every script that belongs to no package."""
    return [p for p in sorted(docs.rglob("*.py")) if not (p.parent / "__init__.py").exists()]


def read(path: Path) -> tuple[Cell, ...]:
    """Read a page's cells; each knows the line below its marker."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise PageError(path, None, f"is not UTF-8 ({error})") from None
    notebook = jupytext.reads(text, fmt=PERCENT)
    lines = text.splitlines()
    cells = []
    for cell, line in zip(notebook.cells, _starts(path, text, len(notebook.cells)), strict=True):
        _check_marker(path, cell, line)
        if cell.cell_type == "markdown":
            _check_prose(path, cell.source, lines, line)
        tags = frozenset(cell.metadata.get("tags", ()))
        cells.append(Cell(cell.cell_type, cell.source, tags, line + 1))
    return tuple(cells)


def _check_marker(path: Path, cell: Any, line: int) -> None:
    """Refuse a marker that says what nobody reads."""
    unread = sorted(cell.metadata.keys() - {"tags", "lines_to_next_cell"})
    said = "[raw]" if cell.cell_type == "raw" else ", ".join(unread)
    if said:
        message = f"the marker of this cell says {said}, which means nothing here"
        raise PageError(path, line or None, message)


def _check_prose(path: Path, source: str, lines: list[str], line: int) -> None:
    """Refuse a value that would stay in the text as it is written, and code that would not run."""
    if source.count("{python}") != len(INLINE.findall(source)):
        raise PageError(path, line + 1, "a value is written `{python} expression`, on one line")
    for number, text in enumerate(lines[line : line + len(source.splitlines())], line + 1):
        if text.strip() and text[0] != "#":
            raise PageError(path, number, "code stands in a cell of prose: a `# %%` is missing")


def _starts(path: Path, text: str, cells: int) -> list[int]:
    """Return the index of the line below each marker; one inside a string is none."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError) as error:
        raise PageError(path, None, f"is not Python: {error}") from None
    comments = (token for token in tokens if token.type == tokenize.COMMENT and not token.start[1])
    markers = [token.start[0] for token in comments if MARKER.match(token.string)]
    return markers if len(markers) == cells else [0, *markers]
