"""The backward pass of attention in Torch, by hand, in blocks, from the state of each query.

With the gradients g_t of the output y_t and γ_t of log Z_t, and weights p_ts = exp(a_ts − m_t)/z_t:

    dv_s = Σ_t p_ts g_t,   da_ts = p_ts (⟨g_t, v_s⟩ − δ_t),   δ_t = ⟨g_t, y_t⟩ − γ_t,
    dq_t = β Σ_s da_ts k_s,   dk_s = β Σ_t da_ts q_t.

No weight is formed: 1/z_t goes into g_t and δ_t. A gradient of 0 asks for nothing, NaN or not.
"""

from collections.abc import Collection
from typing import NamedTuple

import torch
from torch import Tensor

from attnref import _shapes
from attnref.torch._blocks import ARRAYS, Call, everywhere, exactly, largest, total
from attnref.torch._forward import State, average


class _Asked(NamedTuple):
    """What some queries ask of every key: g_t / z_t and δ_t / z_t, with m_t.

    With every |v_s| below what is safe, no ⟨g_t, v_s⟩ − δ_t overflows; it is 0 where one of these
    or z_t is not finite.
    """

    rows: range
    m: Tensor
    g: Tensor
    delta: Tensor
    safe: float


def gradients(
    call: Call,
    state: State,
    g: Tensor,
    gamma: Tensor | None = None,
    names: Collection[str] = ARRAYS,
) -> dict[str, Tensor]:
    """Return the gradients that are asked for by name, in the dtype of the work."""
    sums = call.sums(names)
    gamma = torch.zeros_like(state[1]) if gamma is None else gamma
    g, gamma = g.to(call.work), gamma.to(call.work)
    with exactly(call.query):
        for rows in call.rows():
            _add_rows(call, _asked(rows, state, g, gamma), sums)
    return sums


def _asked(rows: range, state: State, g: Tensor, gamma: Tensor) -> _Asked:
    m, z, gamma = (x[..., rows.start : rows.stop] for x in (state[0], state[1], gamma))
    n, g = (x[..., rows.start : rows.stop, :] for x in (state[2], g))
    y = average(n, z)
    products = (g * y).masked_fill((g == 0) | (y == 0), 0.0)  # an empty row asks for nothing
    delta = products.sum(dim=-1) - gamma
    g, delta = _quotient(g, z.unsqueeze(-1)), _quotient(delta, z)
    holds = torch.finfo(g.dtype).max / 2
    finite = largest(delta.abs()) < holds and all(bool(x.isfinite().all()) for x in (z, g))
    safe = finite * holds / max(largest(g.abs().sum(dim=-1)), 1.0)
    return _Asked(rows, m.masked_fill(z == 0, 0.0), g, delta, safe)


def _add_rows(call: Call, queries: _Asked, sums: dict[str, Tensor]) -> None:
    """Add what some queries give to all sums."""
    rows = queries.rows
    if "sink" in sums:
        _add(sums["sink"], _of_sink(call, queries), {-1: rows})
    for keys, here in call.blocks(rows):
        dv, da = _of_block(call, queries, keys, here)
        if "value" in sums:
            _add(sums["value"], _folded(call, dv, call.value), {-2: keys})
        if "bias" in sums:
            _add(sums["bias"], da, {-2: rows, -1: keys})
        if call.softcap is not None:
            slope = 1 - torch.tanh(call.products(rows, keys) / call.softcap) ** 2
            da = (da * slope).masked_fill(da == 0, 0.0)
        if "key" in sums:
            dk = _of_factor(da.mT, call.scaled(rows))
            _add(sums["key"], _folded(call, dk, call.key), {-2: keys})
        if "query" in sums:
            dq = call.scale * _of_factor(da, call.of(call.key, keys))
            _add(sums["query"], dq, {-2: rows})


def _folded(call: Call, gradient: Tensor, source: Tensor) -> Tensor:
    """Add the gradients of the heads that read the same head of a key or value."""
    group = _shapes.group(call.query, source)
    if group == 1:
        return gradient
    *front, heads, rows, depth = gradient.shape
    return gradient.reshape(*front, heads // group, group, rows, depth).sum(dim=-3)


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


def _add(own: Tensor, block: Tensor, places: dict[int, range]) -> None:
    """Add a block in its place; an axis of which there is one is summed over."""
    for axis, part in places.items():
        if own.ndim >= -axis and own.shape[axis] > 1:
            own = own.narrow(axis, part.start, len(part))
    own += block.sum_to_size(own.shape)


def _quotient(x: Tensor, z: Tensor) -> Tensor:
    return (x / z).masked_fill((x == 0) | (z == 0), 0.0)
