"""Count the slips of a pen that the check of the derivations refuses.

    .venv/bin/python scripts/kill_rate.py [TAG…]

Every step of every record is put wrong in every small way that the tests know: a term dropped, a
sign flipped, a ratio inverted, an index swapped, a shift dropped, a constant changed. What the
check still proves survives; the tests hold each survivor against a list of those that change no
value, with a reason.
"""

import sys
from pathlib import Path

from attnref.derivations import RECORDS, Record, get

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))

from slips import slips, survivors


def main(tags: list[str]) -> None:
    """Print slips and survivors of each record, and the rate of all."""
    counts = [_count(record) for record in map(get, tags)] if tags else [*map(_count, RECORDS)]
    made, survived = (sum(column) for column in zip(*counts, strict=True))
    print(f"{made - survived} of {made} slips refused; {survived} survive")


def _count(record: Record) -> tuple[int, int]:
    made = sum(len([*slips(record, line.step.expression)]) for line in record.lines)
    survived = sum(len(survivors(record, line)) for line in record.lines)
    print(f"{record.tag}  {made:5} slips, {survived} survive", flush=True)
    return made, survived


if __name__ == "__main__":
    main(sys.argv[1:])
