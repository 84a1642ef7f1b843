"""A record as LaTeX source, to be pasted into a paper; it needs amsmath and amssymb."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from attnref.derivations._citing import cite
from attnref.derivations._printing import latex

if TYPE_CHECKING:
    from attnref.derivations._chains import Chain, Line
    from attnref.derivations._record import Record

__all__ = ["source"]

_SIGNS = {"=": "=", "<=": r"\leq"}


def source(record: "Record") -> str:
    """Lay out the statement and the steps; reasons are comments, names are tags and labels."""
    return "\n".join(
        [
            f"% {cite(record)}",
            r"\begin{equation}",
            f"  {latex(record.statement)} \\label{{{record.tag}-statement}}",
            r"\end{equation}",
            *(_chain(record, chain) for chain in record.chains),
        ]
    )


def _chain(record: "Record", chain: "Chain") -> str:
    start = rf"  &{latex(chain.start)} \notag"
    lines = " \\\\\n".join([start, *_lines(record, chain)])
    part = f"% {chain.part} of the induction\n" if chain.part else ""
    return f"{part}\\begin{{align}}\n{lines}\n\\end{{align}}"


def _lines(record: "Record", chain: "Chain") -> Iterator[str]:
    for line in chain.lines:
        sign, formula = _SIGNS[line.step.relation], latex(line.step.expression)
        names = rf"\tag{{{line.address}}} \label{{{record.tag}-{line.address}}}"
        yield f"  % {_reason(line)}\n  &{sign} {formula} {names}"


def _reason(line: "Line") -> str:
    by = f" By {', '.join(line.step.using)}." if line.step.using else ""
    return " ".join(f"{line.step.reason}{by}".split())
