"""The judge of the derivations: its laws hold, and it grants nothing else."""

import random
from collections.abc import Callable
from fractions import Fraction
from itertools import product as pairs

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sums_by_hand import World, value
from sympy import (
    Expr,
    Float,
    IndexedBase,
    KroneckerDelta,
    Piecewise,
    Product,
    Rational,
    Sum,
    Symbol,
    exp,
    expand,
    oo,
    pi,
    sqrt,
    symbols,
)

from attnref.derivations._finite_sums import OutsideLanguageError, equal, normal_form
from attnref.derivations._operators import (
    Expectation,
    Inner,
    RandomVariable,
    RandomVector,
    Softmax,
    product,
    total,
)

i, j, k, l, t = symbols("i j k l t", integer=True)
n, m = symbols("n m", integer=True, positive=True)
b, c = symbols("b c")
x, y, a = IndexedBase("x"), IndexedBase("y"), IndexedBase("a")
w = IndexedBase("w", positive=True)
q, r = RandomVector("q"), RandomVector("r")
X = RandomVariable("X")
E, delta = Expectation, KroneckerDelta

LAWS = {
    "a sum of sums is the sum of the sums": (
        Sum(x[i] + y[i], (i, 1, n)),
        Sum(x[i], (i, 1, n)) + Sum(y[i], (i, 1, n)),
    ),
    "a constant factor leaves the sum": (Sum(c * x[i], (i, 1, n)), c * Sum(x[i], (i, 1, n))),
    "a factor with another index leaves the sum": (
        Sum(x[i] * a[i, j], (j, 1, m)),
        x[i] * Sum(a[i, j], (j, 1, m)),
    ),
    "a constant is added once a term": (Sum(c, (i, 1, n)), n * c),
    "an index may be renamed": (Sum(x[i], (i, 1, n)), Sum(x[k], (k, 1, n))),
    "an index may hide another of its name": (
        Sum(x[i] * Sum(a[i, i], (i, 1, n)), (i, 1, m)),
        Sum(x[j], (j, 1, m)) * Sum(a[k, k], (k, 1, n)),
    ),
    "a product of sums is a double sum": (
        Sum(x[i], (i, 1, n)) * Sum(y[i], (i, 1, m)),
        Sum(x[i] * y[j], (i, 1, n), (j, 1, m)),
    ),
    "a square of a sum is a double sum": (
        Sum(x[i], (i, 1, n)) ** 2,
        Sum(x[i] * x[j], (i, 1, n), (j, 1, n)),
    ),
    "a square of a sum with an outer index": (
        Sum(Sum(a[i, j], (j, 1, m)) ** 2, (i, 1, n)),
        Sum(a[k, i] * a[k, j], (i, 1, m), (j, 1, m), (k, 1, n)),
    ),
    "the order of sums is free": (
        Sum(Sum(a[i, j] * x[i], (j, 1, m)), (i, 1, n)),
        Sum(a[j, i] * x[j], (j, 1, n), (i, 1, m)),
    ),
    "delta picks one term": (
        Sum(delta(i, j) * x[i] * y[j], (i, 1, n), (j, 1, n)),
        Sum(x[i] * y[i], (i, 1, n)),
    ),
    "delta and its complement make one": (
        Sum(delta(i, j) * a[i, j] + (1 - delta(i, j)) * a[i, j], (i, 1, n), (j, 1, n)),
        Sum(a[i, j], (i, 1, n), (j, 1, n)),
    ),
    "three deltas leave one index": (
        Sum(delta(i, j) * delta(j, k) * delta(i, k) * x[i], (i, 1, n), (j, 1, n), (k, 1, n)),
        Sum(x[i], (i, 1, n)),
    ),
    "the trace of the identity is its size": (
        Sum(delta(i, j), (i, 1, n), (j, 1, n)),
        n,
    ),
    "a common denominator leaves the sum": (
        Sum(x[i] / (1 + c**2), (i, 1, n)),
        Sum(x[i], (i, 1, n)) / (1 + c**2),
    ),
    "a denominator with the index is reduced": (
        Sum((x[i] * w[i] + w[i]) / w[i] ** 2, (i, 1, n)),
        Sum((x[i] + 1) / w[i], (i, 1, n)),
    ),
    "a sum under the fraction bar has its own index": (
        Sum(x[i] / Sum(w[i], (i, 1, n)), (i, 1, n)),
        Sum(x[j], (j, 1, n)) / Sum(w[k], (k, 1, n)),
    ),
    "exp of a sum is a product": (Sum(exp(x[i] + c), (i, 1, n)), exp(c) * Sum(exp(x[i]), (i, 1, n))),
    "a shift cancels": (
        Sum(exp(x[i] - c) * y[i], (i, 1, n)) / Sum(exp(x[j] - c), (j, 1, n)),
        Sum(exp(x[i]) * y[i], (i, 1, n)) / Sum(exp(x[j]), (j, 1, n)),
    ),
    "a shift of every row cancels in every row": (
        Sum(x[i] / Sum(exp(a[i, j] + y[i]), (j, 1, m)) * exp(y[i]), (i, 1, n)),
        Sum(x[k] / Sum(exp(a[k, i]), (i, 1, m)), (k, 1, n)),
    ),
    "a root squared is what stands under it": (n * x[1] / sqrt(n), sqrt(n) * x[1]),
}
"""Each is checked by `.doit()` too, at three sizes, which knows nothing of the judge."""

