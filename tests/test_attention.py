"""The laws of attention, of its scores, its weights and its normaliser, on the NumPy side."""

import math
import tracemalloc
from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import example, given, settings

import oracle
from attnref import (
    attention,
    attention_weights,
    expanded_attention,
    log_partition,
    masks,
    scores,
    softmax,
)
from oracle import Floats
from samples import (
    D_K,
    D_V,
    DTYPES,
    LAYOUTS,
    B,
    H,
    L,
    Mask,
    Problem,
    S,
    both_values,
    eighths,
    normal,
    problems,
    random_mask,
    triple,
)

Attend: TypeAlias = Callable[..., Floats]

# The two implementations share nothing but their rules of entry: what holds for attention, holds
# for both.
both = pytest.mark.parametrize("attend", [attention, expanded_attention], ids=["hall", "loops"])
every_dtype = pytest.mark.parametrize("dtype", DTYPES)
every_layout = pytest.mark.parametrize("layout", LAYOUTS)
drawn = settings(max_examples=150, deadline=None, derandomize=True)

NAN, INF = math.nan, math.inf


def assert_right(attend: Attend, problem: Problem) -> None:
    """Require the oracle's output within the bound, in the query's dtype."""
    output = attend(*problem.arrays, **problem.options)
    assert output.dtype == problem.query.dtype
    oracle.assert_within(output, oracle.attention(*problem.arrays, **problem.options).output)


def assert_same_bits(one: Floats, other: Floats) -> None:
    """Require equal shapes, dtypes and numbers, NaN equal to NaN."""
    assert one.dtype == other.dtype
    np.testing.assert_array_equal(one, other, strict=True)


# ------------------------------------------------------------------------------ the definition


@both
@drawn
@given(problem=problems())
@example(Problem(normal(L, D_K), normal(L, D_K), normal(L, D_V), masks.causal(L, L)))
def test_attention_is_the_oracle_within_its_bound(attend: Attend, problem: Problem) -> None:
    """|y − y*| is within the bound, for any sizes, leading axes, dtype, layout, mask and scale."""
    assert_right(attend, problem)


@drawn
@given(problem=problems(values=False))
def test_weights_are_the_oracle_within_its_bound(problem: Problem) -> None:
    """|p − p*| is within the bound, for any sizes, leading axes, dtype, layout, mask and scale."""
    weights = attention_weights(problem.query, problem.key, **problem.options)
    truth = oracle.weights(problem.query, problem.key, **problem.options)
    assert weights.dtype == problem.query.dtype
    oracle.assert_within(weights, truth.weights)


@drawn
@given(problem=problems(values=False))
def test_scores_are_the_oracle_within_its_bound(problem: Problem) -> None:
    """|a − a*| is within the bound, unless a float16 is too small to hold a."""
    options: dict[str, Any] = {
        "scale": problem.scale,
        "softcap": problem.softcap,
        "bias": problem.bias,
    }
    a = scores(problem.query, problem.key, **options)
    truth = oracle.weights(problem.query, problem.key, **options)
    assert a.dtype == problem.query.dtype
    masked = truth.scores.exact == -INF
    fits = (abs(truth.scores.exact) <= float(np.finfo(a.dtype).max)) | masked
    bound = truth.scores.bound(a.dtype)
    oracle.assert_near(a[fits], truth.scores.exact[fits], bound[fits])
    assert np.isinf(a[~fits]).all()


@every_dtype
@pytest.mark.parametrize("shape", [(S,), (L, S), (B, L, S)], ids=str)
@pytest.mark.parametrize("masked", [False, True], ids=["all", "masked"])
def test_softmax_and_log_partition_are_the_oracle_within_its_bound(
    dtype: str, shape: tuple[int, ...], masked: bool
) -> None:
    """Scores that are given are exact: weights and log Z are the oracle's, within their bounds."""
    a = (8 * normal(*shape)).astype(dtype)
    mask = random_mask(*shape) if masked else None
    truth = oracle.rows(a, mask=mask)
    oracle.assert_within(softmax(a, mask=mask), truth.weights)
    oracle.assert_within(log_partition(a, mask=mask), truth.log_z)


@both
@every_dtype
def test_attention_is_the_oracle_on_plain_data(attend: Attend, dtype: str) -> None:
    """|y − y*| is within the bound at sizes that are pairwise different primes."""
    query, key, value = triple(dtype=dtype, batch=(B,))
    assert_right(attend, Problem(query, key, value, random_mask(B, L, S)))


@both
def test_attention_in_a_square_takes_the_mask_as_it_stands(attend: Attend) -> None:
    """Rows of the mask are queries also where L = S, when its transpose would fit as well."""
    mask = random_mask(S, S)
    assert (mask != mask.T).any()
    assert_right(attend, Problem(normal(S, D_K, seed=1), normal(S, D_K), normal(S, D_V), mask))


