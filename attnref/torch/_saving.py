"""What the backward passes in blocks have in common: what is kept, what is asked, and how often."""

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any

import torch
from torch import Tensor

from attnref._rules import Rule
from attnref.torch._blocks import ARRAYS, Call
from attnref.torch._forward import State

Found = tuple[Tensor | None, ...]
Backward = Callable[[Any, Tensor], Found]


def keep(ctx: Any, call: Call, state: State) -> None:
    """Save a call and its state; Torch then notices what is written to before they are used."""
    mask = call.mask if isinstance(call.mask, Tensor) else None
    ctx.save_for_backward(*state, mask, *call.arrays())
    hollow: dict[str, Any] = dict.fromkeys(ARRAYS)
    ctx.call = replace(call, **hollow, mask=Rule(0, 0) if mask is not None else call.mask)


def kept(ctx: Any) -> tuple[Call, State]:
    """Return what was saved."""
    m, z, n, mask, *arrays = ctx.saved_tensors
    call: Call = ctx.call
    given: dict[str, Any] = dict(zip(ARRAYS, arrays, strict=True))
    return replace(call, **given, mask=call.mask if mask is None else mask), (m, z, n)


def wanted(ctx: Any) -> set[str]:
    """Return the names of the arrays, given last, whose gradients are wanted."""
    needs = ctx.needs_input_grad[-len(ARRAYS) :]
    return {name for name, need in zip(ARRAYS, needs, strict=True) if need}


def as_given(call: Call, found: dict[str, Tensor]) -> tuple[Tensor | None, ...]:
    """Return the gradient of each array in its dtype, None where there is none."""
    pairs = zip(call.arrays(), map(found.get, ARRAYS), strict=True)
    return tuple(None if x is None or g is None else g.to(x.dtype) for x, g in pairs)


def once(backward: Backward) -> Backward:
    """Make a backward pass that refuses to be differentiated.

    Torch's `once_differentiable` refuses where its node is visited, and from there no way leads to
    the inputs: in a sum of losses, the term would be left out of a second derivative, unsaid.
    """

    @wraps(backward)
    def run(ctx: Any, g: Tensor) -> Found:
        with torch.no_grad():
            found = backward(ctx, g)
        if not torch.is_grad_enabled():
            return found
        last: Found = _Last.apply(found, g, *ctx.saved_tensors)  # type: ignore[no-untyped-call]  # Torch leaves it untyped
        return last

    return run


class _Last(torch.autograd.Function):
    """Gradients as they are, of the inputs, and without any of their own."""

    @staticmethod
    def forward(ctx: Any, found: Found, *sources: Tensor | None) -> Found:
        return found

    @staticmethod
    def backward(ctx: Any, *g: Tensor) -> None:
        raise RuntimeError("attention in blocks is differentiable once; attention, any times")
