"""Moments of scores and of dropped weights: each record is what attnref gives, outcome by outcome.

Random numbers take every combination of finitely many values. All of them are small whole numbers
or their halves, so that attnref's own results are exact, and means over them are fractions.
"""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product as all_of
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sympy import Rational

import attnref
from attnref.derivations import Record
from attnref.derivations.dropout import DRPM, DRPV
from attnref.derivations.kurtosis import KURT
from attnref.derivations.moments import ECOR, VCOR, VGEN
from attnref.derivations.uniform import EUNI, VUNI
from attnref.derivations.within_rows import VKEY, VROW
from statements import written_out
from sums_by_hand import Array, World, value

Points = tuple[tuple[Fraction, Fraction], ...]
"""A distribution: probabilities and values."""
Outcome = tuple[Fraction, Fraction]
"""A probability, and what attnref gives in that case."""


def _points(*pairs: tuple[Fraction | str, Fraction | str]) -> Points:
    points = tuple((Fraction(p), Fraction(x)) for p, x in pairs)
    assert sum(p for p, _ in points) == 1
    return points


COIN = _points(("1/2", "-1"), ("1/2", "1"))
DIE = _points(("1/8", "-2"), ("3/4", "0"), ("1/8", "2"))
LEFT = _points(("1/2", "-1"), ("1/2", "3"))
RIGHT = _points(("1/4", "1"), ("3/4", "5"))
SIMPSON = _points(("1/6", "0"), ("2/3", "1/2"), ("1/6", "1"))
"""The first three moments of the uniform distribution on [0, 1)."""
FIVE = _points(("1/12", "-2"), ("1/6", "-1"), ("1/2", "0"), ("1/6", "1"), ("1/12", "2"))
"""Mean 0, variance 1 and fourth moment 3, as the normal distribution has them."""


def _moment(points: Sequence[Outcome], power: int, about: Fraction = Fraction()) -> Fraction:
    return sum((p * (x - about) ** power for p, x in points), Fraction())


def _mean(points: Sequence[Outcome]) -> Fraction:
    return _moment(points, 1)


def _variance(points: Sequence[Outcome]) -> Fraction:
    return _moment(points, 2, _mean(points))


def _draws(*parts: Points) -> Iterator[tuple[Fraction, list[Fraction]]]:
    """Yield every combination of independent numbers, with its probability."""
    for outcome in all_of(*parts):
        yield math.prod((p for p, _ in outcome), start=Fraction(1)), [x for _, x in outcome]


def _score(query: Sequence[Fraction], key: Sequence[Fraction], scale: float | None) -> Fraction:
    """Return one score of attnref's, which must be exact."""
    vectors = (np.array([[float(x) for x in xs]]) for xs in (query, key))
    (score,) = attnref.scores(*vectors, scale=scale).ravel().tolist()
    if scale == 1.0:
        assert score == sum(map(math.prod, zip(query, key, strict=True)), Fraction())
    return Fraction(score)


def _scores(d: int, query: Points, key: Points, scale: float | None = 1.0) -> list[Outcome]:
    """Return every score of d independent components, with its probability."""
    draws = _draws(*[query] * d, *[key] * d)
    return [(p, _score(numbers[:d], numbers[d:], scale)) for p, numbers in draws]


def _right_side(record: Record, **numbers: Any) -> Fraction:
    """Evaluate the right side of a statement. A square may be given: "sigma_q**2", say."""
    rhs = record.statement.rhs
    squares = {x**2: Rational(numbers[f"{x}**2"]) for x in rhs.free_symbols if f"{x}**2" in numbers}
    number = written_out(rhs.xreplace(squares), numbers)
    assert number.is_Rational, number
    return Fraction(number.p, number.q)


# Scores -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize(("query", "key"), [(LEFT, RIGHT), (RIGHT, DIE), (COIN, LEFT)])
def test_variance_with_means_is_that_of_all_outcomes(d: int, query: Points, key: Points) -> None:
    """VGEN: the statement is the variance of attnref's scores, means and all."""
    moments = {"mu_q": _mean(query), "mu_k": _mean(key)}
    squares = {"sigma_q**2": _variance(query), "sigma_k**2": _variance(key)}
    outcomes = _scores(d, query, key)
    assert _variance(outcomes) == _right_side(VGEN, d_k=d, **moments, **squares)


def _correlated(d: int) -> list[Outcome]:
    """Return ⟨q, 5k⟩ for q = z and k = 3/5 z + 4/5 z′: the correlation is 3/5."""
    outcomes = []
    for p, numbers in _draws(*[FIVE] * (2 * d)):
        query, other = numbers[:d], numbers[d:]
        key = [3 * x + 4 * y for x, y in zip(query, other, strict=True)]
        outcomes.append((p, _score(query, key, 1.0) / 5))
    return outcomes


@pytest.mark.parametrize("d", [1, 2])
def test_correlated_moments_are_those_of_all_outcomes(d: int) -> None:
    """ECOR and VCOR: mean and variance of attnref's scores, for fourth moments as normal."""
    outcomes, rho = _correlated(d), Fraction(3, 5)
    assert _mean(outcomes) == _right_side(ECOR, d_k=d, rho=rho)
    assert _variance(outcomes) == _right_side(VCOR, d_k=d, rho=rho)