CHANCE_LAWS = {
    "the mean of a sum": (E(X + c), E(X) + c),
    "a constant leaves the mean": (E(c * X), c * E(X)),
    "a mean is a constant": (E(X * E(X)), E(X) ** 2),
    "the square of a deviation": (E((X - E(X)) ** 2), E(X**2) - E(X) ** 2),
    "the mean of a long sum": (E(Sum(x[i] * q[i], (i, 1, n))), Sum(x[i] * E(q[i]), (i, 1, n))),
    "the mean of a square of a sum": (
        E(Sum(q[i], (i, 1, n)) ** 2),
        Sum(E(q[i] * q[j]), (i, 1, n), (j, 1, n)),
    ),
    "a scale leaves the mean squared": (E((X / sqrt(n)) ** 2), E(X**2) / n),
}

DIFFERENT = {
    "a sum of products is no product of sums": (
        Sum(x[i] * y[i], (i, 1, n)),
        Sum(x[i], (i, 1, n)) * Sum(y[i], (i, 1, n)),
    ),
    "a sum of squares is no square of a sum": (
        Sum(x[i] ** 2, (i, 1, n)),
        Sum(x[i], (i, 1, n)) ** 2,
    ),
    "lengths matter": (Sum(x[i], (i, 1, n)), Sum(x[i], (i, 1, m))),
    "a count is the length of its own sum": (Sum(1, (i, 1, n)), m),
    "a factor with the index stays": (Sum(x[i] * y[i], (i, 1, n)), x[i] * Sum(y[i], (i, 1, n))),
    "an index is not captured": (
        Sum(x[i] * Sum(a[i, j], (j, 1, n)), (i, 1, n)),
        Sum(x[i] * Sum(a[i, i], (i, 1, n)), (i, 1, n)),
    ),
    "rows are not columns": (
        Sum(x[i] * a[i, j] * y[j], (i, 1, n), (j, 1, n)),
        Sum(x[i] * a[j, i] * y[j], (i, 1, n), (j, 1, n)),
    ),
    "exp does not leave the sum": (exp(Sum(x[i], (i, 1, n))), Sum(exp(x[i]), (i, 1, n))),
    "exp of a product is no product of exps": (exp(b * c), exp(b) * exp(c)),
    "a reciprocal does not enter the sum": (1 / Sum(w[i], (i, 1, n)), Sum(1 / w[i], (i, 1, n))),
    "delta needs an index in range": (Sum(delta(i, j) * x[i], (i, 1, n)), x[j]),
    "delta needs one range": (
        Sum(delta(i, j) * x[i], (i, 1, n), (j, 1, m)),
        Sum(x[i], (i, 1, n)),
    ),
    "a free index is no bound one": (Sum(x[i], (i, 1, n)), n * x[i]),
    "the mean of a square is no square of a mean": (E(X**2), E(X) ** 2),
    "the mean of a product is no product of means": (E(q[i] * r[i]), E(q[i]) * E(r[i])),
    "the mean of a reciprocal is no reciprocal of a mean": (E(1 / X), 1 / E(X)),
    "a random number is not its mean": (X, E(X)),
    "two random vectors are two": (E(q[i]), E(r[i])),
    "a root is not the whole": (1 / sqrt(n), 1 / n),
    "softmax has a row and a place": (Softmax(a[i], j), Softmax(a[j], i)),
    "nothing is assumed of an inner product": (Inner(x[i], y[j]), Inner(y[j], x[i])),
}

