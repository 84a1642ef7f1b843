"""The laws of attention in blocks in Torch: attention's values and gradients, in linear memory."""

import itertools
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.autograd import gradcheck
from torch.utils._python_dispatch import TorchDispatchMode

import oracle
from attnref.testing import assert_close
from attnref.torch import attention, masks, streaming_attention
from gradient_bounds import assert_near, gradient_bounds, rounded
from in_blocks import BLOCKS, every_block
from samples import D_V, B, Floats, L, Mask, Problem, S, normal, problems, random_mask, triple
from torch_problems import WRONG_SIZES, Given, cast, clipped, floating, held, in_torch, tensor

NAN, INF = math.nan, math.inf
every_wildness = pytest.mark.parametrize("wild", [NAN, INF, -INF])
DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
every_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=str)
LEAVES = ("query", "key", "value", "bias", "sink")  # what may have a gradient
QUERY, KEY, VALUE = (torch.tensor(x) for x in triple())
EMPTY, ABSENT = 2, 3  # a query that sees no key, a key that no query sees
MASK = torch.tensor(random_mask(L, S))
MASK[EMPTY] = MASK[:, ABSENT] = False
SEEING = [t for t in range(L) if t != EMPTY]
assert MASK[SEEING].any(dim=-1).all()


def name_of(dtype: torch.dtype) -> str:
    """Return the bare name of a dtype."""
    return str(dtype).removeprefix("torch.")


def work_of(dtype: torch.dtype) -> str:
    """Return the name of the dtype in which the work is to be done."""
    return name_of(torch.promote_types(dtype, torch.float32))


def assert_right(output: Tensor, problem: Problem) -> None:
    """Require an output within the bound that the package states for the work of its dtype."""
    own = held(problem, output.dtype)
    found = output.float() if output.dtype == torch.bfloat16 else output
    said: Given = {"working": work_of(output.dtype), "result": name_of(output.dtype)}
    assert_close(found.detach().numpy(), *own.arrays, **own.options, **said)


def gradients(
    attend: Callable[..., Tensor], given: Given, g: Tensor, **more: Any
) -> dict[str, Floats]:
    """Return the gradient of each tensor of floats that is given, in float64."""
    leaves = {name: x.clone().requires_grad_() for name, x in given.items() if floating(x)}
    y = attend(**{**given, **leaves}, **more)
    found = torch.autograd.grad(y, list(leaves.values()), g.to(y).expand(y.shape))
    for gradient, leaf in zip(found, leaves.values(), strict=True):
        assert gradient.dtype == leaf.dtype
    return {name: x.double().numpy() for name, x in zip(leaves, found, strict=True)}


def assert_right_gradients(problem: Problem, g: Tensor, dtype: torch.dtype, **more: Any) -> None:
    """Require the gradients of attention in float64, within the bounds of both."""
    own = held(problem, dtype)
    right = gradients(attention, in_torch(own, torch.float64), g)
    bounds, far = (
        gradient_bounds(own, g.double().numpy(), working=working)
        for working in (work_of(dtype), "float64")
    )
    bounds = {name: bounds[name] + far[name] for name in right}
    if name_of(dtype) != work_of(dtype):
        bounds = rounded(bounds, right, name_of(dtype))
    found = gradients(streaming_attention, in_torch(problem, dtype), g, **more)
    assert_near(found, right, bounds)


# Values.


def second_order(problem: Problem, working: str) -> float:
    """Return by what the bounds, of the first order, must grow where scores are large.

    If each exponent is off by at most x, the output is off by no more than e²ˣ times what the
    first order in x says. In x, A and m − a are at most that of the largest numbers.
    """
    q, k = (float(abs(x).max(initial=0)) for x in (problem.query, problem.key))
    depth = problem.query.shape[-1]
    beta = depth**-0.5 if problem.scale is None else abs(problem.scale)
    reach = depth * beta * q * k
    for option in (problem.bias, problem.sink):
        if option is not None:
            numbers = np.asarray(option, np.float64)
            reach += float(abs(numbers[np.isfinite(numbers)]).max(initial=0))
    x = oracle.unit(working) * ((depth + 15) * reach + 4)
    assert x < 1
    return math.exp(2 * x)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(problem=problems(), block_size=st.sampled_from(BLOCKS))
def test_streaming_is_the_oracle_within_its_bound(problem: Problem, block_size: int | None) -> None:
    """Any sizes, leading axes, heads, dtype, options and blocks: the oracle's output."""
    if problem.query.dtype != np.float64:
        problem = clipped(problem, 30)  # the first order holds there in float32
    output = streaming_attention(**in_torch(problem), block_size=block_size)
    assert name_of(output.dtype) == problem.query.dtype.name
    working = work_of(output.dtype)
    truth = oracle.attention(*problem.arrays, **problem.options).output
    more = second_order(problem, working)
    # Where float32 work falls below the least normal number, 2²³ of the oracle's subnormals go.
    looser = oracle.Quantity(truth.exact, more * truth.error, 2**24 * truth.underflow)
    oracle.assert_within(output.numpy(), looser, working=working)


HQ, HKV = 6, 2  # three heads of the query for each of key and value
OPTIONS: dict[str, Callable[[], Any]] = {
    "mask": lambda: random_mask(HQ, L, S),
    "bias": lambda: with_holes(normal(HQ, L, S, seed=1)),
    "scale": lambda: -0.75,
    "softcap": lambda: 1.25,
    "sink": lambda: normal(B, HQ, 1, seed=2),
    "number": lambda: 0.5,
}
PAIRS = [pair for pair in itertools.combinations(OPTIONS, 2) if pair != ("sink", "number")]


def with_holes(bias: Floats) -> Floats:
    """Return a bias with −∞ in some places."""
    bias[~random_mask(*bias.shape, seed=3)] = -INF
    return bias


