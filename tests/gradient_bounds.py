"""How far rounding may carry the gradients of attention from the truth, to first order in u.

With x_ts = ⟨g_t, v_s⟩ − δ_t, δ_t = ⟨g_t, y_t⟩ − γ_t and da_ts = p_ts x_ts, as every path that is
right has them, whatever the order of its sums:

    |Δp_ts|  ≤ p_ts ρ_ts,   ρ_ts = ε_ts + Σ_r p_tr ε_tr + 4S + 12,
    |Δδ_t|   ≤ Σ_r p_tr (ρ_tr + d_v + 6) G_tr + 2|γ_t|,   G_ts = Σ_e |g_te| |v_se|,
    |Δda_ts| ≤ |da_ts| (ρ_ts + 3) + p_ts {(d_v + 6) G_ts + |Δδ_t| + 3 Σ_r p_tr G_tr + 3|γ_t|},

in units of u. ε_ts is the oracle's: (d_k + 3) A_ts + (m_t − a_ts) + 4, more with a cap or a bias.
The 4S leaves each key a block of its own, which scales z and n by one more exponential. What is
then summed over n places adds n units of the sum of its sizes. Where exp underflows, p is off by
the least normal number besides. All of it is counted in float64, from the data.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from samples import Floats, Problem, attention_shape

Bounds: TypeAlias = NDArray[np.float64]
Pair: TypeAlias = tuple[Bounds, Bounds]  # sizes, and how far they may be off

UNITS = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24, "float64": 2.0**-53}
LEAST = {"float16": 2.0**-14, "bfloat16": 2.0**-126, "float32": 2.0**-126, "float64": 2.0**-1022}


@np.errstate(all="ignore")
def gradient_bounds(
    problem: Problem,
    g: Floats,
    gamma: ArrayLike = 0.0,
    *,
    working: str,
    exact_scores: bool = False,
    shift: float = 0.0,
) -> dict[str, Bounds]:
    """Return how far the gradients of query, key, value, bias and sink may be off.

    Exact scores are those that the work holds without an error, as some are chosen to be. A shift
    is how far the reference exponent of a given state is from the largest score: m − a is as far
    off as that, in the state and from it.
    """
    u, least = UNITS[working], LEAST[working]
    shape = attention_shape(problem.query, problem.key, problem.value)
    q, k, v = (_spread(problem.query, x) for x in problem.arrays)
    beta = abs(problem.query.shape[-1] ** -0.5 if problem.scale is None else problem.scale)
    g = np.broadcast_to(np.float64(g), (*shape[:-1], v.shape[-1]))
    gamma = np.broadcast_to(np.asarray(gamma, "float64"), shape[:-1])[..., np.newaxis]

    a, units, slope = _scores(problem, q, k, shape)
    units = (0 if exact_scores else units) + 2 * abs(shift) + np.zeros_like(a)
    p, rho, sink, sink_rho = _weights(problem, a, units)
    depth = v.shape[-1]
    size = abs(g) @ abs(v).mT
    mean = (p * size).sum(axis=-1, keepdims=True)
    delta = (p * (g @ v.mT)).sum(axis=-1, keepdims=True) - gamma
    delta_off = (p * (rho + depth + 6) * size).sum(axis=-1, keepdims=True) + 2 * abs(gamma)
    x = abs(g @ v.mT - delta)
    x_off = (depth + 6) * size + delta_off + 3 * mean + 3 * abs(gamma)
    p_off = u * p * rho + least * (a > -np.inf)
    da = p * x, p_off * x + u * p * (3 * x + x_off) + least

    found = {"value": _times((p.mT, p_off.mT), abs(g), u, least)}
    if problem.bias is not None:
        found["bias"] = da
    if problem.sink is not None:
        size = sink * abs(delta)
        off = u * (size * (sink_rho + 3) + sink * delta_off) + least * abs(delta)
        found["sink"] = size[..., 0], off[..., 0]
    da = da[0] * slope[0], da[1] * slope[0] + u * da[0] * (slope[1] + slope[0])  # through the cap
    found["query"] = _times(da, beta * abs(k), u, least)
    found["key"] = _times((da[0].mT, da[1].mT), beta * abs(q), u, least)
    return {name: _folded(pair, getattr(problem, name), u) for name, pair in found.items()}


def rounded(bounds: dict[str, Bounds], right: dict[str, Floats], dtype: str) -> dict[str, Bounds]:
    """Return the bounds of the same gradients after one rounding more, to a dtype."""
    return {
        name: bound + UNITS[dtype] * (abs(right[name]) + bound) + LEAST[dtype]
        for name, bound in bounds.items()
    }


def assert_near(
    actual: dict[str, Floats], right: dict[str, Floats], bounds: dict[str, Bounds]
) -> None:
    """Require the gradients that are right to within their bounds; nothing not finite is."""
    assert set(actual) == set(right)
    for name, gradient in actual.items():
        assert gradient.shape == right[name].shape == bounds[name].shape, name
        off = abs(np.float64(gradient) - right[name])
        near = off <= bounds[name]
        if not near.all():
            worst = np.unravel_index(np.argmax(np.where(near, 0, 1 + off)), off.shape)
            raise AssertionError(
                f"the gradient of the {name}, at {[int(i) for i in worst]}, is {gradient[worst]}, "
                f"not {right[name][worst]}: bound {bounds[name][worst]:.3g}"
            )


def _spread(query: Floats, array: Floats) -> Floats:
    """Return an array in float64, each of its heads once for each that reads it."""
    heads = query.shape[-3] if query.ndim > 2 else 1
    own = array.shape[-3] if array.ndim > 2 else 1
    shared = heads // own if 1 not in (heads, own) and own else 1
    wide = np.asarray(array, "float64")
    return np.repeat(wide, shared, axis=-3) if shared > 1 else wide


def _scores(
    problem: Problem, q: Floats, k: Floats, shape: tuple[int, ...]
) -> tuple[Bounds, Bounds, Pair]:
    """Return the scores, −∞ where masked, their errors in u, and the slope of the cap with its."""
    beta = problem.query.shape[-1] ** -0.5 if problem.scale is None else problem.scale
    a = beta * (q @ k.mT)
    units = (q.shape[-1] + 3) * abs(beta) * (abs(q) @ abs(k).mT)
    slope = np.ones(1), np.zeros(1)
    if problem.softcap is not None:
        x, cap = a, problem.softcap
        t = np.tanh(x / cap)
        steep = 1 - t**2
        off = 2 * abs(t) * (4 * abs(t) + steep * (units + 2 * abs(x)) / cap) + 2
        a, slope = cap * t, (steep, off)
        units = units + 9 * abs(a) + abs(x) * steep
    allowed = np.array(True if problem.mask is None else problem.mask)
    if problem.bias is not None:
        bias = np.float64(problem.bias)
        allowed = allowed & (bias > -np.inf)
        a = np.where(bias > -np.inf, a + bias, 0.0)
        units = units + abs(a)
    a, units = np.broadcast_to(a, shape), np.broadcast_to(units, shape)
    return np.where(allowed, a, -np.inf), units, slope


def _weights(problem: Problem, a: Bounds, units: Bounds) -> tuple[Bounds, Bounds, Bounds, Bounds]:
    """Return the weights and ρ of the keys, and of the sink."""
    sink = np.asarray(-np.inf if problem.sink is None else problem.sink, "float64")
    last = np.broadcast_to(sink, a.shape[:-1])[..., np.newaxis]
    whole = np.concatenate([a, last], axis=-1)
    m = whole.max(axis=-1, keepdims=True)
    here = whole > -np.inf
    p = np.where(here, np.exp(whole - m), 0.0)
    p = np.where(here, p / p.sum(axis=-1, keepdims=True), 0.0)
    errors = np.concatenate([units, np.zeros_like(last)], axis=-1)
    errors = np.where(p > 0, errors + (m - whole) + 4, 0.0)
    rho = errors + (p * errors).sum(axis=-1, keepdims=True) + 4 * a.shape[-1] + 12
    return p[..., :-1], rho[..., :-1], p[..., -1:], rho[..., -1:]


def _times(x: Pair, factor: Floats, u: float, least: float) -> Pair:
    """Return Σ_b x_ab y_bc, where y is exact, and each product may underflow."""
    size, n = x[0] @ factor, x[0].shape[-1] + 3
    return size, x[1] @ factor + n * (u * size + least)


def _folded(pair: Pair, array: ArrayLike, u: float) -> Bounds:
    """Return the bound of a gradient, summed where what it is of is read more than once."""
    size, off = pair
    own = np.shape(array)
    n = size.size // max(int(np.prod(own)), 1)
    return _summed(off, own) + u * n * _summed(size, own)


def _summed(x: Bounds, own: tuple[int, ...]) -> Bounds:
    """Sum over leading axes, over axes of which there is one, and over the heads that share one."""
    x = x.sum(axis=tuple(range(x.ndim - len(own))))
    for axis, size in enumerate(own):
        if x.shape[axis] != size:
            split = (*x.shape[:axis], size, x.shape[axis] // size, *x.shape[axis + 1 :])
            x = x.reshape(split).sum(axis=axis + 1)
    return x
