"""A line of a derivation in numbers: sums written out, symbols replaced, nothing rounded early."""

from collections.abc import Mapping
from typing import Any

import mpmath
import numpy as np
from sympy import E, Expr, Indexed, IndexedBase, Integer, Rational, Symbol, exp

Numbers = Mapping[str, Any]
"""By name: a number, an array or list whose indices begin at 1, or a dictionary by the index.

Of a number and an array with one name the array is called "m[]", say.
"""

DIGITS = 60
"""More than the doubles that are held against them have, and than any cancellation here takes."""


def evaluated(e: Expr, numbers: Numbers) -> Any:
    """Return the value as an mpf."""
    value = written_out(e, numbers).evalf(DIGITS)
    assert value.is_Float, value
    return mpmath.mp.make_mpf(value._mpf_)


def in_powers_of_two(e: Expr, numbers: Numbers) -> Rational:
    """Return the exact value with 2 for the base of exp: its laws hold for every base."""
    powers = written_out(e, numbers).replace(exp, lambda x: Integer(2) ** x)
    value = powers.xreplace({E: Integer(2)})  # exp(1), which is no exp any more
    assert value.is_Rational, value
    return value


def written_out(e: Expr, numbers: Numbers) -> Expr:
    """Replace every symbol by its number, and write the sums out."""
    labels = {base.label for base in e.atoms(IndexedBase)}
    free = [x for x in e.free_symbols if isinstance(x, Symbol) and x not in labels]
    written = e.xreplace({x: _exact(numbers[str(x)]) for x in free if str(x) in numbers}).doit()
    return written.xreplace({x: _exact(_entry(x, numbers)) for x in written.atoms(Indexed)}).doit()


def _entry(x: Indexed, numbers: Numbers) -> Any:
    name = str(x.base.label)
    array = numbers.get(f"{name}[]", numbers.get(name))
    if isinstance(array, Mapping):
        return array[x.indices[0]]
    return np.asarray(array)[tuple(int(index) - 1 for index in x.indices)]


def _exact(number: Any) -> Expr:
    if isinstance(number, Expr):
        return number
    return Rational(number.item() if isinstance(number, np.generic) else number)
