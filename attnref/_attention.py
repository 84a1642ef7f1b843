"""The hall: the definition of scaled dot-product attention, in the order of its formula.

For one query t and keys s = 1…S, with scale β = 1/√d_k:

    a_ts = β⟨q_t, k_s⟩,   Z_t = Σ_s exp(a_ts),   p_ts = exp(a_ts) / Z_t,   y_t = Σ_s p_ts v_s.

Scores come before softmax, weights after. Inside, everything is float64 and is rounded once, to the
dtype of the query. The options come in one order: scale, softcap, bias, mask, sink.
"""

import numpy as np

from attnref import _checks, _entry, _shapes
from attnref._entry import wide
from attnref._softmax import allowed, decided, softmax
from attnref._typing import Floats, Mask, Sink


@decided
def scores(
    query: Floats,
    key: Floats,
    *,
    scale: float | None = None,
    softcap: float | None = None,
    bias: Floats | None = None,
) -> Floats:
    """Compare every query with every key.

    a_ts = β⟨q_t, k_s⟩, then c·tanh(a_ts / c) under a cap c, then + b_ts

    Arguments:
        query: q, (…, L, d_k), floating.
        key: k, (…, S, d_k), of the query's dtype; leading axes broadcast, and heads (axis −3) may
            be fewer: query head h reads key head h // (Hq/Hkv).
        scale: β, any finite number; 1/√d_k unless given.
        softcap: c, positive and finite: scores stay within ±c; None for no cap.
        bias: b, of the query's dtype, broadcasts to (…, L, S); −∞ makes the score −∞, which masks
            the key whatever it holds.

    Returns:
        a, (…, L, S), of the query's dtype.

    Raises:
        TypeError: an array of another kind or dtype, or a scale or cap that is no number.
        ValueError: shapes that do not fit, a scale that is not finite, a cap that is not positive.

    Source: Vaswani et al. 2017, arXiv:1706.03762, equation 1.

    >>> scores(np.array([[1.0, 3.0]]), np.array([[2.0, 4.0], [1.0, 0.0]]), scale=0.5)
    array([[7. , 0.5]])
    """
    _entry.arrays(query=query, key=key, bias=bias)
    _entry.options_fit(_shapes.scores_shape(query, key), bias=bias)
    return _scores(query, key, scale, softcap, bias).astype(query.dtype)


@decided
def attention_weights(
    query: Floats,
    key: Floats,
    *,
    mask: Mask | None = None,
    bias: Floats | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    sink: Sink | None = None,
) -> Floats:
    """Return how much of each value every query takes.

    p_ts = exp(a_ts) / Z_t,   a_ts = β⟨q_t, k_s⟩

    Arguments:
        query: q, (…, L, d_k), floating.
        key: k, (…, S, d_k), of the query's dtype; leading axes broadcast, and heads (axis −3) may
            be fewer: query head h reads key head h // (Hq/Hkv).
        mask: True where query t may attend to key s; broadcasts to (…, L, S).
        bias: b, of the query's dtype, added to the scores; broadcasts to (…, L, S); −∞ masks.
        scale: β, any finite number; 1/√d_k unless given.
        softcap: c, positive and finite: c·tanh(a_ts / c) before the bias; None for no cap.
        sink: the score of one more key that has no value, a number or (…, L).

    Returns:
        p, (…, L, S), of the query's dtype.

    Raises:
        TypeError: an array, a mask or a number of another kind or dtype.
        ValueError: shapes that do not fit, or a number outside its range.

    Source: Vaswani et al. 2017, arXiv:1706.03762, equation 1.

    >>> query, key = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0], [0.0, -1.0]])
    >>> attention_weights(query, key)
    array([[0.5, 0.5]])
    """
    _entry.arrays(query=query, key=key, bias=bias, sink=sink)
    shape = _shapes.scores_shape(query, key)
    _entry.options_fit(shape, mask=mask, bias=bias, sink=sink)
    weights, _ = weigh(query, key, shape, mask, bias, scale, softcap, sink)
    return weights.astype(query.dtype)


