"""Attention in blocks: the state (m, z, n) of some queries, carried from block to block of keys.

    m' = max(m, max_s a_ts),   share = exp(m − m'),
    z' = share z + Σ_s exp(a_ts − m'),   n' = share n + Σ_s exp(a_ts − m') v_s

No more of the scores is there at a time than one block.
"""

from functools import partial

import numpy as np

from attnref import _call, _workers
from attnref._heads import Queries, total
from attnref._rules import Rule
from attnref._softmax import decided
from attnref._typing import Floats, Mask, Sink

State = tuple[Floats, Floats, Floats]
ROOM = 2**20  # bytes of the scores of a block


def streaming_attention(
    query: Floats,
    key: Floats,
    value: Floats,
    *,
    block_size: int | None = None,
    mask: Mask | Rule | None = None,
    bias: Floats | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    sink: Sink | None = None,
) -> Floats:
    """Average the values, each by its weight, with one block of the scores at a time.

    y_t = n_t / z_t,   z_t = Σ_s exp(a_ts − m_t),   n_t = Σ_s exp(a_ts − m_t) v_s

    What `attention` does, in memory that does not grow with L and S, as fast as NumPy can. The work
    is done in the dtype of the query, in float32 for float16, and errors stay within
    `testing.error_bound` for that dtype, as long as no βq_t, score or n overflows or vanishes.

    Arguments:
        query: q, (…, L, d_k), floating.
        key: k, (…, S, d_k), of the query's dtype; leading axes broadcast, and heads (axis −3) may
            be fewer: query head h reads key head h // (Hq/Hkv), and so for the value.
        value: v, (…, S, d_v), of the query's dtype.
        block_size: number of keys of a block, 1 or more; unless given, as many as make the scores
            of a block 1 MiB.
        mask: True where query t may attend to key s, broadcasts to (…, L, S); or a `masks.Rule`.
        bias: b, of the query's dtype, added to the scores; broadcasts to (…, L, S); −∞ masks.
        scale: β, any finite number; 1/√d_k unless given.
        softcap: c, positive and finite: c·tanh(a_ts / c) before the bias; None for no cap.
        sink: the score of one more key that has no value, a number or (…, L).

    Returns:
        y, (…, L, d_v), of the query's dtype.

    Raises:
        TypeError: an array, a mask or a number of another kind or dtype.
        ValueError: shapes that do not fit, or a number outside its range.

    Source: derivations ONLN and MBLK, `python -m attnref show ONLN`.

    >>> query, key = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0], [0.0, -1.0]])
    >>> streaming_attention(query, key, np.array([[10.0], [30.0]]), block_size=1)
    array([[20.]])
    """
    call = _call.checked(query, key, value, mask, bias, scale, softcap, sink, block_size)
    output = np.empty((*call.shape[:-1], value.shape[-1]), query.dtype)
    tasks = [(place, rows) for place in call.places() for rows in call.rows()]
    _workers.over(partial(_write, call, output), tasks)
    return output


@decided
def _write(call: _call.Call, output: Floats, task: tuple[_call.Place, range]) -> None:
    place, rows = task
    _, z, n = state(call.head(place).queries(rows))
    output[place][rows.start : rows.stop] = average(n, z)


def average(n: Floats, z: Floats) -> Floats:
    """Return y_t = n_t / z_t, 0 where no key was allowed, whatever the sink is."""
    z = z[:, np.newaxis]
    y: Floats = np.divide(n, z, out=np.zeros_like(n), where=(z != 0) & (n != 0))
    return y


def state(queries: Queries) -> State:
    """Return (m, z, n) of some queries and all keys that they see."""
    head, L = queries.head, len(queries.places)
    m, z = np.full(L, -np.inf, head.work), np.zeros(L, head.work)
    seen = m, z, np.zeros((L, head.value.shape[-1]), head.work)
    copied = 0 if head.query.dtype == head.work else head.depth
    for keys, here in queries.blocks(ROOM, copied):
        seen = _with_block(queries, keys, here, *seen)
    return seen if head.sink is None else _with_sink(queries.part(head.sink), *seen)


def _with_block(
    queries: Queries, keys: range, here: Mask | None, m: Floats, z: Floats, n: Floats
) -> State:
    """Return the state of the keys so far and of a block more."""
    a = queries.scores(keys, here)
    larger = np.maximum(m, a.max(axis=0))
    shift = np.where(larger == -np.inf, 0, larger)
    share = np.exp(m - shift)
    e = np.exp(np.subtract(a, shift, out=a), out=a)
    z = share * z + np.ones(len(e), e.dtype) @ e
    n = share[:, np.newaxis] * n + _sum_of_values(queries, keys, here, e)
    return larger, z, n


def _with_sink(sink: Floats, m: Floats, z: Floats, n: Floats) -> State:
    """Count the sink, one more key, last; it has no value, but NaN shows where there are keys."""
    larger = np.maximum(m, sink.astype(m.dtype))
    shift = np.where(larger == -np.inf, 0, larger)
    share, own = np.exp(m - shift), np.exp(sink - shift)  # not 1 where the sink is rounded
    n = np.where(np.isnan(own)[:, np.newaxis], np.nan, share[:, np.newaxis] * n)
    n = np.where((m == -np.inf)[:, np.newaxis], 0, n)
    return larger, (share * z + own).astype(z.dtype), n.astype(z.dtype)


def _sum_of_values(queries: Queries, keys: range, here: Mask | None, e: Floats) -> Floats:
    """Return Σ_s exp(a_ts − m_t) v_s, in which a masked value has no part, NaN or not."""
    value = queries.head.of(queries.head.value, keys)
    n: Floats = e.T @ value
    if np.isfinite(n).all():
        return n
    counts = queries.scores(keys, here) != -np.inf
    return total(e.T, value, counts.T, np.ones_like(value, bool))
