"""From a row of scores to its weights, with the normaliser in sight.

    Z_t = exp(sink_t) + Σ_s exp(a_ts),   p_ts = exp(a_ts) / Z_t

over the keys that are allowed; without a sink Z_t is the sum alone.
"""

import numpy as np

from attnref import _entry
from attnref._typing import Floats, Mask, Sink

# NumPy need not warn of what is not finite: each case is decided here, and shows in the result.
decided = np.errstate(all="ignore")


@decided
def softmax(scores: Floats, *, mask: Mask | None = None, sink: Sink | None = None) -> Floats:
    """Turn scores into weights, along the last axis.

    p_ts = exp(a_ts) / Z_t over the allowed keys; 0 elsewhere, and 0 in a row that allows nothing.

    Arguments:
        scores: a, (…, S), floating; a score of −∞ counts as masked.
        mask: True where query t may attend to key s; broadcasts to the scores.
        sink: the score of one more key that has no value, a number or (…); it takes its part of
            Z_t = exp(sink_t) + Σ_s exp(a_ts) and gets no weight here.

    Returns:
        p, the shape and dtype of the scores; each row sums to 1, or to 1 − exp(sink_t)/Z_t with a
        sink, or to 0 where it allows nothing.

    Raises:
        TypeError: scores or a sink of another kind or dtype, or a mask that is not boolean.
        ValueError: a mask or a sink that does not broadcast to the scores or their rows.

    Source: derivation ZFRM, `python -m attnref show ZFRM`.

    >>> softmax(np.array([0.0, np.log(3.0), 9.0]), mask=np.array([True, True, False])).round(4)
    array([0.25, 0.75, 0.  ])
    >>> softmax(np.zeros(3), sink=0.0)
    array([0.25, 0.25, 0.25])
    """
    _entry.rows(scores, mask, sink)
    here = allowed(scores, mask)
    _, e, z = exponentials(scores, here, sink)
    weights = np.divide(e, z, out=np.zeros_like(e), where=here)
    return weights.astype(scores.dtype)


@decided
def log_partition(scores: Floats, *, mask: Mask | None = None, sink: Sink | None = None) -> Floats:
    """Return the logarithm of the normaliser of each row.

    log Z_t = log(exp(sink_t) + Σ_s exp(a_ts)) over the allowed keys; −∞ where a row has none, and
    no sink.

    Arguments:
        scores: a, (…, S), floating; a score of −∞ counts as masked.
        mask: True where query t may attend to key s; broadcasts to the scores.
        sink: the score of one more key that has no value, a number or (…).

    Returns:
        log Z, (…), natural logarithm, of the scores' dtype.

    Raises:
        TypeError: scores or a sink of another kind or dtype, or a mask that is not boolean.
        ValueError: a mask or a sink that does not broadcast to the scores or their rows.

    Source: derivation ZFRM, `python -m attnref show ZFRM`.

    >>> float(np.exp(log_partition(np.log([2.0, 3.0, 5.0]))).round(12))
    10.0
    """
    _entry.rows(scores, mask, sink)
    m, _, z = exponentials(scores, allowed(scores, mask), sink)
    return (m + np.log(z))[..., 0].astype(scores.dtype)


def allowed(scores: Floats, mask: Mask | None) -> Mask:
    """Say which keys take part: a score of −∞ is a key that is masked."""
    present: Mask = np.asarray(scores) != -np.inf
    return present if mask is None else present & np.asarray(mask)


def exponentials(scores: Floats, here: Mask, sink: Sink | None) -> tuple[Floats, Floats, Floats]:
    """Return m, exp(a − m) and Z = exp(sink − m) + Σ exp(a − m), for each row its own m.

    Any finite m gives the same weights; the largest score that counts keeps exp from overflowing.
    It is −∞ just where nothing is there, for what is allowed is above −∞, or NaN and then shows.
    """
    a = _entry.wide(scores)
    last = _entry.wide(-np.inf if sink is None else sink)[..., np.newaxis]
    largest = np.max(a, axis=-1, keepdims=True, where=here, initial=-np.inf)
    m = np.maximum(largest, last)
    m = np.where(m == -np.inf, 0, m)
    e = np.exp(np.where(here, a - m, -np.inf))
    return m, e, e.sum(axis=-1, keepdims=True) + np.exp(last - m)
