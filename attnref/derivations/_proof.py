"""The check of one step: two lines are equal, or one is at most the other, by these laws alone."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING

from sympy import Add, Eq, Expr, Le, Pow, log, preorder_traversal

from attnref.derivations._atoms import Logarithm
from attnref.derivations._derivatives import differentiated
from attnref.derivations._finite_sums import normal_form
from attnref.derivations._inequality import shown_nonnegative, shown_positive
from attnref.derivations._printing import plain
from attnref.derivations._rational import DivisionByZeroError, OutsideLanguageError
from attnref.derivations._rewriting import rewritten
from attnref.derivations._signs import is_nonnegative

if TYPE_CHECKING:
    from attnref.derivations._record import Law

__all__ = ["Finding", "Outcome", "prove"]


class Outcome(Enum):
    """What a check found; only the first is a proof."""

    PROVED = "proved"
    NOT_EQUAL = "not shown to be equal"
    NOT_AT_MOST = "not shown to be at most"
    MAY_DIVIDE_BY_ZERO = "may divide by 0"
    MAY_LACK_A_LOGARITHM = "may take the logarithm of what is not positive"
    OUTSIDE = "outside the language"


@dataclass(frozen=True)
class Finding:
    """The outcome of a check and, unless it is a proof, what stands in the way."""

    outcome: Outcome
    detail: str = ""


def prove(
    left: Expr,
    right: Expr,
    laws: Sequence["Law"],
    *,
    bound: Collection[str],
    relation: str = "=",
) -> Finding:
    """Put the laws to use on both sides, then compare them; bound: what the record's laws fix."""
    work = _Work(tuple(laws), frozenset(bound))
    try:
        finding = _compared(work, left, right, relation)
        if finding.outcome is not Outcome.PROVED:
            return finding
        return _undefined(chain(work.stages(left), work.stages(right))) or finding
    except DivisionByZeroError as error:
        return Finding(Outcome.MAY_DIVIDE_BY_ZERO, str(error))
    except OutsideLanguageError as error:
        return Finding(Outcome.OUTSIDE, str(error))


def _compared(work: "_Work", left: Expr, right: Expr, relation: str) -> Finding:
    apart = normal_form(work.end(left) - work.end(right))
    if apart == 0:
        return Finding(Outcome.PROVED)
    if relation == "=":
        return Finding(Outcome.NOT_EQUAL, f"the two sides differ by {plain(apart)}")
    below = normal_form(-apart)
    if relation == "<=" and (_is_plus(work, left, right) or shown_nonnegative(below, work.gaps())):
        return Finding(Outcome.PROVED)
    return Finding(Outcome.NOT_AT_MOST, f"nothing says that {plain(below)} is at least 0")


def _is_plus(work: "_Work", left: Expr, right: Expr) -> bool:
    """Say whether the right side is the left one and, as it is written, something more."""
    more = list(Add.make_args(right))
    for term in Add.make_args(left):
        same = next((other for other in more if work.end(other - term) == 0), None)
        if same is not None:
            more.remove(same)
        elif term != 0:
            return False
    return all(map(is_nonnegative, more))


def _undefined(stages: Iterable[Expr]) -> Finding | None:
    """Find a divisor, or what a logarithm is taken of, that is not seen to be positive."""
    for stage in stages:
        for node in preorder_traversal(stage):
            if isinstance(node, Pow) and node.exp.is_negative and not shown_positive(node.base):
                detail = f"nothing says that {plain(node.base)} is positive"
                return Finding(Outcome.MAY_DIVIDE_BY_ZERO, detail)
            if isinstance(node, log | Logarithm) and not shown_positive(node.args[0]):
                detail = f"nothing says that {plain(node.args[0])} is positive"
                return Finding(Outcome.MAY_LACK_A_LOGARITHM, detail)
    return None


@dataclass(frozen=True)
class _Work:
    """The laws of a step, put to use."""

    laws: tuple["Law", ...]
    bound: frozenset[str]

    def stages(self, e: Expr) -> tuple[Expr, ...]:
        """Return the expression as it is written, and again after each law that applies."""
        return _stages(self, e)[0]

    def end(self, e: Expr) -> Expr:
        """Return the normal form after all laws."""
        return _stages(self, e)[1]

    def settled(self, e: Expr) -> Expr:
        """Return the normal form, derivatives worked out."""
        e = normal_form(e)
        if (worked_out := differentiated(e, self.bound, normal_form)) != e:
            return normal_form(worked_out)
        return e

    def gaps(self) -> list[Expr]:
        """Return what the inequalities among the laws say is at least 0."""
        bounds = [bound for law in self.laws for bound in law.equalities if isinstance(bound, Le)]
        return [self.end(bound.rhs - bound.lhs) for bound in bounds]


@lru_cache(maxsize=64)  # a line is looked at more than once, and is the line before of the next
def _stages(work: _Work, e: Expr) -> tuple[tuple[Expr, ...], Expr]:
    stages = [e]
    e = work.settled(e)
    for law in work.laws:
        for equality in (equality for equality in law.equalities if isinstance(equality, Eq)):
            pattern = work.settled(equality.lhs)
            after = rewritten(e, pattern, equality.rhs, law.variables)
            if after != e:
                stages.append(after)
                e = work.settled(after)
    return tuple(stages), e
