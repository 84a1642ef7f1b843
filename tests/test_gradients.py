"""The laws of the gradients of attention, by hand and in blocks: true, and 0 of what is absent."""

import itertools
import math
import threading
import tracemalloc
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

import attnref.torch
import differences
import oracle
from attnref import Gradients, Partial, _call, attention_gradients, masks, partial_attention
from attnref.masks import Rule
from differences import NAMES, short
from gradient_bounds import gradient_bounds
from in_blocks import BLOCKS, HKV, HQ, ROWS, every_block, every_dtype, working
from oracle import Bounds, Floats
from samples import (
    D_K,
    D_V,
    DTYPES,
    LAYOUTS,
    B,
    L,
    Problem,
    S,
    attention_shape,
    both_values,
    normal,
    problems,
    random_mask,
    triple,
)

NAN, INF = math.nan, math.inf


EMPTY, ABSENT = 2, 3  # a query that sees no key, a key that no query sees
MASK = random_mask(L, S)
MASK[EMPTY] = MASK[:, ABSENT] = False
SEEING = [t for t in range(L) if t != EMPTY]
KEPT = [s for s in range(S) if s != ABSENT]
assert MASK[SEEING].any(axis=1).all()


def cast(problem: Problem, dtype: str) -> Problem:
    """Return the problem with arrays of a dtype that holds them exactly."""
    found: dict[str, Any] = {}
    for name in NAMES:
        x = getattr(problem, name)
        found[name] = x.astype(dtype) if isinstance(x, np.ndarray) else x
        assert x is None or np.array_equal(found[name], x)
    return replace(problem, **found)


def asked_of(problem: Problem, *, seed: int = 7) -> tuple[Floats, Floats]:
    """Return gradients of the output and of log Z, of the problem's dtype."""
    *front, L, _ = attention_shape(*problem.arrays)
    dtype = problem.query.dtype
    g = short(*front, L, problem.value.shape[-1], seed=seed)
    return g.astype(dtype), short(*front, L, seed=seed + 1).astype(dtype)


def bounds_of(
    problem: Problem, g: Floats, gamma: Floats | None, working: str, **options: Any
) -> dict[str, Bounds]:
    """Return the bounds of the first order, widened by what that leaves out.

    Where a score is off by η, its exponential is by e^η, each normaliser by e^−η at most, and the
    slope of a cap c by e^(2η/c).
    """
    q, k = (float(abs(x).max(initial=0)) for x in (problem.query, problem.key))
    depth = problem.query.shape[-1]
    beta = depth**-0.5 if problem.scale is None else abs(problem.scale)
    eta = oracle.unit(working) * depth * (depth + 4) * beta * q * k
    times = 0.0 if options.get("exact_scores") else 2 + 2 / (problem.softcap or INF)
    first = gradient_bounds(problem, g, 0.0 if gamma is None else gamma, working=working, **options)
    with np.errstate(all="ignore"):
        found = {name: bound * math.exp(min(times * eta, 700)) for name, bound in first.items()}
    return {name: np.where(np.isnan(x), INF, x) for name, x in found.items()}


def in_blocks(
    problem: Problem, g: Floats, gamma: Floats | None = None, **options: Any
) -> Gradients:
    """Return the gradients of a problem."""
    return attention_gradients(
        *problem.arrays, g, grad_log_z=gamma, **{**problem.options, **options}
    )


def assert_near(
    found: Gradients, right: Mapping[str, Any], bounds: Mapping[str, Bounds], dtype: Any
) -> None:
    """Require each gradient within its bound, of the input's shape and dtype, None where none is.

    The last rounding, where there is one, comes on top; beyond the largest number there is no more
    to say than that the number is no NaN.
    """
    info = np.finfo(dtype)
    for name in NAMES:
        x = getattr(found, name)
        if name not in right:
            assert x is None, name
            continue
        exact = right[name]
        exact = exact if exact.dtype == object else oracle.exactly(exact)
        assert x.dtype == dtype, name
        assert x.shape == exact.shape, name
        bound = bounds[name]
        size = np.array([float(abs(y)) for y in exact.flat]).reshape(exact.shape) + bound
        if info.bits < 32:
            bound = bound + oracle.unit(dtype) * size + float(info.smallest_subnormal) / 2
        holds = size < float(info.max) / 2
        assert not np.isnan(x[~holds]).any(), name
        oracle.assert_near(x[holds], exact[holds], bound[holds])


def assert_same_bits(one: Gradients, other: Gradients) -> None:
    """Require equal shapes, dtypes and numbers, NaN equal to NaN."""
    for x, y in zip(one, other, strict=True):
        assert (x is None) == (y is None)
        if x is not None and y is not None:
            np.testing.assert_array_equal(x, y, strict=True)


def finite(found: Gradients) -> bool:
    """Say whether no gradient holds NaN or ∞."""
    return all(np.isfinite(x).all() for x in found if x is not None)


# ------------------------------------------------------------------------------ differences


def small(**options: Any) -> Problem:
    """Return a problem of a few numbers of few digits: three queries, five keys."""
    return Problem(short(3, 2), short(5, 2, seed=1), short(5, 7, seed=2), **options)


def few(*fronts: tuple[int, ...], **options: Any) -> Problem:
    """Return a problem with leading axes, of still fewer numbers."""
    tails = (3, 2), (5, 2), (5, 1)
    arrays = [
        short(*front, *tail, seed=i)
        for i, (front, tail) in enumerate(zip(fronts, tails, strict=True))
    ]
    return Problem(arrays[0], arrays[1], arrays[2], **options)


def with_empty_row() -> Any:
    """Return a mask whose second query sees nothing."""
    mask = random_mask(3, 5)
    mask[1] = False
    return both_values(mask)


