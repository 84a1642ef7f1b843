"""Attention as one writes it out by hand: one query, one key, one number at a time.

Differentiable, for every number is a scalar tensor; slow, for the same reason. Nothing here is
shared with attention() but the rules of entry and of rounding.
"""

from itertools import product
from typing import Any

import torch
from torch import Tensor

from attnref import _checks, _shapes
from attnref.torch import _entry
from attnref.torch._rounding import rounded


def expanded_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    sink: Tensor | float | None = None,
) -> Tensor:
    """Average the values with plain loops, the normaliser Z_t of each query in sight.

    y_t = Σ_s (1/Z_t) exp(a_ts) v_s,   Z_t = Σ_s exp(a_ts),   a_ts = ⟨q_t, k_s⟩/√d_k + bias_ts

    Arguments:
        query: q, (…, L, d_k), floating.
        key: k, (…, S, d_k), of the query's dtype; leading axes broadcast, heads (axis −3) may be
            fewer: Hq/Hkv query heads in a row share one.
        value: v, (…, S, d_v), of the query's dtype; leading axes and heads as the key's.
        mask: True where query t may attend to key s; broadcasts to (…, L, S).
        bias: added to the scores, of the query's dtype; broadcasts to (…, L, S); −∞ masks.
        scale: β, any finite number; 1/√d_k unless given.
        softcap: c, positive and finite: c·tanh(a_ts/c) takes the place of a_ts before the bias.
        sink: the score of one more key, without a value: a number, or a tensor of the query's dtype
            that broadcasts to the rows (…, L).

    Returns:
        y, (…, L, d_v), of the query's dtype.

    Raises:
        TypeError: a tensor of another kind or dtype, a mask that is not boolean.
        ValueError: shapes or devices that do not fit, a scale that is not finite, a softcap that is
            not positive.

    Source: derivation ZFRM, `python -m attnref show ZFRM`.

    >>> query, key = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0], [0.0, -1.0]])
    >>> expanded_attention(query, key, torch.tensor([[10.0], [30.0]]))
    tensor([[20.]])
    """
    _entry.tensors(mask, sink, query=query, key=key, value=value, bias=bias)
    shape = _shapes.attention_shape(query, key, value)
    _entry.fit(shape, mask=mask, bias=bias, sink=sink)
    beta, cap = _checks.scale(scale, query), _checks.softcap(softcap)
    *batch, L, _ = shape
    q, k, v = (_heads(query, x).double().expand(*batch, -1, -1) for x in (query, key, value))
    bias = query.new_zeros(()) if bias is None else bias
    sink = _entry.tensor_of(-torch.inf if sink is None else sink, like=query)
    may = (bias != -torch.inf).expand(shape) & (True if mask is None else mask)
    added, sinks = bias.double().expand(shape), sink.expand(shape[:-1])
    # 0, yet made of all that may ask for a gradient: an output in which no key counts has one, 0.
    nothing = sum((x.flatten()[:0].sum() for x in (q, k, v, added)), start=sink.flatten()[:0].sum())
    numbers = [nothing]
    for *b, t in product(*map(range, (*batch, L))):
        seen = may[*b, t]
        a = [_inner(q[*b, t], k_s, nothing) * beta for k_s in k[*b][seen]]
        a = [_capped(a_s, cap) + b_s for a_s, b_s in zip(a, added[*b, t][seen], strict=True)]
        numbers.extend(_one_query(a, v[*b][seen], sinks[*b, t], nothing))
    return rounded(torch.stack(numbers)[1:].reshape(*batch, L, value.shape[-1]), query.dtype)


def _heads(query: Tensor, source: Tensor) -> Tensor:
    """Query head h reads head h // (Hq/Hkv)."""
    shared = _shapes.group(query, source)
    if shared == 1:
        return source
    return source[..., [h // shared for h in range(query.shape[-3])], :, :]


def _inner(q_t: Tensor, k_s: Tensor, nothing: Tensor) -> Tensor:
    return sum((q_i * k_i for q_i, k_i in zip(q_t, k_s, strict=True)), start=nothing)


def _capped(a_s: Tensor, cap: float | None) -> Tensor:
    if cap is None:
        return a_s
    # At infinity tanh is flat, and what made the infinity takes no gradient.
    return cap * torch.tanh((a_s.detach() if a_s.isinf() else a_s) / cap)


def _one_query(a: list[Tensor], v: Tensor, sink: Tensor, nothing: Tensor) -> list[Tensor]:
    present = [(a_s, v_s) for a_s, v_s in zip(a, v, strict=True) if a_s != -torch.inf]
    in_z = [a_s for a_s, _ in present] + ([sink] if sink != -torch.inf else [])
    m = max((a_s.item() for a_s in in_z), default=0.0)
    z = sum((torch.exp(a_s - m) for a_s in in_z), start=nothing)
    y = [nothing] * v.shape[-1]
    for a_s, v_s in present:
        w = torch.exp(a_s - m) / z
        y = [y_e + w * v_se for y_e, v_se in zip(y, v_s, strict=True)]
    return [y_e if y_e.isfinite() else _if_asked(y_e) for y_e in y]


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
