"""The oracle itself: numbers that are known without it, and wrong results that it refuses."""

import math
from collections.abc import Callable

import numpy as np
import pytest

import oracle
from oracle import Floats
from samples import L, S, random_mask, triple


def test_oracle_is_exact_where_the_weights_are_rational() -> None:
    """Scores 0 and log 4 have the weights 1/5 and 4/5, as far as a float can say log 4."""
    truth = oracle.rows(np.array([0.0, math.log(4)]))
    right = oracle.exactly(np.array([0.2, 0.8]))
    # log 4, 1/5 and 4/5 are each rounded once, which moves p by u (p (1 − p) log 4 + p) at most.
    bound = np.full(2, oracle.unit("float64") * (0.2 * 0.8 * math.log(4) + 0.8))
    assert (abs(truth.weights.exact - right) <= bound).all()


def test_oracle_divides_equal_scores_evenly() -> None:
    """S equal scores: each weight is 1/S and log Z is a + log S, far beyond float64."""
    truth = oracle.rows(np.full(S, 10000.0))
    assert all(abs(p * S - 1) < 1e-100 for p in truth.weights.exact)
    assert float(truth.log_z.exact[()]) == 10000 + math.log(S)


WRONG: dict[str, tuple[Callable[[Floats], Floats], str]] = {
    "relative error of 2⁻⁴³": (lambda y: y * (1 + 2**-43), r"error .*, bound "),
    "half precision": (lambda y: y.astype("float16").astype("float64"), r"error .*, bound "),
    "one NaN": (lambda y: np.where(y == y.max(), math.nan, y), "it must be finite"),
    "one infinity": (lambda y: np.where(y == y.max(), math.inf, y), "it must be finite"),
    "rows exchanged": (lambda y: y[::-1], r"error .*, bound "),
    "a leading axis": (lambda y: y[np.newaxis], "shape"),
}


@pytest.mark.parametrize(("spoil", "says"), WRONG.values(), ids=WRONG)
def test_oracle_refuses_what_is_wrong(spoil: Callable[[Floats], Floats], says: str) -> None:
    """The bound has teeth: the true output passes and every spoiled copy of it fails."""
    query, key, value = triple()
    truth = oracle.attention(query, key, value, mask=random_mask(L, S)).output
    right = truth.exact.astype("float64")
    oracle.assert_within(right, truth)
    with pytest.raises(AssertionError, match=says):
        oracle.assert_within(spoil(right), truth)


@pytest.mark.parametrize("hidden", [0.0, 1.0, math.inf])
def test_oracle_refuses_a_number_where_there_is_none(hidden: float) -> None:
    """NaN must show as NaN."""
    truth = oracle.rows(np.array([math.nan, 0.0])).log_z
    oracle.assert_within(np.array(math.nan), truth)
    with pytest.raises(AssertionError, match="what is not finite must show"):
        oracle.assert_within(np.array(hidden), truth)


@pytest.mark.parametrize(
    ("x", "dtype", "exponent"),
    [
        (1.0, "float32", -23),
        (1.99, "float32", -23),
        (2.0, "float32", -22),
        (0.99, "float32", -24),
        (3e-8, "float16", -24),
        (0.0, "float16", -24),
        (-1.0, "float16", -10),
        (1.0, "float64", -52),
    ],
)
def test_ulp_is_the_distance_between_neighbours(x: float, dtype: str, exponent: int) -> None:
    """One unit in the last place is the gap between the floats around x."""
    assert oracle.ulp(x, dtype) == 2.0**exponent