def test_correlated_variance_needs_the_fourth_moment() -> None:
    """VCOR: equal coins have correlation 1 and no variance at all, as its remark on them says."""
    outcomes = [(p, _score(numbers, numbers, 1.0)) for p, numbers in _draws(COIN, COIN)]
    assert _mean(outcomes) == _right_side(ECOR, d_k=2, rho=1)
    assert _variance(outcomes) == 0 != _right_side(VCOR, d_k=2, rho=1)


def test_scores_of_uniform_numbers() -> None:
    """EUNI and VUNI: mean √d/4 and variance 7/144 of attnref's scaled scores."""
    outcomes = _scores(4, SIMPSON, SIMPSON, None)  # 1/√4 is exact
    assert _mean(outcomes) == _right_side(EUNI, d_k=4) == Fraction(1, 2)
    assert _variance(outcomes) == _right_side(VUNI) == Fraction(7, 144)


def test_variance_across_keys_is_that_of_all_keys() -> None:
    """VKEY: for one query the statement is the variance of attnref's scores over all keys."""
    query = [Fraction(3), Fraction(-2)]
    row = [(p, _score(query, key, 1.0)) for p, key in _draws(RIGHT, RIGHT)]
    fixed = {"d_k": 2, "q": query}
    assert _variance(row) == _right_side(VKEY, **fixed, **{"sigma_k**2": _variance(RIGHT)})


def test_variance_within_a_row_of_uniform_numbers() -> None:
    """VROW: over all queries, the mean variance across keys of attnref's scores is 1/36."""
    within = []
    for p, query in _draws(*[SIMPSON] * 4):
        row = [(w, _score(query, key, None)) for w, key in _draws(*[SIMPSON] * 4)]
        within.append((p, _variance(row)))
    assert _mean(within) == _right_side(VROW) == Fraction(1, 36)


@pytest.mark.parametrize(("query", "key"), [(COIN, COIN), (DIE, COIN), (DIE, DIE)])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_kurtosis_is_that_of_all_outcomes(d: int, query: Points, key: Points) -> None:
    """KURT: the fourth moment of attnref's scores over the square of their variance."""
    outcomes = _scores(d, query, key)
    kurtosis = _moment(outcomes, 4) / _variance(outcomes) ** 2
    kappas = {"kappa_q": _moment(query, 4), "kappa_k": _moment(key, 4)}
    assert kurtosis == _right_side(KURT, d_k=d, **kappas)


# Dropout ------------------------------------------------------------------------------------------


class Prescribed(np.random.Generator):
    """A source of chance that keeps what it is told to keep, at dropout_p = 1/2 or 1/4."""

    def __init__(self, kept: Sequence[int]) -> None:
        super().__init__(np.random.PCG64(0))
        self.kept = kept

    def random(self, *_: object, **__: object) -> NDArray[np.float64]:  # type: ignore[override]
        """Return 0 for a weight to be dropped, and a number close to 1 for one to be kept."""
        return np.array([[0.9375 if keep else 0.0 for keep in self.kept]])


VALUES = (Fraction(3), Fraction(-5), Fraction(1, 2), Fraction(7))
QUARTER = Fraction(1, 4)


def _dropped(chance: Fraction) -> World:
    """Let attnref drop weights of 1/4 in every way, and note what comes out."""
    chances: list[tuple[Fraction, dict[str, Array]]] = []
    query, key = np.zeros((1, 1)), np.zeros((4, 1))
    values = np.array([[float(v)] for v in VALUES])
    for kept in all_of((0, 1), repeat=4):
        (output,) = attnref.scaled_dot_product_attention(
            query, key, values, dropout_p=float(chance), rng=Prescribed(kept)
        ).flat
        probability = math.prod((1 - chance if k else chance for k in kept), start=Fraction(1))
        mask = {(s,): k for s, k in enumerate(kept, start=1)}
        chances.append((probability, {"B": mask, "y'": {(): Fraction(float(output))}}))
    (plain,) = attnref.attention(query, key, values).flat
    arrays: dict[str, Array] = {
        "p": dict.fromkeys(((s,) for s in range(1, 5)), QUARTER),
        "v": {(s,): v for s, v in enumerate(VALUES, start=1)},
    }
    numbers: dict[str, Fraction | int] = {
        "m": 4,
        "y": Fraction(float(plain)),
        "kappa": 1 - chance,
        "p_d": chance,
    }
    return World(numbers, arrays, tuple(chances))


@pytest.mark.parametrize("record", [DRPM, DRPV], ids=lambda record: record.tag)
def test_dropout_moments_are_those_of_all_outcomes(record: Record) -> None:
    """DRPM and DRPV: over all ways to drop, attnref's outputs have this mean and this variance."""
    world = _dropped(Fraction(1, 2))
    assert value(record.statement.lhs, world) == value(record.statement.rhs, world)
    for step in record.steps:
        assert value(step.expression, world) == value(record.statement.rhs, world), step.name


def test_dropout_with_another_probability_is_close() -> None:
    """DRPV: with dropout_p = 1/4, where 1/(1 − p) is rounded, to one rounding of each output."""
    world = _dropped(QUARTER)
    exact = value(DRPV.statement.rhs, world)
    size = sum(abs(v) for v in VALUES)
    # An output of size at most 2·size/4 is off by 3 roundings: the variance by twice that times it.
    slack = 2 * size * size * 3 * Fraction(1, 2**53)
    assert abs(value(DRPV.statement.lhs, world) - exact) <= slack
