"""Partial states in Torch: parts merge to the whole, and gradients flow through the merging."""

import itertools
import math
from functools import reduce
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck

import attnref
import oracle
from attnref.torch import Partial, merge, partial_attention
from samples import DTYPES, normal, random_mask, triple

S = 7
PARTS = [slice(0, 3), slice(3, 3), slice(3, 4), slice(4, S)]


def merged(
    query: Tensor, key: Tensor, value: Tensor, *, parts: list[slice] = PARTS, **options: Any
) -> Partial:
    """Return the state of all keys, merged from parts; the sink is given with the first."""
    sink, mask, bias = (options.pop(name, None) for name in ("sink", "mask", "bias"))
    states: list[Partial] = []
    for part in parts:
        own = {
            "mask": None if mask is None else mask[..., part],
            "bias": None if bias is None else bias[..., part],
            "sink": None if states else sink,
        }
        states.append(
            partial_attention(query, key[..., part, :], value[..., part, :], **own, **options)
        )
    return reduce(merge, states)


@pytest.mark.parametrize("dtype", DTYPES)
def test_parts_merge_to_the_whole(dtype: str) -> None:
    """With a mask, a bias, a cap and a sink, within the bound; each merge rounds three times."""
    arrays = triple(dtype=dtype)
    mask, bias = random_mask(5, S), normal(5, S, seed=3, dtype=dtype)
    truth = oracle.attention(*arrays, mask=mask, bias=bias, softcap=1.5, sink=0.5)
    query, key, value, b = map(torch.tensor, (*arrays, bias))
    state = merged(query, key, value, mask=torch.tensor(mask), bias=b, softcap=1.5, sink=0.5)
    looser = oracle.Quantity(
        truth.output.exact, truth.output.error + 18 * truth.magnitude, truth.output.underflow
    )
    oracle.assert_within(state.output.numpy(), looser)
    assert state.output.dtype == state.log_z.dtype == getattr(torch, dtype)
    theirs = attnref.partial_attention(*arrays, mask=mask, bias=bias, softcap=1.5, sink=0.5).log_z
    off = abs(state.log_z.double().numpy() - theirs.astype("float64"))
    assert (off <= 50 * oracle.unit(dtype) * (1 + abs(theirs))).all()


def leaves(*shapes: tuple[int, ...]) -> list[Tensor]:
    """Return tensors that take gradients."""
    return [
        torch.tensor(normal(*shape, seed=i), requires_grad=True) for i, shape in enumerate(shapes)
    ]


def test_gradients_flow_through_the_merging() -> None:
    """Finite differences agree, of output and log Z, through mask, bias, sink and shared heads."""
    mask = torch.tensor(random_mask(3, S))
    mask[1] = False  # an empty row, but for the sink

    def of(query: Tensor, key: Tensor, value: Tensor, bias: Tensor, sink: Tensor) -> Any:
        state = merged(query, key, value, mask=mask, bias=bias, sink=sink)
        return state.output, state.log_z

    inputs = leaves((2, 3, 2), (1, S, 2), (1, S, 2), (3, S), (2, 1))
    assert gradcheck(of, inputs)
    assert gradgradcheck(lambda *x: of(*x)[0], inputs)


@pytest.mark.parametrize("order", [*itertools.permutations(range(3))], ids=str)
def test_empty_states_merge_with_finite_gradients_in_every_order(order: tuple[int, ...]) -> None:
    """Whatever order empty and other states come in, gradients are finite; none sees NaN."""
    query, key, value = leaves((3, 2), (S, 2), (S, 2))
    mask = torch.ones(3, S, dtype=torch.bool)
    mask[1] = False
    states = [
        partial_attention(query, key, value, mask=mask),
        partial_attention(query, key[:0], value[:0]),
        Partial.empty((3, 2), torch.float64),
    ]
    state = reduce(merge, (states[i] for i in order))
    gradients = torch.autograd.grad(state.output.square().sum(), [query, key, value])
    assert all(gradient.isfinite().all() for gradient in gradients)
    assert (gradients[0][1] == 0).all()
    assert (gradients[0][[0, 2]] != 0).any()


def test_empty_row_takes_no_gradient_whatever_arrives() -> None:
    """NaN and ∞ that come back to a row without keys go no further."""
    query, key, value = leaves((3, 2), (S, 2), (S, 2))
    mask = torch.ones(3, S, dtype=torch.bool)
    mask[1] = False
    state = merged(query, key, value, mask=mask)
    arriving = torch.ones(3, 2, dtype=torch.float64)
    arriving[1] = math.nan
    for gradient in torch.autograd.grad(state.output, [query, key, value], arriving):
        assert gradient.isfinite().all()