def with_holes() -> Floats:
    """Return a bias in which some keys are at −∞, and all of one query."""
    bias = np.where(random_mask(3, 5, seed=5), short(3, 5, seed=3), -INF)
    bias[2] = -INF
    return bias


SMALL = {
    "plain": small(),
    "mask": small(mask=with_empty_row()),
    "bias": small(bias=short(3, 5, seed=3)),
    "bias of one key": small(bias=short(5, seed=3)),
    "bias of one query": small(bias=short(3, 1, seed=3)),
    "bias with holes": small(bias=with_holes(), sink=short(3, seed=4)),
    "sink a number": small(sink=0.75, mask=with_empty_row()),
    "sink of each query": small(sink=short(3, seed=4)),
    "softcap": small(softcap=0.75),
    "scale 0": small(scale=0.0, bias=short(3, 5, seed=3)),
    "scale negative": small(scale=-1.25, sink=0.5),
    "shared heads": few((4,), (2,), (2,), mask=with_empty_row()),
    "one head for all": few((3,), (1,), (), sink=short(3, 1, seed=4)),
    "one query for all": few((), (2,), (2, 1), bias=short(2, 1, 1, seed=3)),
    "all at once": few(
        (4,),
        (2,),
        (1,),
        mask=with_empty_row(),
        bias=short(4, 1, 5, seed=3),
        sink=short(4, 1, seed=4),
        scale=-0.75,
        softcap=1.5,
    ),
}


@pytest.mark.parametrize("name", SMALL)
def test_gradients_are_differences_of_the_oracle(name: str) -> None:
    """Each option by itself and all at once, of y and of log Z, at every block size and dtype."""
    problem = SMALL[name]
    g, gamma = asked_of(problem)
    right = differences.gradients(problem, g, gamma)
    for dtype in DTYPES:
        own = cast(problem, dtype)
        bounds = bounds_of(own, g, gamma, working(dtype))
        for block_size in (1, 2, 3, 5, None):
            found = in_blocks(own, g.astype(dtype), gamma.astype(dtype), block_size=block_size)
            assert_near(found, right, bounds, own.query.dtype)


def test_gradients_without_log_z_are_differences_of_the_oracle() -> None:
    """Where nothing is asked of log Z, its gradient is 0, also where there is a sink."""
    problem = small(sink=0.75, mask=with_empty_row())
    g, _ = asked_of(problem)
    right = differences.gradients(problem, g, None)
    bounds = bounds_of(problem, g, None, "float64")
    assert_near(in_blocks(problem, g), right, bounds, "float64")


def test_gradients_have_the_closed_form_of_two_keys() -> None:
    """Weights 1/4 and 3/4, values 1 and 5, g = 1: y = 4, and ∂y/∂a = p (v − y) = ∓3/4."""
    query, key = np.array([[1.0]]), np.array([[0.0], [math.log(3)]])
    value = np.array([[1.0], [5.0]])
    problem = Problem(query, key, value, bias=np.zeros((1, 2)), scale=1.0)
    found = in_blocks(problem, np.ones((1, 1)))
    right = {
        "query": np.array([[0.75 * math.log(3)]]),
        "key": np.array([[-0.75], [0.75]]),
        "value": np.array([[0.25], [0.75]]),
        "bias": np.array([[-0.75, 0.75]]),
    }
    assert_near(found, right, bounds_of(problem, np.ones((1, 1)), None, "float64"), "f8")


# ------------------------------------------------------------------------------ another witness


def by_torch(problem: Problem, g: Floats, gamma: Floats) -> dict[str, Floats]:
    """Return the gradients that Torch's autograd finds in float64."""
    leaves = {
        name: torch.tensor(np.array(getattr(problem, name), "float64"), requires_grad=True)
        for name in NAMES
        if getattr(problem, name) is not None
    }
    mask = None if problem.mask is None else torch.tensor(np.array(problem.mask))
    state = attnref.torch.partial_attention(
        **leaves, mask=mask, scale=problem.scale, softcap=problem.softcap
    )
    log_z = state.log_z.masked_fill(state.log_z == -torch.inf, 0.0)
    upstream, weights = (torch.tensor(np.array(x, "float64")) for x in (g, gamma))
    loss = (state.output * upstream).sum() + (log_z * weights).sum()
    slopes = torch.autograd.grad(loss, list(leaves.values()), materialize_grads=True)
    return {name: slope.numpy() for name, slope in zip(leaves, slopes, strict=True)}


def assert_agrees_with_torch(
    problem: Problem,
    g: Floats,
    gamma: Floats,
    *,
    block_sizes: Iterable[int | None] = (None,),
    **options: Any,
) -> None:
    """Require the gradients that Torch finds, within the bound of either side."""
    own = bounds_of(problem, g, gamma, working(problem.query.dtype))
    others = bounds_of(problem, g, gamma, "float64") if problem.query.itemsize < 8 else own
    bounds = {name: bound + others[name] for name, bound in own.items()}
    right = by_torch(problem, g, gamma)
    for block_size in block_sizes:
        found = in_blocks(problem, g, gamma, block_size=block_size, **options)
        assert_near(found, right, bounds, problem.query.dtype)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(problem=problems(), block_size=st.sampled_from((1, 2, 3, 4, None)), seed=st.integers(0, 9))
def test_gradients_are_those_of_torch(problem: Problem, block_size: int | None, seed: int) -> None:
    """Any sizes, leading axes, heads, layouts and options: autograd finds the same."""
    g, gamma = asked_of(problem, seed=seed)
    assert_agrees_with_torch(problem, g, gamma, block_sizes=[block_size])