@both
def test_attention_scales_by_the_root_of_the_depth(attend: Attend) -> None:
    """The scale is 1/√d_k unless given."""
    query, key, value = triple()
    given_scale = attend(query, key, value, scale=1 / math.sqrt(D_K))
    assert_same_bits(attend(query, key, value), given_scale)


@both
@pytest.mark.parametrize(
    "scale", [-1.5, 0.0, -0.0, 2, Fraction(1, 3), np.float32(0.7), np.int8(-2)], ids=repr
)
def test_attention_takes_any_finite_scale(attend: Attend, scale: float) -> None:
    """Negative, zero, integer, rational and NumPy scales are numbers like any other."""
    assert_right(attend, Problem(*triple(), random_mask(L, S), scale))


@both
def test_attention_of_scale_zero_is_the_mean(attend: Attend) -> None:
    """At β = 0 every score is 0 and every weight 1/S."""
    query, key, value = triple()
    mean = np.broadcast_to(value.mean(axis=0), (L, D_V))
    truth = oracle.attention(query, key, value, scale=0.0)
    oracle.assert_agree(attend(query, key, value, scale=0.0), mean, truth.output)


# ------------------------------------------------------------------------------ its laws


@every_dtype
def test_weights_sum_to_one(dtype: str) -> None:
    """Each row of weights sums to 1: S roundings, then one to the dtype for each weight."""
    query, key, _ = triple(dtype=dtype)
    weights = attention_weights(query, key, mask=random_mask(L, S))
    bound = S * oracle.unit("float64") + oracle.unit(dtype) + S * np.finfo(dtype).smallest_normal
    for row in weights:
        assert abs(math.fsum(row.tolist()) - 1) <= bound


def test_weights_lie_between_zero_and_one() -> None:
    """No weight is negative or above 1."""
    weights = attention_weights(*triple()[:2], mask=random_mask(L, S), scale=30.0)
    assert (weights >= 0).all()
    assert (weights <= 1).all()


def test_weights_are_zero_exactly_where_masked() -> None:
    """A masked key has weight 0, an allowed one more than 0."""
    mask = random_mask(L, S)
    query, key, _ = triple()
    np.testing.assert_array_equal(attention_weights(query, key, mask=mask) > 0, mask)
    np.testing.assert_array_equal(softmax(scores(query, key), mask=mask) > 0, mask)


@both
def test_attention_with_a_masked_key_is_attention_without_it(attend: Attend) -> None:
    """Masking a key is the same as deleting it."""
    query, key, value = triple()
    keep = random_mask(S)
    truth = oracle.attention(query, key, value, mask=keep)
    masked, deleted = attend(query, key, value, mask=keep), attend(query, key[keep], value[keep])
    oracle.assert_agree(masked, deleted, truth.output)


def test_log_partition_with_a_masked_key_is_log_partition_without_it() -> None:
    """Masking a score is the same as deleting it."""
    a, keep = normal(L, S), random_mask(S)
    truth = oracle.rows(a, mask=keep)
    oracle.assert_agree(log_partition(a, mask=keep), log_partition(a[:, keep]), truth.log_z)


@both
def test_attention_does_not_depend_on_the_order_of_keys(attend: Attend) -> None:
    """Permuting the keys with their values and their column of the mask changes nothing."""
    query, key, value = triple()
    mask, order = random_mask(L, S), np.random.default_rng(0).permutation(S)
    truth = oracle.attention(query, key, value, mask=mask)
    permuted = attend(query, key[order], value[order], mask=mask[:, order])
    oracle.assert_agree(attend(query, key, value, mask=mask), permuted, truth.output)


@both
def test_attention_permutes_with_its_queries(attend: Attend) -> None:
    """Each query is answered alone: permuting the queries permutes the outputs."""
    query, key, value = triple()
    order = np.random.default_rng(0).permutation(L)
    truth = oracle.attention(query[order], key, value)
    permuted = attend(query, key, value)[order]
    oracle.assert_agree(attend(query[order], key, value), permuted, truth.output)


@both
@every_dtype
def test_attention_of_equal_scores_is_the_mean(attend: Attend, dtype: str) -> None:
    """Equal keys give the mean of the values, whatever the query."""
    query, key, value = triple(dtype=dtype)
    key = np.broadcast_to(key[0], key.shape)
    mean = np.broadcast_to(value.mean(axis=0, dtype="float64"), (L, D_V))
    truth = oracle.attention(query, key, value)
    oracle.assert_agree(attend(query, key, value), mean, truth.output)


