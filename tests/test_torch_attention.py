"""The laws of attention on the Torch side: its values, its precision, its layouts."""

import math
from collections.abc import Callable, Iterator
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
QUERY, KEY, VALUE = (torch.tensor(x) for x in triple())
MASK = torch.tensor(random_mask(L, S))


def tensor(x: np.ndarray[Any, Any]) -> Tensor:
    """Return a NumPy array of any layout as a tensor."""
    return torch.tensor(np.array(x, dtype=x.dtype.newbyteorder("="), order="C"))


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
    """Any sizes, leading axes, dtype, mask and scale: the oracle's output, and NumPy's."""
    arrays = problem.query, problem.key, problem.value
    given_mask = None if problem.mask is None else tensor(problem.mask)
    output = attend(*map(tensor, arrays), mask=given_mask, scale=problem.scale)
    truth = oracle.attention(*arrays, mask=problem.mask, scale=problem.scale).output
    theirs = attnref.attention(*arrays, mask=problem.mask, scale=problem.scale)
    assert output.dtype == tensor(problem.query).dtype
    oracle.assert_within(output.numpy(), truth)
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
    ],
    ids=["scores", "softmax", "log_partition", "attention_weights", "attention"],
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
    """Autocast and the default dtype change nothing."""
    expected = attention(QUERY.float(), KEY.float(), VALUE.float())
    with torch.autocast("cpu", torch.bfloat16), default_dtype(torch.bfloat16):
        output = attention(QUERY.float(), KEY.float(), VALUE.float())
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
        q, k, v, mask = (layout(x) for x in (QUERY, KEY, VALUE, MASK))
        assert not any(x.is_contiguous() for x in (q, k, v, mask))
        output = attend(q, k, v, mask=mask)
        copies = attend(*(x.contiguous() for x in (q, k, v)), mask=mask.contiguous())
        torch.testing.assert_close(output, copies, rtol=0, atol=both_bounds(q, k, v))


@both
def test_attention_leaves_its_inputs_alone(attend: Attend) -> None:
    """No input is written to, NaN included."""
    inputs = QUERY, KEY.masked_fill(~MASK[0][:, None], NAN), VALUE, MASK
    before = [x.clone() for x in inputs]
    attend(*inputs[:3], mask=inputs[3])
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
