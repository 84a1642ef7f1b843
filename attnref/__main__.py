"""The derivations at the command line: `python -m attnref list | show TAG | verify [TAG …]`."""

import argparse
import io
import sys
from collections.abc import Sequence

from attnref.derivations import RECORDS, Record, get, verify


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0, 1 if a derivation fails, 2 for a wrong call."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")  # a pipe on Windows knows no Σ otherwise
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        records = [get(tag) for tag in options.tags] or RECORDS
    except ValueError as error:
        parser.error(str(error))
    if options.command == "verify":
        failed = [record.tag for record in records if not _verify(record)]
        return 1 if failed else 0
    for record in records:
        print(record if options.command == "show" else f"{record.tag}  {record.title}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m attnref", description="Checked derivations.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="list | show | verify")
    commands.add_parser("list", help="tags and titles").set_defaults(tags=[])
    show = commands.add_parser("show", help="one derivation, step by step, checked as it is shown")
    show.add_argument("tags", nargs=1, metavar="TAG", help="four characters, ZFRM say")
    check = commands.add_parser("verify", help="check derivations; exit code 1 if one fails")
    check.add_argument("tags", nargs="*", metavar="TAG", help="all of them unless given")
    return parser


def _verify(record: Record) -> bool:
    verdict = verify(record)
    steps, variants = (
        sum(result.good for result in results) for results in (verdict.steps, verdict.variants)
    )
    print(
        f"{record.tag}  {record.title:<30}  {steps:>2} of {len(verdict.steps):>2} steps proved, "
        f"{variants} of {len(verdict.variants)} variants refused, {verdict.seconds:.1f} s",
        flush=True,
    )
    for failure in verdict.failures:
        print(f"      {failure}")
    return verdict.proved


if __name__ == "__main__":
    sys.exit(main())
