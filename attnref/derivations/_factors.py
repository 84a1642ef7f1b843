"""A term of a sum: factors under open indices, brought together, then closed again.

This is where the laws of finite sums are: distributivity and renaming when a product of sums is
opened, δ when it is contracted, linearity when the factors without an index leave the sum, and
Σ_{i=1}^n 1 = n for an index that no factor has.
"""

from collections.abc import Callable, Collection
from itertools import permutations

from sympy import Dummy, Expr, Integer, KroneckerDelta, Mul, Sum, Symbol

from attnref.derivations._operators import Place
from attnref.derivations._rational import OutsideLanguageError

__all__ = ["Factors", "Index", "Ranges", "closed", "lies_within", "opened", "renamed", "split"]

Factors = list[Expr]
Ranges = dict[Expr, Expr]
"""Each open index with the last value it takes; the first is 1."""

_SPLIT = 9
"""A sum of more terms is not written out."""


class Index(Symbol):  # type: ignore[misc]  # SymPy has no types: its classes are Any
    """The index of a closed sum: a class of its own, so that no reader's symbol is it."""

    @property
    def level(self) -> int:
        """How many sums deep the expression under it is."""
        return int(self.name.partition(".")[0])

    @property
    def place(self) -> int:
        """Which of the indices of its sum it is, from 0."""
        return int(self.name.partition(".")[2])


def renamed(e: Sum) -> tuple[Expr, Ranges]:
    """Return the summand with a fresh name for each index, and where the indices run."""
    fresh: dict[Expr, Dummy] = {}
    ranges: Ranges = {}
    for index, first, last in e.limits:
        open_index = Dummy(index.name)
        fresh.setdefault(index, open_index)  # of two indices of one name, the inner one counts
        ranges[open_index] = last
        # A bound with an open index would make the order of the sums matter.
        if first != 1 or not _is_length(last) or last.has(Dummy):
            raise OutsideLanguageError(f"{e} does not run from 1 to a fixed whole number")
    if any(last.has(*fresh) for last in ranges.values()):
        raise OutsideLanguageError(f"{e} has a bound that is an index")
    return e.function.xreplace(fresh), ranges


def split(last: Expr) -> tuple[Expr, list[Expr]]:
    """Return n, and n + 1 and n + 2, for n + 2: a sum to n, and the last terms apart."""
    more, most = last.as_coeff_Add()
    if not (more.is_Integer and 0 < more <= _SPLIT and (most == 0 or _is_length(most))):
        return last, []
    return most, [most + end for end in range(1, int(more) + 1)]


def _is_length(last: Expr) -> bool:
    return bool(last.is_integer and last.is_nonnegative)


def opened(term: Expr, ranges: Ranges, concerned: Callable[[Expr], bool]) -> tuple[Factors, Ranges]:
    """Split a term into factors, and the sums among them that are concerned into theirs."""
    factors: Factors = []
    ranges = dict(ranges)
    for factor in Mul.make_args(term):
        base, power = factor.as_base_exp()
        if not (isinstance(base, Sum) and power.is_Integer and power > 0 and concerned(base)):
            factors.append(factor)
            continue
        for _ in range(power):
            summand, fresh = renamed(base)
            factors.extend(Mul.make_args(summand))
            ranges |= fresh
    return factors, ranges


def closed(factors: Factors, ranges: Ranges) -> Expr:
    """Sum the product of the factors over all open indices."""
    factors, ranges = _contracted(factors, ranges)
    groups = _connected(Mul.make_args(Mul(*factors)), ranges)
    used = {index for indices, _ in groups for index in indices}
    lengths = [last for index, last in ranges.items() if index not in used]
    return Mul(*lengths, *(_group_sum(group, indices, ranges) for indices, group in groups))


def _contracted(factors: Factors, ranges: Ranges) -> tuple[Factors, Ranges]:
    """Let each δ_ij do away with an open index i, where j is sure to be in the range of i."""
    for delta in factors:
        base, power = delta.as_base_exp()
        if not (isinstance(base, KroneckerDelta) and power.is_Integer and power > 0):
            continue
        left, right = base.args[:2]
        for gone, kept in ((left, right), (right, left)):
            if gone in ranges and _never_meets(kept, ranges[gone], ranges):
                return [Integer(0)], {}
            if gone in ranges and lies_within(kept, ranges[gone], ranges):
                rest = [e.xreplace({gone: kept}) for e in factors if e is not delta]
                return _contracted(rest, {i: last for i, last in ranges.items() if i != gone})
    return factors, ranges


def lies_within(place: Expr, last: Expr, ranges: Ranges) -> bool:
    """Say whether a place is sure to be one of 1 to last."""
    if place in ranges:
        return bool(ranges[place] == last)
    if isinstance(place, Place):
        return bool(place.last == last)
    return bool(place.is_integer and (place - 1).is_nonnegative and (last - place).is_nonnegative)


def _never_meets(place: Expr, last: Expr, ranges: Ranges) -> bool:
    """Say whether a place is sure to be none of 1 to last."""
    fixed = not place.has(*ranges)
    return bool(fixed and ((place - last).is_positive or (1 - place).is_positive))


def _connected(factors: Collection[Expr], ranges: Ranges) -> list[tuple[set[Expr], Factors]]:
    """Group the factors that share open indices."""
    groups: list[tuple[set[Expr], Factors]] = []
    for factor in factors:
        indices, members = factor.free_symbols & ranges.keys(), [factor]
        for group in [group for group in groups if group[0] & indices]:
            indices, members = indices | group[0], group[1] + members
            groups.remove(group)
        groups.append((indices, members))
    return groups


def _group_sum(factors: Factors, indices: set[Expr], ranges: Ranges) -> Expr:
    """Sum over indices that hang together, under names that do not depend on the old ones."""
    summand = Mul(*factors)
    if not indices:
        return summand
    # Sums inside (in a denominator, in an exponent) have lower levels: no name can be captured.
    level = 1 + max((index.level for index in summand.atoms(Index)), default=0)
    names = [Index(f"{level}.{place}", integer=True) for place in range(len(indices))]
    ways = (_named(summand, order, names, ranges) for order in permutations(indices))
    return min(ways, key=str)


def _named(summand: Expr, order: Collection[Expr], names: Collection[Index], ranges: Ranges) -> Sum:
    limits = [(name, 1, ranges[index]) for index, name in zip(order, names, strict=True)]
    return Sum(summand.xreplace(dict(zip(order, names, strict=True))), *limits)
