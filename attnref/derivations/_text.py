"""A record as plain text, for the terminal."""

from collections.abc import Iterator
from textwrap import fill
from typing import TYPE_CHECKING

from attnref.derivations._citing import cite
from attnref.derivations._printing import latex, plain, plain_words
from attnref.derivations._verify import verify

if TYPE_CHECKING:
    from attnref.derivations._record import Law, Record, Source, Variant
    from attnref.derivations._verify import Verdict

__all__ = ["evidence", "heading", "proof", "status", "text", "uses_of"]

_SIGNS = {"=": "=", "<=": "≤"}


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
    blocks.append(f"Cite: {cite(record)}")
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
    used = uses_of(record, law)
    return f"    {equalities}\n{_words(f'{law.name}: {law.words}; used in: {used}', 8)}"


def _is_quoted(record: "Record", law: "Law") -> bool:
    return law not in record.definitions + record.assumptions


def _steps(record: "Record") -> Iterator[str]:
    for chain in record.chains:
        if chain.part:
            yield f"  {chain.part.capitalize()}: {plain_words(heading(record, chain.part))}"
        yield f"    {plain(chain.start)}"
        for number, line in enumerate(chain.lines, start=1):
            step = line.step
            using = f" [{', '.join(step.using)}]" if step.using else ""
            yield f"{number:>4}. {_SIGNS[step.relation]} {plain(step.expression)}"
            yield _words(f"{line.address}: {step.reason}{using}", 8)


def heading(record: "Record", part: str) -> str:
    """Say what a part of an induction proves."""
    n = latex(record.induction.variable) if record.induction else ""
    if part == "base":
        return f"the statement for ${n} = 0$"
    return f"from ${n}$ to ${n} + 1$; the hypothesis is the statement for ${n}$"


def uses_of(record: "Record", law: "Law") -> str:
    """Name the lines that use a law."""
    return ", ".join(line.address for line in record.lines if law.name in line.step.using)


def _variant(record: "Record", variant: "Variant") -> str:
    withheld = f" without {', '.join(variant.withheld)}" if variant.withheld else ""
    wrong = "" if variant.expression is None else f"    {plain(variant.expression)}\n"
    return wrong + _words(f"{variant.name} (step {variant.step}{withheld}): {variant.why}", 8)


def _words(words: str, indent: int = 0) -> str:
    return fill(
        plain_words(words), 100, initial_indent=" " * indent, subsequent_indent=" " * indent
    )