@pytest.mark.parametrize("shift", [-8192.0, -1.0, 3.0, 65536.0])
def test_softmax_does_not_see_a_shift_of_the_row(shift: float) -> None:
    """Adding a constant to every score of a row changes no bit, where the addition is exact."""
    a, mask = eighths(L, S), random_mask(L, S)
    assert_same_bits(softmax(a + shift, mask=mask), softmax(a, mask=mask))


@pytest.mark.parametrize("shift", [-8192.0, -1.0, 3.0, 65536.0])
def test_log_partition_moves_with_a_shift_of_the_row(shift: float) -> None:
    """Adding c to every score of a row adds c to log Z."""
    a, mask = eighths(L, S), random_mask(L, S)
    moved, still = oracle.rows(a + shift, mask=mask).log_z, oracle.rows(a, mask=mask).log_z
    bound = moved.bound("float64") + still.bound("float64")
    shifted = oracle.exactly(log_partition(a, mask=mask)) + shift
    oracle.assert_near(log_partition(a + shift, mask=mask), shifted, bound)


def test_log_partition_of_a_union_is_the_sum_of_its_parts() -> None:
    """Z of all keys is Z of some plus Z of the others, wherever the keys are split."""
    a = 5 * normal(S)
    for cut in range(S + 1):
        parts = np.array([log_partition(a[:cut]), log_partition(a[cut:])])
        whole = oracle.rows(a).log_z
        # Each part's error enters by its share of Z, so that both together count once.
        oracle.assert_near(log_partition(a), oracle.rows(parts).log_z.exact, 2 * whole.bound("f8"))


@both
def test_attention_does_not_see_a_shift_of_all_keys(attend: Attend) -> None:
    """Adding one vector to every key shifts each row of scores and changes nothing."""
    query, key, value = eighths(L, D_K), eighths(S, D_K, seed=1), normal(S, D_V)
    moved = key + eighths(D_K)
    truth, other = (oracle.attention(query, k, value).output for k in (key, moved))
    bound = truth.bound("float64") + other.bound("float64")
    still = oracle.exactly(attend(query, key, value))
    oracle.assert_near(attend(query, moved, value), still, bound)


@both
def test_attention_is_linear_in_the_values(attend: Attend) -> None:
    """The output of 2v − 3w is twice the output of v less three times that of w."""
    query, key, _ = triple()
    v, w, mask = eighths(S, D_V), eighths(S, D_V, seed=1), random_mask(L, S)
    mixed, of_v, of_w = (
        oracle.attention(query, key, x, mask=mask).output for x in (2 * v - 3 * w, v, w)
    )
    bound = mixed.bound("f8") + 2 * of_v.bound("f8") + 3 * of_w.bound("f8")
    y, z = (oracle.exactly(attend(query, key, x, mask=mask)) for x in (v, w))
    oracle.assert_near(attend(query, key, 2 * v - 3 * w, mask=mask), 2 * y - 3 * z, bound)


@both
@pytest.mark.parametrize("offset", [0.0, 1e2, 1e4, 1e6])
def test_attention_of_equal_values_is_that_value(attend: Attend, offset: float) -> None:
    """Weights sum to 1 at any score: no rounding of log Z, however large, is left in them."""
    # Where all v_s are equal the bound is u (2S + 3) |v|, whatever the scores.
    query, key = 1 + abs(normal(L, D_K)), offset + normal(S, D_K)
    value = np.broadcast_to(normal(D_V), (S, D_V))
    truth = oracle.attention(query, key, value)
    oracle.assert_within(attend(query, key, value), truth.output)


@both
@every_dtype
def test_attention_lies_in_the_hull_of_the_allowed_values(attend: Attend, dtype: str) -> None:
    """No output is below the least or above the greatest value that its query may see."""
    query, key, value = triple(dtype=dtype)
    mask = random_mask(L, S)
    truth = oracle.attention(query, key, value, mask=mask).output
    output = attend(query, key, value, mask=mask)
    seen = [value[row] for row in mask]
    least, most = np.array([v.min(axis=0) for v in seen]), np.array([v.max(axis=0) for v in seen])
    inside = oracle.exactly(np.clip(output, least, most))
    oracle.assert_near(output, inside, truth.bound(dtype))


# ------------------------------------------------------------------------------ leading axes


@both
def test_attention_of_a_batch_is_the_stack_of_single_results(attend: Attend) -> None:
    """A leading axis is a loop."""
    query, key, value = triple(batch=(B,))
    mask = random_mask(B, L, S)
    batch = attend(query, key, value, mask=mask)
    for b in range(B):
        truth = oracle.attention(query[b], key[b], value[b], mask=mask[b])
        single = attend(query[b], key[b], value[b], mask=mask[b])
        oracle.assert_agree(batch[b], single, truth.output)


