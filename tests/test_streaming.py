"""The laws of attention in blocks: what attention gives, from a block of the scores at a time."""

import math
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from threadpoolctl import ThreadpoolController, threadpool_limits

import oracle
from attnref import attention, masks, partial_attention, streaming_attention
from attnref.masks import Rule
from attnref.testing import assert_close
from families import FAMILIES, family
from in_blocks import BLOCKS, HKV, HQ, ROWS, every_block, every_dtype, working
from oracle import Floats
from samples import (
    D_K,
    D_V,
    LAYOUTS,
    B,
    L,
    Mask,
    Problem,
    S,
    both_values,
    normal,
    problems,
    random_mask,
    triple,
)

NAN, INF = math.nan, math.inf


def right(problem: Problem) -> oracle.Quantity:
    """Return the oracle's output, its bound widened by what the first order leaves out.

    With errors η_s of the scores, |η_s| ≤ η, the output moves by Σ p_s (e^η_s − 1)(v_s − y) over
    Σ p_s e^η_s, which is at most Σ p_s |η_s| |v_s − y| times e^2η.
    """
    truth = oracle.attention(*problem.arrays, **problem.options)
    present = truth.scores.error[np.isfinite(truth.scores.error)]
    eta = oracle.unit(working(problem.query.dtype)) * present.max(initial=0)
    return replace(truth.output, error=truth.output.error * np.exp(min(2 * eta, 700)))


def assert_right(problem: Problem, block_size: int | None, truth: oracle.Quantity) -> None:
    """Require the oracle's output within the bound, in the query's dtype."""
    output = streaming_attention(*problem.arrays, **problem.options, block_size=block_size)
    assert output.dtype == problem.query.dtype
    oracle.assert_within(output, truth, working=working(output.dtype))


def assert_same_bits(one: Floats, other: Floats) -> None:
    """Require equal shapes, dtypes and numbers, NaN equal to NaN."""
    np.testing.assert_array_equal(one, other, strict=True)


def heads(dtype: str = "float64") -> tuple[Floats, Floats, Floats]:
    """Return query, key and value with more heads of the query than of the others."""
    query = normal(B, HQ, L, 3, dtype=dtype)
    key, value = (normal(B, HKV, S, depth, seed=1, dtype=dtype) for depth in (3, 2))
    return query, key, value


def everything(dtype: str = "float64") -> dict[str, Any]:
    """Return all options at once, for the heads above; an empty row and a bias of −∞ among them."""
    mask = random_mask(B, 1, L, S)
    mask[0, 0, 1] = False
    bias = normal(HQ, L, S, dtype=dtype)
    bias[random_mask(HQ, L, S, seed=4)] = -INF
    sink = normal(HQ, 1, dtype=dtype)
    return {"mask": mask, "bias": bias, "sink": sink, "scale": -0.75, "softcap": 1.5}


# ------------------------------------------------------------------------------ the definition


@settings(max_examples=150, deadline=None, derandomize=True)
@given(problem=problems(), block_size=st.sampled_from((1, 2, 3, 4, 5, 14, None)))
@example(Problem(normal(L, D_K), normal(L, D_K), normal(L, D_V), masks.causal(L, L)), 2)
def test_streaming_is_the_oracle_within_its_bound(problem: Problem, block_size: int | None) -> None:
    """|y − y*| is within the bound, with every option, size, leading axes, heads and layout."""
    assert_right(problem, block_size, right(problem))


@every_dtype
def test_streaming_is_right_with_all_options_at_every_block_size(dtype: str) -> None:
    """All options together, with shared heads, are the oracle's however the keys are cut."""
    problem = Problem(*heads(dtype), **everything(dtype))
    truth = right(problem)
    for block_size in BLOCKS:
        assert_right(problem, block_size, truth)


@every_dtype
@pytest.mark.parametrize("name", FAMILIES)
def test_streaming_is_right_where_attention_is_hard(name: str, dtype: str) -> None:
    """Large, ascending, equal and cancelling scores and values keep to the bound at every block."""
    problem = Problem(*family(name, dtype))
    truth = right(problem)
    for block_size in (1, 16, 256):
        assert_right(problem, block_size, truth)


