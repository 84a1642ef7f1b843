"""Attention in blocks inside Torch's machinery: autocast, graphs, tensors that are written to."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from attnref.torch import attention, attention_gradients, streaming_attention
from samples import H, L, S, normal, random_mask, triple

QUERY, KEY, VALUE = (torch.tensor(x, dtype=torch.float32) for x in triple())
MASK = torch.tensor(random_mask(L, S))


def leaves() -> list[Tensor]:
    """Return the three arrays as leaves of a graph."""
    return [x.clone().requires_grad_() for x in (QUERY, KEY, VALUE)]


def test_autocast_does_not_reach_the_work() -> None:
    """Outputs and gradients are bit for bit those without autocast, which multiplies in 16 bits."""
    arrays = leaves()
    plain = streaming_attention(*arrays)
    g = torch.ones_like(plain)
    gradients = torch.autograd.grad(plain, arrays, g)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert (QUERY @ KEY.mT).dtype == torch.bfloat16
        cast = streaming_attention(*arrays)
        assert torch.equal(cast, plain)
        assert all(map(torch.equal, torch.autograd.grad(cast, arrays, g), gradients))
        assert all(
            map(torch.equal, attention_gradients(arrays[0], arrays[1], arrays[2], g)[:3], gradients)
        )


@pytest.mark.parametrize("slope", [lambda y: y.sum(), lambda y: y.square().sum()])
def test_second_derivative_is_refused(slope: Callable[[Tensor], Tensor]) -> None:
    """Whether or not the gradient that comes in is constant, and never taken for 0."""
    arrays = leaves()
    first = torch.autograd.grad(slope(streaming_attention(*arrays)), arrays, create_graph=True)
    with pytest.raises(RuntimeError, match="attention in blocks is differentiable once"):
        sum(x.square().sum() for x in first).backward()  # type: ignore[union-attr]


def test_graph_of_a_graph_may_be_made_and_left() -> None:
    """create_graph alone changes nothing."""
    once, twice = leaves(), leaves()
    streaming_attention(*once).sum().backward()  # type: ignore[no-untyped-call]
    loss = streaming_attention(*twice).sum()
    gradients = torch.autograd.grad(loss, twice, create_graph=True)
    assert all(map(torch.equal, (x.grad for x in once), gradients))  # type: ignore[arg-type]


def test_mask_written_to_before_backward_is_an_error() -> None:
    """As for every tensor that was saved, Torch says so, and returns no wrong gradient."""
    mask = MASK.clone()
    output = streaming_attention(*leaves(), mask=mask)
    mask[:, 0] = ~mask[:, 0]
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        output.sum().backward()  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("asked", [(0,), (1,), (2,), (0, 2)], ids=str)
def test_only_the_gradients_that_are_wanted_are_made(asked: tuple[int, ...]) -> None:
    """With some leaves constant, the others get what they get with all."""
    arrays = leaves()
    whole = torch.autograd.grad(streaming_attention(*arrays, mask=MASK).sum(), arrays)
    some = [x if i in asked else x.detach() for i, x in enumerate(arrays)]
    wanted = [arrays[i] for i in asked]
    bias = torch.zeros(L, S)
    found = torch.autograd.grad(streaming_attention(*some, mask=MASK, bias=bias).sum(), wanted)
    assert all(torch.equal(x, whole[i]) for i, x in zip(asked, found, strict=True))


def test_shared_heads_are_saved_as_they_came() -> None:
    """Of keys and values that several heads read, no copy for each head is kept for backward."""
    query = torch.tensor(normal(2 * H, L, 4), requires_grad=True)
    key, value = torch.tensor(normal(H, S, 4)), torch.tensor(normal(H, S, 4))
    saved: list[Tensor] = []

    def keep(x: Tensor) -> Tensor:
        saved.append(x)
        return x

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
        output = streaming_attention(query, key, value)
    assert max(x.numel() for x in saved if x.shape[-2:] == key.shape[-2:]) == key.numel()
    torch.testing.assert_close(output, attention(query, key, value))
