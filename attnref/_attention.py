"""The hall: the definition of scaled dot-product attention, in the order of its formula.

For one query t and keys s = 1…S, with scale β = 1/√d_k:

    a_ts = β⟨q_t, k_s⟩,   Z_t = Σ_s exp(a_ts),   p_ts = exp(a_ts) / Z_t,   y_t = Σ_s p_ts v_s.

Scores come before softmax, weights after. Inside, everything is float64 and is rounded once, to the
dtype of the query.
"""

import numpy as np

from attnref import _checks, _entry
from attnref._typing import Floats, Mask

# NumPy need not warn of what is not finite: each case is decided here, and shows in the result.
_decided = np.errstate(all="ignore")


@_decided
def scores(query: Floats, key: Floats, *, scale: float | None = None) -> Floats:
    """Compare every query with every key.

    a_ts = β⟨q_t, k_s⟩

    Arguments:
        query: q, (…, L, d_k), floating.
        key: k, (…, S, d_k), of the query's dtype; leading axes broadcast.
        scale: β, any finite number; 1/√d_k unless given.

    Returns:
        a, (…, L, S), of the query's dtype.

    Raises:
        TypeError: an array of another kind or dtype, or a scale that is no number.
        ValueError: shapes that do not fit, or a scale that is not finite.

    Source: Vaswani et al. 2017, arXiv:1706.03762, equation 1.

    >>> scores(np.array([[1.0, 3.0]]), np.array([[2.0, 4.0], [1.0, 0.0]]), scale=0.5)
    array([[7. , 0.5]])
    """
    _entry.arrays(query=query, key=key)
    _checks.scores_shape(query, key)
    beta = _checks.scale(scale, query)
    return (beta * (_wide(query) @ _wide(key).mT)).astype(query.dtype)


@_decided
def softmax(scores: Floats, *, mask: Mask | None = None) -> Floats:
    """Turn scores into weights, along the last axis.

    p_ts = exp(a_ts) / Z_t over the allowed keys; 0 elsewhere, and 0 in a row that allows nothing.

    Arguments:
        scores: a, (…, S), floating; a score of −∞ counts as masked.
        mask: True where query t may attend to key s; broadcasts to the scores.

    Returns:
        p, the shape and dtype of the scores; each row sums to 1, or to 0 where it allows nothing.

    Raises:
        TypeError: scores that are not floating, or a mask that is not boolean.
        ValueError: a mask that does not broadcast to the scores.

    Source: derivation ZFRM, `python -m attnref show ZFRM`.

    >>> softmax(np.array([0.0, np.log(3.0), 9.0]), mask=np.array([True, True, False])).round(4)
    array([0.25, 0.75, 0.  ])
    """
    _entry.rows(scores, mask)
    allowed = _allowed(scores, mask)
    _, exponentials, z = _exponentials(scores, allowed)
    weights = np.divide(exponentials, z, out=np.zeros_like(exponentials), where=allowed)
    return weights.astype(scores.dtype)


@_decided
def log_partition(scores: Floats, *, mask: Mask | None = None) -> Floats:
    """Return the logarithm of the normaliser of each row.

    log Z_t = log Σ_s exp(a_ts) over the allowed keys; −∞ where a row allows nothing.

    Arguments:
        scores: a, (…, S), floating; a score of −∞ counts as masked.
        mask: True where query t may attend to key s; broadcasts to the scores.

    Returns:
        log Z, (…), natural logarithm, of the scores' dtype.

    Raises:
        TypeError: scores that are not floating, or a mask that is not boolean.
        ValueError: a mask that does not broadcast to the scores.

    Source: derivation ZFRM, `python -m attnref show ZFRM`.

    >>> float(np.exp(log_partition(np.log([2.0, 3.0, 5.0]))).round(12))
    10.0
    """
    _entry.rows(scores, mask)
    m, _, z = _exponentials(scores, _allowed(scores, mask))
    return (m + np.log(z))[..., 0].astype(scores.dtype)


