"""The judge: a normal form for expressions in finite sums of any length.

The language: rational numbers, symbols, indexed symbols, +, ·, integer powers, square roots of
positive symbols, exp, log, Σ_{i=1}^{n} with a symbolic n, Kronecker's δ, the expectation E, and
other functions, about which nothing is assumed. Whatever lies outside is refused.

The laws, all valid for every length and every value:

    field           sums and products of numbers; fractions in lowest terms
    exp             exp(a + b) = exp(a) exp(b)
    log             log(ab) = log a + log b if a is seen to be positive;  log exp a = a = exp log a
    linearity       Σ (a + b) = Σ a + Σ b;  Σ c a = c Σ a if c is free of the index
    length          Σ_{i=1}^n 1 = n
    ends            Σ_{i=1}^{n+1} a_i = Σ_{i=1}^n a_i + a_{n+1};  Σ_{i=1}^0 a_i = 0
    distributivity  (Σ_i a_i)(Σ_j b_j) = Σ_i Σ_j a_i b_j
    renaming        Σ_i a_i = Σ_j a_j
    delta           δ_ij a_i = δ_ij a_j;  Σ_i δ_ij a_i = a_j where i and j run over the same range
    expectation     E[a + b] = E[a] + E[b];  E[c a] = c E[a] if c is not random

A normal form is a rational function of *atoms*; a sum is an atom when its summand does not factor
into parts with separate indices. Two expressions with one normal form are equal wherever their
denominators are not 0. Of two that differ, nothing more is said than that they are not shown equal.
"""

from functools import lru_cache

from sympy import Add, Expr, Function, Indexed, IndexedBase, Mul, Pow, S, Sum, Symbol, exp, log

from attnref.derivations._atoms import Exponential, Logarithm
from attnref.derivations._deltas import collapsed
from attnref.derivations._factors import closed, opened, renamed, split
from attnref.derivations._logarithms import exponential, logarithm
from attnref.derivations._operators import Expectation, is_random
from attnref.derivations._rational import OutsideLanguageError, factored, terms

__all__ = ["OutsideLanguageError", "equal", "normal_form"]


def equal(left: Expr, right: Expr) -> bool:
    """Say whether two expressions are shown to be equal, wherever both are defined."""
    return bool(normal_form(left - right) == 0)


@lru_cache(maxsize=4096)  # each step is compared with its neighbours and with every variant
def normal_form(expression: Expr) -> Expr:
    """Return the normal form, or raise OutsideLanguageError."""
    return collapsed(terms(_resolved(expression)), normal_form)


@lru_cache(maxsize=4096)
def _resolved(e: Expr) -> Expr:
    """Rewrite as a rational function of atoms."""
    if e.is_Rational or (isinstance(e, Symbol | Indexed) and e.is_commutative):
        return e
    if e is S.Exp1:
        return Exponential(S.One)  # SymPy's own exp(1) is no exp
    if isinstance(e, Add | Mul):
        return e.func(*map(_resolved, e.args))
    if isinstance(e, Pow) and e.exp.is_Rational:
        return _resolved(e.base) ** e.exp
    if isinstance(e, exp | Exponential):
        return Mul(*map(exponential, terms(_resolved(e.args[0]))))
    if isinstance(e, log | Logarithm):
        return logarithm(*factored(_resolved(e.args[0])))
    if isinstance(e, Sum):
        return _sum(e)
    if isinstance(e, Expectation):
        return Add(*map(_expectation, terms(_resolved(e.args[0]))))
    if isinstance(e, Function):
        return e.func(
            *(arg if isinstance(arg, IndexedBase) else normal_form(arg) for arg in e.args)
        )
    raise OutsideLanguageError(f"{e} is outside the language of finite sums")


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
        most, ends = split(last)
        single = (_resolved(result.xreplace({index: end})) for end in ends)
        result = Add(*_sums_over(index, most, result), *single)
    return result


def _sums_over(index: Expr, last: Expr, e: Expr) -> list[Expr]:
    """Sum each term of an expression over an index; none is left of an empty sum."""
    if last == 0:
        return []
    return [closed(*opened(term, {index: last}, lambda part: part.has(index))) for term in terms(e)]
