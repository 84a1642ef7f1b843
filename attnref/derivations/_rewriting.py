"""Putting a law to use: its left side, wherever it stands, is replaced by its right side.

A law holds for all values of its variables, and it is used in one direction only.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from sympy import Expr, Indexed, IndexedBase, Mul, Pow, Sum, Symbol

from attnref.derivations._factors import Ranges, lies_within, renamed
from attnref.derivations._operators import Partial, Place

__all__ = ["rewritten"]

Binding = dict[Expr, Expr]


def rewritten(expression: Expr, pattern: Expr, by: Expr, variables: Collection[Symbol]) -> Expr:
    """Replace each instance of the pattern, once; both are in normal form."""

    def walk(e: Expr, ranges: Ranges) -> Expr:
        if isinstance(e, Sum):
            inside = ranges | {index: last for index, _, last in e.limits}
            limits = ((index, 1, walk(last, ranges)) for index, _, last in e.limits)
            e = Sum(walk(e.function, inside), *limits)
        elif isinstance(e, Partial):
            e = Partial(walk(e.args[0], ranges), e.args[1])  # no law opens what is varied
        elif e.args and not isinstance(e, Indexed | IndexedBase):
            e = e.func(*(walk(arg, ranges) for arg in e.args))
        binding = next(_Matcher(variables, ranges).matches(pattern, e, {}), None)
        return e if binding is None else _with_own_indices(by).xreplace(binding)

    return walk(expression, {})


def _with_own_indices(e: Expr) -> Expr:
    """Rename the indices of all sums, so that none captures an index of the place it comes to."""
    return e.replace(lambda node: isinstance(node, Sum), _renamed_sum)


def _renamed_sum(e: Sum) -> Sum:
    summand, ranges = renamed(e)
    return Sum(summand, *((index, 1, last) for index, last in ranges.items()))


@dataclass(frozen=True)
class _Matcher:
    """The search for values of the variables, at a place under the indices of some sums."""

    variables: Collection[Symbol]
    ranges: Ranges

    def matches(self, pattern: Expr, e: Expr, binding: Binding) -> Iterator[Binding]:
        """Yield every way to choose the variables so that the pattern becomes the expression."""
        if pattern in self.variables:
            if binding.get(pattern, e) == e and self._admits(pattern, e):
                yield {**binding, pattern: e}
        elif not pattern.has(*self.variables):
            if pattern == e:
                yield binding
        elif isinstance(pattern, Mul):
            yield from self._products(_factors(pattern), _factors(e), binding)
        elif pattern.func == e.func and len(pattern.args) == len(e.args):
            found = self._in_order(pattern.args, e.args, binding)
            yield from (each for each in found if not _escapes(e, each))

    def _admits(self, variable: Symbol, e: Expr) -> bool:
        """Say whether the expression is a value of the variable: a place has a range."""
        return not isinstance(variable, Place) or lies_within(e, variable.last, self.ranges)

    def _in_order(
        self, patterns: Sequence[Expr], es: Sequence[Expr], binding: Binding
    ) -> Iterator[Binding]:
        if not patterns:
            yield binding
            return
        for found in self.matches(patterns[0], es[0], binding):
            yield from self._in_order(patterns[1:], es[1:], found)

    def _products(
        self, patterns: Sequence[Expr], es: Sequence[Expr], binding: Binding
    ) -> Iterator[Binding]:
        """Match factors in any order."""
        if len(patterns) != len(es):
            return
        if not patterns:
            yield binding
            return
        for place, e in enumerate(es):
            others = [*es[:place], *es[place + 1 :]]
            for found in self.matches(patterns[0], e, binding):
                yield from self._products(patterns[1:], others, found)


def _escapes(e: Expr, binding: Binding) -> bool:
    """Say whether a value has an index of the very sum it is to stand outside of."""
    indices = [index for index, *_ in e.limits] if isinstance(e, Sum) else []
    return any(found.has(*indices) for found in binding.values()) if indices else False


def _factors(e: Expr) -> list[Expr]:
    """List the factors, x² as x, x: so that q_i k_i q_j k_j is found where i = j, too."""
    factors: list[Expr] = []
    for factor in Mul.make_args(e):
        if isinstance(factor, Pow) and factor.exp.is_Integer and factor.exp > 0:
            factors.extend([factor.base] * int(factor.exp))
        else:
            factors.append(factor)
    return factors
