"""The judge of the derivations: its laws hold, and it grants nothing else."""

import random
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import product as pairs

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy import (
    Expr,
    Float,
    IndexedBase,
    Integer,
    KroneckerDelta,
    Piecewise,
    Product,
    Rational,
    Sum,
    Symbol,
    exp,
    log,
    oo,
    pi,
    sqrt,
    symbols,
)

from attnref.derivations._finite_sums import OutsideLanguageError, equal, normal_form
from attnref.derivations._operators import (
    Expectation,
    Partial,
    Place,
    RandomVariable,
    RandomVector,
    Softmax,
    product,
    total,
)
from sums_by_hand import Array, World, value

i, j, k = symbols("i j k", integer=True)
r_size = symbols("r_size", integer=True, nonnegative=True)
n, m, p = symbols("n m p", integer=True, positive=True)
s = Place("s", n)
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
    "a sum may be added up again under the same name": (
        Sum(Sum(x[i], (i, 1, n)), (i, 1, m)),
        m * Sum(x[j], (j, 1, n)),
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
    "the last term of a sum may stand apart": (
        Sum(x[i] * y[i], (i, 1, n + 1)),
        Sum(x[j] * y[j], (j, 1, n)) + x[n + 1] * y[n + 1],
    ),
    "two last terms of a double sum may stand apart": (
        Sum(a[i, j], (i, 1, n + 1), (j, 1, m + 1)),
        Sum(a[i, j], (i, 1, n), (j, 1, m))
        + Sum(a[i, m + 1], (i, 1, n))
        + Sum(a[n + 1, j], (j, 1, m + 1)),
    ),
    "a sum of no terms is nothing": (Sum(x[i], (i, 1, 0)), Integer(0)),
    "a sum of three terms has three": (Sum(x[i], (i, 1, 3)), x[1] + x[2] + x[3]),
    "the trace of a larger identity is its size": (
        Sum(delta(i, j), (i, 1, n + 1), (j, 1, n + 1)),
        n + 1,
    ),
    "delta picks a term of a place": (Sum(delta(i, s) * x[i], (i, 1, n)), x[s]),
    "delta makes two indices one": (delta(i, j) * a[i, j], delta(i, j) * a[j, i]),
    "delta makes two indices one below": (
        delta(i, j) / w[i] + delta(i, j) * c / w[j],
        delta(i, j) * (1 + c) / w[j],
    ),
    "exp of a sum is a product": (
        Sum(exp(x[i] + c), (i, 1, n)),
        exp(c) * Sum(exp(x[i]), (i, 1, n)),
    ),
    "a shift cancels": (
        Sum(exp(x[i] - c) * y[i], (i, 1, n)) / Sum(exp(x[j] - c), (j, 1, n)),
        Sum(exp(x[i]) * y[i], (i, 1, n)) / Sum(exp(x[j]), (j, 1, n)),
    ),
    "a shift of every row cancels in every row": (
        Sum(x[i] / Sum(exp(a[i, j] + y[i]), (j, 1, m)) * exp(y[i]), (i, 1, n)),
        Sum(x[k] / Sum(exp(a[k, i]), (i, 1, m)), (k, 1, n)),
    ),
}
"""Laws of numbers, each with an example that would fail if it were applied carelessly."""

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
}

ROOT_LAWS = {
    "a root squared is what stands under it": (n * x[1] / sqrt(n), sqrt(n) * x[1]),
    "a scale leaves the mean squared": (E((X / sqrt(n)) ** 2), E(X**2) / n),
}

SUM_LAWS = LAWS | CHANCE_LAWS
ALL_LAWS = SUM_LAWS | ROOT_LAWS

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
    "delta needs the range of its place": (Sum(delta(i, s) * x[i], (i, 1, m)), x[s]),
    "delta keeps two indices apart": (delta(i, j) * x[i], x[i]),
    "a last term is one of them": (Sum(x[i], (i, 1, n + 1)), Sum(x[i], (i, 1, n))),
    "a last term is the last": (
        Sum(x[i], (i, 1, n + 1)),
        Sum(x[i], (i, 1, n)) + x[n],
    ),
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
}

