"""The lines of a proof: where each chain of them starts, must end, and what it may use.

A record has one chain, from the left side of its statement to the right side. An induction has two:
P(0), and P(n + 1) from P(n). There P(n) is a law without variables: it speaks of this n alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sympy import Expr, S

from attnref.derivations._derivatives import bound_by
from attnref.derivations._operators import Place

if TYPE_CHECKING:
    from attnref.derivations._record import Law, Record, Step

__all__ = ["Chain", "Line", "bound_in", "chains_of", "places_of"]


@dataclass(frozen=True)
class Line:
    """A step where it stands.

    Arguments:
        address: what tells it from all others of the record, "shift" or "base-shift".
        before: the expression it follows.
        step: the step.
        laws: all that it may name.
    """

    address: str
    before: Expr
    step: "Step"
    laws: tuple["Law", ...]


@dataclass(frozen=True)
class Chain:
    """Lines, each following from the one before.

    Arguments:
        part: "base" or "step" of an induction, "" of any other proof.
        start: the expression the first line follows.
        end: what the last line must be.
        lines: the steps between them.
    """

    part: str
    start: Expr
    end: Expr
    lines: tuple[Line, ...]


def chains_of(record: "Record") -> tuple[Chain, ...]:
    """Lay the steps of a record out."""
    left, right = record.statement.lhs, record.statement.rhs
    if record.induction is None:
        return (_chain("", left, right, record.steps, record.laws),)
    n = record.induction.variable
    first, following = ((left.xreplace(to), right.xreplace(to)) for to in ({n: S.Zero}, {n: n + 1}))
    return (
        _chain("base", *first, record.induction.base, record.laws),
        _chain("step", *following, record.induction.step, (*record.laws, record.hypothesis)),
    )


def _chain(
    part: str, start: Expr, end: Expr, steps: tuple["Step", ...], laws: tuple["Law", ...]
) -> Chain:
    lines = []
    before = start
    for step in steps:
        lines.append(Line(f"{part}-{step.name}".lstrip("-"), before, step, laws))
        before = step.expression
    return Chain(part, start, end, tuple(lines))


def places_of(record: "Record") -> tuple[Place, ...]:
    """List the places that a statement holds for all of."""
    return tuple(sorted(record.statement.lhs.atoms(Place), key=str))


def bound_in(record: "Record") -> frozenset[str]:
    """Name what the laws of a record, and of those it uses, define or bind."""
    return frozenset(_bound(record))


def _bound(record: "Record") -> Iterator[str]:
    for defines, laws in ((True, record.definitions), (False, record.assumptions)):
        for equality in (equality for law in laws for equality in law.equalities):
            yield from bound_by(equality, defines=defines)
    for other in record.uses:
        yield from _bound(other)
