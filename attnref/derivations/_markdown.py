"""A record as Markdown, for the site and for notebooks."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from attnref.derivations._printing import latex
from attnref.derivations._text import evidence, heading, status, uses_of
from attnref.derivations._verify import verify

if TYPE_CHECKING:
    from attnref.derivations._chains import Line
    from attnref.derivations._record import Law, Record, Variant

__all__ = ["markdown", "proof"]

_SIGNS = {"=": "=", "<=": r"\leq"}


def markdown(record: "Record") -> str:
    """Lay a record out; each displayed equation has a label, its tag and a word."""
    return _framed(
        record,
        _boxed("statement", _display(record.tag, "statement", latex(record.statement))),
        record.summary,
        _symbols(record),
        *_laws(record),
        "## Steps",
        *_steps(record),
        *_closing(record),
    )


def proof(record: "Record") -> str:
    """Lay out the steps alone, for a page that tells the rest in words of its own."""
    return _framed(record, *_steps(record))


def _framed(record: "Record", *blocks: str) -> str:
    opening = f'<div class="derivation" id="{record.tag}" markdown>'
    return "\n\n".join((opening, _head(record), *blocks, "</div>"))


def _head(record: "Record") -> str:
    verdict = verify(record)
    sizes = ", ".join(f"${latex(size)}$" for size in verdict.sizes)
    mark = f'<span class="status">{status(verdict, sizes)}</span>'
    title = f"**{record.tag}** · *{record.title}* · {mark}"
    return f'<p class="derivation-head" markdown="span">{title}</p>'


def _boxed(kind: str, *blocks: str) -> str:
    return "\n\n".join((f'<div class="{kind}" markdown>', *blocks, "</div>"))


def _display(tag: str, word: str, formula: str) -> str:
    return f"$$\n{formula} \\label{{{tag}-{word}}}\n$$"


def _symbols(record: "Record") -> str:
    rows = (f"- ${latex(q.symbol)} {q.domain}$, {q.meaning}" for q in record.symbols)
    return "## Symbols\n\n" + "\n".join(rows)


def _laws(record: "Record") -> Iterator[str]:
    own = record.definitions + record.assumptions
    groups = {
        "Definitions": record.definitions,
        "Assumptions": record.assumptions,
        "From other records": [law for law in record.laws if law not in own],
    }
    for title, laws in groups.items():
        if laws:
            yield f"## {title}"
            yield from (_law(record, law) for law in laws)


def _law(record: "Record", law: "Law") -> str:
    equalities = r", \quad ".join(map(latex, law.equalities))
    formula = _display(record.tag, f"law-{_word(law.name)}", equalities)
    return _boxed(
        "step law", formula, f"*{law.name}*: {law.words}. Used in: {uses_of(record, law)}."
    )


def _steps(record: "Record") -> Iterator[str]:
    for chain in record.chains:
        if chain.part:
            yield f"### {chain.part.capitalize()}: {heading(record, chain.part)}"
        first = latex(chain.start)
        for line in chain.lines:
            yield _line(record, line, first)
            first = ""


def _line(record: "Record", line: "Line", left: str) -> str:
    step = line.step
    formula = f"{left} {_SIGNS[step.relation]} {latex(step.expression)}".strip()
    using = f" By {', '.join(f'*{name}*' for name in step.using)}." if step.using else ""
    return _boxed("step", _display(record.tag, line.address, formula), step.reason + using)


def _closing(record: "Record") -> Iterator[str]:
    yield "## Refused"
    yield "The same check was given these lines in place of the right ones, and accepted none."
    yield from (_variant(record, variant) for variant in record.variants)
    if record.remark:
        yield record.remark
    yield "## Sources"
    yield "\n".join(f"- {s.work}, {s.locator} ({evidence(s)})" for s in record.sources)


def _variant(record: "Record", variant: "Variant") -> str:
    withheld = f" without *{', '.join(variant.withheld)}*" if variant.withheld else ""
    words = f"*{variant.name}* (step {variant.step}{withheld}): {variant.why}"
    if variant.expression is None:
        return _boxed("step refused", words)
    word = f"not-{_word(variant.name)}"
    return _boxed("step refused", _display(record.tag, word, latex(variant.expression)), words)


def _word(name: str) -> str:
    return name.replace(" ", "-")