OUTSIDE = {
    "a bound that is an index": Sum(x[i], (i, 1, j), (j, 1, n)),
    "a bound that is an outer index": Sum(x[j] * Sum(y[i], (i, 1, j)), (j, 1, n)),
    "a bound that is a positive index": Sum(x[i], (i, 1, p), (p, 1, n)),
    "a bound that is a positive outer index": Sum(x[p] * Sum(y[i], (i, 1, p)), (p, 1, n)),
    "a sum from 0": Sum(x[i], (i, 0, n)),
    "a length that may be negative": Sum(x[i], (i, 1, n - m)),
    "a length that may be −1": Sum(x[i], (i, 1, r_size - 1)),
    "a length that may be a fraction": Sum(x[i], (i, 1, c)),
    "an infinite sum": Sum(x[i], (i, 1, oo)),
    "a root of what may be negative": sqrt(c),
    "a cube root": n ** Rational(1, 3),
    "a power that is no number": c**b,
    "a product over an index": Product(x[i], (i, 1, n)),
    "a case distinction": Piecewise((x[1], c > 0), (0, True)),
    "factors that do not commute": Symbol("A", commutative=False),
    "a logarithm of 0": log(product(c, total(b, -b))),
    "a logarithm of a negative number": log(Integer(-3)),
    "a derivative of what is outside": Partial(Symbol("A", commutative=False), c),
    "a rounded number": Float(0.5) * c,
    "a number that is no fraction": pi * c,
    "a division by 0": 1 / product(c, total(b, -b)),
    "a division by what turns out to be 0": 1 / ((b + c) ** 2 - b**2 - 2 * b * c - c**2),
    "a division by 0 on the diagonal": Sum(delta(i, j) / (x[i] - x[j]), (i, 1, n), (j, 1, n)),
}

SIZES = ((2, 3), (3, 5), (5, 2))


def _world(n: int, m: int, seed: int) -> World:
    """Draw whole numbers for everything, positive ones for w, and three outcomes of chance."""
    draw = random.Random(seed)  # noqa: S311  # nothing secret

    def array(*shape: int, low: int = -3) -> dict[tuple[int, ...], int]:
        places = pairs(*(range(1, length + 1) for length in shape))
        return {place: draw.randint(low, 3) for place in places}

    size = max(n, m, 2) + 1
    certain: dict[str, Array] = {
        "x": array(size),
        "y": array(size),
        "w": array(size, low=1),
        "a": array(size, size),
    }
    outcomes: Iterator[dict[str, Array]] = (
        {"q": array(size), "r": array(size), "X": {(): draw.choice((-2, 1, 3))}} for _ in range(3)
    )
    chances = tuple(zip((Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)), outcomes, strict=True))
    numbers = {"n": n, "m": m, "b": 3, "c": -2, "i": 1, "j": 1 + seed % 2, "k": 1, "s": n}
    return World(numbers, certain | chances[0][1], chances, keys=size, depth=1)


def _ids(table: Mapping[str, object]) -> list[str]:
    return [name.replace(" ", "-") for name in table]


@pytest.mark.parametrize(("left", "right"), ALL_LAWS.values(), ids=_ids(ALL_LAWS))
def test_judge_grants_law(left: Expr, right: Expr) -> None:
    """What a law makes equal is found equal, whichever side comes first."""
    assert equal(left, right)
    assert equal(right, left)


@pytest.mark.parametrize(("n", "m"), SIZES)
@pytest.mark.parametrize(("left", "right"), SUM_LAWS.values(), ids=_ids(SUM_LAWS))
def test_law_holds_by_plain_loops(left: Expr, right: Expr, n: int, m: int) -> None:
    """Added up by hand, the two sides of a law are the same number at each size."""
    world = _world(n, m, seed=n)
    assert value(left, world) == value(right, world)


@pytest.mark.parametrize("n", [1, 4, 9])
@pytest.mark.parametrize(("left", "right"), ROOT_LAWS.values(), ids=_ids(ROOT_LAWS))
def test_root_law_holds_by_plain_loops(left: Expr, right: Expr, n: int) -> None:
    """At sizes with an exact root, the two sides are the same number."""
    world = _world(n, 2, seed=n)
    assert value(left, world) == value(right, world)


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize(("left", "right"), LAWS.values(), ids=_ids(LAWS))
def test_law_holds_written_out(left: Expr, right: Expr, sizes: tuple[int, int]) -> None:
    """Written out by SymPy's own `doit`, the two sides of a law are the same number."""
    apart = (left - right).subs(dict(zip((n, m), sizes, strict=True)) | {s: sizes[0]}).doit()
    assert value(apart, _world(*sizes, seed=1)) == 0


