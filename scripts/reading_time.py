"""Say how long each page of the guide takes to read.

.venv/bin/python scripts/reading_time.py    a table, in minutes

An estimate: 200 words of prose a minute, folded answers included; 12 lines of visible code; 10
seconds a displayed formula, half a minute a figure.
"""

import re
from pathlib import Path

from sitebuild import script

ROOT = Path(__file__).resolve().parents[1]
GUIDE = ROOT / "docs" / "guide"
HIDDEN = {"hide-input", "fold-input"}


def minutes(page: Path) -> float:
    """Return the minutes that a page takes."""
    cells = script.read(page)
    prose = "\n".join(cell.source for cell in cells if cell.kind == "markdown")
    code = [cell.source for cell in cells if cell.kind == "code" and not cell.tags & HIDDEN]
    figures = sum(cell.source.count("Figure(") + cell.source.count("WeightMap(") for cell in cells)
    words = len(re.findall(r"\w[\w'’.-]*", re.sub(r"\]\([^)]*\)", "", prose)))
    lines = sum(len(source.splitlines()) for source in code)
    return words / 200 + lines / 12 + prose.count("$$") / 2 / 6 + figures / 2


def main() -> None:
    """Print the table."""
    print("| page | minutes |\n|---|---:|")
    for page in script.pages(GUIDE):
        print(f"| {page.relative_to(ROOT)} | {minutes(page):.0f} |")


if __name__ == "__main__":
    main()