def of_heads(names: tuple[str, ...]) -> Problem:
    """Return a problem in which heads are shared, with the options of these names."""
    own: Given = {("sink" if name == "number" else name): OPTIONS[name]() for name in names}
    shapes = (B, HQ, L, 3), (B, HKV, S, 3), (B, HKV, S, 2)
    query, key, value = (normal(*shape) for shape in shapes)
    return Problem(query, key, value, **own)


ALL = of_heads(("mask", "bias", "scale", "softcap", "sink"))


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
@every_dtype
def test_streaming_of_options_in_pairs_is_right(pair: tuple[str, str], dtype: torch.dtype) -> None:
    """No option is lost or put in another's place beside a second one, with heads shared."""
    problem = of_heads(pair)
    for block_size in (2, None):
        output = streaming_attention(**in_torch(problem, dtype), block_size=block_size)
        assert_right(output, problem)


@every_block
@every_dtype
def test_streaming_in_blocks_of_any_size_is_right(
    block_size: int | None, dtype: torch.dtype
) -> None:
    """Blocks of one key, of some that leave a rest, of all, of more: each within the bound."""
    output = streaming_attention(**in_torch(ALL, dtype), block_size=block_size)
    assert_right(output, ALL)


def test_streaming_block_may_be_of_any_integer() -> None:
    """More keys than an index can count are all keys, and NumPy's integers are integers."""
    whole = streaming_attention(QUERY, KEY, VALUE)
    assert torch.equal(streaming_attention(QUERY, KEY, VALUE, block_size=10**30), whole)
    three: Any = np.int8(3)
    small = streaming_attention(QUERY, KEY, VALUE, block_size=3)
    assert torch.equal(streaming_attention(QUERY, KEY, VALUE, block_size=three), small)


LONG, MANY = 257, 521  # more queries than a block has, and more keys
WIDE = Problem(
    normal(LONG, 3),
    normal(2, MANY, 3),
    normal(2, MANY, 2),
    mask=random_mask(LONG, MANY),
    bias=normal(2, 1, MANY, seed=1),
    sink=normal(LONG, seed=2),
)


@every_dtype
@pytest.mark.parametrize("block_size", [100, None])
def test_streaming_of_several_blocks_of_queries_and_keys_is_right(
    dtype: torch.dtype, block_size: int | None
) -> None:
    """A mask, a bias of each key and a sink of each query are read where they belong."""
    output = streaming_attention(**in_torch(WIDE, dtype), block_size=block_size)
    assert_right(output, WIDE)


@every_dtype
def test_streaming_of_one_query_is_right(dtype: torch.dtype) -> None:
    """As in decoding: one query, many keys."""
    problem = Problem(normal(1, 3), normal(MANY, 3), normal(MANY, 2), mask=random_mask(MANY))
    assert_right(streaming_attention(**in_torch(problem, dtype)), problem)


@pytest.mark.parametrize("block_size", [1, 3, None])
def test_streaming_of_scores_in_any_order_is_right(block_size: int | None) -> None:
    """Growing scores move the reference exponent in each block, falling ones in none."""
    ramp = np.linspace(-60, 60, 61)[:, np.newaxis]  # further than exp reaches in float32
    for key in (ramp, -ramp, np.sort(abs(ramp), axis=0)):
        problem = Problem(np.ones((2, 1)), key, normal(61, 2))
        for dtype in (torch.float32, torch.float64):
            output = streaming_attention(**in_torch(problem, dtype), block_size=block_size)
            assert_right(output, problem)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_streaming_in_half_precision_is_single_precision_rounded_once(dtype: torch.dtype) -> None:
    """Of 16 bits nothing but the numbers that go in and the output."""
    halves = in_torch(ALL, dtype)
    wide = streaming_attention(**cast(halves, torch.float32))
    assert torch.equal(streaming_attention(**halves), wide.to(dtype))


def test_streaming_does_not_overflow_or_stall_in_half_precision() -> None:
    """Inner products beyond float16, and 4096 terms of 1/4096, are harmless (faults 39 and 64)."""
    query = torch.full((1, 8), 300.0, dtype=torch.float16)
    value = torch.tensor([[1.0], [3.0]], dtype=torch.float16)
    assert streaming_attention(query, query.expand(2, 8), value).item() == 2
    ones = torch.ones(4096, 1, dtype=torch.bfloat16)
    assert streaming_attention(ones[:1], ones, ones, block_size=1000).item() == 1


def test_streaming_precision_is_not_the_default_dtype() -> None:
    """Torch's default dtype changes nothing, numbers among the options included."""
    problem = of_heads(("mask", "bias", "softcap", "number"))
    expected = streaming_attention(**in_torch(problem))
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float16)
    try:
        output = streaming_attention(**in_torch(problem))
    finally:
        torch.set_default_dtype(before)
    assert torch.equal(output, expected)


# Rules.


def visible(i: Any, j: Any) -> Any:
    """Say which pairs a rule of the tests allows within its band."""
    return (i * 5 + j * 3) % 7 != 0


def rules(L: int, S: int) -> dict[str, masks.Rule]:
    """Return rules of each kind."""
    return {
        "all": masks.Rule(L, S),
        "causal": masks.Rule.causal(L, S, align="lower-right"),
        "none": masks.Rule.causal(L, S, offset=-L - 1),
        "window": masks.Rule.window(L, S, left=2, right=1, offset=-1),
        "from": masks.Rule(L, S, first=2),
        "visible": masks.Rule(L, S, visible),
        "joined": masks.Rule.causal(L, S, offset=1) & masks.Rule(L, S, visible, first=-4),
        "row": masks.Rule(L, S, lambda i, j: j % 3 != 1),
    }


def array_of(rule: masks.Rule) -> Mask:
    """Return what a rule allows, pair by pair, by what the class says it means."""
    i, j = np.arange(rule.L)[:, np.newaxis], np.arange(rule.S)
    low = -INF if rule.first is None else rule.first
    high = INF if rule.last is None else rule.last
    seen = (i + low <= j) & (j <= i + high)
    return seen if rule.visible is None else seen & rule.visible(i, j)


