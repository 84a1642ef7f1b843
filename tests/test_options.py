"""The laws of bias, softcap, sink and shared heads, alone and in pairs, on the NumPy side."""

import itertools
import math
from collections.abc import Callable
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import pytest

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
from samples import D_K, D_V, DTYPES, B, L, S, both_values, eighths, normal, random_mask, triple

Attend: TypeAlias = Callable[..., Floats]

both = pytest.mark.parametrize("attend", [attention, expanded_attention], ids=["hall", "loops"])
every_dtype = pytest.mark.parametrize("dtype", DTYPES)

NAN, INF = math.nan, math.inf
HQ, HKV = 6, 2  # each head of key and value is read by three of the query


def heads(dtype: str = "float64", hq: int = HQ, hkv: int = HKV) -> tuple[Floats, Floats, Floats]:
    """Return query, key and value with more heads of the query than of the others."""
    query = normal(B, hq, L, 3, dtype=dtype)
    key, value = (normal(B, hkv, S, depth, seed=1, dtype=dtype) for depth in (3, 2))
    return query, key, value


def holes(dtype: str = "float64") -> Floats:
    """Return a bias for the scores (B, HQ, L, S) in which some keys are at −∞."""
    bias = normal(B, HQ, L, S, dtype=dtype)
    return np.where(random_mask(B, HQ, L, S, seed=3), bias, np.asarray(-INF, dtype))


# Every option, at sizes that are pairwise different.
OPTIONS: dict[str, Callable[[str], Any]] = {
    "mask": lambda _: random_mask(B, 1, L, S),
    "bias": holes,
    "scale": lambda _: -0.75,
    "softcap": lambda _: 1.5,
    "sink": lambda dtype: normal(HQ, 1, dtype=dtype),
}

every_pair = pytest.mark.parametrize("pair", [*itertools.combinations(OPTIONS, 2)], ids="-".join)


def assert_right(attend: Attend, *arrays: Floats, **options: Any) -> None:
    """Require the oracle's output within the bound, in the query's dtype."""
    output = attend(*arrays, **options)
    assert output.dtype == arrays[0].dtype
    oracle.assert_within(output, oracle.attention(*arrays, **options).output)


# ------------------------------------------------------------------------------ in pairs


@both
@every_dtype
@every_pair
def test_options_are_right_in_pairs_and_with_shared_heads(
    attend: Attend, pair: tuple[str, str], dtype: str
) -> None:
    """No option is lost or put in another order because of another one."""
    options = {name: OPTIONS[name](dtype) for name in pair}
    assert_right(attend, *heads(dtype), **options)


@both
@every_dtype
def test_options_are_right_all_at_once(attend: Attend, dtype: str) -> None:
    """All options together, with shared heads, are the oracle's."""
    assert_right(attend, *heads(dtype), **{name: make(dtype) for name, make in OPTIONS.items()})


@every_pair
def test_options_of_weights_are_those_of_the_output(pair: tuple[str, str]) -> None:
    """Weights, scores and log Z take the same options and are the oracle's."""
    query, key, _ = heads()
    options = {name: OPTIONS[name]("float64") for name in pair}
    truth = oracle.weights(query, key, **options)
    oracle.assert_within(attention_weights(query, key, **options), truth.weights)
    early = {name: options[name] for name in ("scale", "softcap", "bias") if name in options}
    late = {name: options[name] for name in ("mask", "sink") if name in options}
    a = scores(query, key, **early)
    oracle.assert_within(a, truth.scores)
    given = oracle.rows(a, **late)
    oracle.assert_within(softmax(a, **late), given.weights)
    oracle.assert_within(log_partition(a, **late), given.log_z)


# ------------------------------------------------------------------------------ bias


@both
@every_dtype
@pytest.mark.parametrize(
    "shape", [(), (S,), (1, S), (L, 1), (L, S), (HQ, 1, 1), (B, 1, 1, S), (B, HQ, L, S)], ids=str
)
def test_bias_broadcasts(attend: Attend, shape: tuple[int, ...], dtype: str) -> None:
    """A bias of fewer axes, or of size 1 along some, is the bias repeated there."""
    assert_right(attend, *heads(dtype), bias=normal(*shape, dtype=dtype).reshape(shape))


@both
def test_bias_may_have_the_leading_axes_of_the_value(attend: Attend) -> None:
    """Where only the value has a batch, the bias may differ along it, and so may sink and mask."""
    query, key, _ = triple()
    options = {
        "bias": normal(B, L, S),
        "sink": normal(B, L),
        "mask": random_mask(B, 1, S),
    }
    assert_right(attend, query, key, normal(B, S, D_V), **options)


