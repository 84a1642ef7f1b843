"""Families of inputs on which attention is hard, or easy, to compute: one query, key, value each.

Sizes are small enough for the oracle, and numbers are those of the dtype, so that they are exact.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from oracle import Floats
from samples import normal

L, S, D_K, D_V = 5, 61, 17, 3

Arrays: TypeAlias = tuple[Floats, Floats, Floats]


def _plain(seed: int) -> Arrays:
    return normal(L, D_K, seed=seed), normal(S, D_K, seed=seed), normal(S, D_V, seed=seed)


def _with(change: Callable[[Floats, Floats, Floats], Arrays]) -> Callable[[int], Arrays]:
    return lambda seed: change(*_plain(seed))


def _ascending(query: Floats, key: Floats, value: Floats) -> Arrays:
    ramp = np.linspace(0, 30, S)[:, np.newaxis]
    return np.ones_like(query), np.broadcast_to(ramp / D_K**0.5, key.shape).copy(), value


FAMILIES: dict[str, Callable[[int], Arrays]] = {
    "normal": _plain,
    "scores of order 100": _with(lambda q, k, v: (10 * q, 10 * k, v)),
    "scores up to 10⁴": _with(lambda q, k, v: (50 * q, 50 * k, v)),
    "keys with mean 100": _with(lambda q, k, v: (q, k + 100, v)),
    "queries with mean 10, keys with mean 1000": _with(lambda q, k, v: (q + 10, k + 1000, v)),
    "values with mean 1000": _with(lambda q, k, v: (q, k, v + 1000)),
    "uniform weights, positive values": _with(lambda q, k, v: (0 * q, k, abs(v))),
    "uniform weights, values that cancel": _with(lambda q, k, v: (0 * q, k, v - v.mean(axis=0))),
    "ascending scores": _with(_ascending),
    "descending scores": _with(lambda q, k, v: _ascending(q, k, v[::-1])),
    "two equal keys far above": _with(lambda q, k, v: (abs(q), k * (abs(k) < 0) + _spikes(), v)),
    "values of 20 orders of magnitude": _with(lambda q, k, v: (q, k, v * _orders())),
    "tiny scores": _with(lambda q, k, v: (q / 2**10, k / 2**10, v)),
}


def _spikes() -> Floats:
    spikes = np.zeros((S, 1))
    spikes[[3, 40]] = 300
    return spikes


def _orders() -> Floats:
    return np.logspace(-10, 10, S)[:, np.newaxis] ** 0.4  # ten orders and ten, as float16 holds


def family(name: str, dtype: DTypeLike, seed: int = 0) -> Arrays:
    """Return the arrays of a family, rounded to the dtype."""
    query, key, value = (x.astype(dtype) for x in FAMILIES[name](seed))
    assert all(np.isfinite(x).all() for x in (query, key, value)), name
    return query, key, value