@pytest.mark.parametrize("name", rules(1, 1))
@pytest.mark.parametrize(("L", "S"), [(5, 7), (7, 5), (LONG, 127)])
def test_streaming_by_a_rule_is_that_by_its_mask(name: str, L: int, S: int) -> None:
    """Output and gradients are those of the mask that is built, in blocks of any size."""
    rule = rules(L, S)[name]
    bias = with_holes(normal(L, S, seed=4)) if name == "row" else None
    arrays = normal(3, L, 2), normal(3, S, 2), normal(3, S, 2)
    problem = Problem(*arrays, mask=array_of(rule), bias=bias)
    g = normal(L, 2, seed=5)
    given = {**in_torch(problem), "mask": rule}
    for block_size in (3, None) if L < LONG else (50, None):
        output = streaming_attention(**given, block_size=block_size)
        assert_right(output, problem)
        found = gradients(streaming_attention, given, torch.tensor(g), block_size=block_size)
        right = gradients(attention, in_torch(problem), torch.tensor(g))
        bounds = gradient_bounds(problem, g, working="float64")
        assert_near(found, right, {name: 2 * bounds[name] for name in right})


def test_streaming_asks_a_rule_for_blocks_on_the_band_alone() -> None:
    """The places are integers in tensors; no pair is asked twice, and few beyond the band."""
    asked: list[tuple[int, int]] = []

    def see(i: Tensor, j: Tensor) -> Tensor:
        assert i.dtype == j.dtype == torch.int64
        assert i.shape[-1] == 1
        asked.append((len(i), len(j)))
        return (i + j) % 2 == 0

    rule = masks.Rule.causal(1031, 1031) & masks.Rule(1031, 1031, see)
    query = torch.zeros(2, 1031, 1)
    value = torch.arange(1031.0)[:, None]
    y = streaming_attention(query, query, value, mask=rule, block_size=64)
    expected = torch.tensor(
        [(t + t % 2) / 2 for t in range(1031)]
    )  # the mean of 0, 2, … or 1, 3, …
    torch.testing.assert_close(y[1, :, 0], expected, rtol=2 * 1031 * 2**-24, atol=0)
    assert max(rows for rows, _ in asked) <= 256
    assert max(keys for _, keys in asked) <= 64
    pairs = sum(rows * keys for rows, keys in asked)
    assert 1031**2 / 2 <= pairs <= 1031**2 / 2 + 1031 * (256 + 2 * 64)


# Absence.


@every_block
@pytest.mark.parametrize("sink", [None, 0.5, NAN, INF, -INF])
def test_empty_rows_are_zero_in_output_and_gradients(
    block_size: int | None, sink: float | None
) -> None:
    """A query that sees no key gives 0 and takes none, NaN in it or whatever its sink is."""
    query = QUERY.clone()
    query[EMPTY] = NAN
    sinks = torch.zeros(L, dtype=torch.float64)
    if sink is not None:
        sinks[EMPTY] = sink
    given: Given = {"query": query, "key": KEY, "value": VALUE, "mask": MASK}
    given |= {} if sink is None else {"sink": sinks}
    y = streaming_attention(**given, block_size=block_size)
    assert (y[EMPTY] == 0).all()
    assert y.isfinite().all()
    g = torch.tensor(normal(L, D_V, seed=1))
    found = gradients(streaming_attention, given, g, block_size=block_size)
    assert (found["query"][EMPTY] == 0).all()
    assert sink is None or found["sink"][EMPTY] == 0
    assert all(np.isfinite(x).all() for x in found.values())
    rest = {name: x if name in ("key", "value") else x[SEEING] for name, x in given.items()}
    others = gradients(streaming_attention, rest, g[SEEING], block_size=block_size)
    problem = Problem(*triple(), mask=MASK.numpy(), sink=None if sink is None else normal(L) * 0)
    bounds = gradient_bounds(problem, g.numpy(), working="float64")
    for name in ("key", "value"):
        assert (abs(found[name] - others[name]) <= 2 * bounds[name]).all()


@pytest.mark.parametrize("arriving", [NAN, INF])
@pytest.mark.parametrize("sink", [None, 0.5])
def test_empty_rows_take_no_gradient_whatever_arrives(arriving: float, sink: float | None) -> None:
    """NaN and ∞ that come back to a row without keys go no further, to the sink included."""
    g = torch.tensor(normal(L, D_V, seed=1))
    given: Given = {"query": QUERY, "key": KEY, "value": VALUE, "mask": MASK}
    given |= {} if sink is None else {"sink": torch.full((L,), sink, dtype=torch.float64)}
    clean = gradients(streaming_attention, given, g)
    g[EMPTY] = arriving
    found = gradients(streaming_attention, given, g)
    for name, gradient in found.items():
        row = [EMPTY] if name in ("query", "sink") else []
        assert (gradient[row] == 0).all(), name
        assert np.array_equal(gradient, clean[name]) or np.allclose(gradient, clean[name]), name


@pytest.mark.parametrize("front", [(), (3,), (2, 6), (0,)])
@pytest.mark.parametrize(("L", "S", "d_v"), [(2, 0, 3), (0, 2, 3), (2, 3, 0), (0, 0, 0)])
def test_streaming_is_defined_for_zero_sizes(
    front: tuple[int, ...], L: int, S: int, d_v: int
) -> None:
    """Nothing in, nothing out, heads shared or not; no keys give 0, and gradients are 0."""
    shared = (*front[:-1], 2) if front == (2, 6) else front
    shapes = {"query": (*front, L, 5), "key": (*shared, S, 5), "value": (*shared, S, d_v)}
    given: Given = {name: torch.ones(shape) for name, shape in shapes.items()}
    given |= {"bias": torch.ones(L, S), "sink": torch.ones(L)}
    y = streaming_attention(**given)
    assert y.shape == (*front, L, d_v)
    assert (y == 0).all() or S
    for name, gradient in gradients(streaming_attention, given, torch.ones(())).items():
        assert gradient.shape == given[name].shape
        assert (gradient == 0).all() or (L and S and d_v)
    whole = streaming_attention(torch.ones(2, 0), torch.ones(3, 0), VALUE[:3].float(), scale=1.0)
    torch.testing.assert_close(whole, VALUE[:3].float().mean(dim=0).expand(2, D_V))


