"""Attention as one writes it out by hand: one query, one key at a time. The slow witness.

Nothing here is shared with the hall but the rules of entry, so that the two can check each other.
"""

import math

import numpy as np

from attnref import _checks, _entry, _shapes
from attnref._typing import Floats, Mask, Sink


def expanded_attention(
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
    """Average the values with plain loops, the normaliser Z_t of each query in sight.

    y_t = Σ_s (1/Z_t) exp(⟨q_t, k_s⟩/√d_k) v_s,   Z_t = Σ_s exp(⟨q_t, k_s⟩/√d_k)

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

    Source: derivation ZFRM, `python -m attnref show ZFRM`.

    >>> query, key = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0], [0.0, -1.0]])
    >>> expanded_attention(query, key, np.array([[10.0], [30.0]]))
    array([[20.]])
    """
    _entry.arrays(query=query, key=key, value=value, bias=bias, sink=sink)
    shape = _shapes.attention_shape(query, key, value)
    _entry.options_fit(shape, mask=mask, bias=bias, sink=sink)
    beta, cap = _checks.scale(scale, query), _checks.softcap(softcap)
    *batch, L, _ = shape
    q, k, v = (_heads(x, batch) for x in (query, key, value))
    may = np.broadcast_to(True if mask is None else mask, shape)
    b = np.broadcast_to(0.0 if bias is None else bias, shape)
    last = np.broadcast_to(_entry.wide(-math.inf if sink is None else sink), shape[:-1])
    output = np.empty((*batch, L, value.shape[-1]), query.dtype)
    for *i, t in np.ndindex(*batch, L):
        here = may[*i, t] & (b[*i, t] != -math.inf)
        scored = zip(k[*i][here], b[*i, t][here].tolist(), strict=True)
        a = [_capped(beta * _inner(q[*i, t], k_s), cap) + b_s for k_s, b_s in scored]
        output[*i, t] = _average(a, v[*i][here], float(last[*i, t]))
    return output


def _heads(array: Floats, batch: list[int]) -> Floats:
    """Repeat an array for the whole batch: head h of H reads head h // (H / H_own) of its own."""
    own = array.shape[-3] if array.ndim > 2 else 1
    if own > 1:
        array = array[..., [h * own // batch[-1] for h in range(batch[-1])], :, :]
    return np.broadcast_to(array, (*batch, *array.shape[-2:]))


def _average(a: list[float], value: Floats, last: float) -> list[float]:
    present = [(a_s, v_s.tolist()) for a_s, v_s in zip(a, value, strict=True) if a_s != -math.inf]
    m = max([a_s for a_s, _ in present] + ([last] if last != -math.inf else []), default=0.0)
    z = sum(math.exp(a_s - m) for a_s, _ in present) + math.exp(last - m)
    output = [0.0] * value.shape[-1]
    for a_s, v_s in present:
        for e, v_se in enumerate(v_s):
            output[e] += math.exp(a_s - m) / z * v_se
    return output


def _capped(a: float, cap: float | None) -> float:
    return a if cap is None else cap * math.tanh(a / cap)


def _inner(q_t: Floats, k_s: Floats) -> float:
    return sum((q * k for q, k in zip(q_t.tolist(), k_s.tolist(), strict=True)), start=0.0)
