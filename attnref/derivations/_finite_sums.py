"""The judge: a normal form for expressions in finite sums of any length.

The language: rational numbers, symbols, indexed symbols, +, ·, integer powers, square roots of
positive symbols, exp, Σ_{i=1}^{n} with a symbolic n, Kronecker's δ, the expectation E, and other
functions, about which nothing is assumed. Whatever lies outside is refused.

The laws, all valid for every length and every value:

    field           sums and products of numbers; fractions in lowest terms
    exp             exp(a + b) = exp(a) exp(b)
    linearity       Σ (a + b) = Σ a + Σ b;  Σ c a = c Σ a if c is free of the index
    length          Σ_{i=1}^n 1 = n
    distributivity  (Σ_i a_i)(Σ_j b_j) = Σ_i Σ_j a_i b_j
    renaming        Σ_i a_i = Σ_j a_j
    delta           Σ_i δ_ij a_i = a_j where i and j run over the same range
    expectation     E[a + b] = E[a] + E[b];  E[c a] = c E[a] if c is not random

A normal form is a rational function of *atoms*; a sum is an atom when its summand does not factor
into parts with separate indices. Two expressions with one normal form are equal wherever their
denominators are not 0. Of two that differ, nothing more is said than that they are not shown equal.
"""

from functools import lru_cache

from sympy import Add, Expr, Function, Indexed, IndexedBase, Mul, Pow, Sum, Symbol, exp

from attnref.derivations._factors import closed, opened, renamed
from attnref.derivations._operators import Expectation, is_random
from attnref.derivations._rational import OutsideLanguageError, terms

__all__ = ["Exponential", "OutsideLanguageError", "equal", "normal_form"]


class Exponential(Function):  # type: ignore[misc]  # SymPy has no types: its classes are Any
    """exp of one term, as an atom: SymPy would merge exp(a) exp(b) into exp(a + b) again."""

    nargs = 1


def equal(left: Expr, right: Expr) -> bool:
    """Say whether two expressions are shown to be equal, wherever both are defined."""
    return bool(normal_form(left - right) == 0)


def normal_form(expression: Expr) -> Expr:
    """Return the normal form, or raise OutsideLanguageError."""
    return Add(*terms(_resolved(expression)))


@lru_cache(maxsize=4096)  # each step is compared with its neighbours and with every variant
def _resolved(e: Expr) -> Expr:
    """Rewrite as a rational function of atoms."""
    if e.is_Rational or (isinstance(e, Symbol | Indexed) and e.is_commutative):
        return e
    if isinstance(e, Add | Mul):
        return e.func(*map(_resolved, e.args))
    if isinstance(e, Pow) and e.exp.is_Rational:
        return _resolved(e.base) ** e.exp
    if isinstance(e, exp | Exponential):
        return Mul(*map(_exponential, terms(_resolved(e.args[0]))))
    if isinstance(e, Sum):
        return _sum(e)
    if isinstance(e, Expectation):
        return Add(*map(_expectation, terms(_resolved(e.args[0]))))
    if isinstance(e, Function):
        return e.func(
            *(arg if isinstance(arg, IndexedBase) else normal_form(arg) for arg in e.args)
        )
    raise OutsideLanguageError(f"{e} is outside the language of finite sums")


def _exponential(term: Expr) -> Expr:
    coefficient, rest = term.as_coeff_Mul()
    return Exponential(rest / coefficient.q) ** coefficient.p


def _expectation(term: Expr) -> Expr:
    """Take what is not random out of E[term]."""
    factors, ranges = opened(term, {}, is_random)
    chance = [factor for factor in factors if is_random(factor)]
    if chance:
        factors = [factor for factor in factors if not is_random(factor)]
        factors.append(Expectation(Mul(*chance)))
    return closed(factors, ranges)


def _sum(e: Sum) -> Expr:
    """Sum over one index after the other, the innermost first."""
    summand, ranges = renamed(e)
    result = _resolved(summand)
    for index, last in ranges.items():
        result = Add(*(_sum_over(index, last, term) for term in terms(result)))
    return result


def _sum_over(index: Expr, last: Expr, term: Expr) -> Expr:
    return closed(*opened(term, {index: last}, lambda e: e.has(index)))