@pytest.mark.parametrize("wild", [NAN, INF, -INF, 1.7e308])
@pytest.mark.parametrize("through", ["mask", "bias", "rule"])
@pytest.mark.parametrize("block_size", [1, 3, None])
@pytest.mark.parametrize("place", ["key", "value"])
def test_masked_keys_are_as_if_deleted(
    wild: float, through: str, block_size: int | None, place: str
) -> None:
    """NaN, ∞ or what overflows in a key or value that no query sees reaches nothing."""
    key, value = KEY.clone(), VALUE.clone()
    (key if place == "key" else value)[ABSENT] = wild
    hidden: dict[str, Given] = {
        "mask": {"mask": MASK},
        "bias": {"bias": torch.zeros(L, S, dtype=torch.float64).masked_fill(~MASK, -INF)},
        "rule": {"mask": masks.Rule(L, S, lambda i, j: MASK[i, j])},
    }
    given: Given = {"query": QUERY, "key": key, "value": value, **hidden[through], "softcap": 2.0}
    g = torch.tensor(normal(L, D_V, seed=1))
    y = streaming_attention(**given, block_size=block_size)
    found = gradients(streaming_attention, given, g, block_size=block_size)
    kept = [s for s in range(S) if s != ABSENT]
    problem = Problem(
        QUERY.numpy(), KEY[kept].numpy(), VALUE[kept].numpy(), MASK[:, kept].numpy(), softcap=2.0
    )
    assert_right(y, problem)
    bounds = gradient_bounds(problem, g.numpy(), working="float64")
    right = gradients(attention, in_torch(problem), g)
    for name in ("key", "value"):
        assert (found[name][ABSENT] == 0).all()
        found[name] = found[name][kept]
    if through == "bias":
        assert (found.pop("bias")[~MASK.numpy()] == 0).all()
    assert_near(found, right, {name: 2 * bounds[name] for name in right})


def test_bias_of_minus_infinity_is_a_mask() -> None:
    """Selected and not added: bit by bit what the mask gives, whatever key and value hold."""
    key, value = (x.masked_fill(~MASK.any(dim=0)[:, None], NAN) for x in (KEY, VALUE))
    bias = torch.zeros(L, S, dtype=torch.float64).masked_fill(~MASK, -INF)
    for block_size in BLOCKS:
        by_bias = streaming_attention(QUERY, key, value, bias=bias, block_size=block_size)
        by_mask = streaming_attention(QUERY, key, value, mask=MASK, block_size=block_size)
        assert torch.equal(by_bias, by_mask)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_finite_bias_never_masks(dtype: torch.dtype) -> None:
    """The most negative numbers leave weights of sum 1, whatever they absorb (faults 7 and 28)."""
    bias = torch.full((2,), torch.finfo(dtype).min, dtype=dtype)
    query, key = torch.zeros(1, 1, dtype=dtype), torch.ones(2, 1, dtype=dtype)
    value = torch.tensor([[1.0], [3.0]], dtype=dtype)
    for block_size in (1, None):
        assert streaming_attention(query, key, value, bias=bias, block_size=block_size).item() == 2


# What is seen is not hidden.


@pytest.mark.parametrize("block_size", [1, 3, None])
def test_nan_that_is_seen_shows_in_all_that_sees_it(block_size: int | None) -> None:
    """NaN in a key: in its queries' outputs and gradients, in those of all that they see, only."""
    key = KEY.clone()
    key[5] = NAN
    tainted = MASK[:, 5]
    reached = MASK[tainted].any(dim=0)
    assert 0 < tainted.sum() < L
    assert 0 < reached.sum() < S
    given: Given = {"query": QUERY, "key": key, "value": VALUE, "mask": MASK}
    y = streaming_attention(**given, block_size=block_size)
    assert torch.equal(y.isnan(), tainted[:, None].expand(y.shape))
    found = gradients(streaming_attention, given, torch.ones(L, D_V), block_size=block_size)
    for name, nan in {"query": tainted, "key": reached, "value": reached}.items():
        nans = torch.tensor(np.isnan(found[name]))
        assert torch.equal(nans, nan[:, None].expand(nans.shape)), name


@pytest.mark.parametrize("block_size", [1, 3, None])
@every_wildness
def test_wild_value_that_is_seen_shows_in_its_column(block_size: int | None, wild: float) -> None:
    """An output is NaN or ∞ where the value is, in the rows that see it, and nowhere else."""
    value = VALUE.clone()
    value[5, 1] = wild
    y = streaming_attention(QUERY, KEY, value, mask=MASK, block_size=block_size)
    shown = torch.zeros(L, D_V, dtype=torch.bool)
    shown[:, 1] = MASK[:, 5]
    assert torch.equal(~y.isfinite(), shown)
    torch.testing.assert_close(
        y[shown], torch.full_like(y[shown], wild), rtol=0, atol=0, equal_nan=True
    )