def test_softmax_of_a_batch_is_the_stack_of_single_rows() -> None:
    """Leading axes of scores are a loop, and log Z drops the last axis only."""
    a, mask = normal(B, L, S), random_mask(B, L, S)
    weights, log_z = softmax(a, mask=mask), log_partition(a, mask=mask)
    assert log_z.shape == (B, L)
    for i in np.ndindex(B, L):
        truth = oracle.rows(a[i], mask=mask[i])
        oracle.assert_agree(weights[i], softmax(a[i], mask=mask[i]), truth.weights)
        oracle.assert_agree(log_z[i], log_partition(a[i], mask=mask[i]), truth.log_z)


@both
@pytest.mark.parametrize(
    ("front_q", "front_k", "front_v"),
    [((B,), (), ()), ((), (B,), ()), ((), (), (B,)), ((B, 1), (H,), (1, 1)), ((), (1,), (B, H))],
    ids=str,
)
def test_attention_broadcasts_leading_axes(
    attend: Attend, front_q: tuple[int, ...], front_k: tuple[int, ...], front_v: tuple[int, ...]
) -> None:
    """Leading axes broadcast, of query, key and value alike."""
    fronts = front_q, front_k, front_v
    tails = (L, D_K), (S, D_K), (S, D_V)
    arrays = [normal(*front, *tail) for front, tail in zip(fronts, tails, strict=True)]
    whole = np.broadcast_shapes(*fronts)
    copies = [np.broadcast_to(x, (*whole, *x.shape[-2:])).copy() for x in arrays]
    output = attend(*arrays, mask=random_mask(L, S))
    assert output.shape == (*whole, L, D_V)
    truth = oracle.attention(*copies, mask=random_mask(L, S))
    oracle.assert_within(output, truth.output)


@both
@pytest.mark.parametrize(
    "shape", [(S,), (1, S), (L, 1), (L, S), (B, 1, 1, S), (H, 1, S), (B, H, L, 1)], ids=str
)
def test_attention_broadcasts_its_mask(attend: Attend, shape: tuple[int, ...]) -> None:
    """A mask broadcasts to (…, L, S) and is right from the right."""
    query, key, value = normal(B, 1, L, D_K), normal(H, S, D_K), normal(S, D_V)
    mask = random_mask(*shape)
    full = np.broadcast_to(mask, (B, H, L, S)).copy()
    oracle.assert_within(
        attend(query, key, value, mask=mask),
        oracle.attention(query, key, value, mask=full).output,
    )


@both
@pytest.mark.parametrize("allowed", [False, True])
def test_attention_takes_a_mask_without_axes(attend: Attend, allowed: bool) -> None:
    """A single truth value allows everything or nothing."""
    assert_right(attend, Problem(*triple(), np.array(allowed)))


@both
def test_attention_with_a_mask_that_allows_everything_is_without_a_mask(attend: Attend) -> None:
    """All True is no mask."""
    query, key, value = triple()
    everything = attend(query, key, value, mask=np.ones((L, S), dtype=bool))
    assert_same_bits(everything, attend(query, key, value))


# ------------------------------------------------------------------------------ precision

# Families of data on which arithmetic in the dtype itself loses many digits.
FAMILIES: dict[str, Callable[[str], tuple[Floats, Floats, Floats]]] = {
    "normal": lambda dtype: triple(dtype=dtype),
    "scores of 100": lambda dtype: _times(10, 10, 1, dtype),
    "keys around 100": lambda dtype: _plus(0, 100, 0, dtype),
    "values around 1000": lambda dtype: _plus(0, 0, 1000, dtype),
    "tiny values": lambda dtype: _times(1, 1, 1e-4, dtype),
    "queries of zero": lambda dtype: _times(0, 1, 1, dtype),
}


def _times(q: float, k: float, v: float, dtype: str) -> tuple[Floats, Floats, Floats]:
    query, key, value = triple()
    return (q * query).astype(dtype), (k * key).astype(dtype), (v * value).astype(dtype)


def _plus(q: float, k: float, v: float, dtype: str) -> tuple[Floats, Floats, Floats]:
    query, key, value = triple()
    return (q + query).astype(dtype), (k + key).astype(dtype), (v + value).astype(dtype)


@both
@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("family", FAMILIES)
def test_attention_in_low_precision_is_within_one_unit_in_the_last_place(
    attend: Attend, family: str, dtype: str
) -> None:
    """Computed in float64 and rounded once: within one unit in the last place of Σ p |v|."""
    query, key, value = FAMILIES[family](dtype)
    truth = oracle.attention(query, key, value)
    units = np.array([oracle.ulp(x, dtype) for x in truth.magnitude.flat])
    output = attend(query, key, value)
    oracle.assert_near(output, truth.output.exact, units.reshape(output.shape))


