"""What is at least 0: an expression that shows it, or a normal form that does.

A difference is at least 0 where it is a product of factors that are, an even power among them. A
factor is one where all its terms are, after what is known has been put in for some of its atoms:

    exp         exp(u) = 1 + h with some h ≥ 0, where u is seen to be at least 0
    sums        Σ_s c_s exp(−u_s) = Σ_s c_s − h,  Σ_s c_s exp(u_s) = Σ_s c_s + h,  c_s, u_s ≥ 0
    one term    Σ_s c_s = c_r + h for a place r of the sum, c_s ≥ 0
    sizes       √n = 1 + h, where n is a positive whole number

exp and log are monotone: a difference of logarithms is at least 0 where its exp is at least 1.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import islice, product

from sympy import Dummy, Expr, Mul, Sum, Symbol, exp, sqrt

from attnref.derivations._atoms import Exponential, Logarithm
from attnref.derivations._finite_sums import normal_form
from attnref.derivations._operators import Place
from attnref.derivations._rational import factored, terms
from attnref.derivations._signs import is_nonnegative, is_positive

__all__ = ["shown_nonnegative", "shown_positive"]

Sign = Callable[[Expr], bool]

_MOST = 256
"""So many combinations of what is known are tried."""


def shown_nonnegative(e: Expr, gaps: Sequence[Expr] = ()) -> bool:
    """Say whether a normal form is shown to be at least 0; each gap is known to be."""
    return any(
        _has_sign(form, is_nonnegative) or any(_shown_from(gap, form) for gap in gaps)
        for form in _equivalents(e)
    )


def _equivalents(e: Expr) -> Iterator[Expr]:
    """Yield the expression, and exp of it less 1 if it is a difference of logarithms."""
    yield e
    if e.has(Logarithm):
        number, _ = factored(e)
        yield normal_form(exp(e / abs(number)) - 1)


def shown_positive(e: Expr) -> bool:
    """Say whether an expression is shown to be positive."""
    return is_positive(e) or _has_sign(normal_form(e), is_positive)


def _shown_from(gap: Expr, apart: Expr) -> bool:
    """Say whether a number is shown to be the gap and more, or a multiple of it."""
    if gap == 0 or _has_sign(normal_form(apart - gap), is_nonnegative):
        return bool(gap != 0)
    times = normal_form(apart / gap)
    divisors = [factor for factor, power in factored(times)[1] if power < 0]
    return all(map(shown_positive, divisors)) and _has_sign(times, is_nonnegative)


def _has_sign(e: Expr, sign: Sign) -> bool:
    """Say whether the product of the signs of all factors is shown to be this one."""
    number, powers = factored(e)
    for factor, power in powers:
        if power % 2 == 0 and sign is is_nonnegative:
            continue
        if _all_terms(-factor, sign):
            number = -number if power % 2 else number
        elif not _all_terms(factor, sign):
            return False
    return sign(number)


@lru_cache(maxsize=4096)
def _all_terms(e: Expr, sign: Sign) -> bool:
    """Say whether what is known of the atoms gives every term a sign, and one of them this sign."""
    for known in _known(e):
        monomials = terms(known)
        if all(map(is_nonnegative, monomials)) and any(map(sign, monomials)):
            return True
    return False


def _known(e: Expr) -> Iterator[Expr]:
    """Yield the expression, atoms written with numbers h ≥ 0 of which nothing else is known."""
    sums = sorted(e.atoms(Sum), key=str)
    ways = product(*([part, *_bounds(part, e)] for part in sums))
    for way in islice(ways, _MOST):
        bounded = e.xreplace(dict(zip(sums, way, strict=True)))
        kept = {part: part for part in bounded.atoms(Sum)}
        yield bounded.xreplace(kept | dict(_excesses(bounded)))


def _excesses(e: Expr) -> Iterator[tuple[Expr, Expr]]:
    """Yield the atoms that are at least 1, each as 1 + h."""
    for part in e.atoms(Exponential):
        if is_positive(part.args[0]):
            yield part, 1 + Dummy("h", positive=True)
        elif is_nonnegative(part.args[0]):
            yield part, 1 + Dummy("h", nonnegative=True)
    for size in e.atoms(Symbol):
        if size.is_integer and size.is_positive:
            root = 1 + Dummy("h", nonnegative=True)
            yield from ((sqrt(size), root), (size, root**2))


def _bounds(e: Sum, whole: Expr) -> Iterator[Expr]:
    """Yield a sum as another one and an h ≥ 0, added or taken off."""
    parts: dict[int, list[Expr]] = {-1: [], 0: [], 1: []}
    for factor in Mul.make_args(e.function):
        parts[_direction(factor)].append(factor)
    for way in (-1, 1):
        rest = Mul(*parts[0], *parts[-way])
        if parts[way] and is_nonnegative(rest):
            yield normal_form(Sum(rest, *e.limits)) + way * Dummy("h", nonnegative=True)
    if is_nonnegative(e.function) and len(e.limits) == 1:
        yield from (_term(e, place) for place in whole.atoms(Place) if place.last == e.limits[0][2])


def _term(e: Sum, place: Place) -> Expr:
    one = e.function.xreplace({e.limits[0][0]: place})
    return normal_form(one) + Dummy("h", nonnegative=True)


def _direction(factor: Expr) -> int:
    """Say whether a factor is at most 1 (−1), at least 1 (1), or neither is seen (0)."""
    base, power = factor.as_base_exp()
    if isinstance(base, Exponential) and is_nonnegative(base.args[0]) and power.is_Integer:
        return 1 if power > 0 else -1
    return 0
