"""An expression of a derivation written out at one size, for SymPy and mpmath to work on.

Of the judge nothing is used but the names of its atoms: sums become additions, places numbers.
"""

import random
from collections.abc import Mapping

from mpmath import mp, mpf
from sympy import Add, Expr, Indexed, IndexedBase, Integer, Rational, Sum, Symbol, exp, log

from attnref.derivations._atoms import Exponential, Logarithm
from attnref.derivations._operators import Place

__all__ = ["number", "random_point", "written_out"]

DIGITS = 60
"""So many digits are computed; the numbers are of the order of 1 and the formulas short."""


def written_out(e: Expr, values: Mapping[Symbol, int]) -> Expr:
    """Set sizes and places to numbers, and write every sum as an addition."""
    e = e.replace(Exponential, exp).replace(Logarithm, log)
    return _added_up(e.xreplace({symbol: Integer(value) for symbol, value in values.items()}))


def _added_up(e: Expr) -> Expr:
    if isinstance(e, Sum):
        terms = _added_up(e.function)
        for index, _, last in e.limits:
            places = range(1, int(last) + 1)
            terms = Add(*(terms.xreplace({index: Integer(place)}) for place in places))
        return terms
    if e.args and not isinstance(e, Indexed | IndexedBase):
        return e.func(*map(_added_up, e.args))
    return e


def number(e: Expr, seed: int) -> mpf:
    """Return the value at a random point of the domains, drawn by the name of each symbol."""
    mp.dps = DIGITS
    point = {name: random_point(name, seed) for name in e.atoms(Symbol, Indexed)}
    return mpf(e.xreplace(point).evalf(DIGITS))


def random_point(name: Expr, seed: int) -> Expr:
    """Draw a value of a symbol or an entry: positive, at least 0, or any; the same every time."""
    draw = random.Random(f"{name} {seed}")  # noqa: S311  # nothing secret
    if isinstance(name, Place) or name.is_integer:
        raise ValueError(f"{name} is not written out")
    if name.is_positive:
        return Rational(draw.randint(1, 12), 4)
    if name.is_nonnegative:
        return Rational(draw.choice([0, 0, 1, 3, 7]), 4)
    return Rational(draw.randint(-9, 9), 4)
