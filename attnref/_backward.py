"""The backward pass of one head, by hand, in blocks, from the state of each query.

With the gradients g_t of the output y_t and γ_t of log Z_t, and weights p_ts = exp(a_ts − m_t)/z_t:

    dv_s = Σ_t p_ts g_t,   da_ts = p_ts (⟨g_t, v_s⟩ − δ_t),   δ_t = ⟨g_t, y_t⟩ − γ_t,
    dq_t = β Σ_s da_ts k_s,   dk_s = β Σ_t da_ts q_t.

No weight is formed: 1/z_t goes into g_t and δ_t. A gradient of 0 asks for nothing, NaN or not.
"""

from typing import NamedTuple

import numpy as np

from attnref._heads import Queries, total
from attnref._streaming import average
from attnref._typing import Floats, Mask


class Asked(NamedTuple):
    """What some queries ask of every key: g_t / z_t and δ_t / z_t, with m_t.

    With every |v_s| below what is safe, no ⟨g_t, v_s⟩ − δ_t overflows; it is 0 where one of these
    or z_t is not finite.
    """

    queries: Queries
    m: Floats
    g: Floats
    delta: Floats
    safe: float


def asked(queries: Queries, m: Floats, z: Floats, n: Floats, g: Floats, gamma: Floats) -> Asked:
    """Return what some queries ask."""
    y = average(n, z)
    products = np.where((g == 0) | (y == 0), 0, g * y)  # an empty row asks for nothing
    delta = products.sum(axis=-1) - gamma
    g, delta = _quotient(g, z[:, np.newaxis]), _quotient(delta, z)
    holds, most = np.finfo(g.dtype).max / 2, abs(g).sum(axis=-1).max(initial=1)
    finite = abs(delta).max() < holds and all(np.isfinite(x).all() for x in (z, g))
    return Asked(queries, np.where(z == 0, 0, m), g, delta, finite * holds / most)


def of_block(asked: Asked, keys: range, here: Mask | None) -> tuple[Floats, Floats]:
    """Return dv of a block of keys and da, one column a query."""
    head, g = asked.queries.head, asked.g
    value, a = head.of(head.value, keys), asked.queries.scores(keys, here)
    if not abs(value).max(initial=0) < asked.safe:
        return _of_wild_block(a, asked, value)
    e = np.exp(np.subtract(a, asked.m, out=a), out=a)
    da = value @ g.T
    da -= asked.delta
    da *= e
    return e @ g, da


def _of_wild_block(a: Floats, asked: Asked, value: Floats) -> tuple[Floats, Floats]:
    g, counts = asked.g, a != -np.inf
    e = np.where(counts, np.exp(a - asked.m), 0)
    excess = total(value, g.T, np.ones_like(value, bool), g.T != 0) - asked.delta
    da = np.where(counts & (excess != 0), e * excess, 0)
    return total(e, g, counts, g != 0), da


def of_sink(asked: Asked) -> Floats:
    """Return the gradient of the sink: its weight, times −δ, for it has no value."""
    head = asked.queries.head
    assert head.sink is not None
    sink = asked.queries.part(head.sink)
    da = -np.exp(sink - asked.m) * asked.delta
    return np.where((asked.delta == 0) | (sink == -np.inf), 0, da).astype(head.work)


def slope(queries: Queries, keys: range) -> Floats:
    """Return the derivative of c·tanh(x/c) at x_ts = β⟨q_t, k_s⟩."""
    assert queries.head.softcap is not None
    steepness: Floats = 1 - np.tanh(queries.products(keys) / queries.head.softcap) ** 2
    return steepness


def of_factor(da: Floats, factor: Floats) -> Floats:
    """Return Σ_b da_ab x_bc; where da is 0, x has no part, NaN or not."""
    result: Floats = da @ factor
    if np.isfinite(result).all():
        return result
    return total(da, factor, da != 0, np.ones_like(factor, bool))


def _quotient(x: Floats, z: Floats) -> Floats:
    return np.divide(x, z, out=np.zeros_like(x), where=(x != 0) & (z != 0))
