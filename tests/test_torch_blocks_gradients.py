"""The laws of the gradients that are worked out without autograd: those of autograd, in blocks."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import attnref
from attnref.torch import (
    Gradients,
    Partial,
    attention,
    attention_gradients,
    attention_weights,
    log_partition,
    masks,
    merge,
    partial_attention,
    scores,
)
from gradient_bounds import Bounds, assert_near, gradient_bounds, rounded
from in_blocks import BLOCKS, every_block
from samples import D_V, B, Floats, L, Problem, S, normal, problems, random_mask, triple
from torch_problems import WRONG_SIZES, Given, cast, clipped, floating, held, in_torch

NAN, INF = math.nan, math.inf
NAMES = Gradients._fields
QUERY, KEY, VALUE = (torch.tensor(x) for x in triple())
G, GAMMA = torch.tensor(normal(L, D_V, seed=1)), torch.tensor(normal(L, seed=2))
EMPTY, ABSENT = 2, 3  # a query that sees no key, a key that no query sees
MASK = torch.tensor(random_mask(L, S))
MASK[EMPTY] = MASK[:, ABSENT] = False
SEEING = [t for t in range(L) if t != EMPTY]
assert MASK[SEEING].any(dim=-1).all()


def arrays(found: Gradients) -> dict[str, Floats]:
    """Return the gradients that are there, in float64."""
    return {
        name: x.double().numpy() for name, x in found._asdict().items() if isinstance(x, Tensor)
    }


def by_autograd(given: Given, g: Tensor, gamma: Tensor) -> dict[str, Floats]:
    """Return the gradients of attention and of log Z in float64, a number for a sink included."""
    wide = cast(given, torch.float64)
    if "sink" in wide:
        wide["sink"] = torch.as_tensor(wide["sink"], dtype=torch.float64)
    leaves = {name: x.clone().requires_grad_() for name, x in wide.items() if floating(x)}
    call = {**wide, **leaves}
    y = attention(**call)
    options = {name: call.get(name) for name in ("scale", "softcap")}
    a = scores(call["query"], call["key"], **options).expand(*y.shape[:-1], -1)
    if "bias" in call:  # of as many axes as the output, which the scores alone may not have
        a = (a + call["bias"]).masked_fill(call["bias"] == -INF, -INF)
    log_z = log_partition(a, mask=call.get("mask"), sink=call.get("sink"))
    asked = g.double().expand(y.shape), gamma.double().expand(log_z.shape)
    found = torch.autograd.grad([y, log_z], list(leaves.values()), asked)
    return {name: x.numpy() for name, x in zip(leaves, found, strict=True)}


def bounds_of(
    problem: Problem, g: Any, gamma: Any, working: str = "float64", **more: Any
) -> dict[str, Bounds]:
    """Return how far two results may lie apart: one of the work, one of float64."""
    own, double = (
        gradient_bounds(problem, np.asarray(g), gamma, working=work, **more)
        for work in (working, "float64")
    )
    return {name: own[name] + double[name] for name in own}


HQ, HKV = 6, 2  # three heads of the query for each of key and value


def of_heads() -> Problem:
    """Return a problem in which heads are shared, with every option and a bias with holes."""
    bias = normal(HQ, L, S, seed=1)
    bias[~random_mask(HQ, L, S, seed=3)] = -INF
    shapes = (B, HQ, L, 3), (B, HKV, S, 3), (B, HKV, S, 2)
    sink, mask = normal(B, HQ, 1, seed=2), random_mask(L, S)
    query, key, value = (normal(*shape) for shape in shapes)
    return Problem(query, key, value, mask, -0.75, bias, 1.25, sink)


LONG, MANY = 257, 521  # more queries than a block has, and more keys
ALL = of_heads()
WIDE = Problem(
    normal(LONG, 3),
    normal(2, MANY, 3),
    normal(2, MANY, 2),
    mask=random_mask(LONG, MANY),
    bias=normal(2, 1, MANY, seed=1),
    sink=normal(LONG, seed=2),
)


def assert_same(one: Gradients, other: Gradients) -> None:
    """Require the same gradients, bit by bit."""
    for x, y in zip(one, other, strict=True):
        assert x is y is None or (x is not None and y is not None and torch.equal(x, y))


# Truth.


@settings(max_examples=60, deadline=None, derandomize=True)
@given(problem=problems(), block_size=st.sampled_from(BLOCKS))
def test_gradients_are_those_of_autograd(problem: Problem, block_size: int | None) -> None:
    """Any sizes, leading axes, heads, options and blocks: those of attention and of log Z."""
    given = in_torch(problem, torch.float64)
    shape = attention(**given).shape
    g, gamma = torch.tensor(normal(*shape, seed=1)), torch.tensor(normal(*shape[:-1], seed=2))
    found = attention_gradients(**given, grad_output=g, grad_log_z=gamma, block_size=block_size)
    right = by_autograd(given, g, gamma)
    assert_near(arrays(found), right, bounds_of(problem, g, gamma))
    for name in NAMES:
        assert (getattr(found, name) is None) == (name not in given)


@every_block
@pytest.mark.parametrize("problem", [ALL, WIDE], ids=["heads", "long"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_gradients_in_blocks_of_any_size_are_right(
    problem: Problem, dtype: torch.dtype, block_size: int | None
) -> None:
    """One block of queries or more, of keys too, every option: within the bounds of the work."""
    given = in_torch(problem, dtype)
    rows = problem.query.shape[-2]
    g, gamma = (torch.tensor(normal(rows, *d, seed=4)).to(dtype) for d in ((2,), ()))
    if problem is WIDE and block_size is not None:
        block_size = 100 * block_size
    found = attention_gradients(**given, grad_output=g, grad_log_z=gamma, block_size=block_size)
    working = str(dtype).removeprefix("torch.")
    assert_near(
        arrays(found),
        by_autograd(given, g, gamma),
        bounds_of(held(problem, dtype), g, gamma, working),
    )


@settings(max_examples=60, deadline=None, derandomize=True)
@given(problem=problems(), block_size=st.sampled_from(BLOCKS))
def test_gradients_are_those_of_numpy(problem: Problem, block_size: int | None) -> None:
    """The two sides, which share no step, agree within the bounds of both."""
    if problem.query.dtype != np.float64:
        cap = problem.softcap  # the first order holds in float32 for what is not too steep
        problem = replace(clipped(problem, 3), softcap=None if cap is None else max(cap, 1.0))
    given, dtype = in_torch(problem), problem.query.dtype.name
    shape = attention(**given).shape
    g, gamma = normal(*shape, seed=1, dtype=dtype), normal(*shape[:-1], seed=2, dtype=dtype)
    ours = attention_gradients(
        **given,
        grad_output=torch.tensor(g),
        grad_log_z=torch.tensor(gamma),
        block_size=block_size,
    )
    theirs = attnref.attention_gradients(
        *problem.arrays, g, **problem.options, grad_log_z=gamma, block_size=block_size
    )
    right = {
        name: np.asarray(x, "float64") for name, x in theirs._asdict().items() if x is not None
    }
    working = "float64" if dtype == "float64" else "float32"
    bounds = gradient_bounds(problem, g, gamma, working=working)
    if dtype == "float16":
        bounds = rounded(bounds, right, dtype)
    assert_near(arrays(ours), right, {name: 2 * bounds[name] for name in right})


def test_gradient_of_log_z_by_the_bias_is_the_weights() -> None:
    """Nothing asked of the output: ∂ log Z_t/∂bias_ts = p_ts, and the sink's is what they lack."""
    bias, sink = torch.tensor(normal(L, S)), torch.tensor(normal(L, seed=3))
    nothing = torch.zeros(L, D_V, dtype=torch.float64)
    options: Given = {"mask": MASK, "bias": bias, "sink": sink}
    ones = torch.ones(L, dtype=torch.float64)
    found = attention_gradients(QUERY, KEY, VALUE, nothing, **options, grad_log_z=ones)
    p = attention_weights(QUERY, KEY, **options)
    problem = Problem(*triple(), mask=MASK.numpy(), bias=bias.numpy(), sink=sink.numpy())
    bounds = bounds_of(problem, nothing, ones)
    right = {"bias": p.numpy(), "sink": (1 - p.sum(dim=-1)).numpy()}
    assert found.bias is not None
    assert found.sink is not None
    near = {"bias": found.bias.numpy(), "sink": found.sink.numpy()}
    assert_near(near, right, {n: bounds[n] + S * 2**-53 for n in right})
    assert found.sink[EMPTY] == 1, "alone it is the normaliser"
    assert (found.value == 0).all()