@pytest.mark.parametrize("block_size", [1, 3, None])
@every_wildness
@pytest.mark.parametrize("place", ["key", "value", "both"])
def test_wild_key_stays_with_the_queries_that_see_it(
    block_size: int | None, wild: float, place: str
) -> None:
    """A loss of the queries that don't see it has the gradients of these alone."""
    blind = [t for t in range(L) if not MASK[t, 5]]
    assert 0 < len(blind) < L
    key, value = KEY.clone(), VALUE.clone()
    if place != "value":
        key[5] = wild
    if place != "key":
        value[5] = wild
    g = torch.tensor(normal(L, D_V, seed=1))
    g[[t for t in range(L) if t not in blind]] = 0
    given: Given = {"query": QUERY, "key": key, "value": value, "mask": MASK}
    found = gradients(streaming_attention, given, g, block_size=block_size)
    clean = {"query": QUERY, "key": KEY, "value": VALUE, "mask": MASK}
    right = gradients(attention, clean, g)
    bounds = gradient_bounds(Problem(*triple(), MASK.numpy()), g.numpy(), working="float64")
    assert_near(found, right, {name: 2 * bounds[name] for name in right})


@pytest.mark.parametrize("block_size", [1, None])
def test_sink_that_is_not_finite_shows_in_its_row(block_size: int | None) -> None:
    """NaN or +∞ in the sink of a row with keys makes that row NaN, and no other."""
    sink = torch.zeros(L, dtype=torch.float64)
    sink[0], sink[1] = NAN, INF
    y = streaming_attention(QUERY, KEY, VALUE, sink=sink, block_size=block_size)
    assert y.isnan().all(dim=-1).tolist() == [True, True] + [False] * (L - 2)
    assert y[2:].isfinite().all()


@every_block
def test_sink_counts_once_in_any_number_of_blocks(block_size: int | None) -> None:
    """Equal scores, the sink's too: the mean of S values is S/(S + 1) of theirs (fault 13)."""
    query, key, value = (torch.zeros(x.shape) for x in (QUERY, KEY, VALUE))
    y = streaming_attention(query, key, value + 1, sink=0.0, block_size=block_size)
    # z = S + 1 and n = S are exact, their quotient is rounded.
    torch.testing.assert_close(y, torch.full((L, D_V), S / (S + 1)), rtol=2**-24, atol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("sink", [1e300, 1e30, 1e11])
def test_sink_far_above_takes_all(dtype: torch.dtype, sink: float) -> None:
    """Nothing is left for a key, beyond the dtype of the work too: output and gradients are 0."""
    given = in_torch(Problem(*triple(), mask=MASK.numpy()), dtype)
    assert (streaming_attention(**given, sink=sink) == 0).all()
    found = gradients(streaming_attention, given, torch.ones(()), sink=sink)
    assert all((gradient == 0).all() for gradient in found.values())


def test_number_for_a_sink_is_not_rounded_to_the_dtype_of_the_work() -> None:
    """Equal scores of 4096 and a sink just above, not a float32 number: S/(S + e^(1/8192))."""
    query, key, value = torch.zeros(1, 1), torch.zeros(S, 1), torch.ones(S, 1)
    bias = torch.full((S,), 4096.0)
    y = streaming_attention(query, key, value, bias=bias, sink=4096 + 1 / 8192)
    # Scores, and a − m but for the sink's, are exact: exp, a sum and a quotient round.
    assert abs(y.item() - S / (S + math.exp(1 / 8192))) <= 8 * 2**-24


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("sink", [-INF, -(10**400), -1e300, -1e30, -1e11])
def test_sink_far_below_is_no_sink(dtype: torch.dtype, sink: float) -> None:
    """−∞ and what is as good as that, a number beyond the dtype of the work too, change nothing."""
    g = torch.tensor(normal(L, D_V, seed=1))
    given = in_torch(Problem(*triple(), mask=MASK.numpy()), dtype)
    output = streaming_attention(**given, sink=sink)
    assert torch.equal(output, streaming_attention(**given))
    found = gradients(streaming_attention, given, g, sink=sink)
    for name, gradient in gradients(streaming_attention, given, g).items():
        assert np.array_equal(found[name], gradient), name


# Gradients.


def leaf(*shape: int, seed: int = 0) -> Tensor:
    """Return standard normal numbers that take a gradient."""
    return torch.tensor(normal(*shape, seed=seed), requires_grad=True)


BROADCASTS = {  # leading axes of query, key and value
    "none": ((), (), ()),
    "query alone": ((2,), (), ()),
    "key alone": ((), (2,), ()),
    "value alone": ((), (), (2,)),
    "all ways": ((2, 1), (3,), (2, 1)),
    "grouped": ((4,), (2,), (2,)),
    "grouped apart": ((4,), (2,), (1,)),
    "one head": ((3,), (1,), (1,)),
    "in a batch": ((2, 4), (2,), (1, 2)),
}


def checked(names: list[str], inputs: list[Tensor], **rest: Any) -> bool:
    """Say whether the gradients are finite differences."""

    def function(*given: Tensor) -> Tensor:
        own: Given = dict(zip(names, given, strict=True))
        return streaming_attention(**own, **rest)

    return gradcheck(function, inputs, fast_mode=False)


@pytest.mark.parametrize("fronts", BROADCASTS.values(), ids=BROADCASTS)
def test_gradients_are_finite_differences_with_broadcast_axes(fronts: Any) -> None:
    """Each head's gradients are added up where it is read by several."""
    tails = (3, 2), (5, 2), (5, 1)
    inputs = [leaf(*front, *tail) for front, tail in zip(fronts, tails, strict=True)]
    mask = torch.tensor(random_mask(3, 5))
    mask[1] = mask[:, 2] = False
    assert checked(["query", "key", "value"], inputs, mask=mask, block_size=2)


BIASES = [(), (1,), (5,), (1, 1), (3, 1), (1, 5), (3, 5), (2, 1, 1), (1, 3, 5), (2, 3, 5)]


@pytest.mark.parametrize("shape", BIASES, ids=str)
def test_gradient_of_a_bias_is_finite_differences(shape: tuple[int, ...]) -> None:
    """Of every shape that broadcasts, summed where it does."""
    inputs = [leaf(2, 3, 2), leaf(5, 2), leaf(5, 1), leaf(*shape, seed=2)]
    assert checked(["query", "key", "value", "bias"], inputs, block_size=2)


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 1), (1, 3), (2, 3)], ids=str)
def test_gradient_of_a_sink_is_finite_differences(shape: tuple[int, ...]) -> None:
    """Of every shape that broadcasts to the rows, in an empty row 0."""
    inputs = [leaf(2, 3, 2), leaf(5, 2), leaf(5, 1), leaf(*shape, seed=3)]
    mask = torch.tensor(random_mask(3, 5))
    mask[1] = False
    assert checked(["query", "key", "value", "sink"], inputs, mask=mask, block_size=2)


