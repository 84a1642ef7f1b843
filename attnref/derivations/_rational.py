"""Rational functions of atoms, in lowest terms: the field laws of the judge.

An atom is whatever is not a number, a sum, a product or an integer power. Of a positive symbol x
the atom is √x, so that √x·√x = x is one of the field's own laws.
"""

from typing import Any

from sympy import QQ, Add, Expr, Mul, Pow, S, Symbol, sqrt
from sympy.polys.fields import field

__all__ = ["DivisionByZeroError", "OutsideLanguageError", "factored", "terms"]


class OutsideLanguageError(ValueError):
    """The judge has no laws for this expression."""


class DivisionByZeroError(OutsideLanguageError):
    """What is divided by is 0, whatever the symbols are."""


def terms(expression: Expr) -> list[Expr]:
    """Expand into monomials, all over one factored denominator without common factors."""
    _refuse_infinite(expression)
    if _is_monomial(expression):
        return [expression] if expression != 0 else []
    atoms, quotient = _field(expression)
    unit, factors = quotient.denom.factor_list()
    below = Mul(*(factor.as_expr(*atoms) ** -power for factor, power in factors))
    return [
        QQ.to_sympy(coefficient / unit) * Mul(*map(Pow, atoms, powers)) * below
        for powers, coefficient in quotient.numer.terms()
    ]


def factored(expression: Expr) -> tuple[Expr, list[tuple[Expr, int]]]:
    """Factor into a rational number and powers of polynomials that have no factors."""
    atoms, quotient = _field(expression)
    if not quotient:
        return S.Zero, []
    above, numerator = quotient.numer.factor_list()
    below, denominator = quotient.denom.factor_list()
    powers = [*numerator, *((factor, -power) for factor, power in denominator)]
    number = QQ.to_sympy(above / below)
    return number, [(factor.as_expr(*atoms), power) for factor, power in powers]


def _field(expression: Expr) -> tuple[list[Expr], Any]:
    """Return the atoms, and the expression as an element of the field they generate."""
    _refuse_infinite(expression)
    # Sorted by name: which of x − y and y − x a denominator keeps must not depend on the writing.
    atoms = sorted(_atoms(expression), key=str)
    return atoms, _quotient(expression, _generators(atoms))


def _refuse_infinite(expression: Expr) -> None:
    if expression.has(S.NaN, S.ComplexInfinity):
        raise DivisionByZeroError("a division by 0")
    if expression.has(S.Infinity, S.NegativeInfinity):
        raise OutsideLanguageError("an infinite number")


def _is_monomial(e: Expr) -> bool:
    """Say whether there is nothing to expand: a product of powers of atoms."""
    bases = [
        factor.base if factor.is_Pow and factor.exp.is_Integer else factor
        for factor in Mul.make_args(e)
    ]
    return not any(map(_is_compound, bases)) and bool(_atoms(e) or e.is_Rational)


def _atoms(e: Expr) -> set[Expr]:
    if e.is_Rational:
        return set()
    if _is_compound(e):
        return {atom for arg in e.args for atom in _atoms(arg)}
    return {_atom(e)[0]}


def _is_compound(e: Expr) -> bool:
    return isinstance(e, Add | Mul) or (e.is_Pow and e.exp.is_Integer)


def _atom(e: Expr) -> tuple[Expr, int]:
    """Return the atom, and the power of it that this expression is."""
    if e.is_Pow:
        return sqrt(_positive(e)), e.exp.p
    if isinstance(e, Symbol) and e.is_positive:
        return sqrt(e), 2
    return e, 1


def _positive(e: Pow) -> Symbol:
    if e.exp.is_Rational and e.exp.q == 2 and isinstance(e.base, Symbol) and e.base.is_positive:
        return e.base
    raise OutsideLanguageError(f"{e} is no integer power and no square root of a positive symbol")


def _generators(atoms: list[Expr]) -> dict[Expr, Any]:
    names = [Symbol(f"x{place}") for place in range(max(1, len(atoms)))]  # a field needs one
    _, *generators = field(names, QQ)
    return dict(zip(atoms, generators, strict=False)) | {1: generators[0] ** 0}


def _quotient(e: Expr, generators: dict[Expr, Any]) -> Any:
    if e.is_Rational:
        return generators[1] * QQ(e.p, e.q)
    if isinstance(e, Add):
        return sum(_quotient(arg, generators) for arg in e.args)
    if isinstance(e, Mul):
        result = generators[1]
        for arg in e.args:
            result *= _quotient(arg, generators)
        return result
    if _is_compound(e):
        return _integer_power(_quotient(e.base, generators), int(e.exp))
    atom, power = _atom(e)
    return generators[atom] ** power


def _integer_power(base: Any, power: int) -> Any:
    if power < 0 and not base:
        raise DivisionByZeroError("a division by 0")
    return base**power