@every_block
def test_gradients_have_the_closed_form(block_size: int | None) -> None:
    """Equal scores and keys ±1: dq = Σ_s p_s (v_s − y) k_s, dv = 1/S (fault 51)."""
    query, key = torch.zeros(1, 1), torch.tensor([[1.0], [-1.0]])
    value = torch.tensor([[2.0], [6.0]])
    dq, dk, dv, db, ds = attention_gradients(
        query, key, value, torch.ones(1, 1), block_size=block_size
    )
    assert (dq.item(), dk.tolist(), dv.tolist()) == (-2, [[0], [0]], [[0.5], [0.5]])
    assert db is None
    assert ds is None


@pytest.mark.parametrize("offset", [2**12, 2**16])
@pytest.mark.parametrize("known", [False, True], ids=["alone", "state"])
def test_gradients_of_key_and_value_keep_their_digits_at_large_scores(
    offset: int, known: bool
) -> None:
    """Exact scores about 4096 or 65536 in float32 cost no digit: some hundred u, as about 0."""
    # a_ts = offset + x_t y_s, multiples of 1/8, are float32 numbers, and so is each a − m. What is
    # left of the bound is one exponential, sums over S, L and d_v, and no term grows with the
    # offset: weights from log Z, a float32 number of that size, would be off by offset·u.
    rng = np.random.default_rng(0)
    x, y = rng.integers(-4, 5, L) / 2, rng.integers(-8, 9, S) / 4
    query = np.stack([np.ones(L), x], axis=-1).astype("float32")
    key = np.stack([np.full(S, offset), y], axis=-1).astype("float32")
    value, g = normal(S, 3, dtype="float32"), normal(L, 3, seed=1, dtype="float32")
    gamma = normal(L, seed=2, dtype="float32")
    problem = Problem(query, key, value, scale=1.0)
    given = in_torch(problem)
    asked: Given = {"grad_output": torch.tensor(g), "grad_log_z": torch.tensor(gamma)}
    state = partial_attention(**given) if known else None
    found = arrays(attention_gradients(**given, **asked, state=state, block_size=3))
    right = by_autograd(given, *asked.values())
    bounds = gradient_bounds(problem, g, gamma, working="float32", exact_scores=True)
    far = gradient_bounds(problem, g, gamma, working="float64")  # of what is taken for right
    assert_near(found, right, {name: bounds[name] + far[name] for name in bounds})
    assert all(bounds[name].max() <= 2**8 * 2**-24 for name in ("key", "value"))