OUTSIDE = {
    "a bound that is an index": Sum(x[i], (i, 1, j), (j, 1, n)),
    "a bound that is an outer index": Sum(x[j] * Sum(y[i], (i, 1, j)), (j, 1, n)),
    "a sum from 0": Sum(x[i], (i, 0, n)),
    "a length that may be negative": Sum(x[i], (i, 1, n - m)),
    "a length that may be a fraction": Sum(x[i], (i, 1, c)),
    "a sum twice over one index": Sum(x[i], (i, 1, n), (i, 1, m)),
    "an infinite sum": Sum(x[i], (i, 1, oo)),
    "a root of what may be negative": sqrt(c),
    "a cube root": n ** Rational(1, 3),
    "a power that is no number": c**b,
    "a product over an index": Product(x[i], (i, 1, n)),
    "a case distinction": Piecewise((x[1], c > 0), (0, True)),
    "factors that do not commute": Symbol("A", commutative=False),
    "a rounded number": Float(0.5) * c,
    "a number that is no fraction": pi * c,
    "a division by 0": 1 / product(c, total(b, -b)),
    "a division by 0 on the diagonal": Sum(delta(i, j) / (x[i] - x[j]), (i, 1, n), (j, 1, n)),
}

SIZES = (2, 3, 5)


def _ids(table: dict[str, object]) -> list[str]:
    return [name.replace(" ", "-") for name in table]


@pytest.mark.parametrize(("left", "right"), (LAWS | CHANCE_LAWS).values(), ids=_ids(LAWS | CHANCE_LAWS))
def test_judge_grants_law(left: Expr, right: Expr) -> None:
    """What a law makes equal is found equal, whichever side comes first."""
    assert equal(left, right)
    assert equal(right, left)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("left", "right"), LAWS.values(), ids=_ids(LAWS))
def test_law_holds_written_out(left: Expr, right: Expr, size: int) -> None:
    """SymPy, writing each sum out, finds the two sides of a law equal at each size."""
    sizes = {n: size, m: size + 2}
    assert expand((left - right).subs(sizes).doit(), power_exp=True).simplify() == 0


@pytest.mark.parametrize(("left", "right"), DIFFERENT.values(), ids=_ids(DIFFERENT))
def test_judge_refuses_what_is_no_law(left: Expr, right: Expr) -> None:
    """What looks like a law and is none is not granted."""
    assert not equal(left, right)


@pytest.mark.parametrize("e", OUTSIDE.values(), ids=_ids(OUTSIDE))
def test_judge_refuses_what_lies_outside_its_language(e: Expr) -> None:
    """An expression without laws is an error, even compared with itself or times 0."""
    with pytest.raises(OutsideLanguageError):
        normal_form(e)