def test_masked_key_reaches_no_state_and_no_gradient() -> None:
    """NaN in a masked key or value stays out of the outputs and the gradients."""
    query, key, value = leaves((3, 2), (S, 2), (S, 2))
    with torch.no_grad():
        key[2], value[2] = math.nan, math.inf
    mask = torch.ones(3, S, dtype=torch.bool)
    mask[:, 2] = False
    state = merged(query, key, value, mask=mask)
    assert state.output.isfinite().all()
    for gradient in torch.autograd.grad(state.output.sum(), [query, key, value]):
        assert gradient.isfinite().all()
    mask[0, 2] = True
    shown = merged(query, key, value, mask=mask).output
    assert shown.isnan().all(dim=-1).tolist() == [True, False, False]


def test_empty_state_changes_no_bit() -> None:
    """Merged from either side it leaves a state as it is, and so does one with another exponent."""
    state = merged(*map(torch.tensor, triple()))
    zero = torch.zeros_like(state.z)
    for m in (-math.inf, 0.0, 700.0, -700.0):
        nothing = Partial(torch.full_like(zero, m), zero, torch.full_like(state.n, 7.0))
        assert (nothing.output == 0).all()  # where z is 0, m and n say nothing
        for whole in (merge(nothing, state), merge(state, nothing)):
            assert all(torch.equal(getattr(whole, x), getattr(state, x)) for x in "mzn")
    both = merge(Partial.empty((5, 3)), Partial.empty((5, 3)))
    assert torch.equal(both.output, torch.zeros(5, 3))
    assert (both.log_z == -math.inf).all()


def test_exponent_that_is_given_takes_its_gradient() -> None:
    """Log Z = m + log z, so ∂ log Z/∂m = 1 where m is an input, alone; merged, it is its share."""
    m, z, n = leaves((3,), (3,), (3, 2))
    z = z.detach().exp().requires_grad_()
    (alone,) = torch.autograd.grad(Partial(m, z, n).log_z.sum(), m)
    assert torch.equal(alone, torch.ones(3, dtype=torch.float64))
    one = Partial(torch.zeros(1, dtype=torch.float64), *_ones())
    both = [torch.zeros(1, dtype=torch.float64, requires_grad=True) for _ in range(2)]
    whole = merge(*(Partial(m, one.z, one.n) for m in both))
    for gradient in torch.autograd.grad(whole.log_z.sum(), both):
        assert gradient.item() == 0.5


def _ones() -> tuple[Tensor, Tensor]:
    return torch.ones(1, dtype=torch.float64), torch.ones(1, 2, dtype=torch.float64)


def test_what_is_no_state_is_refused() -> None:
    """Kinds, dtypes, shapes and devices are named, with both sides of what does not fit."""
    m, z, n = torch.zeros(5), torch.ones(5), torch.ones(5, 3)
    state = Partial(m, z, n)
    with pytest.raises(TypeError, match=r"b must be a Partial, not Tensor"):
        merge(state, n)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a, b must share one dtype: a float32, b float64"):
        merge(state, Partial(m, z, n, torch.float64))
    with pytest.raises(ValueError, match=r"one shape \(…, L, d_v\): a \(5, 3\), b \(5, 2\)"):
        merge(state, Partial(m, z, n[:, :2]))
    with pytest.raises(ValueError, match="a, b must share one device: a cpu, b meta"):
        merge(state, Partial.empty((5, 3), device="meta"))
    with pytest.raises(ValueError, match=r"m \(5,\), z \(4,\), n \(5, 3\)"):
        Partial(m, z[:4], n)
    with pytest.raises(TypeError, match="m, z, n must share one dtype: m float32, z float64"):
        Partial(m, z.double(), n)
    with pytest.raises(TypeError, match=r"dtype must be floating .*, not int64"):
        Partial(m, z, n, torch.int64)
    with pytest.raises(ValueError, match=r"n must have at least 2 axes"):
        Partial.empty((5,))
    with pytest.raises(TypeError, match=r"dtype must be a torch.dtype or None, not type"):
        Partial.empty((5, 3), float)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="key and value must share their second-last axis S"):
        partial_attention(torch.ones(2, 3), torch.ones(4, 3), torch.ones(5, 3))