@pytest.mark.parametrize(
    "shape", [(), (S,), (1, S), (L, 1), (HQ, 1, 1), (B, 1, 1, S), (B, HQ, L, S)], ids=str
)
def test_gradient_of_a_bias_has_its_shape(shape: tuple[int, ...]) -> None:
    """Where a bias is repeated its gradient is the sum, over each axis of size 1 or none."""
    query, key, value = heads()
    problem = Problem(query, key, value, random_mask(L, S), bias=np.asarray(normal(*shape)))
    assert_agrees_with_torch(problem, *asked_of(problem), block_sizes=BLOCKS)


@pytest.mark.parametrize("shape", [None, (), (1,), (L,), (HQ, 1), (B, 1, 1), (B, HQ, L)], ids=str)
def test_gradient_of_a_sink_has_its_shape(shape: tuple[int, ...] | None) -> None:
    """A sink that is one number, or one for many rows, takes the sum of their gradients."""
    query, key, value = heads()
    sink: Any = 0.75 if shape is None else np.asarray(normal(*shape))
    problem = Problem(query, key, value, random_mask(L, S), sink=sink)
    assert_agrees_with_torch(problem, *asked_of(problem), block_sizes=BLOCKS)


@pytest.mark.parametrize(
    "fronts",
    [
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
def test_gradients_of_what_is_repeated_are_sums(fronts: tuple[tuple[int, ...], ...]) -> None:
    """An axis that broadcasts, and a head that several queries read, take the sum of all places."""
    tails = (L, 3), (S, 3), (S, 2)
    arrays = [normal(*front, *tail) for front, tail in zip(fronts, tails, strict=True)]
    problem = Problem(arrays[0], arrays[1], arrays[2], random_mask(L, S), sink=0.5)
    assert_agrees_with_torch(problem, *asked_of(problem), block_sizes=(2, None))


def heads(dtype: str = "float64") -> tuple[Floats, Floats, Floats]:
    """Return query, key and value with more heads of the query than of the others."""
    query = normal(B, HQ, L, 3, dtype=dtype)
    key, value = (normal(B, HKV, S, depth, seed=1, dtype=dtype) for depth in (3, 2))
    return query, key, value


@pytest.mark.parametrize("rows", [1, 257, ROWS])
def test_gradients_take_any_number_of_queries(rows: int) -> None:
    """One query, one block of 256, and more: each has its own mask, bias, sink and row."""
    query, key, value = normal(rows, 2), normal(3, 2), normal(3, 1)
    options: dict[str, Any] = {"bias": normal(rows, 3), "sink": normal(rows), "softcap": 2.0}
    problem = Problem(query, key, value, random_mask(rows, 3), **options)
    assert_agrees_with_torch(problem, *asked_of(problem), block_sizes=(2, None))
    shared = Problem(query, key, value, bias=normal(3), sink=0.25)
    assert_agrees_with_torch(shared, *asked_of(shared), block_sizes=(2, None))


def test_gradients_asked_for_may_broadcast() -> None:
    """A gradient of the output or of log Z of fewer axes is repeated, like all that broadcasts."""
    query, key, value = heads()
    problem = Problem(query, key, value, sink=0.5)
    shapes: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
        ((2,), ()),
        ((L, 1), (L,)),
        ((HQ, 1, 2), (B, 1, 1)),
        ((), (1, HQ, L)),
    ]
    for own, rows in shapes:
        g, gamma = np.asarray(normal(*own)), np.asarray(normal(*rows))
        whole = np.broadcast_to(g, (B, HQ, L, 2)), np.broadcast_to(gamma, (B, HQ, L))
        assert_same_bits(in_blocks(problem, g, gamma), in_blocks(problem, *whole))


# ------------------------------------------------------------------------------ masks and rules


@every_dtype
@every_block
def test_gradients_are_the_same_bits_for_a_mask_and_its_rule(
    block_size: int | None, dtype: str
) -> None:
    """Where the blocks are the same, an array and a rule of it leave the same bits."""
    problem = Problem(*triple(dtype=dtype), MASK, softcap=1.5, sink=0.5)
    asked = asked_of(problem)
    rule = Rule(L, S, lambda i, j: MASK[i, j])
    found = [in_blocks(problem, *asked, mask=m, block_size=block_size) for m in (MASK, rule)]
    assert_same_bits(*found)


@pytest.mark.parametrize("offset", range(-L - 1, S + 2, 3))
def test_gradients_of_bands_are_those_of_their_masks(offset: int) -> None:
    """A causal rule or a window gives the gradients of its mask, in blocks of any size."""
    problem = Problem(*triple())
    asked = asked_of(problem)
    pairs = [
        (Rule.causal(L, S, offset=offset), masks.causal(L, S, offset=offset)),
        (
            Rule.window(L, S, left=2, right=1, offset=offset),
            masks.window(L, S, left=2, right=1, offset=offset),
        ),
    ]
    for rule, mask in pairs:
        one, other = (in_blocks(problem, *asked, mask=m, block_size=1) for m in (rule, mask))
        assert_same_bits(one, other)
        bounds = bounds_of(replace(problem, mask=mask), *asked, "float64")
        doubled = {name: 2 * bound for name, bound in bounds.items()}
        for block_size in (2, 3, None):
            found = in_blocks(problem, *asked, mask=rule, block_size=block_size)
            assert_near(found, as_dict(one), doubled, "float64")


def as_dict(found: Gradients) -> dict[str, Floats]:
    """Return the gradients that there are, by name."""
    return {name: x for name, x in found._asdict().items() if x is not None}


# ------------------------------------------------------------------------------ a known state


def state_of(problem: Problem, **options: Any) -> Partial:
    """Return the state of all keys, the sink among them."""
    return partial_attention(*problem.arrays, **{**problem.options, **options})


@settings(max_examples=60, deadline=None, derandomize=True)
@given(problem=problems(), block_size=st.sampled_from((1, 2, None)))
def test_gradients_from_a_state_are_those_of_torch(
    problem: Problem, block_size: int | None
) -> None:
    """Where the state of all keys is given, it takes the place of the forward pass."""
    asked = asked_of(problem)
    state = state_of(problem)
    assert_agrees_with_torch(problem, *asked, block_sizes=[block_size], state=state)


@every_dtype
@pytest.mark.parametrize("cut", [0, 1, 3, S])
def test_gradients_of_parts_of_the_keys_make_the_whole(cut: int, dtype: str) -> None:
    """With the state of all keys: dq adds up over parts, dk, dv and db stand side by side."""
    query, key, value = triple(dtype=dtype)
    sink, bias = normal(L, dtype=dtype), normal(L, S, dtype=dtype)
    problem = Problem(query, key, value, MASK, bias=bias, sink=sink, softcap=1.5)
    asked = asked_of(problem)
    state = state_of(problem)
    parts = []
    for keys, own_sink in ((slice(0, cut), sink), (slice(cut, S), None)):
        part = Problem(query, key[keys], value[keys], MASK[:, keys], bias=bias[:, keys])
        part = replace(part, sink=own_sink, softcap=1.5)
        parts.append(in_blocks(part, *asked, state=state, block_size=2))
    one, other = (as_dict(part) for part in parts)
    assert "sink" not in other
    total = Gradients(
        (one["query"].astype("float64") + other["query"]).astype(dtype),
        np.concatenate([one["key"], other["key"]]),
        np.concatenate([one["value"], other["value"]]),
        np.concatenate([one["bias"], other["bias"]], axis=1),
        one["sink"],
    )
    bounds = bounds_of(problem, *asked, working(dtype))
    right = by_torch(problem, *asked)
    if dtype == "float16":  # each part is rounded once more
        size = abs(one["query"].astype("float64")) + abs(other["query"])
        bounds["query"] = bounds["query"] + oracle.unit(dtype) * size + 2.0**-24
    assert_near(total, right, bounds, dtype)


@every_dtype
@pytest.mark.parametrize("shift", [-300.0, -1.3, 0.7, 300.0])
def test_gradients_from_a_state_do_not_see_its_exponent(shift: float, dtype: str) -> None:
    """A state with another m, and z and n to match, says the same."""
    problem = Problem(*triple(dtype=dtype), MASK, sink=0.5)
    asked = asked_of(problem)
    state, factor = state_of(problem), np.exp(-shift)
    moved = Partial(state.m + shift, state.z * factor, state.n * factor, state.dtype)
    found = in_blocks(problem, *asked, state=moved)
    bounds = bounds_of(problem, *asked, working(dtype))
    # The factor's exponent is rounded as it is, once for all weights of a row.
    more = 1 + 2 * abs(shift) * oracle.unit("float64") / oracle.unit(working(dtype))
    looser = {name: more * bound for name, bound in bounds.items()}
    assert_near(found, by_torch(problem, *asked), looser, dtype)


def test_gradients_from_a_state_of_single_numbers_are_right() -> None:
    """A state may be kept in float32, for a query in float32."""
    problem = Problem(*triple(dtype="float32"), MASK)
    asked = asked_of(problem)
    state = state_of(problem)
    m, z, n = (x.astype("float32") for x in (state.m, state.z, state.n))
    off = np.exp(state.m - m)  # what the rounding of m took away
    single = Partial(m, (z * off).astype("float32"), (n * off[:, np.newaxis]).astype("float32"))
    found = in_blocks(problem, *asked, state=single)
    bounds = bounds_of(problem, *asked, "float32")
    assert_near(found, by_torch(problem, *asked), bounds, "float32")


# ------------------------------------------------------------------------------ absence


def absent_by(way: str, dtype: str) -> dict[str, Any]:
    """Return the options that hide a key and leave a query without any."""
    ways: dict[str, dict[str, Any]] = {
        "mask": {"mask": MASK},
        "rule": {"mask": Rule(L, S, lambda i, j: MASK[i, j])},
        "bias": {"bias": np.where(MASK, 0, -INF).astype(dtype)},
    }
    return ways[way]


@cache
def of_the_rest(dtype: str, softcap: float | None) -> tuple[dict[str, Floats], dict[str, Bounds]]:
    """Return the gradients, and their bounds, where what is absent was never there."""
    whole = Problem(*triple(dtype=dtype), MASK, softcap=softcap)
    kept = MASK[np.ix_(SEEING, KEPT)]
    arrays = whole.query[SEEING], whole.key[KEPT], whole.value[KEPT]
    rest = Problem(*arrays, kept, softcap=softcap)
    g, gamma = (x[SEEING] for x in asked_of(whole))
    return by_torch(rest, g, gamma), bounds_of(rest, g, gamma, working(dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("softcap", [None, 1.5], ids=["", "softcap"])
@pytest.mark.parametrize("way", ["mask", "rule", "bias"])
@pytest.mark.parametrize("wild", [NAN, INF, -INF, "largest"], ids=str)
@pytest.mark.parametrize("place", ["query", "key", "value", "all"])
def test_gradients_of_what_is_absent_are_zero_and_change_no_other(
    place: str, wild: Any, way: str, softcap: float | None, dtype: str
) -> None:
    """NaN, ∞ or a huge number in an absent query, key or value: as if they were deleted."""
    clean = Problem(*triple(dtype=dtype), MASK, softcap=softcap)
    g, gamma = asked_of(clean)
    right, bounds = of_the_rest(dtype, softcap)
    poison = np.finfo(dtype).max if wild == "largest" else wild
    query, key, value = (x.copy() for x in clean.arrays)
    if place in ("query", "all"):
        query[EMPTY] = poison
    if place in ("key", "all"):
        key[ABSENT] = poison
    if place in ("value", "all"):
        value[ABSENT] = poison
    options = {**absent_by(way, dtype), "softcap": softcap}
    for block_size in (1, 2, None):
        found = attention_gradients(
            query, key, value, g, grad_log_z=gamma, block_size=block_size, **options
        )
        assert not found.query[EMPTY].any()
        assert not found.key[ABSENT].any()
        assert not found.value[ABSENT].any()
        if found.bias is not None:
            assert not found.bias[~MASK].any()
        own = Gradients(found.query[SEEING], found.key[KEPT], found.value[KEPT])
        assert_near(own, right, bounds, dtype)


@every_dtype
def test_gradients_are_not_reached_by_any_bits(dtype: str) -> None:
    """Masked keys and values may be uninitialised memory, signalling NaN and huge numbers."""
    size = np.dtype(dtype).itemsize
    bits = np.random.default_rng(0).integers(0, 256, (211, D_K * size), dtype=np.uint8)
    garbage: Floats = bits.view(dtype)
    query, key = normal(L, D_K, dtype=dtype), normal(S, D_K, dtype=dtype)
    longer = np.concatenate([garbage[:3], key, garbage[3:]])
    rule = Rule(L, len(longer), lambda i, j: (j >= 3) & (j < 3 + S))
    problem, own = Problem(query, key, key), slice(3, 3 + S)
    g, gamma = asked_of(problem)
    right = by_torch(problem, g, gamma)
    bounds = bounds_of(problem, g, gamma, working(dtype))
    for block_size in BLOCKS:
        found = in_blocks(
            Problem(query, longer, longer), g, gamma, mask=rule, block_size=block_size
        )
        for x in (found.key, found.value):
            assert not np.delete(x, own, axis=0).any()
        part = Gradients(found.query, found.key[own], found.value[own])
        assert_near(part, right, bounds, dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("wild", [NAN, INF, "largest"], ids=str)
@pytest.mark.parametrize("place", ["key", "value", "both"])
def test_gradients_that_only_the_blind_ask_for_see_no_wild_key(
    place: str, wild: Any, dtype: str
) -> None:
    """Where g and γ are 0 in all rows that see a wild key, the others' gradients are their own."""
    s = 5
    blind = np.flatnonzero(~both_values(MASK[:, s]))
    query, key, value = triple(dtype=dtype)
    g, gamma = asked_of(Problem(query, key, value))
    g[MASK[:, s]], gamma[MASK[:, s]] = 0, 0
    rest = Problem(query[blind], key.copy(), value.copy(), MASK[blind])
    poison = np.finfo(dtype).max if wild == "largest" else wild
    if place != "value":
        key[s] = poison
    if place != "key":
        value[s] = poison
    right = by_torch(rest, g[blind], gamma[blind])
    bounds = bounds_of(rest, g[blind], gamma[blind], working(dtype))
    for block_size in BLOCKS:
        found = in_blocks(Problem(query, key, value, MASK), g, gamma, block_size=block_size)
        assert not found.query[MASK[:, s]].any()
        own = Gradients(found.query[blind], found.key, found.value)
        assert_near(own, right, bounds, dtype)


@every_dtype
@every_block
@pytest.mark.parametrize("arriving", [1.0, NAN, INF], ids=str)
@pytest.mark.parametrize("known", [False, True], ids=["", "state"])
def test_gradients_that_arrive_at_an_empty_row_go_no_further(
    known: bool, arriving: float, block_size: int | None, dtype: str
) -> None:
    """Whatever is asked of a row that sees nothing, nothing comes back."""
    problem = Problem(*triple(dtype=dtype), MASK)
    g, gamma = asked_of(problem)
    state = state_of(problem) if known else None
    quiet_g, quiet_gamma = g.copy(), gamma.copy()
    quiet_g[EMPTY], quiet_gamma[EMPTY] = 0, 0
    quiet = in_blocks(problem, quiet_g, quiet_gamma, block_size=block_size, state=state)
    g[EMPTY], gamma[EMPTY] = arriving, arriving
    found = in_blocks(problem, g, gamma, block_size=block_size, state=state)
    assert not found.query[EMPTY].any()
    assert_same_bits(found, quiet)


@pytest.mark.parametrize("wild", [NAN, INF], ids=str)
def test_gradients_of_zero_ask_for_nothing(wild: float) -> None:
    """A row of which nothing is asked gives nothing, even where its output is NaN."""
    t = 4
    query, key, value = triple()
    query[t] = wild
    problem = Problem(query, key, value, MASK)
    g, gamma = asked_of(problem)
    g[t], gamma[t] = 0, 0
    others = [row for row in range(L) if row != t]
    rest = Problem(query[others], key, value, MASK[others])
    right = by_torch(rest, g[others], gamma[others])
    bounds = bounds_of(rest, g[others], gamma[others], "float64")
    for block_size in BLOCKS:
        found = in_blocks(problem, g, gamma, block_size=block_size)
        assert not found.query[t].any()
        own = Gradients(found.query[others], found.key, found.value)
        assert_near(own, right, bounds, "float64")


@pytest.mark.parametrize("wild", [NAN, INF], ids=str)
def test_gradients_of_columns_that_nothing_asks_for_see_no_wild_value(wild: float) -> None:
    """A wild value that is seen, in a column e where g_te is 0, changes no other gradient."""
    query, key, value = triple()
    g, gamma = asked_of(Problem(query, key, value))
    g[:, 4] = 0
    right = by_torch(Problem(query, key, value, MASK), g, gamma)
    bounds = bounds_of(Problem(query, key, value, MASK), g, gamma, "float64")
    value[5, 4] = wild
    for block_size in BLOCKS:
        found = in_blocks(Problem(query, key, value, MASK), g, gamma, block_size=block_size)
        assert not found.value[:, 4].any()
        assert_near(found, right, bounds, "float64")


@every_dtype
@pytest.mark.parametrize(
    ("rows", "keys", "d_k", "d_v", "front"),
    [
        (0, S, D_K, D_V, (B,)),
        (L, 0, D_K, D_V, (B,)),
        (0, 0, D_K, D_V, ()),
        (L, S, 0, D_V, ()),
        (L, S, D_K, 0, ()),
        (L, S, D_K, D_V, (0,)),
    ],
)
def test_gradients_take_empty_axes(
    rows: int, keys: int, d_k: int, d_v: int, front: tuple[int, ...], dtype: str
) -> None:
    """Every axis may have size 0: gradients have the shapes of what went in."""
    query, key = normal(*front, rows, d_k, dtype=dtype), normal(keys, d_k, dtype=dtype)
    value, bias = normal(keys, d_v, dtype=dtype), normal(rows, keys, dtype=dtype)
    problem = Problem(query, key, value, bias=bias, scale=1.0, sink=0.25)
    assert_agrees_with_torch(problem, *asked_of(problem))
    rule = Rule.causal(rows, keys, offset=keys)
    by_rule = in_blocks(problem, *asked_of(problem), mask=rule)
    assert_same_bits(by_rule, in_blocks(problem, *asked_of(problem)))


@every_block
def test_gradients_are_zero_where_nothing_is_allowed(block_size: int | None) -> None:
    """Without permission every gradient is there, and 0, even among NaN."""
    query, key, value = triple()
    query[:], key[:], value[:] = NAN, INF, NAN
    for mask in (np.zeros((L, S), bool), Rule.causal(L, S, offset=-L), Rule(L, S, first=1, last=0)):
        problem = Problem(query, key, value, bias=normal(L, S))
        found = in_blocks(problem, *asked_of(problem), mask=mask, block_size=block_size)
        assert all(not x.any() for x in as_dict(found).values())


# ------------------------------------------------------------------------------ nothing is hidden


@every_dtype
@every_block
def test_gradients_show_nan_of_a_key_in_all_that_sees_it(
    block_size: int | None, dtype: str
) -> None:
    """NaN in a key that is seen is in its queries' gradients and in those of all that they see."""
    s = 5
    query, key, value = triple(dtype=dtype)
    key[s] = NAN
    problem = Problem(query, key, value, MASK, bias=np.zeros((L, S), dtype))
    found = in_blocks(problem, *asked_of(problem), block_size=block_size)
    tainted = both_values(MASK[:, s])
    reached = both_values(np.any(MASK[tainted], axis=0))
    for x, nan in [(found.query, tainted), (found.key, reached), (found.value, reached)]:
        np.testing.assert_array_equal(np.isnan(x), np.broadcast_to(nan[:, np.newaxis], x.shape))
    assert found.bias is not None
    np.testing.assert_array_equal(np.isnan(found.bias), MASK & tainted[:, np.newaxis])


@every_dtype
@every_block
def test_gradients_show_nan_of_a_value_in_all_but_the_values(
    block_size: int | None, dtype: str
) -> None:
    """NaN in a value is in the gradients of its queries and their keys, and in no value's."""
    s = 5
    query, key, value = triple(dtype=dtype)
    value[s, 3] = NAN
    found = in_blocks(
        Problem(query, key, value, MASK),
        *asked_of(Problem(query, key, value)),
        block_size=block_size,
    )
    tainted = MASK[:, s]
    reached = np.any(MASK[tainted], axis=0)
    for x, nan in [(found.query, tainted), (found.key, reached)]:
        np.testing.assert_array_equal(np.isnan(x), np.broadcast_to(nan[:, np.newaxis], x.shape))
    assert np.isfinite(found.value).all()


@every_dtype
@every_block
def test_gradients_show_nan_that_is_asked_for(block_size: int | None, dtype: str) -> None:
    """NaN among the gradients of an output is in its query's and in those of all that it sees."""
    t = 4
    problem = Problem(*triple(dtype=dtype), MASK)
    g, gamma = asked_of(problem)
    g[t, 2] = NAN
    found = in_blocks(problem, g, gamma, block_size=block_size)
    assert both_values(MASK[t]).any()
    query, column = np.arange(L) == t, np.arange(D_V) == 2
    for x, nan in [
        (found.query, np.broadcast_to(query[:, np.newaxis], (L, D_K))),
        (found.key, np.broadcast_to(MASK[t][:, np.newaxis], (S, D_K))),
        (found.value, MASK[t][:, np.newaxis] & column),
    ]:
        np.testing.assert_array_equal(np.isnan(x), nan)


# ------------------------------------------------------------------------------ precision


def with_offset(offset: float) -> Problem:
    """Return float32 inputs whose scores are exact: multiples of 2⁻⁶ about an offset."""
    rng = np.random.default_rng(0)
    query, key = (rng.integers(-8, 9, shape) / 8 for shape in ((L, 3), (S, 3)))
    query[:, 0], key[:, 0] = 1, offset
    a = query @ key.T
    assert (a * 64 == np.round(a * 64)).all()
    assert abs(a).max() < 2**17  # so that 24 bits hold every partial sum
    query, key, value = (x.astype("float32") for x in (query, key, normal(S, 2)))
    return Problem(query, key, value, scale=1.0)


@pytest.mark.parametrize("offset", [0, 100, 4096, 2**16])
@pytest.mark.parametrize("known", [False, True], ids=["", "state"])
@pytest.mark.parametrize("sunk", [False, True], ids=["", "sink"])
def test_gradients_lose_no_digits_to_the_offset_of_the_scores(
    sunk: bool, known: bool, offset: float
) -> None:
    """Weights come from (m, z): their error is that of a − m, however large a and log Z are."""
    problem = replace(with_offset(offset), sink=offset + 5.3 if sunk else None)
    g, gamma = asked_of(problem)
    right = by_torch(problem, g, gamma)
    bounds = bounds_of(problem, g, gamma, "float32", exact_scores=True)
    for block_size in BLOCKS:
        state = state_of(problem) if known else None
        found = in_blocks(problem, g, gamma, block_size=block_size, state=state)
        assert_near(found, right, bounds, "float32")


@pytest.mark.parametrize("offset", [4096, 2**16])
def test_gradients_with_weights_from_log_z_would_lose_digits(offset: float) -> None:
    """The law above has teeth: exp(a − log Z) in float32 is off by the gap at the offset."""
    problem = with_offset(offset)
    g, gamma = asked_of(problem)
    a, log_z = problem.query @ problem.key.T, state_of(problem).log_z
    dv = np.exp(a - log_z[:, np.newaxis]).T @ g
    bound = bounds_of(problem, g, gamma, "float32", exact_scores=True)["value"]
    assert (abs(dv - by_torch(problem, g, gamma)["value"]) > bound).any()


def test_gradients_of_half_floats_are_added_up_in_single() -> None:
    """Rows of which each adds less than a float16 would notice add up to what they are."""
    rows = 1025
    query, key = np.zeros((rows, 1), "float16"), np.zeros((1, 1), "float16")
    g = np.full((rows, 1), 2.0**-1, "float16")
    g[0] = 2.0**11
    found = attention_gradients(query, key, np.ones((1, 1), "float16"), g)
    # 2048 + 512: in float16 each addend would be lost in the 2048 whose neighbours are 2 apart
    np.testing.assert_array_equal(found.value, np.array([[2560]], "float16"))


@every_dtype
def test_gradients_do_not_depend_on_how_numpy_treats_float_errors(dtype: str) -> None:
    """Overflow, underflow and NaN belong to gradients: np.errstate(all="raise") changes nothing."""
    query, key, value = triple(dtype=dtype)
    key[ABSENT], value[ABSENT], query[EMPTY] = NAN, INF, NAN
    g, gamma = asked_of(Problem(query, key, value))
    g[0] = np.finfo(dtype).max
    g[1] = np.finfo(dtype).smallest_subnormal
    problem = Problem(query, key, value, MASK, softcap=1e4, scale=100.0, sink=0.5)
    calm = in_blocks(problem, g, gamma, block_size=2)
    with np.errstate(all="raise"):
        assert_same_bits(in_blocks(problem, g, gamma, block_size=2), calm)


@pytest.mark.parametrize("softcap", [1e-60, 1e60])
def test_gradients_in_single_take_caps_that_single_does_not_hold(softcap: float) -> None:
    """A cap far above the scores changes no gradient, and one far below leaves no slope."""
    problem = Problem(*triple(dtype="float32"), MASK)
    g, gamma = asked_of(problem)
    found = in_blocks(replace(problem, softcap=softcap), g, gamma)
    if softcap > 1:
        bounds = bounds_of(problem, g, gamma, "float32")
        assert_near(found, by_torch(problem, g, gamma), bounds, "float32")
    else:
        assert not found.query.any()
        assert not found.key.any()


@pytest.mark.parametrize("sink", [1e39, -1e39, 1e300, -1e300])
def test_gradients_in_single_take_sinks_that_single_does_not_hold(sink: float) -> None:
    """A sink beyond float32 takes all of log Z's gradient, or none, and makes no NaN."""
    problem = Problem(*triple(dtype="float32"))
    g, gamma = asked_of(problem)
    found = in_blocks(replace(problem, sink=sink), g, gamma)
    assert found.sink is not None
    if sink > 0:
        assert not any(x.any() for x in (found.query, found.key, found.value))
        error = 2 * L * oracle.unit("float32") * abs(gamma).sum()
        assert abs(found.sink - gamma.astype("float64").sum()) <= error
    else:
        assert found.sink == 0
        assert_same_bits(found._replace(sink=None), in_blocks(problem, g, gamma))


# ------------------------------------------------------------------------------ layouts


@every_dtype
@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients_do_not_depend_on_the_layout(layout: str, dtype: str) -> None:
    """Strides, order, alignment, byte order and writability are no part of the numbers."""
    turned = LAYOUTS[layout]
    query, key, value = (turned(x) for x in triple(dtype=dtype, batch=(B,)))
    options: dict[str, Any] = {
        "mask": turned(random_mask(L, S)),
        "bias": turned(normal(B, L, S, dtype=dtype)),
        "sink": turned(normal(B, L, dtype=dtype)),
    }
    problem = Problem(query, key, value, **options)
    g, gamma = (turned(x) for x in asked_of(problem))
    assert_agrees_with_torch(problem, g, gamma, block_sizes=[3])


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
@pytest.mark.parametrize("kind", [np.matrix, np.memmap])
def test_gradients_take_a_subclass_for_its_numbers(kind: type) -> None:
    """A subclass of ndarray is read as the plain array it holds."""
    problem = Problem(*triple(), MASK, bias=normal(L, S))
    g, _ = asked_of(problem)
    plain = in_blocks(problem, g, block_size=3)
    arrays: list[Any] = [x.view(kind) for x in (*problem.arrays, g)]
    assert problem.bias is not None
    options: Any = {"mask": MASK.view(kind), "bias": problem.bias.view(kind)}
    found = attention_gradients(*arrays, **options, block_size=3)
    assert all(type(x) is np.ndarray for x in as_dict(found).values())
    assert_same_bits(found, plain)


@every_dtype
@pytest.mark.parametrize("known", [False, True], ids=["", "state"])
def test_gradients_leave_their_arguments_alone(known: bool, dtype: str) -> None:
    """No bit of an argument changes, and each result is new memory that may be written to."""
    query, key, value = triple(dtype=dtype)
    value[ABSENT] = NAN
    bias, sink, mask = normal(L, S, dtype=dtype), normal(L, dtype=dtype), MASK.copy()
    problem = Problem(query, key, value, mask, bias=bias, sink=sink, softcap=1.0)
    g, gamma = asked_of(problem)
    state = state_of(problem) if known else None
    arguments: list[Any] = [query, key, value, mask, bias, sink, g, gamma]
    arguments += [] if state is None else [state.m, state.z, state.n]
    before = [x.tobytes() for x in arguments]
    found = as_dict(in_blocks(problem, g, gamma, block_size=3, state=state))
    assert [x.tobytes() for x in arguments] == before
    assert all(x.flags.writeable for x in found.values())
    assert not any(np.shares_memory(x, y) for x in found.values() for y in arguments)
    assert not any(np.shares_memory(x, y) for x, y in itertools.combinations(found.values(), 2))


# ------------------------------------------------------------------------------ memory and threads


def workspace(length: int, dtype: str, **options: Any) -> int:
    """Return what a call holds beyond its results, in bytes."""
    arrays = [normal(length, 64, seed=i, dtype=dtype) for i in range(4)]
    tracemalloc.start()
    try:
        found = attention_gradients(arrays[0], arrays[1], arrays[2], arrays[3], **options)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return peak - sum(x.nbytes for x in as_dict(found).values())


@pytest.mark.parametrize("chosen", ["all", "rule", "options"])
def test_gradients_need_no_array_of_pairs(chosen: str) -> None:
    """Twice as many queries and keys take the same workspace in float32, within 4 MiB."""
    used = []
    for length in (1536, 3072):
        options: dict[str, dict[str, Any]] = {
            "all": {},
            "rule": {"mask": Rule.causal(length, length)},
            "options": {
                "mask": np.broadcast_to(random_mask(length), (length, length)),
                "bias": normal(1, length, dtype="float32"),
                "sink": 1.0,
                "softcap": 3.0,
            },
        }
        used.append(workspace(length, "float32", **options[chosen]))
    assert max(used) <= 4 * 2**20
    assert used[1] <= used[0] * 1.05


def test_gradients_of_half_floats_need_their_sums_in_single_besides() -> None:
    """In float16 the sums of three gradients come on top, which grow with the rows alone."""
    used = [workspace(length, "float16") for length in (1536, 3072)]
    assert used[1] <= used[0] * 1.05 + 3 * 64 * 4 * 1536


def test_gradients_are_the_same_bits_in_any_number_of_threads() -> None:
    """Heads that share a key, a value, a bias or a sink are added in one order."""
    query, key, value = normal(B, HQ, ROWS, 3), normal(B, HKV, S, 3), normal(B, HQ, S, 2)
    cases: list[dict[str, Any]] = [
        {"key": key, "bias": normal(HQ, 1, S), "sink": normal(B, 1, 1)},
        {"key": key, "mask": random_mask(ROWS, S), "sink": 0.5},
        {"key": key[:, :1], "softcap": 2.0},
        {"key": key[0]},
    ]
    for case in cases:
        problem = Problem(query, value=value, **case)
        asked = asked_of(problem)
        found = []
        for threads in (1, 2, 3):
            with threadpool_limits(threads, user_api="blas"):
                found += [in_blocks(problem, *asked, block_size=3) for _ in range(3)]
        for other in found[1:]:
            assert_same_bits(other, found[0])


def test_gradients_work_on_heads_that_share_nothing_at_once() -> None:
    """Two heads meet in two threads where each has its own key; what is raised there comes out."""
    query, key, value = (normal(2, n, 3) for n in (L, S, S))
    meeting = threading.Barrier(2)

    def visible(i: Any, j: Any) -> Any:
        meeting.wait(timeout=60)  # broken, which is an error, where one thread does all
        return i + j >= 0

    def broken(i: Any, j: Any) -> Any:
        raise LookupError("no such document")

    with threadpool_limits(2, user_api="blas"):
        attention_gradients(query, key, value, query, mask=Rule(L, S, visible))
        with pytest.raises(LookupError, match=r"^no such document$"):
            attention_gradients(query, key, value, query, mask=Rule(L, S, broken))


@pytest.mark.parametrize(
    ("fronts", "families"),
    [
        (((B, HQ), (B, HQ), (B, HQ)), B * HQ),
        (((B, HQ), (B, HKV), (B, HQ)), B * HKV),
        (((B, HQ), (B, HKV), (B, 3)), B),
        (((B, HQ), (B, 1), (B, HQ)), B),
        (((B, HQ), (HQ,), (B, HQ)), HQ),
        (((B, HQ), (1, HKV), (B, HQ)), HKV),
        (((1, HQ), (B, HKV), ()), 1),
        (((), (), ()), 1),
        (((0,), (), (1,)), 0),
    ],
    ids=str,
)
def test_gradients_of_heads_that_share_are_one_thread_s_work(
    fronts: tuple[tuple[int, ...], ...], families: int
) -> None:
    """Every head is in one family, and no two families read one part of any array."""
    tails = (L, 3), (S, 3), (S, 2)
    arrays = [np.zeros((*front, *tail)) for front, tail in zip(fronts, tails, strict=True)]
    query, key, value = arrays
    call = _call.checked(query, key, value, None, None, None, None, None, None)
    found = call.families(*fronts)
    assert len(found) == families
    assert sorted(itertools.chain(*found)) == call.places()
    for array in arrays:
        index = np.arange(array.size).reshape(array.shape)
        read = [{int(i) for p in family for i in call.part(index, p).flat} for family in found]
        assert sum(map(len, read)) == len(set().union(*read))
