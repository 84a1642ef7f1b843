"""The steps of attention, made so that no NaN gets through a gradient of 0.

Backward multiplies each gradient by the other factor, and 0·NaN = NaN: one NaN that is masked, or
in a row of which the loss asks nothing, would poison every gradient. So where an operand is not
finite, factors meet pair by pair, and a gradient of exactly 0 stays 0. Finite operands take Torch's
own operations.
"""

from typing import Any

import torch
from torch import Tensor


def inner(query: Tensor, key: Tensor) -> Tensor:
    """Return ⟨q_t, k_s⟩, (…, L, S)."""
    if _finite(query, key):
        return query @ key.mT
    return _product(query.unsqueeze(-2), key.unsqueeze(-3)).sum(dim=-1)


def total(weights: Tensor, value: Tensor, allowed: Tensor) -> Tensor:
    """Return Σ_s p_ts v_s over the allowed keys, (…, L, d_v); the other weights are 0."""
    if _finite(weights, value):
        return weights @ value
    present = torch.where(allowed.unsqueeze(-1), value.unsqueeze(-3), 0.0)
    return _product(weights.unsqueeze(-1), present).sum(dim=-2)


def tanh(x: Tensor) -> Tensor:
    """Return tanh x, element by element."""
    return torch.tanh(x) if _finite(x) else _apply(_Tanh, x)


def softmax(a: Tensor) -> Tensor:
    """Return exp(a_ts)/Z_t along the last axis."""
    if _true(a.detach() < torch.inf):
        return torch.softmax(a, dim=-1)
    return _apply(_Softmax, a)


def logsumexp(a: Tensor) -> Tensor:
    """Return log Σ_s exp(a_ts) along the last axis."""
    if _true(a.detach() < torch.inf):
        return torch.logsumexp(a, dim=-1)
    return _apply(_LogSumExp, a)


def _apply(function: type[torch.autograd.Function], *tensors: Tensor) -> Tensor:
    result: Tensor = function.apply(*tensors)  # type: ignore[no-untyped-call]  # Torch leaves it untyped
    return result


def _finite(*tensors: Tensor) -> bool:
    return all(_true(tensor.detach().isfinite()) for tensor in tensors)


def _true(condition: Tensor) -> bool:
    return bool(_apply(_All, condition))


def _product(x: Tensor, y: Tensor) -> Tensor:
    shape = torch.broadcast_shapes(x.shape, y.shape)  # type: ignore[no-untyped-call]  # Torch leaves it untyped
    return _apply(_Product, x.expand(shape), y.expand(shape))


def _chain(gradient: Tensor, factor: Tensor) -> Tensor:
    """Multiply a gradient by a factor, where 0 asks for nothing, whatever the factor is."""
    unasked = (gradient == 0) & ~factor.isfinite()
    return _product(gradient, factor.masked_fill(unasked, 0.0))


class _Product(torch.autograd.Function):
    """x·y, element by element."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, y: Tensor) -> Tensor:
        return x * y

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        x, y = ctx.saved_tensors
        return _chain(gradient, y), _chain(gradient, x)


class _Tanh(torch.autograd.Function):
    """tanh, with dx = (1 − tanh² x) dtanh x."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return torch.tanh(x)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (y,) = ctx.saved_tensors
        return _chain(gradient, 1 - _product(y, y))


class _Softmax(torch.autograd.Function):
    """p, with da_s = p_s (dp_s − Σ_r p_r dp_r)."""

    generate_vmap_rule = True

    @staticmethod
    def forward(a: Tensor) -> Tensor:
        return torch.softmax(a, dim=-1)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (p,) = ctx.saved_tensors
        return _chain(gradient - _chain(gradient, p).sum(dim=-1, keepdim=True), p)


class _LogSumExp(torch.autograd.Function):
    """log Z, with da_s = p_s dlog Z."""

    generate_vmap_rule = True

    @staticmethod
    def forward(a: Tensor) -> Tensor:
        m = a.amax(dim=-1)
        return m + (a - m.unsqueeze(-1)).exp().sum(dim=-1).log()  # NaN for +∞, as in the weights

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (a,) = ctx.saved_tensors
        return _chain(gradient.unsqueeze(-1), softmax(a))


class _All(torch.autograd.Function):
    """Whether all are true, over the whole of a vmapped batch: either path is right for it."""

    @staticmethod
    def forward(condition: Tensor) -> Tensor:
        return condition.all()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        """Keep nothing: no gradient comes back."""

    @staticmethod
    def vmap(info: Any, in_dims: Any, condition: Tensor) -> tuple[Tensor, None]:
        return _apply(_All, condition), None
