"""The backward pass of attention in Torch, by hand, in blocks, from the state (m, z) of each query.

With the gradients g_t of the output y_t and γ_t of log Z_t, and weights p_ts = exp(a_ts − m_t)/z_t:

    dv_s = Σ_t p_ts g_t,   da_ts = p_ts (⟨g_t, v_s⟩ − δ_t),   δ_t = ⟨g_t, y_t⟩ − γ_t,
    dq_t = β Σ_s da_ts k_s,   dk_s = β Σ_t da_ts q_t.

No weight is formed: 1/z_t goes into g_t and δ_t. A gradient of 0 asks for nothing, NaN or not.
"""

from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import Tensor

from attnref.torch._blocks import ARRAYS, Call, everywhere, largest, total
from attnref.torch._forward import State, average


class _Asked(NamedTuple):
    """What some queries ask of every key: g_t / z_t and δ_t / z_t, with m_t.

    Values below the size that is safe make no ⟨g_t, v_s⟩ infinite; none is where one of these is.
    """

    rows: range
    m: Tensor
    g: Tensor
    delta: Tensor
    safe: float


def gradients(call: Call, state: State, g: Tensor, gamma: Tensor) -> dict[str, Tensor]:
    """Return the gradient of each array of a call, of its shape, in the dtype of the work."""
    arrays = {
        name: array for name, array in zip(ARRAYS, call.arrays(), strict=True) if array is not None
    }
    sums = {name: torch.zeros_like(array, dtype=call.work) for name, array in arrays.items()}
    for rows in call.rows():
        _add_rows(call, _asked(rows, state, g.to(call.work), gamma.to(call.work)), sums)
    return sums


def as_given(
    gradients: Iterable[Tensor | None], arrays: Iterable[Tensor | None]
) -> tuple[Tensor | None, ...]:
    """Return gradients in the dtypes of what they are of."""
    pairs = zip(gradients, arrays, strict=True)
    return tuple(None if g is None or x is None else g.to(x.dtype) for g, x in pairs)


def _asked(rows: range, state: State, g: Tensor, gamma: Tensor) -> _Asked:
    m, z, gamma = (x[..., rows.start : rows.stop] for x in (state[0], state[1], gamma))
    n, g = (x[..., rows.start : rows.stop, :] for x in (state[2], g))
    products = (g * average(n, z)).masked_fill(g == 0, 0.0)
    delta = products.sum(dim=-1) - gamma
    g, delta = _quotient(g, z.unsqueeze(-1)), _quotient(delta, z)
    finite = all(bool(x.isfinite().all()) for x in (z, g, delta))
    safe = finite * torch.finfo(g.dtype).max / 2 / max(largest(g.abs().sum(dim=-1)), 1.0)
    return _Asked(rows, m.masked_fill(z == 0, 0.0), g, delta, safe)


def _add_rows(call: Call, queries: _Asked, sums: dict[str, Tensor]) -> None:
    """Add what some queries give to all sums."""
    rows = queries.rows
    scaled = call.scale * call.of(call.query, rows)
    if call.sink is not None:
        _add(sums["sink"], _of_sink(call, queries), {-1: rows})
    for keys, here in call.blocks(rows):
        dv, da = _of_block(call, queries, keys, here)
        _add(sums["value"], dv, {-2: keys})
        if call.bias is not None:
            _add(sums["bias"], da, {-2: rows, -1: keys})
        if call.softcap is not None:
            slope = 1 - torch.tanh(call.products(rows, keys) / call.softcap) ** 2
            da = (da * slope).masked_fill(da == 0, 0.0)
        _add(sums["key"], _of_factor(da.mT, scaled), {-2: keys})
        dq = call.scale * _of_factor(da, call.of(call.key, keys))
        _add(sums["query"], dq, {-2: rows})


def _of_block(
    call: Call, queries: _Asked, keys: range, here: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Return dv of a block of keys and da, (…, rows, keys)."""
    value, g = call.of(call.value, keys), queries.g
    a = call.scores(queries.rows, keys, here)
    e = (a - queries.m.unsqueeze(-1)).exp()
    if largest(value.abs()) < queries.safe:
        return e.mT @ g, e * (g @ value.mT - queries.delta.unsqueeze(-1))
    seen, asked = a != -torch.inf, g != 0
    e = e.masked_fill(~seen, 0.0)
    excess = total(g, value.mT, lambda: (asked, everywhere(value.mT)))
    excess = excess - queries.delta.unsqueeze(-1)
    da = (e * excess).masked_fill(~seen | (excess == 0), 0.0)
    return total(e.mT, g, lambda: (seen.mT, asked)), da


def _of_sink(call: Call, queries: _Asked) -> Tensor:
    """Return the gradient of the sink: its weight, times −δ, for it has no value."""
    sink, delta = call.sink_of(queries.rows), queries.delta
    weight = (sink - queries.m).exp()
    return (-weight * delta).masked_fill((delta == 0) | (sink == -torch.inf), 0.0)


def _of_factor(da: Tensor, factor: Tensor) -> Tensor:
    """Return Σ_b da_ab x_bc; where da is 0, x has no part, NaN or not."""
    return total(da, factor, lambda: (da != 0, everywhere(factor)))


def _add(total: Tensor, block: Tensor, places: dict[int, range]) -> None:
    """Add a block in its place; an axis of which there is one is summed over."""
    for axis, part in places.items():
        if total.ndim >= -axis and total.shape[axis] > 1:
            total = total.narrow(axis, part.start, len(part))
    total += block.sum_to_size(total.shape)


def _quotient(x: Tensor, z: Tensor) -> Tensor:
    return (x / z).masked_fill((x == 0) | (z == 0), 0.0)