@both
@every_dtype
def test_attention_of_scores_of_ten_thousand_is_finite_and_right(
    attend: Attend, dtype: str
) -> None:
    """Scores of ±10⁴ neither overflow nor vanish."""
    signs = np.sign(normal(L, 1)), np.sign(normal(S, 1))
    query, key = (np.asarray(100 * x).astype(dtype) for x in signs)
    both_values(key[:, 0] > 0)
    problem = Problem(query, key, normal(S, D_V, dtype=dtype))
    assert np.isfinite(attend(*problem.arrays)).all()
    assert_right(attend, problem)


@both
def test_attention_of_half_floats_survives_products_beyond_their_range(attend: Attend) -> None:
    """⟨q, k⟩ = 720 000 is beyond float16 and is no matter, for it is never a float16."""
    query, key = np.full((L, 8), 300, dtype="float16"), np.full((S, 8), 300, dtype="float16")
    value = normal(S, D_V, dtype="float16")
    assert np.isinf(scores(query, key)).all()
    assert_right(attend, Problem(query, key, value))
    uniform = attention_weights(query, key)
    oracle.assert_within(uniform, oracle.weights(query, key).weights)


@every_dtype
def test_results_have_the_dtype_of_what_they_are_made_of(dtype: str) -> None:
    """float16 in, float16 out, and so for the others."""
    query, key, value = triple(dtype=dtype)
    a = scores(query, key)
    results = (
        a,
        softmax(a),
        log_partition(a),
        attention_weights(query, key),
        attention(query, key, value),
        expanded_attention(query, key, value),
    )
    assert {result.dtype for result in results} == {np.dtype(dtype)}


# ------------------------------------------------------------------------------ memory and state


@both
@every_dtype
@every_layout
def test_attention_does_not_depend_on_the_layout(attend: Attend, dtype: str, layout: str) -> None:
    """Strides, order, alignment, byte order and writability are no part of the numbers."""
    query, key, value = (LAYOUTS[layout](x) for x in triple(dtype=dtype, batch=(B,)))
    assert_right(attend, Problem(query, key, value, LAYOUTS[layout](random_mask(B, L, S))))


@every_layout
def test_scores_and_softmax_do_not_depend_on_the_layout(layout: str) -> None:
    """Strides, order, alignment, byte order and writability are no part of the numbers."""
    query, key, _ = (LAYOUTS[layout](x) for x in triple(batch=(B,)))
    oracle.assert_within(scores(query, key), oracle.weights(query, key).scores)
    a = LAYOUTS[layout](normal(B, L, S))
    oracle.assert_within(softmax(a), oracle.rows(a).weights)
    oracle.assert_within(log_partition(a), oracle.rows(a).log_z)


@both
def test_attention_takes_expanded_views(attend: Attend) -> None:
    """An axis of stride 0 is read as if it were copied."""
    query, key, value = (np.broadcast_to(x, (B, *x.shape)) for x in triple())
    assert query.strides[0] == key.strides[0] == value.strides[0] == 0
    assert_right(attend, Problem(query, key, value, np.broadcast_to(random_mask(S), (B, L, S))))


@both
@every_dtype
def test_attention_leaves_its_arguments_alone(attend: Attend, dtype: str) -> None:
    """No bit of an argument changes, and the result is new memory that may be written to."""
    arguments = (*triple(dtype=dtype), random_mask(L, S), normal(L, S, dtype=dtype), normal(L))
    arguments = (*arguments[:5], arguments[5].astype(dtype))
    before = [x.tobytes() for x in arguments]
    mask, bias, sink = arguments[3:]
    output = attend(*arguments[:3], mask=mask, bias=bias, sink=sink, softcap=1.0)
    assert [x.tobytes() for x in arguments] == before
    assert output.flags.writeable
    assert not any(np.shares_memory(output, x) for x in arguments)


def test_scores_and_softmax_leave_their_arguments_alone() -> None:
    """No bit of an argument changes, and the result is new memory."""
    query, key, _ = triple()
    a, mask, sink = normal(L, S), random_mask(L, S), normal(L)
    before = [x.tobytes() for x in (query, key, a, mask, sink)]
    results = (
        scores(query, key, bias=a, softcap=1.0),
        softmax(a, mask=mask, sink=sink),
        log_partition(a, mask=mask, sink=sink),
    )
    assert [x.tobytes() for x in (query, key, a, mask, sink)] == before
    assert not any(np.shares_memory(x, y) for x in results for y in (a, sink))


