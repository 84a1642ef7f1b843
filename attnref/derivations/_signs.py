"""What is positive, or at least 0, as far as one can see from the parts of an expression.

All numbers of the language are real: an even power is at least 0, an exponential is positive.
"""

from sympy import Add, Expr, KroneckerDelta, Mul, Pow, Sum, exp

from attnref.derivations._atoms import Exponential
from attnref.derivations._operators import Expectation

__all__ = ["is_nonnegative", "is_positive"]


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


def is_nonnegative(e: Expr) -> bool:
    """Say whether the expression is at least 0, as far as one can see."""
    if isinstance(e, exp | Exponential | KroneckerDelta):
        return True
    if isinstance(e, Add | Mul):
        return all(map(is_nonnegative, e.args))
    if isinstance(e, Pow) and e.exp.is_Rational:
        return bool(e.exp.is_Integer and e.exp % 2 == 0) or is_nonnegative(e.base)
    if isinstance(e, Sum):
        return is_nonnegative(e.function)
    if isinstance(e, Expectation):
        return is_nonnegative(e.args[0])
    return bool(e.is_nonnegative)