@pytest.mark.parametrize("wild", [0.0, NAN, INF])
@pytest.mark.parametrize("block_size", [1, 2, None])
def test_gradients_with_all_options_are_finite_differences(
    wild: float, block_size: int | None
) -> None:
    """Scale, cap, bias with −∞, rule, sink and heads at once, the absent wild."""
    query, key, value = normal(4, 3, 2), normal(2, 5, 2), normal(2, 5, 1)
    bias = normal(4, 3, 5, seed=2)
    bias[:, 1] = bias[:, :, 2] = bias[:, 0, 3] = -INF
    query[:, 1] = key[:, 2] = value[:, 2] = wild
    inputs = [torch.tensor(x, requires_grad=True) for x in (query, key, value, bias)]
    inputs.append(leaf(4, 3, seed=3))
    rest: Given = {"scale": -0.75, "softcap": 1.5, "mask": masks.Rule.causal(3, 5, offset=2)}
    assert checked([*LEAVES], inputs, **rest, block_size=block_size)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(problem=problems(), block_size=st.sampled_from(BLOCKS))
def test_gradients_are_those_of_attention(problem: Problem, block_size: int | None) -> None:
    """Any sizes, leading axes, heads, options and blocks, within the bounds of both."""
    shape = streaming_attention(**in_torch(problem)).shape
    g = torch.tensor(normal(*shape, seed=1))
    assert_right_gradients(problem, g, torch.float64, block_size=block_size)


@every_block
@every_dtype
@pytest.mark.parametrize("problem", [ALL, WIDE], ids=["heads", "long"])
def test_gradients_of_any_dtype_are_right(
    problem: Problem, dtype: torch.dtype, block_size: int | None
) -> None:
    """Within the bounds of their work, rounded to the dtype of what they are of."""
    if problem is WIDE and block_size is not None:
        block_size = 100 * block_size
    g = torch.tensor(normal(problem.value.shape[-1], seed=5)).to(dtype)
    assert_right_gradients(problem, g, dtype, block_size=block_size)


@pytest.mark.parametrize("name", LEAVES)
def test_gradient_of_one_input_is_that_among_all(name: str) -> None:
    """Whichever tensor asks for a gradient alone gets the same, and no other gets one."""
    given = in_torch(ALL)
    every = gradients(streaming_attention, given, torch.ones(()))
    leaf = given[name] = given[name].clone().requires_grad_()
    (alone,) = torch.autograd.grad(streaming_attention(**given).sum(), leaf)
    assert np.array_equal(alone.numpy(), every[name])
    assert all(given[other].grad is None for other in LEAVES)


def test_no_grad_is_respected() -> None:
    """Under no_grad, and for inputs that ask for no gradient, none is prepared."""
    query = QUERY.clone().requires_grad_()
    with torch.no_grad():
        assert not streaming_attention(query, KEY, VALUE).requires_grad
    assert not streaming_attention(QUERY, KEY, VALUE).requires_grad
    assert streaming_attention(query, KEY, VALUE).requires_grad


def test_backward_makes_no_nan_in_passing() -> None:
    """Torch's anomaly detection finds nothing, with an empty row and wild keys that are masked."""
    key, value = KEY.clone(), VALUE.clone()
    key[ABSENT] = value[ABSENT] = NAN
    given: Given = {"query": QUERY, "key": key, "value": value, "mask": MASK, "softcap": 1.5}
    with torch.autograd.set_detect_anomaly(True):
        found = gradients(streaming_attention, given, torch.ones(()))
    assert all(np.isfinite(x).all() for x in found.values())


@pytest.mark.parametrize("loss", [torch.sum, lambda y: y.square().sum()], ids=["linear", "square"])
def test_second_derivatives_are_refused(loss: Callable[[Tensor], Tensor]) -> None:
    """It is differentiable once, and says so, also where another term has a second derivative."""
    query = QUERY.clone().requires_grad_()
    total = loss(streaming_attention(query, KEY, VALUE)) + query.square().sum()
    (first,) = torch.autograd.grad(total, query, create_graph=True)
    with pytest.raises(RuntimeError, match="differentia"):
        torch.autograd.grad(first.sum(), query)


CHANGES: dict[str, Callable[[Tensor], object]] = {
    **{name: lambda x: x.add_(1) for name in LEAVES},
    "mask": lambda x: x.logical_not_(),
}


@pytest.mark.parametrize("name", CHANGES)
def test_input_that_is_changed_before_backward_is_an_error(name: str) -> None:
    """Never a wrong gradient: Torch tells of each input that was written to in between."""
    given = in_torch(ALL)
    for x in filter(floating, given.values()):
        x.requires_grad_()
    leaf = given["query"] if name == "mask" else given[name]
    y = streaming_attention(**given)
    with torch.no_grad():
        CHANGES[name](given[name])
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        torch.autograd.grad(y.sum(), leaf)


def test_output_may_be_changed_before_backward() -> None:
    """Nothing of it is kept: gradients are those of what was returned."""
    given: Given = {"query": QUERY, "key": KEY, "value": VALUE}
    expected = gradients(streaming_attention, given, torch.ones(()))
    scaled = gradients(lambda **x: streaming_attention(**x).mul_(2), given, torch.ones(()))
    for name, gradient in scaled.items():
        assert np.array_equal(gradient, 2 * expected[name])


