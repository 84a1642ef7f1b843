"""Attention as one writes it out by hand: one query, one key, one number at a time.

Differentiable, for every number is a scalar tensor; slow, for the same reason. Nothing here is
shared with attention() but the rules of entry and of rounding.
"""

from itertools import product
from typing import Any

import torch
from torch import Tensor

from attnref import _checks
from attnref.torch import _entry
from attnref.torch._rounding import rounded


def expanded_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    mask: Tensor | None = None,
    scale: float | None = None,
) -> Tensor:
    """Average the values with plain loops, the normaliser Z_t of each query in sight.

    y_t = Σ_s (1/Z_t) exp(⟨q_t, k_s⟩/√d_k) v_s,   Z_t = Σ_s exp(⟨q_t, k_s⟩/√d_k)

    Arguments:
        query: q, (…, L, d_k), floating.
        key: k, (…, S, d_k), of the query's dtype; leading axes broadcast.
        value: v, (…, S, d_v), of the query's dtype.
        mask: True where query t may attend to key s; broadcasts to (…, L, S).
        scale: β, any finite number; 1/√d_k unless given.

    Returns:
        y, (…, L, d_v), of the query's dtype.

    Raises:
        TypeError: a tensor of another kind or dtype, a mask that is not boolean.
        ValueError: shapes or devices that do not fit, or a scale that is not finite.

    Source: derivation ZFRM, `python -m attnref show ZFRM`.

    >>> query, key = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0], [0.0, -1.0]])
    >>> expanded_attention(query, key, torch.tensor([[10.0], [30.0]]))
    tensor([[20.]])
    """
    _entry.tensors(mask, query=query, key=key, value=value)
    shape = _checks.attention_shape(query, key, value)
    _entry.mask_fits(mask, shape)
    beta = _checks.scale(scale, query)
    *batch, L, _ = shape
    q, k, v = (x.double().expand(*batch, *x.shape[-2:]) for x in (query, key, value))
    may = (query.new_ones((), dtype=torch.bool) if mask is None else mask).expand(shape)
    nothing = q[..., :0].sum() + k[..., :0].sum() + v[..., :0].sum()
    numbers = [nothing]  # 0, yet made of all three: an output in which no key counts has gradients
    for *b, t in product(*map(range, (*batch, L))):
        y_t = _one_query(q[*b, t], k[*b][may[*b, t]], v[*b][may[*b, t]], beta, nothing)
        numbers.extend(y_t)
    return rounded(torch.stack(numbers)[1:].reshape(*batch, L, value.shape[-1]), query.dtype)


def _one_query(q_t: Tensor, k: Tensor, v: Tensor, beta: float, nothing: Tensor) -> list[Tensor]:
    scored = [(beta * _inner(q_t, k_s, nothing), v_s) for k_s, v_s in zip(k, v, strict=True)]
    present = [(a_s, v_s) for a_s, v_s in scored if a_s != -torch.inf]
    m = max((a_s.item() for a_s, _ in present), default=0.0)
    z = sum((torch.exp(a_s - m) for a_s, _ in present), start=nothing)
    y = [nothing] * v.shape[-1]
    for a_s, v_s in present:
        w = torch.exp(a_s - m) / z
        y = [y_e + w * v_se for y_e, v_se in zip(y, v_s, strict=True)]
    return [y_e if y_e.isfinite() else _if_asked(y_e) for y_e in y]


def _inner(q_t: Tensor, k_s: Tensor, nothing: Tensor) -> Tensor:
    return sum((q_i * k_i for q_i, k_i in zip(q_t, k_s, strict=True)), start=nothing)


def _if_asked(y_e: Tensor) -> Tensor:
    result: Tensor = _IfAsked.apply(y_e)  # type: ignore[no-untyped-call]  # Torch leaves it untyped
    return result


class _IfAsked(torch.autograd.Function):
    """A number that is NaN or infinite, and starts no gradient where the loss doesn't ask for it.

    Backward would go on with 0·NaN = NaN, and poison the keys of every other query.
    """

    @staticmethod
    def forward(y_e: Tensor) -> Tensor:
        return y_e.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        """Keep nothing: the gradient alone decides."""

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor | None:
        return gradient if gradient.any() else None