# Kinds, dtypes and shapes.


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_gradients_in_half_precision_are_those_in_single_rounded_once(dtype: torch.dtype) -> None:
    """The work is in float32, the sum over the heads that share a key as well."""
    halves, g = in_torch(ALL, dtype), torch.tensor(normal(L, 2)).to(dtype)
    found = attention_gradients(**halves, grad_output=g)
    single = attention_gradients(**cast(halves, torch.float32), grad_output=g.float())
    for name in NAMES:
        one, other = getattr(found, name), getattr(single, name)
        assert one.dtype == dtype
        assert torch.equal(one, other.to(dtype)), name


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_gradients_have_the_dtype_and_shape_of_what_went_in(dtype: torch.dtype) -> None:
    """Each is of its own input's shape; a number for a sink gets a number."""
    given = in_torch(ALL, dtype)
    g = torch.ones((), dtype=dtype)
    found = attention_gradients(**given, grad_output=g)
    for name, x in found._asdict().items():
        assert (x.dtype, x.shape) == (dtype, given[name].shape)
    found = attention_gradients(**{**given, "sink": 0.5}, grad_output=g)
    assert found.sink is not None
    assert (found.sink.dtype, found.sink.shape) == (dtype, ())


def test_gradients_are_no_part_of_a_graph() -> None:
    """Whatever asks for a gradient among what goes in, what comes out asks for none."""
    given = {n: x.requires_grad_() if floating(x) else x for n, x in in_torch(ALL).items()}
    g = torch.ones(L, 2, dtype=torch.float64, requires_grad=True)
    state = partial_attention(**given)
    for found in (
        attention_gradients(**given, grad_output=g),
        attention_gradients(**given, grad_output=g, state=state),
    ):
        assert not any(x.requires_grad for x in found if x is not None)
    assert torch.is_grad_enabled()
    assert all(x.grad is None for x in given.values() if floating(x))


