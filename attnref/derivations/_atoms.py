"""Functions of one argument that stand in a normal form as they are.

SymPy's own would not: it merges exp(a) exp(b) into exp(a + b) again.
"""

from sympy import Function

__all__ = ["Exponential", "Logarithm"]


class Exponential(Function):  # type: ignore[misc]  # SymPy has no types: its classes are Any
    """exp of one term."""

    nargs = 1


class Logarithm(Function):  # type: ignore[misc]  # as above
    """log of one factor."""

    nargs = 1
