"""exp turns sums into products, log turns products into sums, and each undoes the other."""

from sympy import Add, Expr, Mul, Pow, Rational, S, Symbol, factorrat, sqrt

from attnref.derivations._atoms import Exponential, Logarithm
from attnref.derivations._rational import OutsideLanguageError
from attnref.derivations._signs import is_positive

__all__ = ["exponential", "logarithm"]


def exponential(term: Expr) -> Expr:
    """Return exp of one term, as a power of atoms."""
    coefficient, rest = term.as_coeff_Mul()
    power, root = coefficient.p, coefficient.q
    if isinstance(rest, Logarithm) and root == 1:
        return rest.args[0] ** power
    if isinstance(rest, Logarithm) and root == 2 and isinstance(rest.args[0], Symbol):
        return sqrt(rest.args[0]) ** power
    return Exponential(rest / root) ** power


def logarithm(number: Rational, powers: list[tuple[Expr, int]]) -> Expr:
    """Return log of number · Π factor^power; the factors not seen to be positive stay together."""
    if number == 0 or (number < 0 and not powers):
        raise OutsideLanguageError(f"a logarithm of {number}")
    apart = [power * _of_factor(factor) for factor, power in powers if is_positive(factor)]
    apart += [times * Logarithm(S(prime)) for prime, times in factorrat(abs(number)).items()]
    rest = [factor**power for factor, power in powers if not is_positive(factor)]
    if rest or number < 0:
        apart.append(Logarithm(Mul(-1 if number < 0 else 1, *rest)))
    return Add(*apart)


def _of_factor(factor: Expr) -> Expr:
    if isinstance(factor, Exponential):
        return factor.args[0]
    if isinstance(factor, Pow) and factor.exp == S.Half:
        return Logarithm(factor.base) / 2
    return Logarithm(factor)