@both
@pytest.mark.parametrize("wild", [NAN, INF, -INF, 1e308], ids=str)
@pytest.mark.parametrize("softcap", [None, 2.0])
def test_bias_of_minus_infinity_masks_whatever_the_key_holds(
    attend: Attend, wild: float, softcap: float | None
) -> None:
    """−∞ selects and is not added: the output is bit for bit that of the same boolean mask."""
    query, key, value = triple()
    mask = random_mask(L, S)
    mask[:, 4] = False
    clean = attend(query, key, value, mask=mask, softcap=softcap)
    key[4] = value[4] = wild
    bias = np.where(mask, 0.0, -INF)
    output = attend(query, key, value, bias=bias, softcap=softcap)
    np.testing.assert_array_equal(output, clean, strict=True)


def test_bias_of_minus_infinity_makes_a_score_of_minus_infinity() -> None:
    """The score is −∞ also where q and k hold NaN, so that softmax takes the key for masked."""
    query, key, _ = triple()
    key[4] = NAN
    bias = np.zeros(S)
    bias[4] = -INF
    assert (scores(query, key, bias=bias)[:, 4] == -INF).all()


@both
@pytest.mark.parametrize("lowest", [-1e30, -3.4e38, np.finfo("f8").min / 4])
def test_bias_that_is_finite_masks_nothing(attend: Attend, lowest: float) -> None:
    """Where all keys are equally low none is masked: the row is that of the scores alone."""
    output = attend(
        np.zeros((1, 1)), np.zeros((2, 1)), np.array([[1.0], [3.0]]), bias=np.full((1, 2), lowest)
    )
    assert output == 2


@both
@pytest.mark.parametrize("wild", [NAN, INF], ids=str)
def test_bias_that_is_not_finite_shows_where_it_is_allowed(attend: Attend, wild: float) -> None:
    """NaN or +∞ in a bias makes NaN of the row that may see its key, and of no other."""
    query, key, value = triple()
    mask = random_mask(L, S)
    both_values(mask[:, 4])
    bias = np.zeros((L, S))
    bias[:, 4] = wild
    output = attend(query, key, value, mask=mask, bias=bias)
    np.testing.assert_array_equal(np.isnan(output).all(axis=1), mask[:, 4])
    assert np.isfinite(output[~mask[:, 4]]).all()


@both
def test_bias_of_log_m_is_the_key_m_times(attend: Attend) -> None:
    """Three copies of a key weigh what one with the bias log 3 weighs."""
    query, key, value = triple()
    bias = np.zeros(S)
    bias[2] = math.log(3)
    copies = np.r_[0:S, 2, 2]
    truth = oracle.attention(query, key[copies], value[copies]).output
    single = oracle.attention(query, key, value, bias=bias).output
    # log 3 is rounded: relative u of it moves each weight, and so y, by no more than the bound's 4.
    bound = truth.bound("f8") + 2 * single.bound("f8")
    output = attend(query, key, value, bias=bias)
    oracle.assert_near(output, oracle.exactly(attend(query, key[copies], value[copies])), bound)


# ------------------------------------------------------------------------------ softcap


def test_softcap_keeps_scores_within_it() -> None:
    """|a| ≤ c, whatever the scores are, infinities included, and NaN shows."""
    query, key = 1e3 * normal(L, D_K), normal(S, D_K)
    assert (abs(scores(query, key, softcap=3.0)) <= 3).all()
    wild = np.array([[INF], [-INF], [NAN]])
    np.testing.assert_array_equal(
        scores(wild, np.ones((1, 1)), softcap=3.0), [[3.0], [-3.0], [NAN]]
    )


@both
def test_softcap_comes_after_the_scale_and_before_the_bias(attend: Attend) -> None:
    """β = 2, x = 3 and b = 5 under a cap of 4 make 4·tanh(6/4) + 5, in that order only."""
    query, key, value = np.array([[3.0]]), np.array([[1.0], [0.0]]), np.array([[1.0], [0.0]])
    options: dict[str, Any] = {"scale": 2.0, "softcap": 4.0, "bias": np.array([5.0, 0.0])}
    a = scores(query, key, **options)
    right = 4 * math.tanh(6 / 4) + 5
    truth = oracle.attention(query, key, value, **options)
    oracle.assert_near(a, oracle.exactly(np.array([[right, 0.0]])), 2 * truth.scores.bound("f8"))
    oracle.assert_within(attend(query, key, value, **options), truth.output)


@both
def test_softcap_far_above_the_scores_changes_them_by_less_than_their_cubes(attend: Attend) -> None:
    """c·tanh(x/c) = x − x³/3c² + …: at c = 2²⁶ the change is below u for |x| ≤ 1."""
    query, key, value = np.clip(normal(L, 1), -1, 1), np.clip(normal(S, 1), -1, 1), normal(S, D_V)
    plain = oracle.attention(query, key, value).output
    capped = attend(query, key, value, softcap=2.0**26)
    bound = oracle.attention(query, key, value, softcap=2.0**26).output.bound("f8")
    oracle.assert_near(capped, plain.exact, bound + oracle.unit("f8") * plain.error)