@both
def test_attention_does_not_depend_on_how_numpy_treats_float_errors(attend: Attend) -> None:
    """Underflow and NaN belong to attention: np.errstate(all="raise") changes nothing."""
    query, key, value = triple(dtype="float16")
    key[0], value[1] = NAN, INF
    mask = random_mask(L, S)
    mask[:, :2], mask[0] = False, False
    mask[1, 0] = True
    calm = attend(query, key, value, mask=mask, scale=1e4)
    with np.errstate(all="raise"):
        assert_same_bits(attend(query, key, value, mask=mask, scale=1e4), calm)


@pytest.mark.parametrize("row", [[0.0, -1e4], [NAN, 0.0], [INF, 0.0], [-INF, -INF]], ids=str)
def test_softmax_does_not_depend_on_how_numpy_treats_float_errors(row: list[float]) -> None:
    """Underflow and NaN belong to softmax: np.errstate(all="raise") changes nothing."""
    for dtype in DTYPES:
        a = np.array(row, dtype=dtype)
        calm = softmax(a), log_partition(a)
        with np.errstate(all="raise"):
            assert_same_bits(softmax(a), calm[0])
            assert_same_bits(log_partition(a), calm[1])


@pytest.mark.parametrize("mask", [None, np.array([True, False, True])])
def test_softmax_and_log_partition_take_scores_near_the_largest_number(mask: Mask | None) -> None:
    """A difference that overflows is a weight of 0, and no warning."""
    row = np.array([1e308, -1e308, 0.5])
    np.testing.assert_array_equal(softmax(row, mask=mask), [1.0, 0.0, 0.0])
    assert log_partition(row, mask=mask) == row[0]


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_softmax_takes_a_subclass_for_its_numbers() -> None:
    """A subclass of ndarray is read as the plain array it holds."""
    a, mask = normal(L, S), random_mask(L, S)
    plain = softmax(a, mask=mask), log_partition(a, mask=mask)
    subclass = np.matrix(a), np.matrix(mask)
    assert_same_bits(softmax(subclass[0], mask=subclass[1]), plain[0])
    assert_same_bits(log_partition(subclass[0], mask=subclass[1]), plain[1])


# ------------------------------------------------------------------------------ nothing there

EMPTY_AXES = {
    "L = 0": (B, 0, S, D_K, D_V),
    "S = 0": (B, L, 0, D_K, D_V),
    "L = S = 0": (B, 0, 0, D_K, D_V),
    "batch 0": (0, L, S, D_K, D_V),
    "d_k = 0": (B, L, S, 0, D_V),
    "d_v = 0": (B, L, S, D_K, 0),
    "all 0": (0, 0, 0, 0, 0),
}


@both
@every_dtype
@pytest.mark.parametrize("sizes", EMPTY_AXES.values(), ids=EMPTY_AXES)
@pytest.mark.parametrize("masked", [False, True], ids=["all", "masked"])
def test_attention_takes_empty_axes(
    attend: Attend, sizes: tuple[int, ...], dtype: str, masked: bool
) -> None:
    """Every axis may have size 0; with no key at all the output is 0."""
    b, l_, s, d_k, d_v = sizes
    tails = (l_, d_k), (s, d_k), (s, d_v)
    query, key, value = (normal(b, *tail, dtype=dtype) for tail in tails)
    mask = np.ones((b, l_, s), dtype=bool) if masked else None
    assert_right(attend, Problem(query, key, value, mask, 1.0))


@pytest.mark.parametrize("sizes", EMPTY_AXES.values(), ids=EMPTY_AXES)
def test_weights_take_empty_axes(sizes: tuple[int, ...]) -> None:
    """Scores, weights and log Z have the shapes that empty axes give them; log Z of none is −∞."""
    b, l_, s, d_k, _ = sizes
    query, key = normal(b, l_, d_k), normal(b, s, d_k)
    truth = oracle.weights(query, key, scale=1.0)
    oracle.assert_within(scores(query, key, scale=1.0), truth.scores)
    oracle.assert_within(attention_weights(query, key, scale=1.0), truth.weights)
    oracle.assert_within(log_partition(scores(query, key, scale=1.0)), truth.log_z)


def with_empty_row() -> Mask:
    """Return a mask whose second query may attend to nothing."""
    mask = random_mask(L, S)
    mask[1] = False
    return both_values(mask)


@both
@every_dtype
def test_attention_of_an_empty_row_is_zero(attend: Attend, dtype: str) -> None:
    """A query that may attend to nothing gets 0, and the others are not disturbed."""
    problem = Problem(*triple(dtype=dtype), with_empty_row())
    assert_right(attend, problem)
    assert not attend(*problem.arrays, **problem.options)[1].any()