@pytest.mark.parametrize("shape", [(), (1,), (2,), (L, 1), (L, 2), (HQ, 1, 1), (B, 1, L, 2)])
def test_what_is_asked_of_the_output_broadcasts(shape: tuple[int, ...]) -> None:
    """Of fewer axes, or of size 1 along some, it is itself repeated there, and so for log Z."""
    given, g = in_torch(ALL), torch.tensor(normal(*shape))
    rows = shape[:-1]
    gamma = torch.tensor(normal(*rows, seed=1))
    found = attention_gradients(**given, grad_output=g, grad_log_z=gamma)
    whole = attention_gradients(
        **given,
        grad_output=g.expand(B, HQ, L, 2).contiguous(),
        grad_log_z=gamma.expand(B, HQ, L).contiguous(),
    )
    assert_same(found, whole)


def test_gradients_without_those_of_log_z_are_those_with_zeros() -> None:
    """None is 0."""
    given, g = in_torch(ALL), torch.tensor(normal(L, 2))
    zero = torch.zeros(L, dtype=torch.float64)
    found = attention_gradients(**given, grad_output=g)
    assert_same(found, attention_gradients(**given, grad_output=g, grad_log_z=zero))


@pytest.mark.parametrize("front", [(), (3,), (2, 6), (0,)])
@pytest.mark.parametrize(("L", "S", "d_v"), [(2, 0, 3), (0, 2, 3), (2, 3, 0), (0, 0, 0)])
def test_gradients_are_defined_for_zero_sizes(
    front: tuple[int, ...], L: int, S: int, d_v: int
) -> None:
    """Nothing in, nothing out, heads shared or not; where nothing is attended they are 0."""
    shared = (*front[:-1], 2) if front == (2, 6) else front
    shapes = {"query": (*front, L, 5), "key": (*shared, S, 5), "value": (*shared, S, d_v)}
    given: Given = {name: torch.ones(shape) for name, shape in shapes.items()}
    given |= {"bias": torch.ones(L, S), "sink": torch.ones(L)}
    found = attention_gradients(**given, grad_output=torch.ones(()))
    for name, x in found._asdict().items():
        assert x.shape == given[name].shape
        assert (x == 0).all() or (L and S and d_v)


def test_inputs_of_gradients_are_read_in_every_layout_and_left_alone() -> None:
    """Permuted, sliced and expanded tensors give what their copies give; none is written to."""
    given = in_torch(ALL)
    g = torch.tensor(normal(2, L, seed=5)).mT
    gamma = torch.tensor(normal(1, seed=6)).expand(L)
    views = {n: x.mT.contiguous().mT if floating(x) else x for n, x in given.items()}
    views["sink"] = torch.stack([given["sink"]] * 2, dim=-1)[..., 0]
    before = {n: x.clone() for n, x in views.items() if isinstance(x, Tensor)}
    found = attention_gradients(**views, grad_output=g, grad_log_z=gamma, block_size=3)
    asked: Given = {"grad_output": g.contiguous(), "grad_log_z": gamma.contiguous()}
    copies = attention_gradients(**given, **asked, block_size=3)
    bounds = gradient_bounds(ALL, g.numpy(), gamma.numpy(), working="float64")
    assert_near(arrays(found), arrays(copies), {n: 2 * bound for n, bound in bounds.items()})
    assert all(torch.equal(views[n], x) for n, x in before.items())
    assert torch.equal(g, asked["grad_output"])