@every_dtype
@every_block
def test_streaming_rises_with_the_scores(block_size: int | None, dtype: str) -> None:
    """Scores that grow by hundreds from key to key: all before the last are forgotten exactly."""
    key = (300 * np.arange(S, dtype=dtype))[:, np.newaxis]
    value = normal(S, D_V, dtype=dtype)
    output = streaming_attention(
        np.ones((1, 1), dtype), key, value, scale=10.0, block_size=block_size
    )
    assert_same_bits(output, value[-1:])
    falling = streaming_attention(
        np.ones((1, 1), dtype), key[::-1], value, scale=10.0, block_size=block_size
    )
    assert_same_bits(falling, value[:1])


@pytest.mark.parametrize("rows", [1, 255, 256, 257, ROWS, 513])
@pytest.mark.parametrize("block_size", [3, None], ids=str)
def test_streaming_takes_any_number_of_queries(rows: int, block_size: int | None) -> None:
    """One query, one block of 256, and more: every query has its own mask, bias, sink and row."""
    query, key, value = normal(rows, 3), normal(S, 3), normal(S, 2)
    mask = random_mask(rows, S)
    mask[rows // 2] = rows == 1
    options: dict[str, Any] = {"bias": normal(rows, S), "sink": normal(rows), "softcap": 2.0}
    output = streaming_attention(query, key, value, mask=mask, **options, block_size=block_size)
    assert_close(output, query, key, value, mask=mask, **options)
    rule = Rule(rows, S, lambda i, j: mask[i, j])
    by_rule = streaming_attention(query, key, value, mask=rule, **options, block_size=block_size)
    assert_same_bits(by_rule, output)


def test_streaming_of_half_floats_multiplies_in_single() -> None:
    """Scores of 80 000 are beyond float16: with work in float32 the larger key gets all weight."""
    query, key = np.full((1, 2), 200, "float16"), np.array([[199, 199], [200, 200]], "float16")
    value = np.array([[1], [3]], "float16")
    for block_size in (1, 2):
        output = streaming_attention(query, key, value, scale=1.0, block_size=block_size)
        assert_same_bits(output, value[1:])


@pytest.mark.parametrize("softcap", [1e-60, 2.0**-100, 2.0**100, 1e60])
def test_streaming_in_single_takes_caps_that_single_does_not_hold(softcap: float) -> None:
    """A cap far above the scores changes nothing, one far below makes them equal, and no NaN."""
    query, key, value = triple(dtype="float32")
    key[3] = 0  # a score of 0
    capped = streaming_attention(query, key, value, softcap=softcap)
    query, scale = (query, None) if softcap > 1 else (0 * query, 1.0)
    assert_close(capped, query, key, value, scale=scale)


@pytest.mark.parametrize("sink", [1e39, -1e39, 1e300, -1e300])
def test_streaming_in_single_takes_sinks_that_single_does_not_hold(sink: float) -> None:
    """A sink beyond float32 takes all weight, or none, and makes no NaN."""
    query, key, value = triple(dtype="float32")
    output = streaming_attention(query, key, value, sink=sink)
    plain = streaming_attention(query, key, value)
    assert_same_bits(output, np.zeros_like(plain) if sink > 0 else plain)


# ------------------------------------------------------------------------------ heads and axes


@pytest.mark.parametrize(
    "fronts",
    [
        ((B,), (B,), (B,)),
        ((B,), (), (1,)),
        ((), (B,), ()),
        ((), (), (B,)),
        ((1, 3), (B, 1), ()),
        ((B, 6), (B, 2), (B, 3)),
        ((B, 6), (1, 1), (2,)),
        ((6,), (3,), (B, 6)),
        ((1, 6), (B, 3), (1, 1)),
    ],
    ids=str,
)
@pytest.mark.parametrize("block_size", [2, None], ids=str)
def test_streaming_broadcasts_leading_axes_and_shares_heads(
    fronts: tuple[tuple[int, ...], ...], block_size: int | None
) -> None:
    """Leading axes broadcast, and several heads of the query read one of key or value."""
    tails = (L, 3), (S, 3), (S, 2)
    arrays = [normal(*front, *tail) for front, tail in zip(fronts, tails, strict=True)]
    problem = Problem(arrays[0], arrays[1], arrays[2], random_mask(L, S), sink=0.5)
    assert_right(problem, block_size, right(problem))


@pytest.mark.parametrize("shape", [(), (S,), (L, 1), (HQ, 1, 1), (B, 1, 1, S), (B, HQ, L, S)])
def test_streaming_broadcasts_mask_and_bias(shape: tuple[int, ...]) -> None:
    """A mask or a bias of fewer axes, or of size 1 along some, is repeated there."""
    query, key, value = heads()
    bias = np.asarray(normal(*shape))
    mask = np.asarray(bias > -0.5) if shape else np.array(True)
    for options in ({"bias": bias}, {"mask": mask}):
        problem = Problem(query, key, value, **options)
        assert_right(problem, 2, right(problem))


@every_block
def test_streaming_works_on_each_head_alone(block_size: int | None) -> None:
    """A head of a batch is, bit for bit, what it is without the others."""
    query, key, value = heads()
    options = everything()
    whole = streaming_attention(query, key, value, **options, block_size=block_size)
    for b, h in np.ndindex(B, HQ):
        options |= {"mask": everything()["mask"][b, 0], "bias": everything()["bias"][h]}
        options["sink"] = everything()["sink"][h]
        arrays = query[b, h], key[b, h // 3], value[b, h // 3]
        assert_same_bits(
            streaming_attention(*arrays, **options, block_size=block_size), whole[b, h]
        )


# ------------------------------------------------------------------------------ layouts


@every_dtype
@pytest.mark.parametrize("layout", LAYOUTS)
def test_streaming_does_not_depend_on_the_layout(layout: str, dtype: str) -> None:
    """Strides, order, alignment, byte order and writability are no part of the numbers."""
    turned = LAYOUTS[layout]
    query, key, value = (turned(x) for x in triple(dtype=dtype, batch=(B,)))
    options: dict[str, Any] = {
        "mask": turned(random_mask(L, S)),
        "bias": turned(normal(B, L, S, dtype=dtype)),
        "sink": turned(normal(B, L, dtype=dtype)),
    }
    problem = Problem(query, key, value, **options)
    assert_right(problem, 3, right(problem))


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
@pytest.mark.parametrize("kind", [np.matrix, np.memmap])
def test_streaming_takes_a_subclass_for_its_numbers(kind: type) -> None:
    """A subclass of ndarray is read as the plain array it holds."""
    arrays: list[Any] = [*triple(), random_mask(L, S), normal(L, S)]
    outputs = []
    for query, key, value, mask, bias in (arrays, [x.view(kind) for x in arrays]):
        outputs.append(streaming_attention(query, key, value, mask=mask, bias=bias, block_size=3))
        assert type(outputs[-1]) is np.ndarray
    assert_same_bits(*outputs)


@every_dtype
def test_streaming_leaves_its_arguments_alone(dtype: str) -> None:
    """No bit of an argument changes, and the result is new memory that may be written to."""
    query, key, value = triple(dtype=dtype)
    value[3] = NAN
    bias, sink, mask = normal(L, S, dtype=dtype), normal(L, dtype=dtype), random_mask(L, S)
    arguments: list[Any] = [query, key, value, mask, bias, sink]
    before = [x.tobytes() for x in arguments]
    options: dict[str, Any] = {"mask": mask, "bias": bias, "sink": sink, "softcap": 1.0}
    output = streaming_attention(query, key, value, **options, block_size=3)
    assert [x.tobytes() for x in arguments] == before
    assert output.flags.writeable
    assert not any(np.shares_memory(output, x) for x in arguments)


@every_dtype
def test_streaming_does_not_depend_on_how_numpy_treats_float_errors(dtype: str) -> None:
    """Overflow, underflow and NaN belong to attention: np.errstate(all="raise") changes nothing."""
    query, key, value = triple(dtype=dtype)
    key[0], value[1] = NAN, INF
    mask = random_mask(L, S)
    mask[:, :2], mask[0] = False, False
    mask[1, 0] = True
    options: dict[str, Any] = {"mask": mask, "scale": 1e4, "softcap": 1e4, "sink": 0.5}
    calm = streaming_attention(query, key, value, **options, block_size=2)
    with np.errstate(all="raise"):
        assert_same_bits(streaming_attention(query, key, value, **options, block_size=2), calm)


# ------------------------------------------------------------------------------ nothing there


@every_dtype
@pytest.mark.parametrize(
    ("b", "rows", "keys", "d_k", "d_v"),
    [
        (B, 0, S, D_K, D_V),
        (B, L, 0, D_K, D_V),
        (B, 0, 0, D_K, D_V),
        (0, L, S, D_K, D_V),
        (B, L, S, 0, D_V),
        (B, L, S, D_K, 0),
    ],
)
@pytest.mark.parametrize("masked", ["all", "array", "rule"])
def test_streaming_takes_empty_axes(
    b: int, rows: int, keys: int, d_k: int, d_v: int, masked: str, dtype: str
) -> None:
    """Every axis may have size 0; with no key at all the output is 0."""
    shapes = (b, rows, d_k), (b, keys, d_k), (b, keys, d_v)
    query, key, value = (normal(*shape, dtype=dtype) for shape in shapes)
    mask = np.ones((b, rows, keys), dtype=bool)
    given = {"all": None, "array": mask, "rule": Rule.causal(rows, keys, offset=keys)}
    output = streaming_attention(query, key, value, mask=given[masked], scale=1.0, sink=0.25)
    truth = oracle.attention(query, key, value, mask=mask, scale=1.0, sink=0.25).output
    assert output.dtype == dtype
    oracle.assert_within(output, truth, working=working(dtype))


@every_dtype
@every_block
@pytest.mark.parametrize("poison", [0.0, NAN, INF], ids=str)
def test_streaming_of_an_empty_row_is_zero(
    poison: float, block_size: int | None, dtype: str
) -> None:
    """A query that may attend to nothing gets 0, whatever it holds, and no other is disturbed."""
    query, key, value = triple(dtype=dtype)
    mask = random_mask(L, S)
    mask[1] = False
    clean = streaming_attention(query, key, value, mask=mask, block_size=block_size)
    query[1] = poison
    output = streaming_attention(query, key, value, mask=mask, block_size=block_size)
    assert not output[1].any()
    assert_same_bits(np.delete(output, 1, axis=0), np.delete(clean, 1, axis=0))
    rule = Rule(L, S, lambda i, j: i != 1)
    assert not streaming_attention(query, key, value, mask=rule, block_size=block_size)[1].any()


def wrote_nothing(mask: Any, block_size: int | None) -> None:
    """Require an output of 0 under a mask that allows nothing."""
    query, key, value = triple()
    key[:], value[:] = NAN, INF
    output = streaming_attention(query, key, value, mask=mask, block_size=block_size)
    assert_same_bits(output, np.zeros((L, D_V)))


@every_block
def test_streaming_is_zero_where_no_query_sees_a_key(block_size: int | None) -> None:
    """A mask, a band or a function that allows nothing at all leaves no key to read."""
    for mask in (
        np.zeros((L, S), bool),
        np.array(False),
        Rule.causal(L, S, offset=-L),
        Rule(L, S, first=1, last=0),
        Rule(L, S, lambda i, j: j < 0),
    ):
        wrote_nothing(mask, block_size)


# ------------------------------------------------------------------------------ masked is absent


@every_dtype
@every_block
@pytest.mark.parametrize("poison", [NAN, INF, -INF, "largest"], ids=str)
@pytest.mark.parametrize("by", ["mask", "rule", "bias"])
def test_streaming_is_not_reached_by_what_a_masked_key_holds(
    poison: Any, by: str, block_size: int | None, dtype: str
) -> None:
    """NaN, ∞ or a huge number in a key that some queries may not see is absent for these."""
    query, key, value = triple(dtype=dtype)
    mask = random_mask(L, S)
    mask[:, 4] = [True, False, False, True, False]
    blind = ~mask[:, 4]
    ways: dict[str, dict[str, Any]] = {
        "mask": {"mask": mask},
        "rule": {"mask": Rule(L, S, lambda i, j: mask[i, j])},
        "bias": {"bias": np.where(mask, 0, -INF).astype(dtype)},
    }
    wild = np.finfo(dtype).max if poison == "largest" else poison
    key[4], value[4] = wild, wild
    output = streaming_attention(query, key, value, **ways[by], block_size=block_size)
    assert np.isfinite(output[blind]).all()
    key[4], value[4] = 0, 0
    truth = right(Problem(query[blind], key, value, mask[blind]))
    oracle.assert_within(output[blind], truth, working=working(dtype))


@every_dtype
@every_block
def test_streaming_is_not_reached_by_any_bits(block_size: int | None, dtype: str) -> None:
    """A masked key may be uninitialised memory, signalling NaN and all."""
    size = np.dtype(dtype).itemsize
    bits = np.random.default_rng(0).integers(0, 256, (11, D_K * size), dtype=np.uint8)
    garbage: Floats = bits.view(dtype)
    query, key = normal(L, D_K, dtype=dtype), normal(S, D_K, dtype=dtype)
    longer = np.concatenate([garbage[:3], key, garbage[3:]])
    present = both_values((np.arange(len(longer)) >= 3) & (np.arange(len(longer)) < 3 + S))
    truth = right(Problem(query, key, key))
    for mask in (present, Rule(L, len(longer), lambda i, j: (j >= 3) & (j < 3 + S))):
        output = streaming_attention(query, longer, longer, mask=mask, block_size=block_size)
        oracle.assert_within(output, truth, working=working(dtype))


@every_block
@pytest.mark.parametrize("absent", [1, 2, 3, 5])
def test_streaming_starts_after_blocks_that_are_wholly_masked(
    absent: int, block_size: int | None
) -> None:
    """Where the first keys are seen by none, or by one query only, the others begin later."""
    query, key, value = triple()
    key[:absent], value[:absent] = 40, NAN
    mask = np.ones((L, S), bool)
    mask[:, :absent] = False
    rest = query, key[absent:], value[absent:]
    problem = Problem(query, key, value, mask)
    assert_right(problem, block_size, right(Problem(*rest)))
    mask[3, :absent] = True
    value[:absent] = 7
    problem = Problem(query, key, value, mask)
    assert_right(problem, block_size, right(problem))


# ------------------------------------------------------------------------------ nothing is hidden


@every_dtype
@every_block
def test_streaming_shows_nan_exactly_where_it_is_seen(block_size: int | None, dtype: str) -> None:
    """A NaN in a value reaches its column, in a key or a query its rows, where they are seen."""
    mask = random_mask(L, S)
    seen = both_values(mask[:, 4])
    for poisoned in ("query", "key", "value"):
        query, key, value = triple(dtype=dtype)
        reached = np.zeros((L, D_V), bool)
        if poisoned == "value":
            value[4, 1], reached[:, 1] = NAN, seen
        elif poisoned == "key":
            key[4, 2], reached[seen] = NAN, True
        else:
            query[2, 3], reached[2] = NAN, True
        output = streaming_attention(query, key, value, mask=mask, block_size=block_size)
        np.testing.assert_array_equal(np.isnan(output), reached)
        assert np.isfinite(output[~reached]).all()


@every_dtype
@every_block
def test_streaming_shows_infinite_values(block_size: int | None, dtype: str) -> None:
    """An allowed value of +∞ gives +∞, of −∞ gives −∞, and of both NaN."""
    query, key = np.zeros((1, 1), dtype), np.zeros((3, 1), dtype)
    value = np.array([[INF, INF, 1.0], [1.0, -INF, -INF], [2.0, 2.0, 2.0]], dtype)
    output = streaming_attention(query, key, value, block_size=block_size)
    assert_same_bits(output, np.array([[INF, NAN, -INF]], dtype))


@every_dtype
@every_block
@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("poison", [NAN, INF], ids=str)
def test_streaming_shows_a_score_that_has_no_weight(
    poison: float, place: int, block_size: int | None, dtype: str
) -> None:
    """A score of +∞ or NaN makes NaN of the row, in whatever block it stands."""
    key = np.array([[0.5], [-1.0], [2.0]], dtype)
    key[place] = poison
    value = np.array([[1.0], [3.0], [5.0]], dtype)
    query = np.array([[1.0], [0.5]], dtype)
    output = streaming_attention(query, key, value, block_size=block_size)
    assert np.isnan(output).all()


@every_dtype
@every_block
@pytest.mark.parametrize("wild", [2.0, NAN, INF], ids=str)
def test_streaming_takes_a_score_of_minus_infinity_for_a_masked_key(
    wild: float, block_size: int | None, dtype: str
) -> None:
    """A key at −∞ is absent, and with it whatever its value holds; alone it leaves an empty row."""
    query = np.array([[1.0]], dtype)
    key, value = np.array([[-INF], [0.0], [-INF], [2.0]], dtype), normal(4, 2, dtype=dtype)
    value[[0, 2]] = wild
    problem = Problem(query, key, value, scale=1.0)
    assert_right(problem, block_size, right(problem))
    alone = streaming_attention(query, key[:1], value[:1], block_size=block_size)
    assert_same_bits(alone, np.zeros((1, 2), dtype))


# ------------------------------------------------------------------------------ sinks and rules


@every_dtype
@every_block
@pytest.mark.parametrize("shape", [(), (1,), (ROWS,)], ids=str)
def test_streaming_counts_a_sink_once(
    shape: tuple[int, ...], block_size: int | None, dtype: str
) -> None:
    """However many blocks there are, a sink is one more key of value 0, of its own query."""
    query, key, value = (normal(n, 3, dtype=dtype) for n in (ROWS, S, S))
    sink: Any = np.asarray(normal(*shape, dtype=dtype)).reshape(shape) if shape else 0.75
    output = streaming_attention(query, key, value, sink=sink, block_size=block_size)
    assert_close(output, query, key, value, sink=sink)


@every_dtype
@every_block
def test_streaming_takes_a_sink_of_minus_infinity_for_none(
    block_size: int | None, dtype: str
) -> None:
    """exp(−∞) adds nothing: bit for bit it is as without a sink, and where no key is, 0."""
    query, key, value = triple(dtype=dtype)
    mask = random_mask(L, S)
    mask[1] = False
    plain = streaming_attention(query, key, value, mask=mask, block_size=block_size)
    for sink in (-INF, np.full(L, -INF, dtype)):
        sunk = streaming_attention(query, key, value, mask=mask, sink=sink, block_size=block_size)
        assert_same_bits(sunk, plain)


@pytest.mark.parametrize("sink", [0.1, 1000.3, -1000.3, 100000.7])
def test_streaming_rounds_no_sink(sink: float) -> None:
    """A sink is exact however far it lies from what float32 holds: z makes up for a rounded m."""
    key = np.zeros((1, 1), "float32")
    query, value = np.ones((1, 1), "float32"), np.ones((1, 1), "float32")
    bias = np.array([[sink]], "float32")
    off = sink - float(bias[0, 0])
    assert off != 0
    output = streaming_attention(query, key, value, bias=bias, sink=sink)
    truth = 1 / (1 + math.exp(off))
    # exp to 2 units, one sum, one quotient, and the last rounding
    assert abs(float(output[0, 0]) - truth) <= 5 * oracle.unit("float32")


@every_dtype
@every_block
def test_streaming_gives_the_same_bits_for_a_mask_and_its_rule(
    block_size: int | None, dtype: str
) -> None:
    """Where the blocks are the same, an array and a rule of it leave the same bits."""
    query, key, value = triple(dtype=dtype)
    mask = random_mask(L, S)
    rule = Rule(L, S, lambda i, j: mask[i, j])
    outputs = [
        streaming_attention(query, key, value, mask=given, block_size=block_size)
        for given in (mask, rule)
    ]
    assert_same_bits(*outputs)


@every_dtype
@pytest.mark.parametrize("offset", range(-L - 1, S + 2))
def test_streaming_gives_the_same_bits_for_bands(offset: int, dtype: str) -> None:
    """A band of keys, one by one, is its mask bit for bit; in larger blocks it is within bounds."""
    query, key, value = triple(dtype=dtype)
    pairs: list[tuple[Rule, Mask]] = [
        (Rule.causal(L, S, offset=offset), masks.causal(L, S, offset=offset)),
        (
            Rule.window(L, S, left=2, right=1, offset=offset),
            masks.window(L, S, left=2, right=1, offset=offset),
        ),
    ]
    for rule, mask in pairs:
        arrays = query, key, value
        one, other = (streaming_attention(*arrays, mask=x, block_size=1) for x in (rule, mask))
        assert_same_bits(one, other)
        for block_size in (2, 3, None):
            output = streaming_attention(*arrays, mask=rule, block_size=block_size)
            assert_close(output, *arrays, mask=mask)


def test_streaming_takes_a_rule_whose_mask_would_fill_memory() -> None:
    """A few queries at the end of 65 536 keys see what is before them, in 2 MiB."""
    keys = 65_536
    query, key, value = (normal(n, 3, dtype="float32") for n in (L, keys, keys))
    rule = Rule.causal(L, keys, align="lower-right")
    with traced() as peak:
        output = streaming_attention(query, key, value, mask=rule)
        assert peak() <= 2 * 2**20
    assert_close(output, query, key, value, mask=masks.causal(L, keys, align="lower-right"))
    near = Rule.window(keys, keys, left=2, right=0)
    few = streaming_attention(key, key, value, mask=near)
    last = slice(keys - 3, keys)
    assert_close(few[last][-1:], key[last][-1:], key[last], value[last])


# ------------------------------------------------------------------------------ memory


@contextmanager
def traced() -> Iterator[Callable[[], int]]:
    """Count the bytes that are held at once, at most."""
    tracemalloc.start()
    try:
        yield lambda: tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def workspace(length: int, dtype: str, wild: int | None = None, **options: Any) -> int:
    """Return what a call holds beyond its output, in bytes; each so many values are NaN."""
    query, key, value = (normal(length, 64, seed=i, dtype=dtype) for i in range(3))
    if wild:
        value[::wild] = NAN
    with traced() as peak:
        output = streaming_attention(query, key, value, **options)
        return peak() - output.nbytes


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("chosen", ["all", "rule", "options"])
def test_streaming_needs_no_more_memory_for_more_keys(chosen: str, dtype: str) -> None:
    """Twice as many queries and keys take the same workspace, within 2 MiB."""
    used = []
    for length in (1536, 3072):
        options: dict[str, dict[str, Any]] = {
            "all": {},
            "rule": {"mask": Rule.causal(length, length)},
            "options": {
                "mask": np.broadcast_to(random_mask(length), (length, length)),
                "bias": normal(1, length, dtype=dtype),
                "sink": 1.0,
                "softcap": 3.0,
            },
        }
        used.append(workspace(length, dtype, **options[chosen]))
    assert max(used) <= 2 * 2**20
    assert used[1] <= used[0] * 1.05


def test_streaming_of_values_that_are_not_finite_needs_no_more_memory_for_more_keys() -> None:
    """Where masked values hold NaN a block of the scores more is there, and no more."""
    used = []
    for length in (1536, 3072):
        mask = np.ones((length, length), bool)
        mask[:, ::61] = False
        used.append(workspace(length, "float32", wild=61, mask=both_values(mask)))
    assert max(used) <= 4 * 2**20
    assert used[1] <= used[0] * 1.05


# ------------------------------------------------------------------------------ threads


def blas() -> int:
    """Return how many threads the linear algebra would take."""
    libraries = ThreadpoolController().select(user_api="blas").lib_controllers
    return max(int(library.num_threads) for library in libraries)


def many() -> tuple[tuple[Floats, Floats, Floats], dict[str, Any]]:
    """Return what several threads have to do: heads, and blocks of queries."""
    query, key, value = normal(B, HQ, ROWS, 3), normal(B, HKV, S, 3), normal(B, HKV, S, 2)
    bias = normal(HQ, 1, S)
    return (query, key, value), {"bias": bias, "sink": normal(HQ, 1), "mask": random_mask(ROWS, S)}


def test_streaming_gives_the_same_bits_in_any_number_of_threads() -> None:
    """Threads take whole heads: no sum is cut otherwise, and BLAS is left as it was."""
    arrays, options = many()
    outputs = []
    for threads in (1, 2, 3):
        with threadpool_limits(threads, user_api="blas"):
            before = blas()
            outputs += [streaming_attention(*arrays, **options, block_size=3) for _ in range(2)]
            assert blas() == before
    for output in outputs[1:]:
        assert_same_bits(output, outputs[0])


def test_streaming_works_in_as_many_threads_as_blas_would() -> None:
    """Two heads meet in two threads, each with one of BLAS; with one thread it is the caller's."""
    arrays = [normal(2, n, 3) for n in (L, S, S)]
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            found = meeting_of(threads, arrays)
            assert blas() == threads
        assert [n for _, n in found] == [1, 1]
        workers = {ident for ident, _ in found}
        assert len(workers) == threads
        assert (threading.get_ident() in workers) == (threads == 1)


def meeting_of(threads: int, arrays: list[Floats]) -> list[tuple[int, int]]:
    """Return the thread of each of two heads, and how many threads BLAS would take there."""
    meeting = threading.Barrier(threads)
    found = []

    def visible(i: Any, j: Any) -> Any:
        found.append((threading.get_ident(), blas()))
        meeting.wait(timeout=60)  # broken, which is an error, where one thread does all
        return i + j >= 0

    streaming_attention(*arrays, mask=Rule(L, S, visible))
    return found


@pytest.mark.parametrize("threads", [1, 2])
def test_streaming_lets_errors_out_of_its_threads(threads: int) -> None:
    """What a rule raises in a thread is raised by the call, and BLAS is left as it was."""

    def visible(i: Any, j: Any) -> Any:
        raise LookupError("no such document")

    arrays = [normal(2, n, 3) for n in (L, S, S)]
    with threadpool_limits(threads, user_api="blas"):
        with pytest.raises(LookupError, match=r"^no such document$"):
            streaming_attention(*arrays, mask=Rule(L, S, visible))
        assert blas() == threads
        output = streaming_attention(*arrays)  # and no lock is left behind
    assert_close(output, *arrays)


def test_streaming_may_be_called_from_several_threads() -> None:
    """Calls that run at the same time give what each gives alone, and BLAS is left as it was."""
    arrays, options = many()
    alone = streaming_attention(*arrays, **options)
    results: list[Floats] = []

    def call() -> None:
        results.append(streaming_attention(*arrays, **options))

    with threadpool_limits(2, user_api="blas"):
        threads = [threading.Thread(target=call) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert blas() == 2
    assert len(results) == 4
    for result in results:
        assert_same_bits(result, alone)


# ------------------------------------------------------------------------------ its neighbours


@every_block
def test_streaming_is_the_output_of_the_state_of_all_keys(block_size: int | None) -> None:
    """Blocks are parts that merge: `partial_attention` of all keys has the same output."""
    query, key, value = heads()
    options = everything()
    output = streaming_attention(query, key, value, **options, block_size=block_size)
    truth = right(Problem(query, key, value, **options))
    for other in (partial_attention, attention):
        found = other(query, key, value, **options)
        oracle.assert_agree(output, found if isinstance(found, np.ndarray) else found.output, truth)
