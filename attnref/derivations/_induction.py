"""What a proof must be as a whole: its chains reach the statement, and an induction is one.

P(n) for all n follows from P(0) and from P(n + 1) wherever P(n). So n may be any whole number from
0 on, P(n + 1) must be P with n + 1 for n wherever n stands, and no law may speak of this n alone:
it would be another law when n grows.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sympy import Eq, Expr, Sum, Symbol

from attnref.derivations._chains import bound_in
from attnref.derivations._operators import Place, is_random
from attnref.derivations._proof import Outcome, prove

if TYPE_CHECKING:
    from attnref.derivations._chains import Chain
    from attnref.derivations._record import Record

__all__ = ["chain_problems"]


def chain_problems(record: "Record") -> Iterator[str]:
    """Yield what keeps the lines, each right by itself, from being a proof."""
    for chain in record.chains:
        side = "the statement" if not chain.part else f"the {chain.part}"
        if not _reaches(record, chain):
            yield f"the last step is not the right side of {side}"
    relations = {line.step.relation for line in record.lines}
    if unknown := relations - {"=", "<="}:
        yield f"a step has the relation {unknown.pop()!r}, which is neither '=' nor '<='"
    if "<=" in relations and isinstance(record.statement, Eq):
        yield "a step is an inequality, and the statement is none"
    if record.induction is not None:
        yield from _induction_problems(record, record.induction.variable)


def _reaches(record: "Record", chain: "Chain") -> bool:
    last = chain.lines[-1].step.expression if chain.lines else chain.start
    if last == chain.end or not chain.part:
        return bool(last == chain.end)
    # P(0) and P(n + 1) are written by SymPy, and so not always as a person writes them.
    return prove(last, chain.end, (), bound=bound_in(record)).outcome is Outcome.PROVED


def _induction_problems(record: "Record", n: Symbol) -> Iterator[str]:
    if record.steps:
        yield "a proof by induction has a base and a step, and no other steps"
    if isinstance(n, Place) or is_random(n) or not (n.is_integer and n.is_nonnegative):
        yield f"{n}, the variable of the induction, is not declared to be a whole number from 0 on"
    if n.is_positive:
        yield f"{n}, the variable of the induction, is declared to be positive: the base is at 0"
    if n not in record.statement.free_symbols:
        yield f"the statement does not have {n}, the variable of the induction"
    if any(law.name == record.hypothesis.name for law in record.laws):
        yield "a law is called hypothesis, as the statement is in the step of an induction"
    if not any("hypothesis" in line.step.using for line in record.lines):
        yield "the hypothesis is used in no step"
    if any(_hides(e, n) for e in _expressions(record)):
        yield f"{n}, the variable of the induction, is an index, or ends the range of a place"
    for name in _laws_of_this(record, n):
        yield f"law {name} speaks of {n}, the variable of the induction, and not of every {n}"


def _expressions(record: "Record") -> Iterator[Expr]:
    yield record.statement
    yield from (line.step.expression for line in record.lines)
    yield from (equality for law in record.laws for equality in law.equalities)


def _hides(e: Expr, n: Symbol) -> bool:
    """Say whether n + 1 in the place of n would not say what is meant."""
    indices = (index for sigma in e.atoms(Sum) for index, *_ in sigma.limits)
    return n in indices or any(place.last.has(n) for place in e.atoms(Place))


def _laws_of_this(record: "Record", n: Symbol) -> Iterator[str]:
    for law in (*record.definitions, *record.assumptions):
        if n not in law.variables and any(e.has(n) for e in law.equalities):
            yield law.name
    for other in record.uses:
        yield from (f"{name} of {other.tag}" for name in _laws_of_this(other, n))