@every_dtype
def test_weights_of_an_empty_row_are_zero(dtype: str) -> None:
    """Where nothing is allowed the weights are 0 and log Z is −∞."""
    mask, a = with_empty_row(), normal(L, S, dtype=dtype)
    assert not softmax(a, mask=mask)[1].any()
    log_z = log_partition(a, mask=mask)
    assert log_z[1] == -INF
    assert np.isfinite(np.delete(log_z, 1)).all()


@both
@pytest.mark.parametrize("poison", [NAN, INF, -INF], ids=str)
def test_attention_of_an_empty_row_is_zero_whatever_its_query_holds(
    attend: Attend, poison: float
) -> None:
    """A NaN query that may attend to nothing gets 0: there is nothing it was compared with."""
    query, key, value = triple()
    query[1] = poison
    assert_right(attend, Problem(query, key, value, with_empty_row()))
    nothing = attend(query, key[:0], value[:0])
    assert_same_bits(nothing, np.zeros((L, D_V)))


# ------------------------------------------------------------------------------ masked is absent


@both
@every_dtype
@pytest.mark.parametrize("poison", [NAN, INF, -INF], ids=str)
@pytest.mark.parametrize("where", ["key", "value", "both"])
def test_attention_is_not_reached_by_what_a_masked_key_holds(
    attend: Attend, poison: float, where: str, dtype: str
) -> None:
    """NaN or ∞ in a key that no query may see changes no bit of any output."""
    query, key, value = triple(dtype=dtype)
    mask = random_mask(L, S)
    mask[:, 4] = False
    clean = attend(query, key, value, mask=mask)
    if where != "value":
        key[4] = poison
    if where != "key":
        value[4] = poison
    assert_same_bits(attend(query, key, value, mask=mask), clean)


@both
@pytest.mark.parametrize("poison", [NAN, INF, -INF], ids=str)
@pytest.mark.parametrize("where", ["key", "value", "both"])
def test_attention_is_reached_only_where_the_key_is_allowed(
    attend: Attend, poison: float, where: str
) -> None:
    """NaN or ∞ in a key that some queries may see is right for them and absent for the others."""
    query, key, value = triple()
    mask = random_mask(L, S)
    both_values(mask[:, 4])
    clean = attend(query, key, value, mask=mask)
    if where != "value":
        key[4] = poison
    if where != "key":
        value[4] = poison
    assert_right(attend, Problem(query, key, value, mask))
    blind = ~mask[:, 4]
    assert_same_bits(attend(query, key, value, mask=mask)[blind], clean[blind])


@both
def test_attention_keeps_batches_apart_where_values_are_not_finite(attend: Attend) -> None:
    """A value that is not finite in one batch, broadcast over heads, touches that batch only."""
    query, key, value = normal(B, H, L, D_K), normal(H, S, D_K), normal(B, 1, S, D_V)
    value[1, 0, 3, 2], value[0, 0, 5, 0] = NAN, INF
    mask = random_mask(B, 1, L, S)
    assert_right(attend, Problem(query, key, value, mask))


@both
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_attention_is_not_reached_by_any_bits(attend: Attend, dtype: str) -> None:
    """A masked key may be uninitialised memory, signalling NaN and all; nothing even warns."""
    size = np.dtype(dtype).itemsize
    bits = np.random.default_rng(0).integers(0, 256, (H * H, D_K * size), dtype=np.uint8)
    signalling = np.array([0x7C01, 0x7F800001, 0x7FF0000000000001], dtype=np.uint64)
    quiet = {"float16": np.uint16, "float32": np.uint32, "float64": np.uint64}[dtype]
    garbage = bits.view(dtype)
    garbage[0] = signalling[DTYPES.index(dtype)].astype(quiet)[np.newaxis].view(dtype)
    query, key = normal(L, D_K, dtype=dtype), normal(S, D_K, dtype=dtype)
    longer = np.concatenate([key, garbage])
    mask = both_values(np.arange(len(longer)) < S)
    truth = oracle.attention(query, key, key)
    oracle.assert_within(attend(query, longer, longer, mask=mask), truth.output)


def test_softmax_is_not_reached_by_masked_scores() -> None:
    """NaN and ∞ among masked scores change no bit of the weights or of log Z."""
    a, mask = normal(L, S), random_mask(L, S)
    for poison in (NAN, INF, -INF):
        poisoned = np.where(mask, a, poison)
        assert_same_bits(softmax(poisoned, mask=mask), softmax(a, mask=mask))
        assert_same_bits(log_partition(poisoned, mask=mask), log_partition(a, mask=mask))


# ------------------------------------------------------------------------------ nothing is hidden