@pytest.mark.parametrize(("left", "right"), DIFFERENT.values(), ids=_ids(DIFFERENT))
def test_what_is_no_law_fails_somewhere(left: Expr, right: Expr) -> None:
    """What the judge refuses is really wrong: the two sides differ at some size and values."""
    worlds = (_world(n, m, seed) for n, m, seed in pairs((1, 4), (1, 3), range(4)))
    assert any(value(left, world) != value(right, world) for world in worlds)


@pytest.mark.parametrize(("left", "right"), DIFFERENT.values(), ids=_ids(DIFFERENT))
def test_judge_refuses_what_is_no_law(left: Expr, right: Expr) -> None:
    """What looks like a law and is none is not granted."""
    assert not equal(left, right)


@pytest.mark.parametrize("e", OUTSIDE.values(), ids=_ids(OUTSIDE))
def test_judge_refuses_what_lies_outside_its_language(e: Expr) -> None:
    """An expression without laws is an error, even compared with itself or times 0."""
    with pytest.raises(OutsideLanguageError):
        normal_form(e)


# Random expressions -------------------------------------------------------------------------------


@st.composite
def expressions(draw: st.DrawFn, depth: int = 3, scope: tuple[Symbol, ...] = ()) -> Expr:
    """Draw an expression of the language; indices are few, so that they hide one another often."""
    if depth == 0:
        return draw(leaves(scope))
    smaller = expressions(depth - 1, scope)
    kind = draw(
        st.sampled_from(
            ["leaf", "sum", "sum", "add", "mul", "exp", "over", "mean", "delta", "place"]
        )
    )
    if kind == "leaf":
        return draw(leaves(scope))
    if kind == "sum":
        index, last = draw(st.sampled_from([i, j, k])), draw(st.sampled_from([n, m, n + 1]))
        inner = expressions(depth - 1, (*(one for one in scope if one != index), index))
        return Sum(draw(inner), (index, 1, last))
    if kind == "exp":
        return exp(draw(leaves(scope, whole=True)) + draw(leaves(scope, whole=True)))
    if kind == "over":
        return draw(smaller) / draw(positives(scope))
    if kind == "mean":
        return E(draw(smaller))
    if kind == "delta":
        both = expressions(depth - 1, (*(one for one in scope if one not in (i, j)), i, j))
        return Sum(delta(i, j) * draw(both), (i, 1, n), (j, 1, draw(st.sampled_from([n, m]))))
    if kind == "place":
        one, other = (draw(st.sampled_from([s, i, j, Integer(1), *scope])) for _ in range(2))
        return delta(one, other) * draw(expressions(depth - 1, (*scope, s)))
    left, right = draw(smaller), draw(smaller)
    return left + right if kind == "add" else left * right


def leaves(scope: tuple[Symbol, ...], *, whole: bool = False) -> st.SearchStrategy[Expr]:
    """Draw a number, a symbol or an indexed symbol under the open indices."""
    options: list[Expr] = [c, b, x[1], Rational(-2)] + ([] if whole else [Rational(1, 2), X, q[1]])
    for one in scope:
        options += [x[one], y[one], w[one]] + ([] if whole else [q[one], r[one]])
        options += [a[one, other] for other in scope]
    return st.sampled_from(options)


def positives(scope: tuple[Symbol, ...]) -> st.SearchStrategy[Expr]:
    """Draw a divisor: a positive number, or a sum of positive numbers."""
    options: list[Expr] = [n, exp(c), Sum(w[i], (i, 1, n)), w[1]]
    for one in scope:
        options += [
            w[one],
            1 + w[one],
            Sum(exp(a[one, j]), (j, 1, m)),
            Sum(w[one] * w[i], (i, 1, m)),
        ]
    return st.sampled_from(options)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(expressions())
def test_normal_form_keeps_the_value(e: Expr) -> None:
    """Whatever the expression, its normal form is the same number by plain loops."""
    world = _world(2, 3, seed=7)
    assert value(normal_form(e), world) == value(e, world)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(expressions())
def test_normal_form_is_normal(e: Expr) -> None:
    """The normal form of a normal form is itself."""
    once = normal_form(e)
    assert normal_form(once) == once


@settings(max_examples=60, deadline=None, derandomize=True)
@given(expressions(depth=2), expressions(depth=2))
def test_equal_expressions_have_equal_values(left: Expr, right: Expr) -> None:
    """Two random expressions are found equal only if they agree by plain loops."""
    for other in (right, left + right - right, left * c / c):
        if equal(left, other):
            world = _world(3, 2, seed=5)
            assert value(left, world) == value(other, world)