# Rules.


RULES: dict[str, masks.Rule] = {
    "all": masks.Rule(L, S),
    "causal": masks.Rule.causal(L, S, align="lower-right"),
    "none": masks.Rule.causal(L, S, offset=-L - 1),
    "window": masks.Rule.window(L, S, left=2, right=1, offset=-1),
    "visible": masks.Rule(L, S, lambda i, j: (i * 5 + j * 3) % 7 != 0) & masks.Rule(L, S, first=-3),
}


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("block_size", [1, 3, None])
def test_gradients_by_a_rule_are_those_by_its_mask(name: str, block_size: int | None) -> None:
    """A rule and the mask of all that it allows give the same."""
    rule = RULES[name]
    mask = rule(torch.arange(L)[:, None], torch.arange(S))
    assert name in ("all", "none") or (mask.any() and not mask.all())
    asked: Given = {"grad_output": G, "grad_log_z": GAMMA, "sink": 0.5}
    found, right = (
        arrays(attention_gradients(QUERY, KEY, VALUE, **asked, mask=m, block_size=block_size))
        for m in (rule, mask)
    )
    problem = Problem(*triple(), mask=mask.numpy(), sink=0.5)
    bounds = gradient_bounds(problem, G.numpy(), GAMMA.numpy(), working="float64")
    assert_near(found, right, {n: 2 * bound for n, bound in bounds.items()})


# States.


PARTS = [slice(0, 3), slice(3, 3), slice(3, 4), slice(4, S)]


def state_of(given: Given) -> Partial:
    """Return the state of all keys and the sink, merged from parts."""
    states: list[Partial] = []
    for part in PARTS:
        own = {**given, **of_part(given, part)}
        if states:
            own.pop("sink", None)
        states.append(partial_attention(**own))
    return reduce(merge, states)


def of_part(given: Given, part: slice) -> Given:
    """Return what belongs to some of the keys."""
    own: Given = {name: given[name][..., part, :] for name in ("key", "value")}
    return own | {name: given[name][..., part] for name in ("mask", "bias") if name in given}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("shift", [0.0, -300.0, 300.0])
def test_gradients_of_parts_make_those_of_the_whole(dtype: torch.dtype, shift: float) -> None:
    """With the state of all keys, of any exponent: dq adds up, the others follow on each other."""
    given = in_torch(ALL, dtype)
    g, gamma = (torch.tensor(normal(L, *d, seed=4)).to(dtype) for d in ((2,), ()))
    whole = state_of(given)
    factor = math.exp(-shift)
    state = Partial(whole.m + shift, whole.z * factor, whole.n * factor, whole.dtype)
    asked: Given = {"grad_output": g, "grad_log_z": gamma, "state": state}
    parts = [
        arrays(attention_gradients(**{**given, **of_part(given, part)}, **asked)) for part in PARTS
    ]
    found = {
        "query": np.sum([x["query"] for x in parts], axis=0),
        "key": np.concatenate([x["key"] for x in parts], axis=-2),
        "value": np.concatenate([x["value"] for x in parts], axis=-2),
        "bias": np.concatenate([x["bias"] for x in parts], axis=-1),
        "sink": parts[0]["sink"],
    }
    assert all(np.array_equal(x["sink"], found["sink"]) for x in parts)
    working = str(dtype).removeprefix("torch.")
    bounds = bounds_of(held(ALL, dtype), g, gamma, working, shift=shift)
    assert_near(found, by_autograd(given, g, gamma), bounds)


def test_gradients_with_a_known_state_are_those_without() -> None:
    """It changes nothing; where z is 0, m and n say nothing."""
    given: Given = {"query": QUERY, "key": KEY, "value": VALUE, "mask": MASK}
    state = partial_attention(**given)
    assert state.m[EMPTY] == -INF
    none = state.z == 0
    n = state.n.masked_fill(none.unsqueeze(-1), 7.0)
    finite = Partial(state.m.masked_fill(none, 1000.0), state.z, n)
    asked: Given = {"grad_output": G, "grad_log_z": GAMMA}
    plain = arrays(attention_gradients(**given, **asked))
    bounds = gradient_bounds(
        Problem(*triple(), mask=MASK.numpy()), G.numpy(), GAMMA.numpy(), working="float64"
    )
    for known in (state, finite):
        found = arrays(attention_gradients(**given, **asked, state=known))
        assert_near(found, plain, {n: 2 * bound for n, bound in bounds.items()})
        assert (found["query"][EMPTY] == 0).all()


