"""Putting a law to use: its left side, wherever it stands, is replaced by its right side.

A law holds for all values of its variables, and it is used in one direction only.
"""

from collections.abc import Collection, Iterator, Sequence

from sympy import Eq, Expr, Indexed, IndexedBase, Mul, Pow, Sum, Symbol

from attnref.derivations._factors import renamed
from attnref.derivations._finite_sums import normal_form

__all__ = ["rewritten"]

Binding = dict[Expr, Expr]


def rewritten(expression: Expr, equality: Eq, variables: Collection[Symbol]) -> Expr:
    """Replace each instance of the left side, once, in an expression in normal form."""
    pattern = normal_form(equality.lhs)

    def walk(e: Expr) -> Expr:
        if isinstance(e, Sum):
            e = Sum(walk(e.function), *((index, 1, walk(last)) for index, _, last in e.limits))
        elif e.args and not isinstance(e, Indexed | IndexedBase):
            e = e.func(*map(walk, e.args))
        binding = next(_matches(pattern, e, variables, {}), None)
        return e if binding is None else _with_own_indices(equality.rhs).xreplace(binding)

    return walk(expression)


def _with_own_indices(e: Expr) -> Expr:
    """Rename the indices of all sums, so that none captures an index of the place it comes to."""
    return e.replace(lambda node: isinstance(node, Sum), _renamed_sum)


def _renamed_sum(e: Sum) -> Sum:
    summand, ranges = renamed(e)
    return Sum(summand, *((index, 1, last) for index, last in ranges.items()))


def _matches(
    pattern: Expr, e: Expr, variables: Collection[Symbol], binding: Binding
) -> Iterator[Binding]:
    """Yield every way to choose the variables so that the pattern becomes the expression."""
    if pattern in variables:
        if binding.get(pattern, e) == e:
            yield {**binding, pattern: e}
    elif not pattern.has(*variables):
        if pattern == e:
            yield binding
    elif isinstance(pattern, Mul):
        yield from _match_products(_factors(pattern), _factors(e), variables, binding)
    elif pattern.func == e.func and len(pattern.args) == len(e.args):
        yield from _match_in_order(pattern.args, e.args, variables, binding)


def _match_in_order(
    patterns: Sequence[Expr], es: Sequence[Expr], variables: Collection[Symbol], binding: Binding
) -> Iterator[Binding]:
    if not patterns:
        yield binding
        return
    for found in _matches(patterns[0], es[0], variables, binding):
        yield from _match_in_order(patterns[1:], es[1:], variables, found)


def _match_products(
    patterns: Sequence[Expr], es: Sequence[Expr], variables: Collection[Symbol], binding: Binding
) -> Iterator[Binding]:
    """Match factors in any order."""
    if len(patterns) != len(es):
        return
    if not patterns:
        yield binding
        return
    for place, e in enumerate(es):
        for found in _matches(patterns[0], e, variables, binding):
            yield from _match_products(
                patterns[1:], [*es[:place], *es[place + 1 :]], variables, found
            )


def _factors(e: Expr) -> list[Expr]:
    """List the factors, x² as x, x: so that q_i k_i q_j k_j is found where i = j, too."""
    factors: list[Expr] = []
    for factor in Mul.make_args(e):
        if isinstance(factor, Pow) and factor.exp.is_Integer and factor.exp > 0:
            factors.extend([factor.base] * int(factor.exp))
        else:
            factors.append(factor)
    return factors
