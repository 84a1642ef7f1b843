"""Attention as one writes it out by hand: one query, one key at a time. The slow witness.

Nothing here is shared with the hall but the rules of entry, so that the two can check each other.
"""

import math

import numpy as np

from attnref import _checks, _entry
from attnref._typing import Floats, Mask


def expanded_attention(
    query: Floats,
    key: Floats,
    value: Floats,
    *,
    mask: Mask | None = None,
    scale: float | None = None,
) -> Floats:
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
        TypeError: an array, a mask or a scale of another kind or dtype.
        ValueError: shapes that do not fit, or a scale that is not finite.

    Source: derivation ZFRM, `python -m attnref show ZFRM`.

    >>> query, key = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0], [0.0, -1.0]])
    >>> expanded_attention(query, key, np.array([[10.0], [30.0]]))
    array([[20.]])
    """
    _entry.arrays(query=query, key=key, value=value)
    shape = _checks.attention_shape(query, key, value)
    _entry.mask_fits(mask, shape)
    beta = _checks.scale(scale, query)
    *batch, L, S = shape
    query, key, value = (np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (query, key, value))
    mask = np.broadcast_to(np.True_ if mask is None else mask, (*batch, L, S))
    output = np.empty((*batch, L, value.shape[-1]), query.dtype)
    for *b, t in np.ndindex(*batch, L):
        allowed = mask[*b, t]
        output[*b, t] = _one_query(query[*b, t], key[*b][allowed], value[*b][allowed], beta)
    return output


def _one_query(query: Floats, key: Floats, value: Floats, beta: float) -> list[float]:
    a = [beta * _inner(query, k_s) for k_s in key]
    present = [(a_s, v_s.tolist()) for a_s, v_s in zip(a, value, strict=True) if a_s != -math.inf]
    m = max((a_s for a_s, _ in present), default=0.0)
    z = sum(math.exp(a_s - m) for a_s, _ in present)
    output = [0.0] * value.shape[-1]
    for a_s, v_s in present:
        for e, v_se in enumerate(v_s):
            output[e] += math.exp(a_s - m) / z * v_se
    return output


def _inner(q_t: Floats, k_s: Floats) -> float:
    return sum((q * k for q, k in zip(q_t.tolist(), k_s.tolist(), strict=True)), start=0.0)
