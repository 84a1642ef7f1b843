"""What the backward passes in blocks have in common: what is kept, what is asked, and how often."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from attnref._rules import Rule
from attnref.torch._blocks import ARRAYS, Call
from attnref.torch._forward import State

Backward = Callable[[Any, Tensor], tuple[Tensor | None, ...]]


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
    """Refuse to differentiate a backward pass, which Torch would ignore where g is constant."""
    guarded = once_differentiable(backward)

    def run(ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled() and not g.requires_grad:
            g = g.detach().requires_grad_()
        result: tuple[Tensor | None, ...] = guarded(ctx, g)
        return result

    return run
