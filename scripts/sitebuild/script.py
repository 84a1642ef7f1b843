"""Read a page: a Python script in percent format, as jupytext defines it."""

import re
from dataclasses import dataclass
from pathlib import Path

import jupytext

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


def read(path: Path) -> tuple[Cell, ...]:
    """Read a page's cells; each knows its line, found by walking through the script."""
    text = path.read_text(encoding="utf-8")
    notebook = jupytext.reads(text, fmt="py:percent")
    lines = text.splitlines()
    cells, line = [], 0
    for cell in notebook.cells:
        line = _next_cell(lines, line, cell.source)
        tags = frozenset(cell.metadata.get("tags", ()))
        cells.append(Cell(cell.cell_type, cell.source, tags, line + 1))
    return tuple(cells)


def _next_cell(lines: list[str], start: int, source: str) -> int:
    """Return the index of the line where the cell's text starts, at or after a cell marker."""
    marker = next((i for i in range(start, len(lines)) if lines[i].startswith("# %%")), start)
    texts = source.splitlines()
    blank = next((n for n, text in enumerate(texts) if text.strip()), None)
    if blank is None:
        return marker
    matches = (i for i in range(marker, len(lines)) if _bare(lines[i]) == _bare(texts[blank]))
    return next(matches, marker) - blank


def _bare(line: str) -> str:
    return line.strip().lstrip("# ")