# Absence, and what is not hidden.


SEEN = int(MASK[1].nonzero()[0])
WILD: dict[str, Callable[[Given, float], None]] = {
    "masked key": lambda x, wild: x["key"].__setitem__(ABSENT, wild),
    "masked value": lambda x, wild: x["value"].__setitem__(ABSENT, wild),
    "query that sees nothing": lambda x, wild: x["query"].__setitem__(EMPTY, wild),
    "key": lambda x, wild: x["key"].__setitem__(5, wild),
    "value": lambda x, wild: x["value"].__setitem__((5, 1), wild),
    "query": lambda x, wild: x["query"].__setitem__(1, wild),
    "bias": lambda x, wild: x["bias"].__setitem__((1, SEEN), wild),
    "masked bias": lambda x, wild: x["bias"].__setitem__((1, ABSENT), wild),
    "sink": lambda x, wild: x["sink"].__setitem__(1, wild),
    "sink of an empty row": lambda x, wild: x["sink"].__setitem__(EMPTY, wild),
}
WILD_CASES = [
    (place, wild)
    for place in WILD
    for wild in (NAN, INF, -INF)
    if wild != -INF or place in ("masked key", "masked value", "key", "value")
]


@pytest.mark.parametrize(("place", "wild"), WILD_CASES)
@pytest.mark.parametrize("quiet", [False, True], ids=["all asked", "some asked"])
@pytest.mark.parametrize("block_size", [2, None])
def test_what_is_not_finite_reaches_the_gradients_that_autograd_lets_it_reach(
    place: str, wild: float, quiet: bool, block_size: int | None
) -> None:
    """What is absent, or of which nothing is asked, has no part; what is seen and asked shows."""
    clean: Given = {"query": QUERY, "key": KEY, "value": VALUE, "mask": MASK}
    clean |= {"bias": torch.tensor(normal(L, S, seed=3)), "sink": torch.tensor(normal(L, seed=4))}
    given = {name: x.clone() for name, x in clean.items()}
    WILD[place](given, wild)
    g, gamma = G.clone(), GAMMA.clone()
    touched = [t for t in range(L) if MASK[t, 5] or t == 1]
    assert 0 < len(touched) < len(SEEING)
    if quiet:
        g[touched] = gamma[touched] = 0
    gamma[EMPTY] = 0
    asked: Given = {"grad_output": g, "grad_log_z": gamma, "block_size": block_size}
    found = arrays(attention_gradients(**given, **asked))
    right = by_autograd(given, g, gamma)
    shown = {name: ~np.isfinite(x) for name, x in right.items()}
    hidden = quiet or "masked" in place or "nothing" in place or "empty" in place
    assert any(x.any() for x in shown.values()) != hidden
    bounds = gradient_bounds(
        Problem(**{n: x.numpy() for n, x in clean.items()}),
        g.numpy(),
        gamma.numpy(),
        working="float64",
    )
    for name, x in found.items():
        assert np.array_equal(~np.isfinite(x), shown[name]), name
        x[shown[name]] = right[name][shown[name]] = 0
    assert_near(found, right, {n: 2 * bound for n, bound in bounds.items()})


@pytest.mark.parametrize("arriving", [NAN, INF])
def test_empty_rows_take_no_gradient_whatever_arrives(arriving: float) -> None:
    """NaN and ∞ that are asked of a row without keys go no further, to its sink included."""
    g = G.clone()
    g[EMPTY] = arriving
    for sink in (None, torch.zeros(L, dtype=torch.float64)):
        found = attention_gradients(QUERY, KEY, VALUE, g, mask=MASK, sink=sink)
        assert all(x.isfinite().all() for x in found if x is not None)
        assert (found.query[EMPTY] == 0).all()
        assert found.sink is None or found.sink[EMPTY] == 0