# Layouts.


LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "transposed": lambda x: x.mT.contiguous().mT,
    "strided": lambda x: torch.stack([x, x], dim=-1)[..., 0],
    "expanded": lambda x: x[:1].expand(x.shape),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_streaming_reads_every_layout(name: str) -> None:
    """Permuted, sliced and expanded tensors give what their copies give, backward too."""
    layout = LAYOUTS[name]
    chosen = {"query": QUERY, "key": KEY, "value": VALUE, "mask": MASK}
    views: Given = {n: layout(x) for n, x in chosen.items()}
    views["bias"], views["sink"] = (
        layout(torch.tensor(normal(L, S))),
        layout(leaf(3, L))[0].detach(),
    )
    assert not any(x.is_contiguous() for n, x in views.items() if n != "sink")
    copies: Given = {n: x.clone().contiguous() for n, x in views.items()}
    problem = Problem(**{n: x.numpy() for n, x in copies.items()})
    assert_right(streaming_attention(**views, block_size=3), problem)
    g = torch.tensor(normal(D_V, L, seed=6)).mT
    right = gradients(streaming_attention, copies, g.contiguous(), block_size=3)
    bounds = gradient_bounds(problem, g.numpy(), working="float64")
    leaves = {n: x.requires_grad_() for n, x in views.items() if floating(x)}
    found = torch.autograd.grad(
        streaming_attention(**views, block_size=3), list(leaves.values()), g
    )
    near = {n: x.numpy() for n, x in zip(leaves, found, strict=True)}
    assert_near(near, right, {n: 2 * bound for n, bound in bounds.items()})


def test_streaming_leaves_its_inputs_alone() -> None:
    """No input is written to, forward or backward, NaN included."""
    given = in_torch(ALL)
    given["key"][0, 0, 0] = NAN
    before = {n: x.clone() for n, x in given.items() if isinstance(x, Tensor)}
    leaves = {n: x.requires_grad_() for n, x in given.items() if floating(x)}
    g = torch.ones(B, HQ, L, 2, dtype=torch.float64)
    y = streaming_attention(**given)
    torch.autograd.grad(y, list(leaves.values()), g)
    for name, x in before.items():
        torch.testing.assert_close(given[name].detach(), x, rtol=0, atol=0, equal_nan=True)
    assert (g == 1).all()


def test_mask_bias_and_sink_broadcast() -> None:
    """Of fewer axes, or of size 1 along some, they are themselves repeated there."""
    q, k, v = (torch.tensor(x) for x in triple(batch=(B,)))
    for shape in [(), (S,), (L, 1), (1, S), (B, 1, S), (1, L, S)]:
        bias, mask = torch.tensor(normal(*shape)), torch.tensor(normal(*shape) > -0.5)
        for name, small in {"bias": bias, "mask": mask}.items():
            output, expected = (
                streaming_attention(q, k, v, block_size=3, **{name: own})  # type: ignore[arg-type]  # each in its place
                for own in (small, small.expand(B, L, S).contiguous())
            )
            assert torch.equal(output, expected)
    for shape in [(), (L,), (1,), (B, 1), (1, L)]:
        sink = torch.tensor(normal(*shape))
        expected = streaming_attention(q, k, v, sink=sink.expand(B, L).contiguous())
        assert torch.equal(streaming_attention(q, k, v, sink=sink), expected)


@pytest.mark.parametrize("option", ["mask", "bias", "sink"])
def test_options_may_have_leading_axes_that_only_the_value_brings(option: str) -> None:
    """The scores that a mask, a bias and a sink see are as many as the outputs."""
    query, key, _ = triple()
    whole = {"mask": random_mask(2, L, S), "bias": normal(2, L, S), "sink": normal(2, L)}
    own: Given = {option: whole[option]}
    problem = Problem(query, key, normal(2, S, 3), **own)
    assert_right(streaming_attention(**in_torch(problem), block_size=3), problem)
    g = torch.tensor(normal(2, L, 3, seed=1))
    assert_right_gradients(problem, g, torch.float64, block_size=3)


@pytest.mark.parametrize("shared", [1, 2, 3, 6])
def test_heads_are_each_read_by_their_own_queries(shared: int) -> None:
    """Head h reads head h // (Hq/Hkv): multi-query, grouped, one for each (fault 45)."""
    query, key, value = normal(B, HQ, L, 3), normal(B, shared, S, 3), normal(B, shared, S, 2)
    output = streaming_attention(*map(tensor, (query, key, value)), block_size=3)
    for h in range(HQ):
        g = h // (HQ // shared)
        head = Problem(query[:, h], key[:, g], value[:, g])
        assert_right(output[:, h], head)


# Memory.


class Largest(TorchDispatchMode):  # type: ignore[no-untyped-call]  # Torch leaves it untyped
    """Watches every tensor that is made, and keeps the bytes of the largest."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # Torch leaves it untyped
        self.bytes = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Do what is asked, and look at what comes of it."""
        result = func(*args, **(kwargs or {}))
        for x in result if isinstance(result, tuple | list) else [result]:
            if isinstance(x, Tensor):
                self.bytes = max(self.bytes, x.untyped_storage().nbytes())
        return result


def saved_by(call: Callable[[], Tensor]) -> tuple[Tensor, list[Tensor]]:
    """Return what a call gives, and what it saves for backward."""
    saved: list[Tensor] = []

    def keep(x: Tensor) -> Tensor:
        saved.append(x)
        return x

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
        return call(), saved


