"""Scaled dot-product attention in Torch, twice and more times differentiable.

For one query t and keys s = 1…S, with scale β = 1/√d_k:

    a_ts = β⟨q_t, k_s⟩,   Z_t = Σ_s exp(a_ts),   p_ts = exp(a_ts) / Z_t,   y_t = Σ_s p_ts v_s.

What is masked is absent from the results and from the gradients, NaN and inf included.
"""

import torch
from torch import Tensor

from attnref import _checks
from attnref.torch import _entry, _guarded
from attnref.torch._rounding import rounded


def scores(query: Tensor, key: Tensor, *, scale: float | None = None) -> Tensor:
    """Compare every query with every key.

    a_ts = β⟨q_t, k_s⟩

    Arguments:
        query: q, (…, L, d_k), floating.
        key: k, (…, S, d_k), of the query's dtype; leading axes broadcast.
        scale: β, any finite number; 1/√d_k unless given.

    Returns:
        a, (…, L, S), of the query's dtype.

    Raises:
        TypeError: a tensor of another kind or dtype, or a scale that is no number.
        ValueError: shapes or devices that do not fit, or a scale that is not finite.

    Source: Vaswani et al. 2017, arXiv:1706.03762, equation 1.

    >>> scores(torch.tensor([[1.0, 3.0]]), torch.tensor([[2.0, 4.0], [1.0, 0.0]]), scale=0.5)
    tensor([[7.0000, 0.5000]])
    """
    _entry.tensors(None, query=query, key=key)
    _checks.scores_shape(query, key)
    return rounded(_scores(query, key, scale), query.dtype)


def softmax(scores: Tensor, *, mask: Tensor | None = None) -> Tensor:
    """Turn scores into weights, along the last axis.

    p_ts = exp(a_ts) / Z_t over the allowed keys; 0 elsewhere, and 0 in a row that allows nothing.

    Arguments:
        scores: a, (…, S), floating; a score of −∞ counts as masked.
        mask: True where query t may attend to key s; broadcasts to the scores.

    Returns:
        p, the shape and dtype of the scores; each row sums to 1, or to 0 where it allows nothing.

    Raises:
        TypeError: scores that are not floating, or a mask that is not boolean.
        ValueError: a mask that does not broadcast to the scores, or is on another device.

    Source: derivation ZFRM, `python -m attnref show ZFRM`.

    >>> softmax(torch.tensor([0.0, 0.0, 9.0]), mask=torch.tensor([True, True, False]))
    tensor([0.5000, 0.5000, 0.0000])
    """
    _entry.rows(scores, mask)
    return rounded(_weights(scores, _allowed(scores, mask)), scores.dtype)


def log_partition(scores: Tensor, *, mask: Tensor | None = None) -> Tensor:
    """Return the logarithm of the normaliser of each row.

    log Z_t = log Σ_s exp(a_ts) over the allowed keys; −∞ where a row allows nothing. Its gradient
    flows: ∂ log Z_t / ∂a_ts = p_ts, and 0 where a row allows nothing.

    Arguments:
        scores: a, (…, S), floating; a score of −∞ counts as masked.
        mask: True where query t may attend to key s; broadcasts to the scores.

    Returns:
        log Z, (…), natural logarithm, of the scores' dtype.

    Raises:
        TypeError: scores that are not floating, or a mask that is not boolean.
        ValueError: a mask that does not broadcast to the scores, or is on another device.

    Source: derivation ZFRM, `python -m attnref show ZFRM`.

    >>> log_partition(torch.tensor([2.0, 3.0, 5.0]).log()).exp()
    tensor(10.)
    """
    _entry.rows(scores, mask)
    allowed = _allowed(scores, mask)
    log_z = _guarded.logsumexp(_present(scores, allowed))
    return rounded(log_z.masked_fill(_empty(allowed).squeeze(-1), -torch.inf), scores.dtype)


def attention_weights(
    query: Tensor, key: Tensor, *, mask: Tensor | None = None, scale: float | None = None
) -> Tensor:
    """Return how much of each value every query takes.

    p_ts = exp(a_ts) / Z_t,   a_ts = β⟨q_t, k_s⟩

    Arguments:
        query: q, (…, L, d_k), floating.
        key: k, (…, S, d_k), of the query's dtype; leading axes broadcast.
        mask: True where query t may attend to key s; broadcasts to (…, L, S).
        scale: β, any finite number; 1/√d_k unless given.

    Returns:
        p, (…, L, S), of the query's dtype.

    Raises:
        TypeError: a tensor of another kind or dtype, a mask that is not boolean.
        ValueError: shapes or devices that do not fit, or a scale that is not finite.

    Source: Vaswani et al. 2017, arXiv:1706.03762, equation 1.

    >>> query, key = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0], [0.0, -1.0]])
    >>> attention_weights(query, key)
    tensor([[0.5000, 0.5000]])
    """
    _entry.tensors(mask, query=query, key=key)
    _entry.mask_fits(mask, _checks.scores_shape(query, key))
    a = _scores(query, key, scale)
    return rounded(_weights(a, _allowed(a, mask)), query.dtype)


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    mask: Tensor | None = None,
    scale: float | None = None,
) -> Tensor:
    """Average the values, each by its weight.

    y_t = Σ_s p_ts v_s = (1/Z_t) Σ_s exp(a_ts) v_s,   a_ts = β⟨q_t, k_s⟩

    A masked key is absent: it contributes nothing to Z, and nothing it holds, NaN included, reaches
    the output or a gradient. A row that allows nothing gives 0 and takes no gradient.

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

    Source: Vaswani et al. 2017, arXiv:1706.03762, equation 1.

    >>> query, key = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0], [0.0, -1.0]])
    >>> attention(query, key, torch.tensor([[10.0], [30.0]]))
    tensor([[20.]])
    """
    _entry.tensors(mask, query=query, key=key, value=value)
    shape = _checks.attention_shape(query, key, value)
    _entry.mask_fits(mask, shape)
    a = _scores(query, key, scale).expand(shape)
    allowed = _allowed(a, mask)
    y = _guarded.total(_weights(a, allowed), value.double(), allowed)
    # Selected once more: whatever gradient arrives at an empty row, NaN included, goes no further.
    return rounded(y.masked_fill(_empty(allowed), 0.0), query.dtype)


def _scores(query: Tensor, key: Tensor, scale: float | None) -> Tensor:
    return _checks.scale(scale, query) * _guarded.inner(query.double(), key.double())


def _allowed(scores: Tensor, mask: Tensor | None) -> Tensor:
    present = scores != -torch.inf
    return present if mask is None else present & mask


def _empty(allowed: Tensor) -> Tensor:
    """Say which rows allow nothing: asked of what is allowed and of no maximum, which NaN eats."""
    return ~allowed.any(dim=-1, keepdim=True)


def _present(scores: Tensor, allowed: Tensor) -> Tensor:
    """Take masked scores out before exp; an empty row gets some that do no harm and aren't used."""
    return scores.double().masked_fill(~allowed, -torch.inf).masked_fill(_empty(allowed), 0.0)


def _weights(scores: Tensor, allowed: Tensor) -> Tensor:
    return _guarded.softmax(_present(scores, allowed)).masked_fill(~allowed, 0.0)
