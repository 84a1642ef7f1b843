"""Faults that people reported of other implementations: each row's input with its right value.

The ids name the row of the list of faults and a public thread that reports it. Rows on gradients
are in the tests of the Torch side, those on masks also in the tests of masks.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import pytest

import oracle
from attnref import attention, attention_weights, expanded_attention, log_partition, masks
from oracle import Floats
from samples import Problem, normal

Attend: TypeAlias = Callable[..., Floats]

both = pytest.mark.parametrize("attend", [attention, expanded_attention], ids=["hall", "loops"])

NAN, INF = math.nan, math.inf
LN3 = math.log(3)


def column(*numbers: float, dtype: str = "float64") -> Floats:
    """Return one number a row: vectors of depth 1."""
    return np.array(numbers, dtype=dtype)[:, np.newaxis]


def problem(
    q: Sequence[float],
    k: Sequence[float],
    v: Sequence[float],
    mask: object = None,
    scale: float = 1.0,
    *,
    bias: Sequence[float] | None = None,
    dtype: str = "float64",
    **options: Any,
) -> Problem:
    """Return a problem of depth 1, written as in the list of faults."""
    query, key, value = (column(*x, dtype=dtype) for x in (q, k, v))
    allowed = None if mask is None else np.array(mask, dtype=bool)
    added = None if bias is None else np.array(bias, dtype=dtype)
    return Problem(query, key, value, allowed, scale, added, **options)


T, F = True, False
BATCH = Problem(normal(2, 1, 1), normal(2, 1), column(1, 3), np.array([[[T, F]], [[F, T]]]))
HUNDREDS = np.full((2, 8), 300, dtype="float16")
HALF = Problem(HUNDREDS[:1], HUNDREDS, column(1, 3, dtype="float16"))
EIGHTHS = column(*[1 / 8] * 4096, dtype="float16")

LOWEST = -float(np.finfo("float32").max)
HEADS = {
    (hq, hkv): Problem(
        np.zeros((hq, 1, 1)), np.zeros((hkv, 1, 1)), 10.0 * np.arange(1, hkv + 1).reshape(-1, 1, 1)
    )
    for hq, hkv in ((4, 2), (4, 1))
}

ROWS: dict[str, tuple[Problem, object]] = {
    "1-pytorch#103749": (problem([0], [0, 0], [1, 3], [F, F]), [0]),
    "2-pytorch#41508": (problem([1, 1], [0, LN3], [1, 3], [[T, T], [F, F]]), [2.5, 0]),
    "5-mlx#2395": (problem([0], [0, 0], [1, 3], [F, F]), [0]),
    "12-pytorch#141128": (problem([NAN], [0, 0], [1, 3]), [NAN]),
    "17-pytorch#103082": (
        problem([0], [0] * 4, [1, 2, 4, 8], masks.causal(1, 4, align="lower-right")),
        [3.75],
    ),
    "17-pytorch#108108": (
        problem([0], [0] * 4, [1, 2, 4, 8], masks.causal(1, 4, align="upper-left")),
        [1],
    ),
    "18-flash-attention#282": (
        problem([0, 0], [0] * 4, [1, 2, 4, 8], masks.causal(2, 4, align="lower-right")),
        [7 / 3, 3.75],
    ),
    "18-mlx#2835": (
        problem([0, 0], [0] * 4, [1, 2, 4, 8], masks.causal(2, 4, align="upper-left")),
        [1, 1.5],
    ),
    "19-flash-attention#1778": (
        problem([0] * 4, [0, 0], [1, 3], masks.causal(4, 2, align="lower-right")),
        [0, 0, 1, 2],
    ),
    "19-mlx#2967": (
        problem([0] * 4, [0, 0], [1, 3], masks.causal(4, 2, align="upper-left")),
        [1, 2, 2, 2],
    ),
    "21-keras#23038": (problem([0, 0], [0, 0], [1, 3], masks.causal(2, 2)), [1, 2]),
    "22-pytorch#187801": (
        problem([0, 0], [0, 0], [1, 3], masks.causal(2, 2) & np.array([[F, T], [T, T]])),
        [0, 2],
    ),
    "24-detr#96": (problem([0], [0, 0], [1, 3], [T, F]), [1]),
    "26-RibonanzaNet#5": (problem([0], [0, 0], [1, 3], [T, F]), [1]),
    "31-pytorch#101967": (problem([0], [0, 0], [1, NAN], [T, F]), [1]),
    "31-pytorch#101967-inf": (problem([0], [0, INF], [1, -INF], [T, F]), [1]),
    "32-maxtext#878": (problem([0, 0], [0, 0], [1, 3], [[T, F], [F, T]]), [1, 3]),
    "34-pytorch#184180": (BATCH, [[[1]], [[3]]]),
    "36-pytorch#105202": (problem([1], [0, LN3], [1, 3], scale=-1), [1.5]),
    "37-flash-attention#1461": (problem([1], [0, 0], [1, 3], [T, F], scale=0), [1]),
    "37-flash-attention#1461-negative": (problem([1], [0, 0], [1, 3], [T, F], scale=-1), [1]),
    "39-pytorch#119131": (HALF, [2]),
    "63-jax#37422": (
        problem([1], [0, 1], [1, 3]),
        [(1 + 3 * math.e) / (1 + math.e)],
    ),
    "64-tinygrad#12280": (
        Problem(column(0, dtype="f2"), EIGHTHS * 0, EIGHTHS * 0 + np.float16(1)),
        [1],
    ),
    "13-TransformerEngine#2541": (problem([0], [0, 0], [1, 3], sink=0.0), [4 / 3]),
    "15-AttentionIsOFFByOne#5": (
        problem([1], [10, 0], [1, 0], sink=0.0),
        [math.exp(10) / (math.exp(10) + 2)],
    ),
    "25-pytorch#136816-as-bias": (
        problem([0], [0, 0], [1, 3], bias=[1, 0]),
        [(math.e + 3) / (math.e + 1)],
    ),
    "28-transformers#27114": (
        problem([1], [-16, 0], [1, 3], bias=[-65504, -65504], dtype="float16"),
        [(math.exp(-16) + 3) / (math.exp(-16) + 1)],
    ),
    "30-ocannl#548": (problem([0], [0, 0], [1, 3], [T, F], dtype="float16"), [1]),
    "30-ocannl#548-as-bias": (problem([0], [0, NAN], [1, NAN], bias=[0, -INF], dtype="f2"), [1]),
    "40-onnx#7865": (problem([0], [0, 0], [1, 3], [T, F], softcap=0.5), [1]),
    "40-onnx#7865-as-bias": (problem([0], [0, 0], [1, 3], bias=[0, -INF], softcap=0.5), [1]),
    "41-keras-soft-cap": (
        problem([1], [2, 0], [1, 3], softcap=1.0),
        [(math.exp(math.tanh(2)) + 3) / (math.exp(math.tanh(2)) + 1)],
    ),
    "42-onnx#7274": (HEADS[4, 2], [[[10]], [[10]], [[20]], [[20]]]),
    "45-keras#23081": (HEADS[4, 1], [[[10]]] * 4),
    "48-keras-hub#2861": (
        Problem(
            column(0), column(0, 0, 0), column(1, 2, 4), bias=masks.alibi(8, 1, 3, offset=2)[0]
        ),
        [(math.exp(-1) + 2 * math.exp(-0.5) + 4) / (math.exp(-1) + math.exp(-0.5) + 1)],
    ),
    "54-HF#39408": (
        problem([0] * 4, [0] * 4, [1, 2, 4, 8], masks.window(4, 4, left=1, right=0)),
        [1, 1.5, 3, 6],
    ),
    "54-HF#39408-left-2": (
        problem([0] * 4, [0] * 4, [1, 2, 4, 8], masks.window(4, 4, left=2, right=0)),
        [1, 1.5, 7 / 3, 14 / 3],
    ),
    "67-mlx-inf-score": (problem([1], [0, INF], [1, 3]), [NAN]),
}


@both
@pytest.mark.parametrize(("case", "right"), ROWS.values(), ids=ROWS)
def test_attention_has_the_right_value(attend: Attend, case: Problem, right: object) -> None:
    """The row's input gives the row's right value, within the bound and one rounding of it."""
    output = attend(*case.arrays, **case.options)
    expected = np.array(right, dtype="float64").reshape(output.shape)
    truth = oracle.attention(*case.arrays, **case.options).output
    oracle.assert_within(output, truth)
    rounding = oracle.unit("float64") * abs(np.nan_to_num(expected))
    oracle.assert_near(output, oracle.exactly(expected), 2 * truth.bound(output.dtype) + rounding)


@pytest.mark.parametrize(("case", "right"), ROWS.values(), ids=ROWS)
def test_weights_have_the_same_mask_as_the_output(case: Problem, right: object) -> None:
    """Row 21: asking for the weights loses no option."""
    weights = attention_weights(case.query, case.key, **case.options)
    truth = oracle.weights(case.query, case.key, **case.options)
    oracle.assert_within(weights, truth.weights)


@pytest.mark.parametrize(
    ("row", "right"),
    [((0.0, 0.0), math.log(2)), ((math.log(2), math.log(8)), math.log(10))],
    ids=["49-pytorch#181645", "52-ring-flash-attention#20"],
)
def test_log_partition_is_natural_and_of_the_sum(row: tuple[float, float], right: float) -> None:
    """Rows 49 and 52: base e, and the logarithm of Z, no sum of logarithms."""
    truth = oracle.rows(np.array(row)).log_z
    expected = oracle.exactly(np.array(right))
    oracle.assert_near(log_partition(np.array(row)), expected, 2 * truth.bound("float64"))


@pytest.mark.parametrize(
    "row",
    [np.zeros(0), np.full(2, -INF)],
    ids=["9-flash-attention#978-S=0", "10-aten-flash-attention-for-cpu"],
)
def test_log_partition_of_nothing_is_minus_infinity(row: Floats) -> None:
    """Rows 9 and 10: an empty part has log Z = −∞, neither +∞ nor 0."""
    assert log_partition(row) == -INF
    assert log_partition(np.zeros(3), mask=np.zeros(3, dtype=bool)) == -INF


@both
@pytest.mark.parametrize(
    "mask",
    [np.array([1.0, 0.0]), np.array([1, 0]), np.array([1, 0], dtype="uint8")],
    ids=["25-pytorch#136816", "25-pytorch#137887", "25-bytes"],
)
def test_attention_refuses_numbers_for_a_mask(attend: Attend, mask: Floats) -> None:
    """Row 25: a mask of 0 and 1 would be a bias elsewhere; here it is an error that says so."""
    with pytest.raises(TypeError, match=r"mask must be boolean.*bias"):
        attend(column(0), column(0, 0), column(1, 3), mask=mask)


@both
@pytest.mark.parametrize("bias", [(LOWEST, LOWEST), (LOWEST, 0)], ids=["7-pytorch#110213", "alone"])
def test_attention_masks_nothing_by_a_low_number(attend: Attend, bias: tuple[float, float]) -> None:
    """Row 7: −3.4·10³⁸ swallows the scores 0 and 1, and a row of it is even; it masks no key."""
    output = attend(column(1), column(0, 1), column(1, 3), scale=1.0, bias=np.array(bias))
    assert output == (2 if bias[0] == bias[1] else 3)


@both
def test_attention_refuses_keys_and_values_of_different_lengths(attend: Attend) -> None:
    """Row 58, pytorch#193728: five keys and six values are an error, and no number."""
    with pytest.raises(ValueError, match=r"second-last axis S: 5 ≠ 6"):
        attend(normal(7, 2), normal(5, 2), normal(6, 3))


