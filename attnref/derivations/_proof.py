"""The check of one step: two expressions are equal, by these laws and no others."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from sympy import Add, Expr, Mul, Pow, Sum, exp, preorder_traversal

from attnref.derivations._finite_sums import (
    Exponential,
    OutsideLanguageError,
    normal_form,
)
from attnref.derivations._printing import plain
from attnref.derivations._rewriting import rewritten

if TYPE_CHECKING:
    from attnref.derivations._record import Law

__all__ = ["Finding", "Outcome", "is_positive", "prove"]


class Outcome(Enum):
    """What a check found; only the first is a proof."""

    PROVED = "proved"
    NOT_EQUAL = "not shown to be equal"
    MAY_DIVIDE_BY_ZERO = "may divide by 0"
    OUTSIDE = "outside the language"


@dataclass(frozen=True)
class Finding:
    """The outcome of a check and, unless it is a proof, what stands in the way."""

    outcome: Outcome
    detail: str = ""


def prove(left: Expr, right: Expr, laws: Sequence["Law"]) -> Finding:
    """Put the laws to use on both sides, then compare the normal forms."""
    try:
        stages = [_stages(side, laws) for side in (left, right)]
        apart = normal_form(stages[0][-1] - stages[1][-1])
        if apart != 0:
            return Finding(Outcome.NOT_EQUAL, f"the two sides differ by {plain(apart)}")
    except OutsideLanguageError as error:
        return Finding(Outcome.OUTSIDE, str(error))
    for divisor in _divisors(stage for side in stages for stage in side):
        if not is_positive(divisor):
            detail = f"nothing says that {plain(divisor)} is positive"
            return Finding(Outcome.MAY_DIVIDE_BY_ZERO, detail)
    return Finding(Outcome.PROVED)


def is_positive(e: Expr) -> bool:
    """Say whether the expression is positive whatever its symbols are, as far as one can see."""
    if isinstance(e, exp | Exponential):
        return True
    if isinstance(e, Add | Mul):
        return all(map(is_positive, e.args))
    if isinstance(e, Pow):
        return is_positive(e.base)
    if isinstance(e, Sum):
        return is_positive(e.function) and all(last.is_positive for *_, last in e.limits)
    return bool(e.is_positive)


def _stages(e: Expr, laws: Sequence["Law"]) -> list[Expr]:
    """Return the expression as it is written, and again after each law."""
    stages = [e]
    for law in laws:
        for equality in law.equalities:
            stages.append(rewritten(normal_form(stages[-1]), equality, law.variables))
    return stages


def _divisors(expressions: Iterable[Expr]) -> Iterable[Expr]:
    for expression in expressions:
        for node in preorder_traversal(expression):
            if isinstance(node, Pow) and node.exp.is_negative:
                yield node.base