# What may not enter.


STATE = partial_attention(QUERY, KEY, VALUE)
REFUSED: dict[str, tuple[Given, type[Exception], str]] = {
    "kind of g": (
        {"grad_output": G.numpy()},
        TypeError,
        r"grad_output must be a torch\.Tensor, not numpy\.ndarray",
    ),
    "dtype of g": (
        {"grad_output": G.float()},
        TypeError,
        "query, grad_output must share one dtype: query float64, grad_output float32",
    ),
    "integers": (
        {"grad_output": G.long()},
        TypeError,
        "grad_output must have a floating dtype .* not int64",
    ),
    "shape of g": (
        {"grad_output": G.mT},
        ValueError,
        r"grad_output must broadcast to the output \(…, L, d_v\): "
        rf"grad_output \({D_V}, {L}\), output \({L}, {D_V}\)",
    ),
    "g that enlarges": (
        {"grad_output": G[None]},
        ValueError,
        rf"grad_output \(1, {L}, {D_V}\), output \({L}, {D_V}\)",
    ),
    "device of g": (
        {"grad_output": G.to("meta")},
        ValueError,
        "query, grad_output must share one device: query cpu, grad_output meta",
    ),
    "kind of γ": ({"grad_log_z": 1.0}, TypeError, r"grad_log_z must be a torch\.Tensor, not buil"),
    "dtype of γ": (
        {"grad_log_z": GAMMA.half()},
        TypeError,
        "query, grad_log_z must share one dtype: query float64, grad_log_z float16",
    ),
    "shape of γ": (
        {"grad_log_z": GAMMA[:, None]},
        ValueError,
        rf"grad_log_z must broadcast to the rows \(…, L\): grad_log_z \({L}, 1\), rows \({L},\)",
    ),
    "device of γ": (
        {"grad_log_z": GAMMA.to("meta")},
        ValueError,
        "query, grad_log_z must share one device: query cpu, grad_log_z meta",
    ),
    "kind of state": (
        {"state": (STATE.m, STATE.z, STATE.n)},
        TypeError,
        "state must be a Partial or None, not tuple",
    ),
    "state of NumPy": (
        {"state": attnref.partial_attention(*triple())},
        TypeError,
        "state must be a Partial or None, not Partial",
    ),
    "shape of state": (
        {"state": Partial(STATE.m[1:], STATE.z[1:], STATE.n[1:])},
        ValueError,
        r"state must be that of the queries, with n of the output's shape \(…, L, d_v\): "
        rf"n \({L - 1}, {D_V}\), output \({L}, {D_V}\)",
    ),
    "device of state": (
        {"state": Partial(STATE.m.to("meta"), STATE.z.to("meta"), STATE.n.to("meta"))},
        ValueError,
        "query, state must share one device: query cpu, state meta",
    ),
    "keys": ({"value": VALUE[1:]}, ValueError, r"share their second-last axis S: 7 ≠ 6"),
    "a mask of numbers": ({"mask": MASK.double()}, TypeError, "mask must be boolean, .* a bias"),
    "a rule of other sizes": ({"mask": masks.Rule(S, L)}, ValueError, r"rule \(7, 5\), scores"),
    "a bias that enlarges": ({"bias": KEY[None]}, ValueError, "bias must broadcast to the scores"),
    "a sink that enlarges": ({"sink": KEY[0]}, ValueError, r"sink must broadcast to the rows"),
    "scale": ({"scale": NAN}, ValueError, "scale must be finite, not nan"),
    "softcap": ({"softcap": -1}, ValueError, "softcap must be positive, or None for no cap: -1"),
    **WRONG_SIZES,
}


@pytest.mark.parametrize("case", REFUSED)
def test_gradients_say_what_is_wrong(case: str) -> None:
    """Each refusal names the argument, the rule, and what came instead."""
    changed, kind, message = REFUSED[case]
    given: Given = {"query": QUERY, "key": KEY, "value": VALUE, "grad_output": G, **changed}
    with pytest.raises(kind, match=message):
        attention_gradients(**given)