@both
@every_dtype
def test_attention_shows_a_nan_value_exactly_where_it_is_seen(attend: Attend, dtype: str) -> None:
    """A NaN in one value reaches its own column, in the rows that may see it, and nothing else."""
    query, key, value = triple(dtype=dtype)
    mask = random_mask(L, S)
    both_values(mask[:, 4])
    value[4, 1] = NAN
    reached = np.zeros((L, D_V), dtype=bool)
    reached[:, 1] = mask[:, 4]
    output = attend(query, key, value, mask=mask)
    np.testing.assert_array_equal(np.isnan(output), reached)
    assert np.isfinite(output[~reached]).all()


@both
@every_dtype
def test_attention_shows_a_nan_key_exactly_where_it_is_seen(attend: Attend, dtype: str) -> None:
    """A NaN in one key makes NaN of every row that may see it, and of no other."""
    query, key, value = triple(dtype=dtype)
    mask = random_mask(L, S)
    both_values(mask[:, 4])
    key[4, 2] = NAN
    output = attend(query, key, value, mask=mask)
    np.testing.assert_array_equal(np.isnan(output).all(axis=1), mask[:, 4])
    assert np.isfinite(output[~mask[:, 4]]).all()


@both
@every_dtype
@pytest.mark.parametrize("seen", range(1, S, 3))
def test_attention_shows_a_nan_query(attend: Attend, dtype: str, seen: int) -> None:
    """A NaN query makes NaN of its row, however few keys it may see."""
    query, key, value = triple(dtype=dtype)
    query[2, 3] = NAN
    mask = random_mask(L, S)
    mask[2] = np.arange(S) < seen
    output = attend(query, key, value, mask=mask)
    assert np.isnan(output[2]).all()
    assert np.isfinite(np.delete(output, 2, axis=0)).all()


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("poison", [NAN, INF], ids=str)
def test_softmax_shows_nan_and_plus_infinity_wherever_they_stand(place: int, poison: float) -> None:
    """One allowed score of NaN or +∞ makes NaN of all allowed weights of its row and of log Z."""
    row = np.array([0.5, -1.0, 2.0, 7.0])
    row[place] = poison
    mask = both_values(np.array([True, True, True, False]))
    np.testing.assert_array_equal(softmax(row, mask=mask), [NAN, NAN, NAN, 0.0])
    assert np.isnan(log_partition(row, mask=mask))


@both
@pytest.mark.parametrize("place", range(3))
def test_attention_shows_a_score_of_plus_infinity(attend: Attend, place: int) -> None:
    """+∞ − ∞ has no value: a key at +∞ makes NaN of the row, wherever it stands."""
    key = np.array([[0.5], [-1.0], [2.0]])
    key[place] = INF
    output = attend(np.array([[1.0]]), key, np.array([[1.0], [3.0], [5.0]]))
    assert np.isnan(output).all()


@both
def test_attention_shows_infinite_values(attend: Attend) -> None:
    """An allowed value of +∞ gives +∞, of −∞ gives −∞, and of both NaN."""
    query, key = np.zeros((1, 1)), np.zeros((3, 1))
    value = np.array([[INF, INF, 1.0], [1.0, -INF, -INF], [2.0, 2.0, 2.0]])
    assert_right(attend, Problem(query, key, value))
    np.testing.assert_array_equal(attend(query, key, value), [[INF, NAN, -INF]])


def test_softmax_takes_a_score_of_minus_infinity_for_a_masked_key() -> None:
    """A score of −∞ is a key that is masked; a row of nothing else is empty."""
    a = np.where(with_empty_row(), normal(L, S), -INF)
    weights, log_z = softmax(a), log_partition(a)
    assert_same_bits(weights, softmax(normal(L, S), mask=with_empty_row()))
    assert_same_bits(log_z, log_partition(normal(L, S), mask=with_empty_row()))
    assert log_z[1] == -INF


@both
def test_attention_takes_a_score_of_minus_infinity_for_a_masked_key(attend: Attend) -> None:
    """A key at −∞ is absent, and with it whatever its value holds."""
    query, key = np.array([[1.0]]), np.array([[0.0], [-INF], [math.log(3)]])
    value = np.array([[1.0], [NAN], [3.0]])
    assert_right(attend, Problem(query, key, value, scale=1.0))
    alone = attend(query, key[1:2], value[1:2])
    assert_same_bits(alone, np.zeros((1, 1)))


def test_attention_of_values_that_are_not_finite_needs_no_array_of_pairs() -> None:
    """Memory stays of the order of the scores: no array of (L, S, d_v) is made."""
    rows, depth = 128, 61
    query, key, value = normal(rows, 2), normal(rows, 2), normal(rows, depth)
    value[rows // 2 :] = NAN
    mask = masks.causal(rows, rows)
    tracemalloc.start()
    try:
        output = attention(query, key, value, mask=mask)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert np.isfinite(output[: rows // 2]).all()
    assert peak < rows * rows * depth * value.itemsize / 2