@decided
def attention(
    query: Floats,
    key: Floats,
    value: Floats,
    *,
    mask: Mask | None = None,
    bias: Floats | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    sink: Sink | None = None,
) -> Floats:
    """Average the values, each by its weight.

    y_t = Σ_s p_ts v_s = (1/Z_t) Σ_s exp(a_ts) v_s,   a_ts = β⟨q_t, k_s⟩

    A masked key is absent: it contributes nothing to Z, and nothing it holds, NaN included, reaches
    the output. A row that allows nothing gives 0.

    Arguments:
        query: q, (…, L, d_k), floating.
        key: k, (…, S, d_k), of the query's dtype; leading axes broadcast, and heads (axis −3) may
            be fewer: query head h reads key head h // (Hq/Hkv), and so for the value.
        value: v, (…, S, d_v), of the query's dtype.
        mask: True where query t may attend to key s; broadcasts to (…, L, S).
        bias: b, of the query's dtype, added to the scores; broadcasts to (…, L, S); −∞ masks.
        scale: β, any finite number; 1/√d_k unless given.
        softcap: c, positive and finite: c·tanh(a_ts / c) before the bias; None for no cap.
        sink: the score of one more key that has no value, a number or (…, L).

    Returns:
        y, (…, L, d_v), of the query's dtype.

    Raises:
        TypeError: an array, a mask or a number of another kind or dtype.
        ValueError: shapes that do not fit, or a number outside its range.

    Source: Vaswani et al. 2017, arXiv:1706.03762, equation 1.

    >>> query, key = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0], [0.0, -1.0]])
    >>> attention(query, key, np.array([[10.0], [30.0]]))
    array([[20.]])
    """
    _entry.arrays(query=query, key=key, value=value, bias=bias, sink=sink)
    shape = _shapes.attention_shape(query, key, value)
    _entry.options_fit(shape, mask=mask, bias=bias, sink=sink)
    weights, here = weigh(query, key, shape, mask, bias, scale, softcap, sink)
    return weighted_sum(weights, for_heads_of(query, value), here).astype(query.dtype)


def weigh(
    query: Floats,
    key: Floats,
    shape: tuple[int, ...],
    mask: Mask | None,
    bias: Floats | None,
    scale: float | None,
    softcap: float | None = None,
    sink: Sink | None = None,
) -> tuple[Floats, Mask]:
    """Return the weights (…, L, S) before they are rounded, and which keys are allowed."""
    a, here = scored(query, key, shape, mask, bias, scale, softcap)
    return softmax(a, mask=mask, sink=None if sink is None else wide(sink)), here


def scored(
    query: Floats,
    key: Floats,
    shape: tuple[int, ...],
    mask: Mask | None,
    bias: Floats | None,
    scale: float | None,
    softcap: float | None,
) -> tuple[Floats, Mask]:
    """Return the scores (…, L, S) before they are rounded, and which keys are allowed."""
    a = np.broadcast_to(_scores(query, key, scale, softcap, bias), shape)
    return a, allowed(a, mask)


def for_heads_of(query: Floats, array: Floats) -> Floats:
    """Return a key or value in float64, each head once for every query head that reads it."""
    group = _shapes.group(query, array)
    return wide(array) if group == 1 else np.repeat(wide(array), group, axis=-3)


def weighted_sum(weights: Floats, value: Floats, allowed: Mask) -> Floats:
    """Add up p_ts v_s, what is not finite only where allowed: 0·NaN would let a masked key in."""
    finite = np.isfinite(value)
    output = weights @ np.where(finite, value, 0)
    wild = np.where(finite, 0, value)
    for s in np.flatnonzero(~finite.all(axis=(*range(value.ndim - 2), -1))):
        output += np.where(allowed[..., [s]], weights[..., [s]] * wild[..., [s], :], 0)
    return output


def _scores(
    query: Floats, key: Floats, scale: float | None, softcap: float | None, bias: Floats | None
) -> Floats:
    beta, cap = _checks.scale(scale, query), _checks.softcap(softcap)
    a = beta * (wide(query) @ for_heads_of(query, key).mT)
    if cap is not None:
        a = cap * np.tanh(a / cap)
    if bias is None:
        return a
    b = wide(bias)
    return np.where(b == -np.inf, -np.inf, a + b)