@both
def test_attention_of_permuted_heads_is_that_of_a_copy(attend: Attend) -> None:
    """Row 56, pytorch#181133: (B, S, H, D) permuted to (B, H, S, D) is read by its strides."""
    query, key, value = (normal(2, n, 3, 5).transpose(0, 2, 1, 3) for n in (7, 11, 11))
    assert not query.flags.c_contiguous
    truth = oracle.attention(query.copy(), key.copy(), value.copy())
    oracle.assert_within(attend(query, key, value), truth.output)


@both
def test_attention_counts_beyond_sixteen_bits(attend: Attend) -> None:
    """Row 59, pytorch#162588: S = 65537 zero scores give the mean; the last key can be found."""
    S = 2**16 + 1
    value = np.arange(S, dtype="float64")[:, np.newaxis]
    key = np.zeros((S, 1))
    # Σ p |v| = (S − 1) / 2, every ε_s = 4, and |v_s − y| ≤ y: the oracle's bound, by hand.
    mean = np.array([[(S - 1) / 2]])
    bound = oracle.unit("float64") * (4 + 2 * S + 3) * mean
    oracle.assert_near(attend(np.ones((1, 1)), key, value), oracle.exactly(mean), bound)
    key[-1] = 1e4
    np.testing.assert_array_equal(attend(np.ones((1, 1)), key, value), [[S - 1.0]])


@both
def test_attention_without_keys_is_zero(attend: Attend) -> None:
    """Row 60, pytorch#141218: L = 2, S = 0, d_v = 4 gives zeros (2, 4)."""
    output = attend(normal(2, 3), normal(0, 3), normal(0, 4))
    np.testing.assert_array_equal(output, np.zeros((2, 4)), strict=True)


def test_oracle_tells_half_sums_from_double_sums() -> None:
    """Row 64 can fail: 4096 weights of 1/4096 added up in float16 stall at 1/2."""
    total = np.float16(0)
    for _ in range(4096):
        total = np.float16(total + np.float16(1 / 4096))
    assert total == np.float16(0.5)
    case, _ = ROWS["64-tinygrad#12280"]
    with pytest.raises(AssertionError, match=r"error 0\.5"):
        oracle.assert_within(np.array([[total]]), oracle.attention(*case.arrays).output)