@both
@pytest.mark.parametrize("softcap", [2**-60, 0.5, np.float32(3), 7], ids=repr)
def test_softcap_is_any_positive_number(attend: Attend, softcap: float) -> None:
    """Tiny, NumPy's and integer caps are numbers like any other."""
    assert_right(attend, *triple(), softcap=softcap)


# ------------------------------------------------------------------------------ sink


@both
@every_dtype
@pytest.mark.parametrize("shape", [(), (1,), (L,), (HQ, 1), (B, 1, 1), (B, HQ, L)], ids=str)
def test_sink_broadcasts_to_the_rows(attend: Attend, shape: tuple[int, ...], dtype: str) -> None:
    """A sink belongs to a row (…, L): one number, one a query, one a head, or one each."""
    sink = np.asarray(normal(*shape, dtype=dtype)).reshape(shape)
    assert_right(attend, *heads(dtype), sink=sink)


@both
@every_dtype
def test_sink_is_one_more_key_without_a_value(attend: Attend, dtype: str) -> None:
    """Appending a key of that score and of value 0 gives the same output."""
    query, key, value = triple(dtype=dtype)
    bias = np.zeros((1, S + 1), dtype)
    bias[0, -1] = sink = np.asarray(0.75, dtype)
    longer = np.concatenate([key, np.zeros((1, D_K), dtype)])
    extended = np.concatenate([value, np.zeros((1, D_V), dtype)])
    truth = oracle.attention(query, key, value, sink=sink).output
    one, other = (
        attend(query, key, value, sink=sink),
        attend(query, longer, extended, bias=bias),
    )
    oracle.assert_near(one, oracle.exactly(other), 4 * truth.bound(dtype))


@both
def test_sink_is_a_gate_on_the_output(attend: Attend) -> None:
    """The output is y σ(log Z − sink), with y and Z of the keys alone."""
    query, key, value = triple()
    log_z = log_partition(scores(query, key))[:, np.newaxis]
    truth = oracle.attention(query, key, value, sink=0.5).output
    plain = oracle.attention(query, key, value).output
    gate = 1 / (1 + np.exp(0.5 - log_z))
    bound = 2 * truth.bound("f8") + 2 * plain.bound("f8")
    oracle.assert_near(
        attend(query, key, value, sink=0.5),
        oracle.exactly(attend(query, key, value) * gate),
        bound,
    )


def test_sink_is_part_of_the_partition() -> None:
    """Z with a sink is Z of the keys plus exp(sink), and of a row of nothing the sink alone."""
    a, mask = normal(L, S), random_mask(L, S)
    mask[1] = False
    sink = normal(L)
    truth = oracle.rows(np.concatenate([np.where(mask, a, -INF), sink[:, np.newaxis]], axis=1))
    log_z = log_partition(a, mask=mask, sink=sink)
    oracle.assert_within(log_z, truth.log_z)
    assert log_z[1] == sink[1]
    assert log_partition(np.zeros(0), sink=-2.5) == -2.5


@pytest.mark.parametrize("shift", [-8192.0, 3.0, 65536.0])
def test_sink_shifts_with_the_scores(shift: float) -> None:
    """Adding a constant to scores and sink changes no bit of the weights, however large it is."""
    a, sink = eighths(L, S), eighths(L)
    moved = softmax(a + shift, sink=sink + shift)
    np.testing.assert_array_equal(moved, softmax(a, sink=sink), strict=True)


@both
def test_sink_of_minus_infinity_is_no_sink(attend: Attend) -> None:
    """exp(−∞) = 0: bit for bit what no sink gives, an empty row included."""
    query, key, value = triple()
    mask = random_mask(L, S)
    mask[1] = False
    without = attend(query, key, value, mask=mask)
    np.testing.assert_array_equal(attend(query, key, value, mask=mask, sink=-INF), without)
    a = scores(query, key)
    np.testing.assert_array_equal(softmax(a, mask=mask, sink=-INF), softmax(a, mask=mask))
    with_sink = log_partition(a, mask=mask, sink=-INF)
    np.testing.assert_array_equal(with_sink, log_partition(a, mask=mask))
    assert with_sink[1] == -INF


