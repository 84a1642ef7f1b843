"""What an expression of a derivation is worth at given sizes, by plain loops over fractions.

The oracle of the judge. It knows no law of sums: it adds up. exp is read as 2 to the power, since
every law about exp that the judge uses holds for any base, and 2 to a whole number is exact.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from sympy import Add, Expr, Indexed, IndexedBase, KroneckerDelta, Mul, Pow, Sum, Symbol, exp

from attnref.derivations._atoms import Exponential
from attnref.derivations._operators import Expectation, Inner, RandomVariable, Softmax, Variance

Array = Mapping[Any, Fraction | int]  # tuples of as many indices as there are axes


@dataclass(frozen=True)
class World:
    """Values for everything that can stand in an expression.

    Arguments:
        numbers: of the symbols, sizes and indices included.
        arrays: of the indexed symbols, by their names and indices from 1.
        chances: the outcomes of chance: each with its probability and the arrays it decides;
            a random number is an array without indices.
        keys: the length of a row of scores, for softmax.
        depth: the length of a vector, for the inner product.
        means: those found so far; what chance decides does not change them.
    """

    numbers: Mapping[str, Fraction | int] = field(default_factory=dict)
    arrays: Mapping[str, Array] = field(default_factory=dict)
    chances: tuple[tuple[Fraction, Mapping[str, Array]], ...] = ()
    keys: int = 0
    depth: int = 0
    means: dict[object, Fraction] = field(default_factory=dict)

    def where(self, name: str, number: Fraction | int) -> "World":
        """Return the same world with one number set."""
        return replace(self, numbers={**self.numbers, name: number})

    def outcome(self, arrays: Mapping[str, Array]) -> "World":
        """Return the same world after chance has decided."""
        return replace(self, arrays={**self.arrays, **arrays})


def value(e: Expr, world: World) -> Fraction:
    """Return the exact value."""
    if e.is_Rational:
        return Fraction(e.p, e.q)
    if isinstance(e, RandomVariable):
        return Fraction(world.arrays[str(e)][()])
    if isinstance(e, Symbol):
        return Fraction(world.numbers[str(e)])
    if isinstance(e, Indexed):
        return Fraction(_entry(e, world))
    if isinstance(e, Add):
        return sum((value(arg, world) for arg in e.args), start=Fraction())
    if isinstance(e, Mul):
        return math.prod((value(arg, world) for arg in e.args), start=Fraction(1))
    if isinstance(e, Pow):
        return _power(value(e.base, world), value(e.exp, world))
    if isinstance(e, exp | Exponential):
        return _power(Fraction(2), value(e.args[0], world))
    if isinstance(e, Sum):
        return _sum(e.function, list(e.limits), world)
    return _operator(e, world)


def _operator(e: Expr, world: World) -> Fraction:
    if isinstance(e, KroneckerDelta):
        return Fraction(value(e.args[0], world) == value(e.args[1], world))
    if isinstance(e, Expectation):
        return _mean(e.args[0], world)
    if isinstance(e, Variance):
        mean = _mean(e.args[0], world)
        return sum(
            (
                probability * (value(e.args[0], world.outcome(arrays)) - mean) ** 2
                for probability, arrays in world.chances
            ),
            start=Fraction(),
        )
    if isinstance(e, Inner):
        left, right = e.args
        places = range(1, world.depth + 1)
        return Fraction(
            sum(_component(left, i, world) * _component(right, i, world) for i in places)
        )
    if isinstance(e, Softmax):
        return _softmax(e, world)
    raise NotImplementedError(str(e))


def _sum(summand: Expr, limits: list[Expr], world: World) -> Fraction:
    if not limits:
        return value(summand, world)
    *inner, (index, first, last) = limits
    assert first == 1
    steps = range(1, int(value(last, world)) + 1)
    return sum((_sum(summand, inner, world.where(str(index), i)) for i in steps), start=Fraction())


def _mean(e: Expr, world: World) -> Fraction:
    here = (e, *sorted(world.numbers.items()))
    if here not in world.means:
        terms = (p * value(e, world.outcome(arrays)) for p, arrays in world.chances)
        world.means[here] = sum(terms, start=Fraction())
    return world.means[here]


def _softmax(e: Softmax, world: World) -> Fraction:
    row, place = e.args
    t, s = value(row.indices[0], world), value(place, world)
    scores = world.arrays[str(row.base)]
    powers = [_power(Fraction(2), Fraction(scores[int(t), j])) for j in range(1, world.keys + 1)]
    return powers[int(s) - 1] / sum(powers)


def _entry(e: Indexed, world: World) -> Fraction | int:
    return world.arrays[str(e.base)][tuple(int(value(index, world)) for index in e.indices)]


def _component(vector: Expr, i: int, world: World) -> Fraction | int:
    if isinstance(vector, IndexedBase):
        return world.arrays[str(vector)][(i,)]
    row = tuple(int(value(index, world)) for index in vector.indices)
    return world.arrays[str(vector.base)][(*row, i)]


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    if exponent.denominator == 1:
        return base ** int(exponent)
    root = Fraction(math.isqrt(base.numerator), math.isqrt(base.denominator))
    assert exponent.denominator == 2, exponent
    assert root**2 == base, base
    return root ** int(exponent * 2)
