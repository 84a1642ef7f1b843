"""Build the site in every way and print a table of what came of it; see `scripts/canary.py`."""

import argparse
import sys
import time
from pathlib import Path
from typing import NamedTuple

from builders import built, ways
from environment import remove
from lock import lock
from terminal import ROOT, Clock, Stop, guarded

HEADS = (
    "builder",
    "version",
    "result",
    "seconds",
    "pages",
    "formulas left as TeX",
    "broken links",
    "pages that differ",
)
TOLD = 5  # of the faults of one kind


class Row(NamedTuple):
    """What came of one way: why it ended early, or the pages and what is wrong with them."""

    name: str
    version: str
    seconds: float
    fault: str = ""
    pages: dict[str, built.Page] = {}  # noqa: RUF012  # nobody writes to it
    broken: list[str] = []  # noqa: RUF012
    differing: list[str] = []  # noqa: RUF012

    @property
    def formulas(self) -> int:
        """The number of formulas that are LaTeX yet."""
        return sum(page.formulas for page in self.pages.values())

    @property
    def foreign(self) -> list[str]:
        """What scripts would ask of other servers."""
        return sorted({address for page in self.pages.values() for address in page.foreign})

    @property
    def result(self) -> str:
        """The row in a word; `built` says that nothing is wrong."""
        if self.fault:
            return "failed"
        wrong = self.broken or self.differing or self.formulas or self.foreign
        return "built, with faults" if wrong else "built"

    def cells(self) -> list[str]:
        """Return the row of the table."""
        counts = (len(self.pages), self.formulas, len(self.broken), len(self.differing))
        shown = [""] * len(counts) if self.fault else map(str, counts)
        return [self.name, self.version, self.result, f"{self.seconds:.1f}", *shown]


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(prog="canary.py", description=__doc__.splitlines()[0])
    parser.add_argument("--executed", action="store_true", help="our mkdocs.yml with ProperDocs")
    parser.add_argument("--python", default="", help="a Python for mkdocs-jupyter 0.27")
    parser.add_argument("--newest", action="store_true", help="the newest versions to be had")
    options = parser.parse_args()
    with lock(ROOT, "canary"):
        rows = build_all(ways.ways(**vars(options)))
    print("\n".join([*filter(None, map(faults, rows)), table(rows)]))
    return 0 if all(row.result == "built" for row in rows) else 1


def build_all(all_ways: list[ways.Way]) -> list[Row]:
    """Build in each way; today's site, the first, is what the others are held against."""
    clock = Clock()
    remove(ways.SITES)
    ways.SITES.mkdir(parents=True)
    clock.say("writing the site as plain Markdown")
    ways.write_project()
    rows: list[Row] = []
    for way in all_ways:
        clock.say(f"building: {way.name}")
        rows.append(build(way, rows[0].pages if rows else {}))
    return rows


def build(way: ways.Way, today: dict[str, built.Page]) -> Row:
    """Build in one way and look at what was built."""
    site, version = ways.SITES / way.name.replace(" ", "-"), ""
    began = time.monotonic()
    try:
        python = way.environment()
        version, began = way.version(python), time.monotonic()
        way.build(python, site)
    except (Stop, OSError) as fault:
        return Row(way.name, version, time.monotonic() - began, str(fault))
    row = Row(way.name, version, time.monotonic() - began, pages=built.read(site))
    return compared(row, site, today or row.pages, partial=way.partial)


def compared(row: Row, site: Path, today: dict[str, built.Page], *, partial: bool) -> Row:
    """Return a row with what is wrong, seen from today's site."""
    differ = built.differing_in_part if partial else built.differing
    return row._replace(
        broken=built.broken(site, row.pages, today if partial else {}),
        differing=differ(row.pages, today),
    )


def faults(row: Row) -> str:
    """Return what is wrong with a way, a line each, or nothing."""
    kinds = {
        "broken link": row.broken,
        "differs": row.differing,
        "a script names another server": row.foreign,
    }
    lines = [f"  {kind}: {fault}" for kind, found in kinds.items() for fault in found[:TOLD]]
    lines += ["  " + line for line in row.fault.splitlines()[: 2 * ways.LAST]]
    return "\n".join([f"{row.name}:", *lines]) if lines else ""


def table(rows: list[Row]) -> str:
    """Return the table, in Markdown."""
    lines = [HEADS, ["---"] * len(HEADS), *(row.cells() for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    sys.exit(guarded(main))
