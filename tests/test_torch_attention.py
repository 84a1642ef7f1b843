"""The laws of attention on the Torch side: its values, its precision, its layouts."""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

import attnref
import oracle
from attnref.torch import (
    attention,
    attention_weights,
    expanded_attention,
    log_partition,
    masks,
    scores,
    softmax,
)
from attnref.torch._rounding import rounded
from samples import B, L, Problem, S, both_values, normal, problems, random_mask, triple

Attend: TypeAlias = Callable[..., Tensor]

# The two implementations that share nothing but their rules of entry and of rounding.
both = pytest.mark.parametrize("attend", [attention, expanded_attention], ids=["matrix", "loops"])

NAN, INF, E, LN3 = math.nan, math.inf, math.e, math.log(3)
FMIN = torch.finfo(torch.float32).min
QUERY, KEY, VALUE = (torch.tensor(x) for x in triple())
MASK = torch.tensor(random_mask(L, S))


def tensor(x: np.ndarray[Any, Any]) -> Tensor:
    """Return a NumPy array of any layout as a tensor."""
    return torch.tensor(np.array(x, dtype=x.dtype.newbyteorder("="), order="C"))


def in_torch(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with their arrays as tensors."""
    return {
        name: tensor(option) if isinstance(option, np.ndarray) else option
        for name, option in options.items()
    }


def both_bounds(query: Tensor, key: Tensor, value: Tensor) -> float:
    """Return how far two float64 outputs may lie apart: twice the oracle's bound, at its largest.

    There |v_s − y| ≤ 2 max|v|, m − a_s ≤ 2 max A, and each weighted mean is at most the maximum.
    """
    d_k, S = key.shape[-1], key.shape[-2]
    reach = float((query.abs() @ key.abs().mT).max()) / math.sqrt(d_k)
    units = 2 * ((d_k + 3) * reach + 2 * reach + 4) + 2 * S + 3
    return 2 * 2**-53 * units * float(value.abs().max())


def column(*numbers: float, dtype: torch.dtype = torch.float64) -> Tensor:
    """Return rows of depth 1."""
    return torch.tensor(numbers, dtype=dtype)[:, None]


# Values.


@both
@settings(max_examples=50, deadline=None, derandomize=True)
@given(problem=problems())
def test_attention_is_the_oracle_within_its_bound(attend: Attend, problem: Problem) -> None:
    """Any sizes, leading axes, heads, dtype and options: the oracle's output, and NumPy's."""
    arrays = problem.query, problem.key, problem.value
    output = attend(*map(tensor, arrays), **in_torch(problem.options))
    truth = oracle.attention(*arrays, **problem.options).output
    theirs = attnref.attention(*arrays, **problem.options)
    assert output.dtype == tensor(problem.query).dtype
    oracle.assert_within(output.numpy(), truth)
    oracle.assert_agree(output.numpy(), theirs, truth)


def full_problem(seed: int) -> Problem:
    """Return a problem with something in every array, and each option there or not."""
    rng = np.random.default_rng(seed)
    dtype = str(rng.choice(["float16", "float32", "float64"]))
    L, S, d_k, d_v, heads, group, batch = (int(n) for n in rng.integers(1, 4, 7))
    front = [(), (heads,), (batch, heads)][seed % 3]
    queries = (*front[:-1], front[-1] * group) if front else ()
    rows = (*queries, L)

    def draw(*shape: int, holes: bool = False) -> np.ndarray[Any, Any]:
        numbers = (rng.choice([0.3, 1, 8]) * rng.standard_normal(shape)).astype(dtype)
        return np.where(rng.random(shape) < 0.2 * holes, np.asarray(-INF, dtype), numbers)

    options = {
        "mask": rng.random((*rows, S)) < 0.7,
        "bias": draw(*rows, S, holes=True),
        "scale": float(rng.standard_normal()),
        "softcap": float(rng.uniform(0.5, 4)),
        "sink": draw(*rows, holes=True),
    }
    chosen: dict[str, Any] = {name: x for name, x in options.items() if rng.random() < 0.5}
    arrays = draw(*rows, d_k), draw(*front, S, d_k), draw(*front, S, d_v)
    return Problem(*arrays, **chosen)


@both
@pytest.mark.parametrize("seed", range(60))
def test_attention_of_full_problems_is_the_oracle_within_its_bound(
    attend: Attend, seed: int
) -> None:
    """The same where no size is 0 and no array empty: each set of options at some size."""
    problem = full_problem(seed)
    truth = oracle.attention(*problem.arrays, **problem.options).output
    output = attend(*map(tensor, problem.arrays), **in_torch(problem.options))
    oracle.assert_within(output.numpy(), truth)
    theirs = attnref.attention(*problem.arrays, **problem.options)
    oracle.assert_agree(output.numpy(), theirs, truth)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_scores_weights_and_log_partition_are_the_oracle_within_its_bound(dtype: str) -> None:
    """What attention computes on its way is within its bound too."""
    query, key, value = triple(dtype=dtype, batch=(B,))
    mask = random_mask(B, L, S)
    q, k, allowed = tensor(query), tensor(key), tensor(mask)
    truth = oracle.attention(query, key, value, mask=mask)
    oracle.assert_within(scores(q, k).numpy(), truth.scores)
    oracle.assert_within(attention_weights(q, k, mask=allowed).numpy(), truth.weights)
    a = scores(q, k)
    truth = oracle.rows(a.numpy(), mask=mask)
    oracle.assert_within(softmax(a, mask=allowed).numpy(), truth.weights)
    oracle.assert_within(log_partition(a, mask=allowed).numpy(), truth.log_z)


@both
@pytest.mark.parametrize("scale", [None, -0.5])
def test_attention_agrees_with_torch(attend: Attend, scale: float | None) -> None:
    """Torch's own function gives the same; where β < 0 it is asked for −β with queries turned."""
    query, key, value = triple(batch=(B, 1))
    mask = random_mask(L, S)
    assert mask.any(axis=-1).all()
    truth = oracle.attention(query, key, value, mask=mask, scale=scale).output
    q, k, v, allowed = map(tensor, (query, key, value, mask))
    positive = abs(scale) if scale else scale
    theirs = scaled_dot_product_attention(q if scale is None else -q, k, v, allowed, scale=positive)
    oracle.assert_agree(attend(q, k, v, mask=allowed, scale=scale).numpy(), theirs.numpy(), truth)


# Options, each alone and in pairs.

HQ, HKV = 6, 2  # three heads of the query for each of key and value
OPTIONS: dict[str, Callable[[str], Any]] = {
    "mask": lambda _: random_mask(HQ, L, S),
    "bias": lambda dtype: with_holes(normal(HQ, L, S, seed=1, dtype=dtype)),
    "scale": lambda _: -0.75,
    "softcap": lambda _: 1.25,
    "sink": lambda dtype: normal(B, HQ, 1, seed=2, dtype=dtype),
    "number": lambda _: 0.5,
}
PAIRS = [pair for pair in itertools.combinations(OPTIONS, 2) if pair != ("sink", "number")]
pairs = pytest.mark.parametrize("pair", PAIRS, ids="-".join)


def with_holes(bias: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return a bias with −∞ in some places."""
    bias[~random_mask(*bias.shape, seed=3)] = -INF
    return bias


def options(pair: tuple[str, ...], dtype: str = "float64") -> dict[str, Any]:
    """Return the options of these names; a number is a sink too."""
    return {("sink" if name == "number" else name): OPTIONS[name](dtype) for name in pair}


def heads(dtype: str = "float64") -> list[np.ndarray[Any, Any]]:
    """Return query, key and value with more heads of the query than of the others."""
    shapes = (B, HQ, L, 3), (B, HKV, S, 3), (B, HKV, S, 2)
    return [normal(*shape, dtype=dtype) for shape in shapes]


@both
@pairs
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_options_in_pairs_are_the_oracle_within_its_bound(
    attend: Attend, pair: tuple[str, str], dtype: str
) -> None:
    """No option is lost or put in another's place beside a second one, with heads shared."""
    query, key, value = heads(dtype)
    truth = oracle.attention(query, key, value, **options(pair, dtype))
    output = attend(*map(tensor, (query, key, value)), **in_torch(options(pair, dtype)))
    oracle.assert_within(output.numpy(), truth.output)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("sink", ["sink", "number"])
def test_all_options_on_the_way_are_the_oracle_within_its_bound(dtype: str, sink: str) -> None:
    """Scores, weights and log Z with everything at once, at once and step by step."""
    query, key, _ = heads(dtype)
    chosen = options(("mask", "bias", "scale", "softcap", sink), dtype)
    own = in_torch(chosen)
    q, k, rest = tensor(query), tensor(key), {name: own.pop(name) for name in ("mask", "sink")}
    truth = oracle.weights(query, key, **chosen)
    oracle.assert_within(attention_weights(q, k, **own, **rest).numpy(), truth.weights)
    a = scores(q, k, **own)
    oracle.assert_within(a.numpy(), truth.scores)
    truth = oracle.rows(a.numpy(), mask=chosen["mask"], sink=chosen["sink"])
    oracle.assert_within(softmax(a, **rest).numpy(), truth.weights)
    oracle.assert_within(log_partition(a, **rest).numpy(), truth.log_z)


# Depth 1, scale 1 unless given: query, key, value, mask, scale, output. The number is the fault's.
CLOSED_FORMS: dict[str, tuple[Any, ...]] = {
    "1 empty row": ([0], [0, 0], [1, 3], [False, False], None, [0]),
    "12 NaN is not emptiness": ([NAN], [0, 0], [1, 3], None, None, [NAN]),
    "17 decoding": ([0], [0] * 4, [1, 2, 4, 8], "lower-right", None, [15 / 4]),
    "18 lower right": ([0, 0], [0] * 4, [1, 2, 4, 8], "lower-right", None, [7 / 3, 15 / 4]),
    "18 upper left": ([0, 0], [0] * 4, [1, 2, 4, 8], "upper-left", None, [1, 3 / 2]),
    "19 more queries": ([0] * 4, [0, 0], [1, 3], "lower-right", None, [0, 0, 1, 2]),
    "24 True attends": ([0], [0, 0], [1, 3], [True, False], None, [1]),
    "31 NaN in a masked value": ([0], [0, 0], [1, NAN], [True, False], None, [1]),
    "31 infinity in a masked key": ([0], [0, INF], [1, 3], [True, False], None, [1]),
    "36 negative scale": ([1], [0, LN3], [1, 3], None, -1.0, [3 / 2]),
    "37 zero scale": ([1], [0, LN3], [1, 3], [True, False], 0.0, [1]),
    "63 double": ([1], [0, 1], [1, 3], None, None, [(1 + 3 * E) / (1 + E)]),
    "67 a score of infinity": ([INF], [0, 1], [1, 3], None, None, [NAN]),
    "a score of minus infinity": ([-INF], [1, 1], [1, 3], None, None, [0]),
    "NaN in an allowed value": ([0], [0, 0], [1, NAN], None, None, [NAN]),
    "NaN in a query that sees nothing": ([NAN, 0], [0], [3], [[False], [True]], None, [0, 3]),
}


# The same with options. Query, key, value, options, output.
WITH_OPTIONS: dict[str, tuple[Any, ...]] = {
    "7 finfo.min is no mask": ([1], [0, 1], [1, 3], {"bias": [FMIN, FMIN]}, [2]),
    "13 a sink": ([0], [0, 0], [1, 3], {"sink": 0.0}, [4 / 3]),
    "15 off by one": ([1], [10, 0], [1, 0], {"sink": 0.0}, [1 / (1 + 2 * math.exp(-10))]),
    "15 without values": ([0], [0], [0], {"sink": 0.0}, [0]),
    "25 ones and zeros are numbers": ([0], [0, 0], [1, 3], {"bias": [1, 0]}, [(E + 3) / (E + 1)]),
    "26 a small number is no mask": ([0], [0, 0], [1, 3], {"bias": [0, -1e-300]}, [2]),
    "30 infinity is a mask": ([0], [0, 0], [1, 3], {"bias": [0, -INF]}, [1]),
    "31 NaN where the bias is −∞": ([0], [0, NAN], [1, NAN], {"bias": [0, -INF]}, [1]),
    "31 ∞ where the bias is −∞": ([1], [0, INF], [1, INF], {"bias": [0, -INF]}, [1]),
    "36 negative scale and a bias": ([1], [0, LN3], [1, 3], {"scale": -1, "bias": [0, LN3]}, [2]),
    "40 cap before mask": (
        [0],
        [0, 0],
        [1, 3],
        {"softcap": 0.5, "mask": [True, False]},
        [1],
    ),
    "40 cap before a bias of −∞": ([0], [0, 0], [1, 3], {"softcap": 0.5, "bias": [0, -INF]}, [1]),
    "40 cap before bias": ([0], [0, 0], [1, 3], {"softcap": 0.5, "bias": [LN3, 0]}, [3 / 2]),
    "41 tanh": (
        [1],
        [2, 0],
        [1, 3],
        {"softcap": 1.0},
        [(math.exp(math.tanh(2)) + 3) / (math.exp(math.tanh(2)) + 1)],
    ),
    "cap of an infinite score": (
        [INF],
        [1, -1],
        [1, 3],
        {"softcap": LN3 / 2},
        [(3 * 1 + 3) / (3 + 1)],
    ),
    "cap past the scale": ([2 * LN3], [9, -9], [1, 3], {"scale": 9.0, "softcap": LN3 / 2}, [3 / 2]),
    "sink past the cap": ([0], [0], [1], {"softcap": 0.5, "sink": LN3}, [1 / 4]),
    "sink past the scale": ([0], [0], [1], {"scale": 0.0, "sink": LN3}, [1 / 4]),
    "sink in a row of masked keys": ([0], [0], [1], {"sink": 1.0, "mask": [False]}, [0]),
    "no sink at −∞": ([0], [0, 0], [1, 3], {"sink": -INF}, [2]),
    "no sink and no key": ([0], [0], [1], {"sink": -INF, "bias": [-INF]}, [0]),
    "a sink beyond the floats": ([0], [0], [1], {"sink": -(10**400)}, [1]),
    "infinite sink": ([0], [0], [1], {"sink": INF}, [NAN]),
    "a greater infinite sink": ([0], [0], [1], {"sink": 10**400}, [NAN]),
    "NaN sink": ([0], [0], [1], {"sink": NAN}, [NAN]),
    "NaN sink and no key": ([0], [0], [1], {"sink": NAN, "mask": [False]}, [0]),
    "infinite sink and no key": ([0], [0], [1], {"sink": INF, "bias": [-INF]}, [0]),
    "far greater sink": ([0], [0], [1], {"sink": 1e6}, [0]),
    "far smaller sink": ([0], [0], [1], {"sink": -1e6}, [1]),
    "NaN value beside a far greater sink": ([0], [0], [NAN], {"sink": 1e6}, [NAN]),
    "infinite bias": ([0], [0, 0], [1, 3], {"bias": [INF, 0]}, [NAN]),
    "NaN bias": ([0], [0, 0], [1, 3], {"bias": [0, NAN]}, [NAN]),
    "NaN bias that is masked": (
        [0],
        [0, 0],
        [1, 3],
        {"bias": [0, NAN], "mask": [True, False]},
        [1],
    ),
    "a bias of −∞ where NaN is": ([NAN], [0, 0], [1, 3], {"bias": [-INF, -INF]}, [0]),
}


@both
@pytest.mark.parametrize("case", WITH_OPTIONS)
def test_options_have_the_closed_form(attend: Attend, case: str) -> None:
    """What implementations were seen to get wrong with a bias, a cap or a sink is right."""
    q, k, v, chosen, expected = WITH_OPTIONS[case]
    own = dict(chosen)
    for name in {"mask", "bias"} & set(own):
        own[name] = torch.tensor(own[name], dtype=torch.bool if name == "mask" else torch.float64)
    output = attend(column(*q), column(*k), column(*v), **{"scale": 1.0, **own})
    # Two keys and a sink: a dozen roundings, each by u = 2⁻⁵³, those in exponents times 10 at most.
    rtol = 22 * 2**-53
    torch.testing.assert_close(output, column(*expected), rtol=rtol, atol=0, equal_nan=True)


def written_or_causal(seen: Any, L: int, S: int) -> Tensor:
    """Return the mask that is written out, or the causal one of that corner."""
    return torch.tensor(seen) if isinstance(seen, list) else masks.causal(L, S, align=seen)


@both
@pytest.mark.parametrize("case", CLOSED_FORMS)
def test_attention_has_the_closed_form(attend: Attend, case: str) -> None:
    """What implementations were seen to get wrong is right."""
    q, k, v, seen, scale, expected = CLOSED_FORMS[case]
    mask = None if seen is None else written_or_causal(seen, len(q), len(k))
    output = attend(column(*q), column(*k), column(*v), mask=mask, scale=scale)
    # Four keys at most: exp, sums, a quotient, products round a dozen times, each by u = 2⁻⁵³.
    torch.testing.assert_close(output, column(*expected), rtol=12 * 2**-53, atol=0, equal_nan=True)


@both
def test_attention_reads_a_mask_for_each_batch(attend: Attend) -> None:
    """A mask that differs along a leading axis is not read twice from its start (fault 34)."""
    mask = torch.tensor([[[True, False]], [[False, True]]])
    output = attend(column(0), column(0, 0), column(1, 3).expand(2, 2, 1), mask=mask)
    assert output.flatten().tolist() == [1, 3]


@both
def test_attention_does_not_overflow_in_half_precision(attend: Attend) -> None:
    """Inner products beyond the largest float16 number are harmless (fault 39)."""
    query = torch.full((1, 8), 300.0, dtype=torch.float16)
    output = attend(query, query.expand(2, 8), column(1, 3, dtype=torch.float16))
    assert output.item() == 2


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_attention_does_not_stall_in_half_precision(dtype: torch.dtype) -> None:
    """The mean of 4096 ones is 1, though 4096 terms of 1/4096 stall at 1/2 (fault 64)."""
    ones = torch.ones(4096, 1, dtype=dtype)
    assert attention(torch.zeros(1, 1, dtype=dtype), ones, ones).item() == 1


def test_attention_counts_keys_beyond_sixteen_bits() -> None:
    """65537 keys give what their halves give, merged by their normalisers (fault 59)."""
    many = 2**16 + 1
    query, key, value = (torch.tensor(normal(n, 1)) for n in (2, many, many))
    parts = [slice(0, many // 2), slice(many // 2, many)]
    log_z = torch.stack([log_partition(scores(query, key[part])) for part in parts])
    outputs = torch.stack([attention(query, key[part], value[part]) for part in parts])
    merged = (softmax(log_z.mT)[..., None] * outputs.transpose(0, 1)).sum(dim=1)
    output = attention(query, key, value)
    torch.testing.assert_close(output, merged, rtol=0, atol=both_bounds(query, key, value))


@both
@pytest.mark.parametrize(
    ("batch", "L", "S", "d_k", "d_v"),
    [
        ((), 2, 0, 3, 5),
        ((), 0, 2, 3, 5),
        ((0,), 2, 3, 5, 7),
        ((2,), 3, 5, 0, 7),
        ((2,), 3, 5, 7, 0),
    ],
    ids=["no keys", "no queries", "no batch", "no depth", "no values"],
)
def test_attention_is_defined_for_zero_sizes(
    attend: Attend, batch: tuple[int, ...], L: int, S: int, d_k: int, d_v: int
) -> None:
    """Nothing in, nothing out, without an error; no keys give 0, no depth the mean (fault 60)."""
    query, key = torch.ones(*batch, L, d_k), torch.ones(*batch, S, d_k)
    value = torch.arange(S * d_v, dtype=torch.float32).reshape(S, d_v).expand(*batch, S, d_v)
    output = attend(query, key, value, scale=1.0)
    assert output.shape == (*batch, L, d_v)
    mean = value.mean(dim=-2, keepdim=True) if S else torch.zeros(*batch, 1, d_v)
    torch.testing.assert_close(output, mean.expand(output.shape))


def test_weights_and_log_partition_are_defined_without_keys() -> None:
    """S = 0 is a row that allows nothing: no weights, log Z = −∞."""
    nothing = torch.zeros(2, 0)
    assert softmax(nothing).shape == (2, 0)
    assert log_partition(nothing).tolist() == [-INF, -INF]
    assert attention_weights(torch.zeros(2, 3), torch.zeros(0, 3)).shape == (2, 0)


def test_empty_rows_have_no_weight_and_log_partition_minus_infinity() -> None:
    """A row that allows nothing, by its mask or by its scores, has weights 0 and log Z = −∞."""
    a = torch.tensor([[1.0, 2.0, NAN], [-INF, -INF, -INF], [-INF, 5.0, -INF]])
    mask = torch.tensor([[False, False, False], [True, True, True], [True, False, True]])
    both_values(mask.numpy())
    assert softmax(a, mask=mask).tolist() == [[0, 0, 0]] * 3
    assert log_partition(a, mask=mask).tolist() == [-INF] * 3


def test_what_is_not_finite_and_allowed_shows() -> None:
    """NaN or +∞ in an allowed score makes the row's weights and log Z NaN; masked keys stay 0."""
    a = torch.tensor([[NAN, 0.0, 1.0], [INF, 0.0, 1.0]])
    mask = torch.tensor([True, True, False])
    expected = torch.tensor([[NAN, NAN, 0.0]] * 2)
    torch.testing.assert_close(softmax(a, mask=mask), expected, equal_nan=True)
    assert log_partition(a, mask=mask).isnan().all()


@both
@settings(max_examples=25, deadline=None, derandomize=True)
@given(data=st.data())
def test_masked_keys_are_as_if_deleted(attend: Attend, data: st.DataObject) -> None:
    """Whatever masked keys and values hold, a row gives what it gives over its allowed keys."""
    wild = data.draw(st.sampled_from([NAN, INF, -INF, 1e308]))
    kept = data.draw(st.sets(st.integers(0, S - 1), max_size=S - 1))
    mask = torch.tensor([[s in kept for s in range(S)]] * L)
    mask[0] = True
    both_values(mask.numpy())
    clean = attend(QUERY[1:], KEY[sorted(kept)], VALUE[sorted(kept)])
    key, value = (x.masked_fill(~mask[1][:, None], wild) for x in (KEY, VALUE))
    output = attend(QUERY, key, value, mask=mask)
    atol = both_bounds(QUERY, KEY, VALUE)
    torch.testing.assert_close(output[1:], clean, rtol=0, atol=atol)
    assert not math.isnan(wild) or output[0].isnan().all()


# Bias.


@both
@pytest.mark.parametrize("wild", [0.0, NAN, INF, -INF])
def test_bias_of_minus_infinity_is_a_mask(attend: Attend, wild: float) -> None:
    """Selected and not added: whatever the key and value hold, as if the mask had said so."""
    unseen = ~MASK.any(dim=0)
    unseen[3] = True
    mask = MASK & ~unseen
    key, value = (x.masked_fill(unseen[:, None], wild) for x in (KEY, VALUE))
    bias = torch.zeros(L, S, dtype=torch.float64).masked_fill(~mask, -INF)
    assert torch.equal(attend(QUERY, key, value, bias=bias), attend(QUERY, key, value, mask=mask))
    a = scores(QUERY, key, bias=bias)
    assert (a[~mask] == -INF).all()
    assert a[mask].isfinite().all()


@both
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_finite_bias_never_masks(attend: Attend, dtype: torch.dtype) -> None:
    """The most negative numbers leave weights of sum 1, whatever they absorb (faults 7 and 28)."""
    bias = torch.full((2,), torch.finfo(dtype).min, dtype=dtype)
    q, k, v = (column(*x, dtype=dtype) for x in ([-16], [1, 1], [1, 3]))
    assert attend(q, k, v, bias=bias).item() == 2
    assert attend(q, k, v, bias=bias, mask=torch.tensor([True, False])).item() == 1
    one = attend(column(1, dtype=dtype), column(0, 1, dtype=dtype), v, bias=bias).double()
    # float64 holds −65504 + 1; beside the least numbers of the others 1 is less than a rounding.
    right = (1 + 3 * E) / (1 + E) if dtype == torch.float16 else 2.0
    torch.testing.assert_close(one.item(), right, rtol=torch.finfo(dtype).eps / 2, atol=0)


@both
def test_bias_that_overflows_to_infinity_masks(attend: Attend) -> None:
    """−10⁹ in float16 is −∞, and is selected (fault 30)."""
    half = torch.float16
    bias = torch.tensor([0, -1e9]).to(half)
    q, k, v = column(0, dtype=half), column(INF, NAN, dtype=half), column(1, INF, dtype=half)
    assert bias[1] == -INF
    k[0] = 0
    assert attend(q, k, v, bias=bias).item() == 1


@both
@pytest.mark.parametrize("option", ["mask", "bias", "sink"])
def test_options_may_have_leading_axes_that_only_the_value_brings(
    attend: Attend, option: str
) -> None:
    """The scores that a mask, a bias and a sink see are as many as the outputs."""
    query, key, _ = triple()
    value = normal(2, S, 3)
    whole = {"mask": random_mask(2, L, S), "bias": normal(2, L, S), "sink": normal(2, L)}
    own: dict[str, Any] = {option: whole[option]}
    truth = oracle.attention(query, key, value, **own).output
    output = attend(*map(tensor, (query, key, value)), **in_torch(own))
    oracle.assert_within(output.numpy(), truth)


# Cap.


def test_softcap_keeps_scores_within_the_cap_and_their_order() -> None:
    """|a| ≤ c before the bias, growing with ⟨q, k⟩, and a cap far above the scores changes none."""
    raw = scores(QUERY, KEY)
    capped = scores(QUERY, KEY, softcap=0.5)
    assert (capped.abs() <= 0.5).all()
    assert torch.equal(capped.flatten().argsort(), raw.flatten().argsort())
    # c·tanh(x/c) = x − x³/3c² + …
    far = float(raw.abs().max()) ** 3 / (3 * 1e8**2)
    torch.testing.assert_close(scores(QUERY, KEY, softcap=1e8), raw, rtol=8 * 2**-53, atol=far)


# Sinks.


@pytest.mark.parametrize("sink", [0.75, torch.tensor(normal(L)), torch.tensor(normal(1))])
def test_sink_is_one_more_key_without_a_value(sink: Tensor | float) -> None:
    """Weights and log Z are those of S + 1 scores, the last of them allowed and dropped."""
    a = torch.tensor(normal(L, S))
    column = torch.as_tensor(sink, dtype=torch.float64).expand(L)[:, None]
    more = torch.cat([a, column], dim=-1)
    mask = torch.cat([MASK, torch.ones(L, 1, dtype=torch.bool)], dim=-1)
    assert torch.equal(softmax(a, mask=MASK, sink=sink), softmax(more, mask=mask)[:, :-1])
    assert torch.equal(log_partition(a, mask=MASK, sink=sink), log_partition(more, mask=mask))


def test_sink_counts_once_however_the_keys_are_split() -> None:
    """Z of the whole is Z of one part with the sink and of the other without (fault 13)."""
    a = torch.tensor(normal(L, S))
    sink = torch.tensor(normal(L))
    parts = log_partition(a[:, :3], sink=sink), log_partition(a[:, 3:])
    truth = oracle.rows(a.numpy(), sink=sink.numpy()).log_z
    merged = torch.logaddexp(*parts).numpy()
    # Either part is within its bound, which is below the whole's; the merging rounds a few times.
    oracle.assert_near(merged, truth.exact, 2 * truth.bound("float64") + 8 * 2**-53)


@both
def test_sink_of_minus_infinity_is_no_sink(attend: Attend) -> None:
    """As a number and in a tensor, also in a row without keys."""
    sink = torch.full((L,), -INF, dtype=torch.float64)
    mask = MASK.clone()
    mask[2] = False
    plain = attend(QUERY, KEY, VALUE, mask=mask)
    for none in (-INF, sink):
        output = attend(QUERY, KEY, VALUE, mask=mask, sink=none)
        torch.testing.assert_close(
            output, plain, rtol=0, atol=both_bounds(QUERY, KEY, VALUE), equal_nan=False
        )
        assert log_partition(scores(QUERY, KEY), mask=mask, sink=none)[2] == -INF


def test_sink_alone_is_the_normaliser_of_an_empty_row() -> None:
    """All keys masked: weights 0, log Z the sink; a sink that is NaN or +∞ shows in log Z alone."""
    a = torch.tensor(normal(3, 2))
    mask = torch.tensor([[False, False]])
    sink = torch.tensor([-1.5, NAN, INF], dtype=torch.float64)
    assert softmax(a, mask=mask, sink=sink).tolist() == [[0, 0]] * 3
    log_z = log_partition(a, mask=mask, sink=sink)
    assert log_z[0] == -1.5
    assert log_z[1:].isnan().all()
    assert log_partition(a[:, :0], sink=-1.5).tolist() == [-1.5] * 3


def test_sink_that_is_not_finite_shows_in_its_row_and_masked_keys_stay_zero() -> None:
    """NaN or +∞ in the sink of one row is in that row's weights, and in no other's."""
    mask = torch.tensor([True, False])
    sink = torch.tensor([NAN, INF, 0.0])
    p = softmax(torch.zeros(3, 2), mask=mask, sink=sink)
    expected = torch.tensor([[NAN, 0.0], [NAN, 0.0], [0.5, 0.0]])
    torch.testing.assert_close(p, expected, equal_nan=True, rtol=0, atol=0)
    log_z = log_partition(torch.zeros(3, 2), mask=mask, sink=sink)
    assert log_z.isnan().tolist() == [True, True, False]


# Heads.


@both
def test_heads_are_shared_by_neighbours(attend: Attend) -> None:
    """Four heads of the query, two of the value: 10, 10, 20, 20 (fault 42)."""
    query, key = torch.zeros(4, 1, 1), torch.zeros(2, 1, 1)
    value = torch.tensor([10.0, 20.0])[:, None, None]
    assert attend(query, key, value).flatten().tolist() == [10, 10, 20, 20]
    assert attend(query, key[:1], value).flatten().tolist() == [10, 10, 20, 20]
    assert attend(query, key, value[:1]).flatten().tolist() == [10] * 4
    assert attend(query, key[0], value[:, :, 0, None]).flatten().tolist() == [10, 10, 20, 20]


@both
@pytest.mark.parametrize("shared", [1, 2, 3, 6])
def test_heads_are_each_read_by_their_own_queries(attend: Attend, shared: int) -> None:
    """Head h is attention with head h // (Hq/Hkv), its own mask, bias and sink (fault 45)."""
    query, key, value = heads()[0], normal(B, shared, S, 3), normal(B, shared, S, 2)
    own = options(("mask", "bias", "sink"))
    output = attend(*map(tensor, (query, key, value)), **in_torch(own))
    for h in range(HQ):
        g = h // (HQ // shared)
        head = query[:, h], key[:, g], value[:, g]
        parts = {"mask": own["mask"][h], "bias": own["bias"][h], "sink": own["sink"][:, h]}
        oracle.assert_within(output[:, h].numpy(), oracle.attention(*head, **parts).output)


def test_heads_are_shared_in_scores_and_weights() -> None:
    """What is on the way has Hq heads too."""
    query, key, _ = (torch.tensor(x) for x in heads())
    repeated = key[:, [0, 0, 0, 1, 1, 1]]
    assert torch.equal(scores(query, key), scores(query, repeated))
    assert torch.equal(attention_weights(query, key), attention_weights(query, repeated))


@both
def test_one_head_of_the_query_sees_every_head(attend: Attend) -> None:
    """One head, or none, broadcasts as always."""
    query, key, value = heads()
    output = attend(*map(tensor, (query[:, :1], key, value)))
    assert output.shape == (B, HKV, L, 2)
    for h in range(HKV):
        truth = oracle.attention(query[:, 0], key[:, h], value[:, h]).output
        oracle.assert_within(output[:, h].numpy(), truth)


# Precision.


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_rounding_is_to_the_nearest_and_happens_once(dtype: torch.dtype) -> None:
    """Next to each tie of two numbers the nearer is taken, and on it the even one."""
    bits = torch.arange(2**15 - 1, dtype=torch.int16)
    numbers = bits.view(dtype)
    low, high = numbers[:-1][numbers[1:].isfinite()], numbers[1:][numbers[1:].isfinite()]
    even = torch.where(bits[: len(low)] % 2 == 0, low, high)
    tie = (low.double() + high.double()) / 2
    zero, far = torch.zeros_like(tie), torch.full_like(tie, INF)
    for sign in (1, -1):
        assert (rounded(sign * torch.nextafter(tie, zero), dtype) == sign * low).all()
        assert (rounded(sign * torch.nextafter(tie, far), dtype) == sign * high).all()
        assert (rounded(sign * tie, dtype) == sign * even).all()
        assert (rounded(sign * low.double(), dtype) == sign * low).all()
    wild = torch.tensor([INF, -INF, NAN, 1e300, -1e300], dtype=torch.float64)
    torch.testing.assert_close(
        rounded(wild, dtype), torch.tensor([INF, -INF, NAN, INF, -INF], dtype=dtype), equal_nan=True
    )


@pytest.mark.parametrize(
    "function",
    [
        lambda q, k, v: scores(q, k),
        lambda q, k, v: softmax(k[..., 0]),
        lambda q, k, v: log_partition(k[..., 0]),
        lambda q, k, v: attention_weights(q, k),
        attention,
        lambda q, k, v: attention(q, k, v, softcap=0.7, sink=0.3, bias=k[..., 0].unsqueeze(-2)),
    ],
    ids=["scores", "softmax", "log_partition", "attention_weights", "attention", "options"],
)
def test_half_precision_results_are_double_results_rounded_once(
    function: Callable[[Tensor, Tensor, Tensor], Tensor],
) -> None:
    """A float16 result is the float64 result of the same numbers, rounded as NumPy rounds it."""
    many = 40009  # Torch alone rounds twice, and about one in 2¹⁴ of its results is another number
    shapes = (many, 1, 3), (many, 2, 3), (many, 2, 1)
    halves = [torch.tensor(normal(*shape), dtype=torch.float16) for shape in shapes]
    exact = function(*(x.double() for x in halves))
    once = torch.tensor(exact.numpy().astype(np.float16))
    assert (exact.half() != once).any(), "here rounding twice would do"
    assert torch.equal(function(*halves), once)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_results_have_the_dtype_of_the_query(dtype: torch.dtype) -> None:
    """What comes out is of the dtype of what went in, and finite."""
    q, k, v = (x.to(dtype) for x in (QUERY, KEY, VALUE))
    results = [
        scores(q, k),
        attention_weights(q, k),
        attention(q, k, v),
        expanded_attention(q, k, v),
    ]
    results += [softmax(results[0]), log_partition(results[0])]
    assert {result.dtype for result in results} == {dtype}
    assert all(result.isfinite().all() for result in results)


@contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    """Set Torch's default dtype for a while."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    yield
    torch.set_default_dtype(before)


def test_precision_is_not_the_surroundings_choice() -> None:
    """Autocast and the default dtype change nothing, with every option."""
    arrays = [tensor(x) for x in heads("float32")]
    own = in_torch(options(("mask", "bias", "scale", "softcap", "number"), "float32"))
    expected = attention(*arrays, **own)
    with torch.autocast("cpu", torch.bfloat16), default_dtype(torch.bfloat16):
        output = attention(*arrays, **own)
    assert torch.equal(output, expected)


# Layouts.


@both
def test_attention_reads_every_layout(attend: Attend) -> None:
    """Permuted, sliced and expanded tensors give what their contiguous copies give."""
    layouts: list[Callable[[Tensor], Tensor]] = [
        lambda x: x.mT.contiguous().mT,
        lambda x: torch.stack([x, x], dim=-1)[..., 0],
        lambda x: x[:1].expand(x.shape),
    ]
    for layout in layouts:
        chosen = QUERY, KEY, VALUE, MASK, torch.tensor(normal(L, S)), torch.tensor(normal(3, L))
        q, k, v, mask, bias, sinks = (layout(x) for x in chosen)
        assert not any(x.is_contiguous() for x in (q, k, v, mask, bias, sinks))
        sink = sinks[0]
        output = attend(q, k, v, mask=mask, bias=bias, sink=sink)
        q, k, v, mask, bias, sink = (x.clone().contiguous() for x in (q, k, v, mask, bias, sink))
        copies = attend(q, k, v, mask=mask, bias=bias, sink=sink)
        torch.testing.assert_close(output, copies, rtol=0, atol=both_bounds(q, k, v))


@both
def test_attention_leaves_its_inputs_alone(attend: Attend) -> None:
    """No input is written to, NaN included."""
    key = KEY.masked_fill(~MASK[0][:, None], NAN)
    bias = torch.tensor(with_holes(normal(L, S)))
    inputs = QUERY, key, VALUE, MASK, bias, torch.tensor(normal(L))
    before = [x.clone() for x in inputs]
    attend(*inputs[:3], mask=MASK, bias=bias, sink=inputs[5], softcap=2.0)
    for x, copy in zip(inputs, before, strict=True):
        torch.testing.assert_close(x, copy, rtol=0, atol=0, equal_nan=True)


@both
def test_mask_broadcasts(attend: Attend) -> None:
    """A mask of fewer axes, or of size 1 along some, is the mask repeated there."""
    q, k, v = (torch.tensor(x) for x in triple(batch=(B,)))
    for shape in [(S,), (L, 1), (1, S), (B, 1, S), (1, L, S)]:
        mask = torch.tensor(random_mask(*shape))
        expected = attend(q, k, v, mask=mask.expand(B, L, S).contiguous())
        assert torch.equal(attend(q, k, v, mask=mask), expected)


@both
def test_bias_and_sink_broadcast(attend: Attend) -> None:
    """Of fewer axes, or of size 1 along some, they are themselves repeated there."""
    q, k, v = (torch.tensor(x) for x in triple(batch=(B,)))
    for shape in [(), (S,), (L, 1), (1, S), (B, 1, S), (1, L, S)]:
        bias = torch.tensor(normal(*shape))
        expected = attend(q, k, v, bias=bias.expand(B, L, S).contiguous())
        assert torch.equal(attend(q, k, v, bias=bias), expected)
    for shape in [(), (L,), (1,), (B, 1), (1, L)]:
        sink = torch.tensor(normal(*shape))
        expected = attend(q, k, v, sink=sink.expand(B, L).contiguous())
        assert torch.equal(attend(q, k, v, sink=sink), expected)