@pytest.mark.parametrize("causal", [False, True], ids=["all keys", "causal"])
def test_what_is_saved_for_backward_grows_with_the_length(causal: bool) -> None:
    """Equal steps in L = S save equal numbers of bytes more, and nothing saved has L·S places."""
    sizes = []
    for n in (256, 512, 768):
        sink, inputs = leaf(n), [leaf(3, n, 2), leaf(3, n, 2), leaf(3, n, 2)]
        options: Given = {"mask": masks.Rule.causal(n, n) if causal else None, "sink": sink}
        _, saved = saved_by(partial(streaming_attention, *inputs, **options))
        assert all(x.numel() < n * n for x in saved)
        storages = {x.data_ptr(): x.untyped_storage().nbytes() for x in saved}
        sizes.append(sum(storages.values()))
    assert sizes[2] - sizes[1] == sizes[1] - sizes[0] > 0
    assert sizes[1] == 2 * sizes[0]


def test_no_tensor_is_larger_than_a_block_of_scores_or_an_input() -> None:
    """Forward and backward, 256 queries by 512 keys of each head at most."""
    heads, n = 2, 1031
    inputs = [leaf(heads, n, 2) for _ in range(3)]
    bias = leaf(n)  # one number a key
    with Largest() as seen:
        y = streaming_attention(*inputs, bias=bias, softcap=2.0, sink=0.5)
        torch.autograd.grad(y.sum(), [*inputs, bias])
    assert seen.bytes <= max(heads * 256 * 512, heads * n * 2) * 8
    with Largest() as seen:
        y = streaming_attention(*inputs, mask=masks.Rule.causal(n, n), block_size=16)
        torch.autograd.grad(y.sum(), inputs)
    assert seen.bytes <= max(heads * 256 * 16, heads * n * 2) * 8


def test_a_long_causal_sequence_trains_in_little_memory() -> None:
    """8192 tokens of one head: running means and their gradients; scores take half a MiB."""
    n = 2**13
    query, key = torch.zeros(n, 2, requires_grad=True), torch.zeros(n, 2, requires_grad=True)
    value, g = (torch.tensor(normal(n, 2, seed=i, dtype="float32")) for i in range(2))
    value.requires_grad_()
    rule = masks.Rule.causal(n, n)
    with Largest() as seen:
        y, saved = saved_by(lambda: streaming_attention(query, key, value, mask=rule))
        dq, dk, dv = torch.autograd.grad(y, [query, key, value], g)
    assert sum(x.nbytes for x in saved) <= 11 * n * 4  # four pairs of columns, m, z, and no more
    assert seen.bytes <= 256 * 512 * 4
    places = torch.arange(1, n + 1, dtype=torch.float64)[:, None]
    wide, asked = value.detach().double(), g.double()
    mean = wide.cumsum(0) / places
    later = (asked / places).flip(0).cumsum(0).flip(0)
    # Weights are exact quotients: n terms are added, to each of which n/512 + 512 sums are done.
    sums = (n / 512 + 512 + 9) * 2**-24
    assert ((y - mean).abs() <= sums * wide.abs().cumsum(0) / places).all()
    sizes = (asked.abs() / places).flip(0).cumsum(0).flip(0)
    assert ((dv - later).abs() <= (n / 256 + 256 + 9) * 2**-24 * sizes).all()
    assert (dq == 0).all()
    assert (dk == 0).all()


# What may not enter.


REFUSED: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "kind": ({"query": triple()[0]}, TypeError, r"query must be a torch\.Tensor, not numpy"),
    "dtype": ({"value": VALUE.float()}, TypeError, "query, key, value must share one dtype"),
    "keys": ({"value": VALUE[1:]}, ValueError, r"share their second-last axis S: 7 ≠ 6"),
    "device": ({"key": KEY.to("meta")}, ValueError, "share one device: query cpu, key meta"),
    "a mask of numbers": ({"mask": MASK.double()}, TypeError, "mask must be boolean, .* a bias"),
    "a mask that is no tensor": ({"mask": [[True]]}, TypeError, "mask must be a torch.Tensor"),
    "a mask that enlarges": (
        {"mask": MASK.mT},
        ValueError,
        r"mask must broadcast .* mask \(7, 5\)",
    ),
    "a rule of other sizes": (
        {"mask": masks.Rule(S, L)},
        ValueError,
        r"mask must be a rule for the L queries and S keys .*: rule \(7, 5\), scores \(5, 7\)",
    ),
    "a rule of numbers": (
        {"mask": masks.Rule(L, S, lambda i, j: i + j)},
        TypeError,
        r"visible\(i, j\) must return an array of booleans, not int64",
    ),
    "a rule that enlarges": (
        {"mask": masks.Rule(L, S, lambda i, j: (i >= j).expand(2, -1, -1))},
        ValueError,
        r"visible\(i, j\) must broadcast to the block \(queries, keys\): .* \(2, 5, 7\)",
    ),
    "a bias that is a mask": ({"bias": MASK}, TypeError, "bias must have a floating dtype"),
    "a bias that enlarges": (
        {"bias": KEY[None, None]},
        ValueError,
        "bias must broadcast to the sc",
    ),
    "device of the bias": (
        {"bias": torch.zeros(S, dtype=torch.float64, device="meta")},
        ValueError,
        "query, bias must share one device|share one device: .* bias meta",
    ),
    "scale": ({"scale": INF}, ValueError, "scale must be finite, not inf"),
    "softcap": ({"softcap": 0}, ValueError, "softcap must be positive, or None for no cap: 0"),
    "a sink of another kind": ({"sink": "0"}, TypeError, "sink must be a torch.Tensor or a real"),
    "a sink that enlarges": ({"sink": KEY[0]}, ValueError, r"sink must broadcast to the rows"),
    **WRONG_SIZES,
}


@pytest.mark.parametrize("case", REFUSED)
def test_streaming_says_what_is_wrong(case: str) -> None:
    """Each refusal names the argument, the rule, and what came instead."""
    changed, kind, message = REFUSED[case]
    with pytest.raises(kind, match=message):
        streaming_attention(**{"query": QUERY, "key": KEY, "value": VALUE, **changed})
