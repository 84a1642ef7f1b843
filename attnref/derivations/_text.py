"""A record as plain text, for the terminal."""

from collections.abc import Iterator
from importlib.metadata import version
from textwrap import fill
from typing import TYPE_CHECKING

from attnref.derivations._printing import plain, plain_words
from attnref.derivations._verify import verify

if TYPE_CHECKING:
    from attnref.derivations._record import Law, Record, Source, Variant
    from attnref.derivations._verify import Verdict

__all__ = ["citation", "evidence", "proof", "status", "text"]


def citation(record: "Record") -> str:
    """Name the package, the tag, the version and the hash of the statement."""
    return (
        f"attnref, derivation {record.tag}, version {version('attnref')}, "
        f"statement {record.fingerprint}"
    )


def status(verdict: "Verdict", sizes: str) -> str:
    """Say what the check has shown."""
    if not verdict.proved:
        return "✗ not proved"
    if not verdict.general:
        return "✓ proved at the sizes written"
    return f"✓ proved for all {sizes}" if sizes else "✓ proved"


def evidence(source: "Source") -> str:
    """Say whether somebody has looked the place up."""
    return (
        "seen in a transcription" if source.checked else "from memory, not checked against the work"
    )


def text(record: "Record") -> str:
    """Lay a record out in lines of at most 100 characters, but for long formulas."""
    blocks = [_head(record), _words(record.summary), f"    {plain(record.statement)}"]
    for title, lines in _sections(record):
        if block := "\n".join(lines):
            blocks.append(f"{title}\n{block}")
    if record.remark:
        blocks.append(_words(record.remark))
    blocks.append(f"Cite: {citation(record)}")
    if failures := verify(record).failures:
        blocks.append("\n".join(failures))
    return "\n\n".join(blocks)


def proof(record: "Record") -> str:
    """Lay out the steps alone."""
    return "\n\n".join([_head(record), "\n".join(_steps(record))])


def _head(record: "Record") -> str:
    verdict = verify(record)
    sizes = ", ".join(map(plain, verdict.sizes))
    return f"{record.tag} · {record.title} · {status(verdict, sizes)}"


def _sections(record: "Record") -> Iterator[tuple[str, Iterator[str]]]:
    yield "Symbols", _symbols(record)
    yield "Definitions", (_law(record, law) for law in record.definitions)
    yield "Assumptions", (_law(record, law) for law in record.assumptions)
    yield (
        "From other records",
        (_law(record, law) for law in record.laws if _is_quoted(record, law)),
    )
    yield "Steps", _steps(record)
    yield "Refused", (_variant(record, variant) for variant in record.variants)
    yield "Sources", (f"    {s.work}, {s.locator} ({evidence(s)})" for s in record.sources)


def _symbols(record: "Record") -> Iterator[str]:
    for quantity in record.symbols:
        symbol = f"{plain(quantity.symbol)} {plain_words(quantity.domain)}".strip()
        yield f"    {symbol:<16} {plain_words(quantity.meaning)}"


def _law(record: "Record", law: "Law") -> str:
    equalities = ",  ".join(map(plain, law.equalities))
    used = ", ".join(step.name for step in record.steps if law.name in step.using)
    return f"    {equalities}\n{_words(f'{law.name}: {law.words}; used in: {used}', 8)}"


def _is_quoted(record: "Record", law: "Law") -> bool:
    return law not in record.definitions + record.assumptions


def _steps(record: "Record") -> Iterator[str]:
    yield f"    {plain(record.statement.lhs)}"
    for number, step in enumerate(record.steps, start=1):
        using = f" [{', '.join(step.using)}]" if step.using else ""
        yield f"{number:>4}. = {plain(step.expression)}"
        yield _words(f"{step.name}: {step.reason}{using}", 8)


def _variant(record: "Record", variant: "Variant") -> str:
    withheld = f" without {', '.join(variant.withheld)}" if variant.withheld else ""
    wrong = "" if variant.expression is None else f"    {plain(variant.expression)}\n"
    return wrong + _words(f"{variant.name} (step {variant.step}{withheld}): {variant.why}", 8)


def _words(words: str, indent: int = 0) -> str:
    return fill(
        plain_words(words), 100, initial_indent=" " * indent, subsequent_indent=" " * indent
    )
