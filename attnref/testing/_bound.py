"""How far the output of a right implementation may be from the true one."""

import numpy as np

from attnref import _checks, _entry, _shapes
from attnref._attention import for_heads_of, scores, weighted_sum
from attnref._entry import wide
from attnref._softmax import decided, softmax
from attnref._typing import Floats, Mask, Sink

# Of each dtype: u, half the gap above 1, and what may be lost to underflow. Hardware may flush what
# is below the smallest normal number to 0, but not in float16, which has few numbers above it.
_UNITS = {"float16": 2**-11, "bfloat16": 2**-8, "float32": 2**-24, "float64": 2**-53}
_UNDERFLOW = {"float16": 2**-24, "bfloat16": 2**-126, "float32": 2**-126, "float64": 2**-1022}


@decided
def error_bound(
    query: Floats,
    key: Floats,
    value: Floats,
    *,
    mask: Mask | None = None,
    bias: Floats | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    sink: Sink | None = None,
    working: str | None = None,
    result: str | None = None,
) -> Floats:
    """Return how far each output of a right implementation may be from the true one.

    B_te = u { Σ_s p_ts ε_ts |v_se − y_te| + (2S + 3) Σ_s p_ts |v_se| }

    ε_ts = (d_k + 3) |β| Σ_i |q_ti| |k_si| + (m_t − a_ts) + 4, to which a cap adds
    9 |c tanh(x/c)| + |x| / cosh²(x/c), and a bias |a_ts|. A sink counts as a key of value 0. This
    is to first order in u, the unit roundoff of the work; what underflows and the last rounding to
    the dtype of the result come on top.

    Arguments:
        query: q, (…, L, d_k), floating.
        key: k, (…, S, d_k), of the query's dtype.
        value: v, (…, S, d_v), of the query's dtype.
        mask: as in `attention`, and so are the next four.
        bias: b, added to the scores.
        scale: β; 1/√d_k unless given.
        softcap: c, the cap of the scores.
        sink: the score of one more key that has no value.
        working: the dtype in which the implementation multiplies and adds, by name, bfloat16 among
            them; unless given, that of the query, and float32 for float16.
        result: the dtype to which it rounds at last; unless given, that of the query.

    Returns:
        B, (…, L, d_v), float64: NaN where the true output is not finite.

    Raises:
        TypeError: an array, a mask or a number of another kind or dtype.
        ValueError: shapes that do not fit, a number outside its range, or an unknown dtype.

    Source: to first order, from the standard model of rounding, fl(x ∘ y) = (x ∘ y)(1 + δ) with
    |δ| ≤ u: Higham 2002, Accuracy and Stability of Numerical Algorithms, section 2.2.

    >>> query, key, value = np.ones((1, 1)), np.zeros((2, 1)), np.array([[1.0], [3.0]])
    >>> float(error_bound(query, key, value)[0, 0]) * 2**53  # (4 + 4)/2 + (2·2 + 3)·2
    18.0
    """
    _entry.arrays(query=query, key=key, value=value, bias=bias, sink=sink)
    shape = _shapes.attention_shape(query, key, value)
    _entry.options_fit(shape, mask=mask, bias=bias, sink=sink)
    own = _checks.dtype_name(query)
    half = "float32" if own == "float16" else own
    work = _named("working", half if working is None else working)
    last = _named("result", own if result is None else result)
    a, errors = _scores_and_errors(query, key, scale, softcap, bias)
    a = np.broadcast_to(a if mask is None else np.where(mask, a, -np.inf), shape)
    v = for_heads_of(query, value)
    if sink is not None:
        a, errors, v = _append_sink(a, np.broadcast_to(errors, shape), v, wide(sink))
    y, units = _output_and_units(a, errors, v)
    bound = _UNITS[work] * units + _lost(a != -np.inf, v, _UNDERFLOW[work])
    return np.where(np.isfinite(y), bound + _rounding(abs(y) + bound, work, last), np.nan)


def _scores_and_errors(
    query: Floats, key: Floats, scale: float | None, softcap: float | None, bias: Floats | None
) -> tuple[Floats, Floats]:
    """Return the scores, and their errors in units of u."""
    q, k = wide(query), wide(key)
    x = a = scores(q, k, scale=scale)
    depth, beta = q.shape[-1], abs(_checks.scale(scale, query))
    errors = (depth + 3) * scores(abs(q), abs(k), scale=beta)
    if softcap is not None:
        a = scores(q, k, scale=scale, softcap=softcap)
        slope = np.where(np.isinf(x), 0, errors + abs(x) / np.cosh(x / softcap) ** 2)
        errors = slope + 9 * abs(a)
    if bias is not None:
        a = np.where(wide(bias) == -np.inf, -np.inf, a + wide(bias))
        errors = errors + abs(a)
    return a, errors


def _append_sink(
    a: Floats, errors: Floats, value: Floats, sink: Floats
) -> tuple[Floats, Floats, Floats]:
    """Take a sink for what it is, one more key, of an exact score and of value 0."""
    last = np.broadcast_to(sink, a.shape[:-1])[..., np.newaxis]
    nothing = np.zeros((*value.shape[:-2], 1, value.shape[-1]))
    pairs = (a, last), (errors, np.zeros(last.shape))
    longer, exact = (np.concatenate(pair, axis=-1) for pair in pairs)
    return longer, exact, np.concatenate([value, nothing], axis=-2)


def _output_and_units(a: Floats, errors: Floats, value: Floats) -> tuple[Floats, Floats]:
    """Return y and B/u, of scores in which −∞ is a masked key."""
    here = a != -np.inf
    p = softmax(a)
    y, magnitude = (weighted_sum(p, v, here) for v in (value, abs(value)))
    m = np.max(a, axis=-1, keepdims=True, where=here, initial=-np.inf)
    shares = np.where(here & (p > 0), p * (errors + (m - a) + 4), 0)
    return y, (2 * a.shape[-1] + 3) * magnitude + _spread(shares, value, y, here)


def _lost(here: Mask, value: Floats, least: float) -> Floats:
    """Return what may be lost to underflow: the least number times each value that is allowed."""
    size = np.where(np.isfinite(value), abs(value), 0)
    lost: Floats = here.astype(np.float64) @ (least * size) + least * here.shape[-1]
    return lost


def _spread(shares: Floats, value: Floats, y: Floats, here: Mask) -> Floats:
    """Return Σ_s p_s ε_s |v_se − y_te|, a column e at a time: (L, S, d_v) numbers are too many."""
    spread = np.zeros_like(y)
    for e in range(y.shape[-1]):
        away = abs(value[..., np.newaxis, :, e] - y[..., e, np.newaxis])
        spread[..., e] = np.where(here, shares * away, 0).sum(axis=-1)
    return spread


def _rounding(size: Floats, work: str, last: str) -> Floats:
    """Return what the last rounding adds, where the result is coarser than the work."""
    relative = _UNITS[last] * size if _UNITS[last] > _UNITS[work] else np.zeros_like(size)
    return relative + (_UNDERFLOW[last] if _UNDERFLOW[last] > _UNDERFLOW[work] else 0)


def _named(name: str, dtype: str) -> str:
    if not isinstance(dtype, str):
        raise TypeError(f"{name} must be the name of a dtype, not {type(dtype).__name__}")
    if dtype not in _UNITS:
        raise ValueError(f"{name} must be one of {_checks.FLOATS}, not {dtype!r}")
    return dtype
