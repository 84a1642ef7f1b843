"""A hash of what a record claims, by which a reader sees later whether the claim was reworded."""

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sympy import Add, Expr, IndexedBase, Mul, Symbol

from attnref.derivations._operators import Place

if TYPE_CHECKING:
    from attnref.derivations._record import Record

__all__ = ["canonical", "fingerprint"]


def fingerprint(record: "Record") -> str:
    """Hash the statement, the definitions, the assumptions, and those of the records it uses.

    Words, steps and printers do not count; neither do SymPy's order of terms or the hash seed.
    """
    claim = []
    for kind, laws in {"definition": record.definitions, "assumption": record.assumptions}.items():
        for law in laws:
            variables = " ".join(map(canonical, law.variables))
            claim += [f"{kind} for all ({variables}) {canonical(e)}" for e in law.equalities]
    claim += [f"uses {other.tag} {fingerprint(other)}" for other in record.uses]
    claim = [f"statement {canonical(record.statement)}", *sorted(claim)]
    return hashlib.sha256("\n".join(claim).encode()).hexdigest()[:12]


def canonical(e: Expr) -> str:
    """Write an expression as a tree in brackets, sums and products flat and sorted."""
    if e.is_Rational:
        return str(e)
    if isinstance(e, Symbol | IndexedBase):
        return ":".join((type(e).__name__, e.name, *_facts(e)))
    args = sorted(map(canonical, _flat(e))) if isinstance(e, Add | Mul) else map(canonical, e.args)
    return f"({type(e).__name__} {' '.join(args)})"


def _facts(e: Expr) -> Iterator[str]:
    yield from (fact for fact in ("integer", "positive") if getattr(e, f"is_{fact}"))
    if e.is_nonnegative and not e.is_positive:
        yield "nonnegative"
    if isinstance(e, Place):
        yield f"to {canonical(e.last)}"


def _flat(e: Expr) -> list[Expr]:
    """List the operands of a sum or product, however it is nested."""
    parts = (_flat(arg) if type(arg) is type(e) else [arg] for arg in e.args)
    return [part for operands in parts for part in operands]
