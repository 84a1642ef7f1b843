"""Scaled dot-product attention in Torch, twice and more times differentiable.

For one query t and keys s = 1…S, with scale β = 1/√d_k:

    a_ts = β⟨q_t, k_s⟩,   Z_t = Σ_s exp(a_ts),   p_ts = exp(a_ts) / Z_t,   y_t = Σ_s p_ts v_s.

What is masked is absent from the results and from the gradients, NaN and inf included.
"""

import torch
from torch import Tensor

from attnref import _checks, _shapes
from attnref.torch import _entry, _guarded, _softmax
from attnref.torch._rounding import rounded


def scores(
    query: Tensor,
    key: Tensor,
    *,
    scale: float | None = None,
    softcap: float | None = None,
    bias: Tensor | None = None,
) -> Tensor:
    """Compare every query with every key.

    a_ts = β⟨q_t, k_s⟩, then c·tanh(a_ts/c) where there is a cap, then + bias_ts

    Arguments:
        query: q, (…, L, d_k), floating.
        key: k, (…, S, d_k), of the query's dtype; leading axes broadcast, and heads (axis −3) may
            be fewer: Hq/Hkv query heads in a row share one.
        scale: β, any finite number; 1/√d_k unless given.
        softcap: c, positive and finite: scores stay between −c and c.
        bias: added to the scores, of the query's dtype; broadcasts to (…, L, S). −∞ masks the key,
            whatever query and key hold.

    Returns:
        a, (…, L, S), of the query's dtype.

    Raises:
        TypeError: a tensor of another kind or dtype, or a scale or softcap that is no number.
        ValueError: shapes or devices that do not fit, a scale that is not finite, a softcap that is
            not positive.

    Source: Vaswani et al. 2017, arXiv:1706.03762, equation 1.

    >>> scores(torch.tensor([[1.0, 3.0]]), torch.tensor([[2.0, 4.0], [1.0, 0.0]]), scale=0.5)
    tensor([[7.0000, 0.5000]])
    """
    _entry.tensors(None, query=query, key=key, bias=bias)
    _entry.fit(_shapes.scores_shape(query, key), bias=bias)
    return rounded(scored(query, key, scale, softcap, bias), query.dtype)


def attention_weights(
    query: Tensor,
    key: Tensor,
    *,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    sink: Tensor | float | None = None,
) -> Tensor:
    """Return how much of each value every query takes.

    p_ts = exp(a_ts) / Z_t,   a_ts = β⟨q_t, k_s⟩ + bias_ts

    Arguments:
        query: q, (…, L, d_k), floating.
        key: k, (…, S, d_k), of the query's dtype; leading axes broadcast, heads (axis −3) may be
            fewer: Hq/Hkv query heads in a row share one.
        mask: True where query t may attend to key s; broadcasts to (…, L, S).
        bias: added to the scores, of the query's dtype; broadcasts to (…, L, S); −∞ masks.
        scale: β, any finite number; 1/√d_k unless given.
        softcap: c, positive and finite: c·tanh(a_ts/c) takes the place of a_ts before the bias.
        sink: the score of one more key, without a value: a number, or a tensor of the query's dtype
            that broadcasts to the rows (…, L).

    Returns:
        p, (…, L, S), of the query's dtype.

    Raises:
        TypeError: a tensor of another kind or dtype, a mask that is not boolean.
        ValueError: shapes or devices that do not fit, a scale that is not finite, a softcap that is
            not positive.

    Source: Vaswani et al. 2017, arXiv:1706.03762, equation 1.

    >>> query, key = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0], [0.0, -1.0]])
    >>> attention_weights(query, key)
    tensor([[0.5000, 0.5000]])
    """
    _entry.tensors(mask, sink, query=query, key=key, bias=bias)
    _entry.fit(_shapes.scores_shape(query, key), mask=mask, bias=bias, sink=sink)
    a = scored(query, key, scale, softcap, bias)
    return rounded(_softmax.weights(a, _softmax.allowed(a, mask), sink), query.dtype)


def attention(
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
    """Average the values, each by its weight.

    y_t = Σ_s p_ts v_s = (1/Z_t) Σ_s exp(a_ts) v_s,   a_ts = β⟨q_t, k_s⟩ + bias_ts

    A masked key is absent: it contributes nothing to Z, and nothing it holds, NaN included, reaches
    the output or a gradient. A row that allows nothing gives 0 and takes no gradient.

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

    Source: Vaswani et al. 2017, arXiv:1706.03762, equation 1.

    >>> query, key = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0], [0.0, -1.0]])
    >>> attention(query, key, torch.tensor([[10.0], [30.0]]))
    tensor([[20.]])
    """
    _entry.tensors(mask, sink, query=query, key=key, value=value, bias=bias)
    shape = _shapes.attention_shape(query, key, value)
    _entry.fit(shape, mask=mask, bias=bias, sink=sink)
    a = scored(query, key, scale, softcap, bias).expand(shape)
    allowed = _softmax.allowed(a, mask)
    p = _softmax.weights(a, allowed, sink)
    return rounded(averaged(p, for_each_head(query, value), allowed), query.dtype)


def scored(
    query: Tensor, key: Tensor, scale: float | None, softcap: float | None, bias: Tensor | None
) -> Tensor:
    """Return the scores in float64: scale, cap, bias. Where a bias is −∞, so is the score."""
    beta, cap = _checks.scale(scale, query), _checks.softcap(softcap)
    a = beta * _guarded.inner(query.double(), for_each_head(query, key).double())
    if cap is not None:
        a = cap * _guarded.tanh(a / cap)
    return a if bias is None else (a + bias.double()).masked_fill(bias == -torch.inf, -torch.inf)


def for_each_head(query: Tensor, source: Tensor) -> Tensor:
    """Repeat each head of a key or value for the queries that share it."""
    shared = _shapes.group(query, source)
    return source if shared == 1 else source.repeat_interleave(shared, dim=-3)


def averaged(weights: Tensor, value: Tensor, allowed: Tensor) -> Tensor:
    """Return Σ_s p_ts v_s in float64; an empty row gives 0.

    It is selected once more: whatever gradient arrives there, NaN included, goes no further.
    """
    y = _guarded.total(weights, value.double(), allowed)
    return y.masked_fill(_softmax.empty(allowed), 0.0)