@_decided
def attention_weights(
    query: Floats, key: Floats, *, mask: Mask | None = None, scale: float | None = None
) -> Floats:
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
        TypeError: an array, a mask or a scale of another kind or dtype.
        ValueError: shapes that do not fit, or a scale that is not finite.

    Source: Vaswani et al. 2017, arXiv:1706.03762, equation 1.

    >>> query, key = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0], [0.0, -1.0]])
    >>> attention_weights(query, key)
    array([[0.5, 0.5]])
    """
    _entry.arrays(query=query, key=key)
    _entry.mask_fits(mask, _checks.scores_shape(query, key))
    return softmax(scores(_wide(query), _wide(key), scale=scale), mask=mask).astype(query.dtype)


@_decided
def attention(
    query: Floats,
    key: Floats,
    value: Floats,
    *,
    mask: Mask | None = None,
    scale: float | None = None,
) -> Floats:
    """Average the values, each by its weight.

    y_t = Σ_s p_ts v_s = (1/Z_t) Σ_s exp(a_ts) v_s,   a_ts = β⟨q_t, k_s⟩

    A masked key is absent: it contributes nothing to Z, and nothing it holds, NaN included, reaches
    the output. A row that allows nothing gives 0.

    Arguments:
        query: q, (…, L, d_k), floating.
        key: k, (…, S, d_k), of the query's dtype; leading axes broadcast.
        value: v, (…, S, d_v), of the query's dtype.
        mask: True where query t may attend to key s; broadcasts to (…, L, S).
        scale: β, any finite number; 1/√d_k unless given.

    Returns:
        y, (…, L, d_v), of the query's dtype.

    Raises:
        TypeError: an array, a mask or a scale of another kind or dtype.
        ValueError: shapes that do not fit, or a scale that is not finite.

    Source: Vaswani et al. 2017, arXiv:1706.03762, equation 1.

    >>> query, key = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0], [0.0, -1.0]])
    >>> attention(query, key, np.array([[10.0], [30.0]]))
    array([[20.]])
    """
    _entry.arrays(query=query, key=key, value=value)
    shape = _checks.attention_shape(query, key, value)
    _entry.mask_fits(mask, shape)
    a = np.broadcast_to(scores(_wide(query), _wide(key), scale=scale), shape)
    weights = softmax(a, mask=mask)
    return _weighted_sum(weights, _wide(value), _allowed(a, mask)).astype(query.dtype)


def _wide(array: Floats) -> Floats:
    return np.asarray(array, dtype=np.float64)


def _allowed(scores: Floats, mask: Mask | None) -> Mask:
    """Say which keys take part: a score of −∞ is a key that is masked."""
    present: Mask = np.asarray(scores) != -np.inf
    return present if mask is None else present & np.asarray(mask)


def _exponentials(scores: Floats, allowed: Mask) -> tuple[Floats, Floats, Floats]:
    """Return m, exp(a − m) and Z = Σ exp(a − m), each row with its own reference exponent m.

    Any finite m gives the same weights; the largest allowed score keeps exp from overflowing.
    Emptiness is asked of what is allowed, never of the maximum, which a NaN would decide wrongly.
    """
    a = _wide(scores)
    largest = np.max(a, axis=-1, keepdims=True, where=allowed, initial=-np.inf)
    m = np.where(allowed.any(axis=-1, keepdims=True), largest, 0)
    exponentials = np.exp(np.where(allowed, a - m, -np.inf))
    return m, exponentials, exponentials.sum(axis=-1, keepdims=True)


def _weighted_sum(weights: Floats, value: Floats, allowed: Mask) -> Floats:
    """Add up p_ts v_s, what is not finite only where allowed: 0·NaN would let a masked key in."""
    finite = np.isfinite(value)
    output = weights @ np.where(finite, value, 0)
    wild = np.where(finite, 0, value)
    for s in np.flatnonzero(~finite.all(axis=(*range(value.ndim - 2), -1))):
        output += np.where(allowed[..., [s]], weights[..., [s]] * wild[..., [s], :], 0)
    return output
