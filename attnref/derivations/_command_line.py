"""The commands of `python -m attnref`: what each prints, and the exit code it leaves."""

import argparse
import io
import json
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from typing import Any

from attnref.derivations import RECORDS, Record, Verdict, get, verify
from attnref.derivations._citing import FORMATS, cite
from attnref.derivations._latex import source
from attnref.derivations._printing import plain
from attnref.derivations._register import register, since, why_not, withdrawal
from attnref.derivations._text import status
from attnref.derivations._verify import Result

__all__ = ["main"]

_SCHEMA = """\
--json prints one object:
  attnref    the version
  proved     whether every record is
  seconds    for all
  records    a list of objects:
    tag, title, statement (its fingerprint), status (in words), proved, seconds
    steps      a list of {name, good: proved, outcome, detail}
    variants   a list of {name, good: refused, outcome, detail}
    problems   a list of sentences: what else is wrong with the record
"""
_CODES = "exit code: 0 unchanged, 1 changed or withdrawn since, 2 unknown hash or tag"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code, 2 for a wrong call."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")  # a pipe on Windows knows no Σ otherwise
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        return int(options.run(options))
    except ValueError as error:
        parser.error(str(error))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m attnref", description="Checked derivations.")
    names = "list | show | verify | cite | check-citation"
    commands = parser.add_subparsers(required=True, metavar=names)
    commands.add_parser("list", help="tags and titles").set_defaults(run=_list)
    show = _command(commands, "show", "one derivation, step by step, checked as it is shown")
    show.add_argument("--latex", action="store_true", help="its formulas as LaTeX source")
    check = commands.add_parser(
        "verify",
        help="check derivations; exit code 1 if one fails",
        epilog=_SCHEMA,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    check.add_argument("tags", nargs="*", metavar="TAG", help="all of them unless given")
    check.add_argument("--json", action="store_true", help="for programs: see below")
    check.set_defaults(run=_verify)
    quote = _command(commands, "cite", "a reference to a derivation as it stands here")
    quote.add_argument("--format", choices=FORMATS, default="text", help="text unless given")
    quote.add_argument("--site", default="", metavar="URL", help="where the site is published")
    compare = _command(commands, "check-citation", "what became of a statement that was cited")
    compare.add_argument("hash", metavar="HASH", help="the statement's, twelve digits")
    compare.epilog = _CODES
    return parser


def _command(commands: Any, name: str, does: str) -> argparse.ArgumentParser:
    """Add a command for one tag."""
    parser: argparse.ArgumentParser = commands.add_parser(name, help=does)
    parser.add_argument("tag", metavar="TAG", help="four characters, ZFRM say")
    runs = {"show": _show, "cite": _cite, "check-citation": _check_citation}
    parser.set_defaults(run=runs[name])
    return parser


def _list(_: argparse.Namespace) -> int:
    for record in RECORDS:
        print(f"{record.tag}  {record.title}")
    return 0


def _show(options: argparse.Namespace) -> int:
    record = get(options.tag)
    print(source(record) if options.latex else record)
    return 0


def _cite(options: argparse.Namespace) -> int:
    print(cite(get(options.tag), options.format, site=options.site))
    return 0


def _check_citation(options: argparse.Namespace) -> int:
    tag, cited = options.tag.upper(), options.hash.lower()
    if tag not in register():
        raise ValueError(why_not(tag, register(), register()))
    entry = register()[tag]
    later = since(entry, cited)
    if later is None:
        known = ", ".join(f"{s.fingerprint} ({s.version})" for s in entry.statements)
        print(f"{tag} {cited}: unknown; {tag} has had {known}")
        return 2
    for statement in later:
        print(f"{tag} {cited}: changed in version {statement.version}, {statement.note}")
    if entry.tombstone:
        print(f"{tag} {cited}: {withdrawal(entry.tombstone)}")
    elif not later:
        print(f"{tag} {cited}: unchanged in version {version('attnref')}")
    return 1 if later or entry.tombstone else 0


def _verify(options: argparse.Namespace) -> int:
    records = [get(tag) for tag in options.tags] or RECORDS
    verdicts = [verify(record) for record in records] if options.json else list(_watched(records))
    proved, seconds = sum(v.proved for v in verdicts), sum(v.seconds for v in verdicts)
    if options.json:
        found = [_as_data(record, v) for record, v in zip(records, verdicts, strict=True)]
        whole = {"attnref": version("attnref"), "proved": proved == len(records)}
        print(json.dumps(whole | {"seconds": seconds, "records": found}, ensure_ascii=False))
    else:
        print(f"{proved} of {len(records)} derivations proved, {seconds:.1f} s")
    return 0 if proved == len(records) else 1


def _watched(records: Sequence[Record]) -> Iterator[Verdict]:
    """Check one record after the other, and say so: its name before, the rest after."""
    width = max(len(record.title) for record in records)
    for record in records:
        print(f"{record.tag}  {record.title:<{width}}  ", end="", flush=True)
        verdict = verify(record)
        steps, variants = _count(verdict.steps), _count(verdict.variants)
        print(f"{_status(verdict)}; {steps} steps, {variants} refused, {verdict.seconds:.1f} s")
        for failure in verdict.failures:
            print(f"      {failure}")
        yield verdict


def _count(results: Sequence[Result]) -> str:
    return f"{sum(result.good for result in results)} of {len(results)}"


def _status(verdict: Verdict) -> str:
    return status(verdict, ", ".join(map(plain, verdict.sizes)))


def _as_data(record: Record, verdict: Verdict) -> dict[str, Any]:
    return {
        "tag": record.tag,
        "title": record.title,
        "statement": record.fingerprint,
        "status": _status(verdict),
        "proved": verdict.proved,
        "seconds": round(verdict.seconds, 3),
        "steps": list(map(_result, verdict.steps)),
        "variants": list(map(_result, verdict.variants)),
        "problems": list(verdict.problems),
    }


def _result(result: Result) -> dict[str, Any]:
    finding = result.finding
    return {
        "name": result.name,
        "good": result.good,
        "outcome": finding.outcome.value,
        "detail": finding.detail,
    }
