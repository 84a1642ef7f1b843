"""Laws put to use: where they apply, where they must not, and what counts as positive."""

import pytest
from sympy import Eq, Expr, IndexedBase, Integer, KroneckerDelta, Sum, Symbol, exp, sqrt, symbols

from attnref.derivations import Law
from attnref.derivations._operators import Expectation, RandomVariable, RandomVector, Variance
from attnref.derivations._proof import Outcome, prove
from attnref.derivations._signs import is_positive

i, j, k, t = symbols("i j k t", integer=True)
n = Symbol("n", integer=True, positive=True)
c = Symbol("c")
a, w, x = IndexedBase("a"), IndexedBase("w"), IndexedBase("x")
z = IndexedBase("z", positive=True)
q, r = RandomVector("q"), RandomVector("r")
X = RandomVariable("X")
E, delta = Expectation, KroneckerDelta


def _law(left: Expr, right: Expr, *variables: Symbol) -> Law:
    return Law("law", "", (Eq(left, right),), variables)


ROW_SUM = _law(w[t], Sum(a[t, j], (j, 1, n)), t)
DIAGONAL = _law(a[i, i], Integer(1), i)
PAIRS = _law(
    E(q[i] * r[i] * q[j] * r[j]),
    delta(i, j) * E(q[i] ** 2 * r[i] ** 2) + (1 - delta(i, j)) * E(q[i] * r[i]) * E(q[j] * r[j]),
    i,
    j,
)
SPREAD = _law(Variance(X), E((X - E(X)) ** 2), X)

GRANTED = {
    "for every value of its variable": (w[k], Sum(a[k, j], (j, 1, n)), ROW_SUM),
    "for an index that its right side sums over": (w[j], Sum(a[j, k], (k, 1, n)), ROW_SUM),
    "under a sum": (Sum(w[j], (j, 1, n)), Sum(a[i, k], (k, 1, n), (i, 1, n)), ROW_SUM),
    "in an exponent": (exp(w[1]), exp(Sum(a[1, k], (k, 1, n))), ROW_SUM),
    "under a fraction bar": (1 / (exp(w[1])), 1 / exp(Sum(a[1, k], (k, 1, n))), ROW_SUM),
    "on the diagonal": (Sum(a[k, k], (k, 1, n)), n, DIAGONAL),
    "to factors in any order": (E(r[k] * q[1] * q[k] * r[1]), E(q[1] * r[1] * q[k] * r[k]), PAIRS),
    "where two variables are one": (E(q[k] ** 2 * r[k] ** 2), E(q[k] ** 2 * r[k] ** 2), PAIRS),
    "to any random number": (
        Variance(c * q[1] + 1),
        c**2 * (E(q[1] ** 2) - E(q[1]) ** 2),
        SPREAD,
    ),
    "to no random number, too": (Variance(c), Integer(0), SPREAD),
}

REFUSED = {
    "with an index captured": (w[j], Sum(a[j, j], (j, 1, n)), ROW_SUM),
    "with an index captured under a sum": (
        Sum(w[j], (j, 1, n)),
        Sum(a[j, j], (j, 1, n)) * n,
        ROW_SUM,
    ),
    "off the diagonal": (a[1, k], Integer(1), DIAGONAL),
    "for values it does not hold for": (w[k], Integer(0), _law(w[t], Integer(0))),
    "to an unequal pair of indices": (
        E(q[1] * r[k]),
        E(q[1]) * E(r[k]),
        _law(E(q[i] * r[i]), E(q[i]) * E(r[i]), i),
    ),
    "to part of a product under E": (
        E(q[1] * r[1] * q[2]),
        E(q[1]) * E(r[1]) * E(q[2]),
        _law(E(q[i] * r[i]), E(q[i]) * E(r[i]), i),
    ),
}


@pytest.mark.parametrize(("left", "right", "law"), GRANTED.values(), ids=list(GRANTED))
def test_law_applies(left: Expr, right: Expr, law: Law) -> None:
    """A law proves what follows from it."""
    assert prove(left, right, [law], bound=()).outcome is Outcome.PROVED


@pytest.mark.parametrize(("left", "right", "law"), REFUSED.values(), ids=list(REFUSED))
def test_law_does_not_apply(left: Expr, right: Expr, law: Law) -> None:
    """A law does not prove what looks as if it followed."""
    assert prove(left, right, [law], bound=()).outcome is Outcome.NOT_EQUAL


@pytest.mark.parametrize(
    "e",
    [n, sqrt(n), exp(c), exp(-c), z[i], z[i] + n, z[i] * n, 1 / z[i], Sum(z[i] * n, (i, 1, n))],
    ids=str,
)
def test_positive_is_seen(e: Expr) -> None:
    """Sums, products and quotients of positive numbers are positive."""
    assert is_positive(e)


@pytest.mark.parametrize(
    "e",
    [
        c,
        c**2,
        x[i],
        z[i] + c,
        z[i] * c,
        z[i] - n,
        Integer(0),
        Sum(x[i], (i, 1, n)),
        Sum(z[i], (i, 1, Symbol("l", integer=True, nonnegative=True))),
        E(X**2),
        Variance(X),
    ],
    ids=str,
)
def test_what_may_be_zero_is_not_positive(e: Expr) -> None:
    """A number that may be 0 or negative, an empty sum among them, may not be divided by."""
    assert not is_positive(e)