@both
@pytest.mark.parametrize("sink", [NAN, INF], ids=str)
def test_sink_that_is_not_finite_shows_in_the_rows_that_have_keys(
    attend: Attend, sink: float
) -> None:
    """NaN or +∞ makes NaN of a row, but masked weights stay 0 and no key still gives 0."""
    query, key, value = triple()
    mask = random_mask(L, S)
    mask[1] = False
    output = attend(query, key, value, mask=mask, sink=sink)
    assert np.isnan(np.delete(output, 1, axis=0)).all()
    assert not output[1].any()
    a = scores(query, key)
    np.testing.assert_array_equal(
        softmax(a, mask=mask, sink=sink), np.where(mask, NAN, 0.0), strict=True
    )
    assert np.isnan(log_partition(a, mask=mask, sink=sink)).all()


@both
def test_sink_may_be_a_number_of_any_real_kind(attend: Attend) -> None:
    """An integer, a NumPy number and an array without axes say the same."""
    query, key, value = triple(dtype="float32")
    expected = attend(query, key, value, sink=np.asarray(2.0, "float32"))
    for sink in (2, 2.0, np.float64(2), np.int8(2)):
        np.testing.assert_array_equal(attend(query, key, value, sink=sink), expected, strict=True)


def test_sink_beyond_every_float_is_infinite() -> None:
    """An integer that no float can hold is ±∞, as a float would be."""
    a = normal(L, S)
    assert np.isnan(softmax(a, sink=10**400)).all()
    np.testing.assert_array_equal(softmax(a, sink=-(10**400)), softmax(a))
    for attend in (attention, expanded_attention):
        assert np.isnan(attend(*triple(), sink=10**400)).all()


@both
def test_attention_refuses_dtypes_of_other_packages(attend: Attend) -> None:
    """bfloat16 of ml_dtypes is no dtype of NumPy's own: astype would round to it twice."""
    query, key, value = (x.astype(ml_dtypes.bfloat16) for x in triple())
    with pytest.raises(TypeError, match=r"^query is bfloat16, in which NumPy can't compute: give"):
        attend(query, key, value)


# ------------------------------------------------------------------------------ shared heads


@both
@every_dtype
@pytest.mark.parametrize(("hq", "hkv"), [(6, 2), (6, 3), (6, 1), (6, 6), (1, 6)])
def test_heads_are_shared_in_turn(attend: Attend, hq: int, hkv: int, dtype: str) -> None:
    """Query head h reads head h // (Hq/Hkv): repeated heads give the same, head for head."""
    query, key, value = heads(dtype, hq, hkv)
    assert_right(attend, query, key, value)
    each = [h * hkv // max(hq, hkv) for h in range(max(hq, hkv))]
    repeated = attend(query, key[:, each], value[:, each])
    truth = oracle.attention(query, key, value).output
    oracle.assert_agree(attend(query, key, value), repeated, truth)


@both
def test_heads_that_are_shared_are_neither_tiled_nor_averaged(attend: Attend) -> None:
    """Four query heads over values of 10 and 20 give 10, 10, 20, 20."""
    query, key = np.zeros((4, 1, 1)), np.zeros((2, 1, 1))
    value = np.array([[[10.0]], [[20.0]]])
    assert attend(query, key, value).ravel().tolist() == [10, 10, 20, 20]


@both
def test_heads_of_key_and_value_are_counted_each_for_itself(attend: Attend) -> None:
    """A key of two heads with a value of six or one, or of none, is read by each rule."""
    query, key, value = heads(hq=6, hkv=2)
    for other in (value[:, :1], value[0, 0], np.repeat(value, 3, axis=1)):
        assert_right(attend, query, key, other)
        assert_right(attend, query, np.repeat(key, 3, axis=1), other)


def test_heads_are_shared_by_weights_and_scores() -> None:
    """Scores and weights have the query's heads."""
    query, key, _ = heads()
    truth = oracle.weights(query, key)
    oracle.assert_within(scores(query, key), truth.scores)
    oracle.assert_within(attention_weights(query, key), truth.weights)


@both
def test_heads_see_a_mask_of_the_query(attend: Attend) -> None:
    """A mask and a bias have the query's heads, not those of the key."""
    query, key, value = heads()
    options = {"mask": random_mask(HQ, L, S), "bias": masks.alibi(HQ, L, S)}
    assert_right(attend, query, key, value, **options)


@both
def test_heads_that_are_shared_keep_what_is_masked_absent(attend: Attend) -> None:
    """NaN in a value of one head reaches that head's queries where they may see it, only."""
    query, key, value = heads()
    value[0, 1, 4] = NAN
    mask = random_mask(HQ, L, S)
    assert_right(attend, query, key, value, mask=mask)
    output = attend(query, key, value, mask=mask)
    reached = np.zeros((B, HQ, L), dtype=bool)
    reached[0, 3:] = mask[3:, :, 4]
    np.testing.assert_array_equal(np.isnan(output).all(axis=-1), reached)
