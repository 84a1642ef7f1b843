"""The forward pass in blocks: the state (m, z, n) of queries, carried from block to block of keys.

m' = max(m, max_s a_ts),   share = exp(m − m'),
z' = share z + Σ_s exp(a_ts − m'),   n' = share n + Σ_s exp(a_ts − m') v_s
"""

import torch
from torch import Tensor

from attnref.torch._blocks import Call, everywhere, exactly, total

State = tuple[Tensor, Tensor, Tensor]


def state(call: Call) -> State:
    """Return (m, z, n) of all queries and of all that they see, in the dtype of the work."""
    return with_sink(call, *of_keys(call))


def of_keys(call: Call) -> State:
    """Return the state of the keys, the sink left out."""
    front = call.shape[:-1]
    n = call.value.new_empty((*front, call.value.shape[-1]), dtype=call.work)
    m, z = n.new_empty(front), n.new_empty(front)
    with exactly(call.query):
        for rows in call.rows():
            part = slice(rows.start, rows.stop)
            m[..., part], z[..., part], n[..., part, :] = _of_rows(call, rows)
    return m, z, n


def joined(a: State, b: State) -> State:
    """Return the state of the keys of both."""
    m = torch.maximum(a[0], b[0])
    shift = m.masked_fill(m == -torch.inf, 0.0)
    ours, theirs = ((state[0] - shift).exp() for state in (a, b))
    z = ours * a[1] + theirs * b[1]
    return m, z, ours.unsqueeze(-1) * a[2] + theirs.unsqueeze(-1) * b[2]


def average(n: Tensor, z: Tensor) -> Tensor:
    """Return y_t = n_t / z_t, 0 where no key was allowed, whatever the sink is."""
    z = z.unsqueeze(-1)
    return (n / z).masked_fill((z == 0) | (n == 0), 0.0)


def _of_rows(call: Call, rows: range) -> State:
    front = (*call.shape[:-2], len(rows))
    n = call.value.new_zeros((*front, call.value.shape[-1]), dtype=call.work)
    m, z = n.new_full(front, -torch.inf), n.new_zeros(front)
    for keys, here in call.blocks(rows):
        a = call.scores(rows, keys, here)
        larger = torch.maximum(m, a.amax(dim=-1))
        shift = larger.masked_fill(larger == -torch.inf, 0.0)
        e, share = (a - shift.unsqueeze(-1)).exp(), (m - shift).exp()
        z = share * z + e.sum(dim=-1)
        n = share.unsqueeze(-1) * n + _sum_of_values(call, keys, a, e)
        m = larger
    return m, z, n


def with_sink(call: Call, m: Tensor, z: Tensor, n: Tensor) -> State:
    """Count the sink, one more key, last; it has no value, but NaN shows where there are keys."""
    if call.sink is None:
        return m, z, n
    sink = call.sink_of(range(m.shape[-1]))
    larger = torch.maximum(m, sink.to(m.dtype))
    shift = larger.masked_fill(larger == -torch.inf, 0.0)
    share, own = (m - shift).exp(), (sink - shift.double()).exp()  # not 1 where it is rounded
    n = (share.unsqueeze(-1) * n).masked_fill(own.isnan().unsqueeze(-1), torch.nan)
    return larger, share * z + own.to(m.dtype), n.masked_fill((m == -torch.inf).unsqueeze(-1), 0.0)


def _sum_of_values(call: Call, keys: range, a: Tensor, e: Tensor) -> Tensor:
    """Return Σ_s exp(a_ts − m_t) v_s, in which a masked value has no part, NaN or not."""
    value = call.of(call.value, keys)
    return total(e, value, lambda: (a != -torch.inf, everywhere(value)))
