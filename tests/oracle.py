"""The oracle: attention one number at a time, in mpmath, and how far from it a float may be.

Nothing here imports what it judges. Every float is an exact rational, so the numbers below are the
true ones to about 120 digits, and the formula stands as on paper. The bounds are first order in u,
the unit roundoff, and computed from the data:

    |y − y*|         ≤ u { Σ_s p_s ε_s |v_s − y| + (2S + 3) Σ_s p_s |v_s| }
    |log Z − log Z*| ≤ u { Σ_s p_s ε_s + S + 4 + |log Z| }
    |p_s − p_s*|     ≤ u p_s { ε_s + Σ_r p_r ε_r + S + 3 }
    |a_s − a_s*|     ≤ u (d_k + 3) A_s

    ε_s = (d_k + 3) A_s + (m − a_s) + 4,   A_s = |β| Σ_i |q_i| |k_si|,   m = max_s a_s

Dividing by √d_k rounds twice, multiplying by β = 1/√d_k three times: hence d_k + 3 and not d_k + 2.
A cap c·tanh(x/c) carries the error of x on, for its slope is at most 1, and adds a quotient, a tanh
that is right to 4 units in the last place, and a product; a bias adds one sum. A sink is one more
key, of value 0 and an exact score.
"""

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import mpmath
import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

_mp = mpmath.MPContext()
_mp.prec = 400

Number: TypeAlias = Any  # an mpf; mpmath has no types
Numbers: TypeAlias = NDArray[np.object_]  # arrays of mpf
Floats: TypeAlias = NDArray[np.floating]
Bounds: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Quantity:
    """True numbers, with the error of float arithmetic in units of its roundoff.

    What underflows is an error of its own, counted in smallest subnormals. Errors are floats: they
    need three digits, not 120.
    """

    exact: Numbers
    error: Bounds
    underflow: Bounds

    def bound(self, dtype: DTypeLike, working: DTypeLike = "float64") -> Bounds:
        """Return how far a result may lie: the error of the work, then one rounding to dtype."""
        with np.errstate(all="ignore"):
            work = unit(working) * self.error + _smallest(working) * self.underflow
            if np.finfo(dtype).bits >= np.finfo(working).bits:
                return np.asarray(work)
            rounding = unit(dtype) * (abs(_floats(self.exact)) + work) + _smallest(dtype) / 2
            return np.asarray(work + rounding)


@dataclass(frozen=True)
class Truth:
    """Everything that attention computes: a (…, L, S), p (…, L, S), log Z (…, L), y (…, L, d_v).

    `magnitude` is Σ_s p_s |v_s|, the size against which an error of y is small.
    """

    scores: Quantity
    weights: Quantity
    log_z: Quantity
    output: Quantity
    magnitude: Bounds


def attention(
    query: Floats,
    key: Floats,
    value: Floats,
    *,
    mask: ArrayLike | None = None,
    bias: Floats | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    sink: ArrayLike | None = None,
) -> Truth:
    """Return y_t = Σ_s p_ts v_s and everything on the way, for any leading axes and heads."""
    key, value = _for_heads_of(query, key), _for_heads_of(query, value)
    batch = np.broadcast_shapes(query.shape[:-2], key.shape[:-2], value.shape[:-2])
    q, k, v = (np.broadcast_to(exactly(x), (*batch, *x.shape[-2:])) for x in (query, key, value))
    a = _products(q, k, scale)
    if softcap is not None:
        _cap(a, _mp.mpf(float(softcap)))
    if bias is not None:
        _add(a, np.broadcast_to(exactly(bias), a.exact.shape))
    return _with_sink(a, mask, v, sink)


def weights(query: Floats, key: Floats, **options: Any) -> Truth:
    """Return the scores, weights and log Z of a query and a key, with no values to average."""
    return attention(query, key, np.empty((key.shape[-2], 0)), **options)


def rows(scores: Floats, *, mask: ArrayLike | None = None, sink: ArrayLike | None = None) -> Truth:
    """Return the weights and log Z of scores (…, S) that are given, and therefore exact."""
    a = _nothing(*scores.shape)
    a.exact[...] = exactly(scores)
    no_values = _zeros(*scores.shape[:-1][:-1], scores.shape[-1], 0)
    return _with_sink(a, mask, no_values, sink)


def _for_heads_of(query: Floats, array: Floats) -> Floats:
    """Return a key or value with one head for each of the query's: h reads h // (Hq / Hkv)."""
    heads = query.shape[-3] if query.ndim > 2 else 1
    own = array.shape[-3] if array.ndim > 2 else 1
    if heads in (1, own) or own == 1:
        return array
    return np.stack([array[..., h // (heads // own), :, :] for h in range(heads)], axis=-3)


def _products(q: Numbers, k: Numbers, scale: float | None) -> Quantity:
    *batch, L, d_k = q.shape
    beta = 1 / _mp.sqrt(d_k) if scale is None else _mp.mpf(float(scale))
    a = _nothing(*batch, L, k.shape[-2])
    for *b, t, s in np.ndindex(*a.exact.shape):
        a.exact[*b, t, s] = beta * _inner(q[*b, t], k[*b, s])
    with np.errstate(all="ignore"):
        a.error[...] = (d_k + 3) * abs(float(beta)) * (abs(_floats(q)) @ abs(_floats(k)).mT)
    a.underflow[...] = d_k * abs(float(beta)) + 1
    return a


def _cap(a: Quantity, cap: Number) -> None:
    """Bring every score within ±c by c·tanh(x/c)."""
    for i in np.ndindex(*a.exact.shape):
        x = a.exact[i]
        a.exact[i] = cap * _mp.sign(x) if _mp.isinf(x) else cap * _mp.tanh(x / cap)
        a.error[i] += 9 * abs(float(a.exact[i])) + abs(float(x * _mp.sech(x / cap) ** 2))
    a.underflow[...] += float(cap) + 1


def _add(a: Quantity, bias: Numbers) -> None:
    """Add a bias, whose −∞ is the score whatever it was."""
    for i in np.ndindex(*a.exact.shape):
        a.exact[i] = -_mp.inf if bias[i] == -_mp.inf else a.exact[i] + bias[i]
        a.error[i] += abs(float(a.exact[i]))


def _with_sink(a: Quantity, mask: ArrayLike | None, v: Numbers, sink: ArrayLike | None) -> Truth:
    allowed = np.broadcast_to(np.asarray(True if mask is None else mask), a.exact.shape)
    if sink is None:
        return _truth(a, allowed, v)
    last = np.broadcast_to(exactly(np.asarray(sink, "float64")), a.exact.shape[:-1])[..., None]
    none = np.zeros(last.shape)
    parts = zip((a.exact, a.error, a.underflow), (last, none, none), strict=True)
    truth = _truth(
        Quantity(*(np.concatenate(pair, axis=-1) for pair in parts)),
        np.concatenate([allowed, np.ones(last.shape, dtype=bool)], axis=-1),
        np.concatenate([v, _zeros(*v.shape[:-2], 1, v.shape[-1])], axis=-2),
        sinks=1,
    )
    p = truth.weights
    kept = Quantity(p.exact[..., :-1], p.error[..., :-1], p.underflow[..., :-1])
    return Truth(a, kept, truth.log_z, truth.output, truth.magnitude)


@np.errstate(all="ignore")
def _truth(scores: Quantity, allowed: NDArray[np.bool_], v: Numbers, sinks: int = 0) -> Truth:
    *front, S = scores.exact.shape
    weights, log_z = _nothing(*front, S), _nothing(*front)
    output = _nothing(*front, v.shape[-1])
    magnitude = np.zeros((*front, v.shape[-1]))
    for i in np.ndindex(*front):
        present, p, m, log_z.exact[i] = _row(scores.exact[i], allowed[i])
        values = v[*i[: v.ndim - 2]][present]
        weights.exact[*i, present] = p
        keys = [
            n for n, s in enumerate(present) if s < S - sinks
        ]  # a sink gives nothing, NaN or not
        terms = p[keys], values[keys].T
        y = output.exact[i] = np.array([_inner(terms[0], column) for column in terms[1]], object)

        weight, size = _floats(p), abs(_floats(values))
        spread = scores.error[i][present] + _floats(m - scores.exact[i][present]) + 4
        mean_spread = weight @ spread
        weights.error[*i, present] = weight * (spread + mean_spread + S + 3)
        weights.underflow[i] = 2
        log_z.error[i] = mean_spread + S + 4 + abs(float(log_z.exact[i]))
        log_z.underflow[i] = 1
        magnitude[i] = weight @ size
        away = abs(_floats(values) - _floats(y))
        output.error[i] = (weight * spread) @ away + (2 * S + 3) * magnitude[i]
        output.underflow[i] = size.sum(axis=0) + S
    return Truth(scores, weights, log_z, output, magnitude)


def _row(a: Numbers, allowed: NDArray[np.bool_]) -> tuple[list[int], Numbers, Number, Number]:
    """Normalise one row: Z = Σ exp(a_s) over the keys that are allowed and not at −∞.

    Return which keys are present, their weights, the greatest score, and log Z.
    """
    present = [s for s, a_s in enumerate(a) if allowed[s] and a_s != -_mp.inf]
    p = _zeros(len(present))
    if not present:
        return present, p, _mp.zero, -_mp.inf
    if not all(_mp.isfinite(a_s) for a_s in a[present]):  # NaN, or +∞ − ∞
        return present, p + _mp.nan, _mp.nan, _mp.nan
    m = max(a[present])
    for n, a_s in enumerate(a[present]):
        p[n] = _mp.exp(a_s - m)
    z = sum(p)
    return present, p / z, m, m + _mp.log(z)


def _inner(x: Numbers, y: Numbers) -> Number:
    return sum((x_i * y_i for x_i, y_i in zip(x, y, strict=True)), _mp.zero)


def exactly(array: Floats) -> Numbers:
    """Return the same numbers as mpf."""
    return np.array([_mp.mpf(float(x)) for x in array.flat], dtype=object).reshape(array.shape)


def _floats(numbers: Numbers) -> Bounds:
    return np.array([float(x) for x in numbers.flat], dtype="float64").reshape(numbers.shape)


def _zeros(*shape: int) -> Numbers:
    return np.full(shape, _mp.zero, dtype=object)


def _nothing(*shape: int) -> Quantity:
    return Quantity(_zeros(*shape), np.zeros(shape), np.zeros(shape))


def unit(dtype: DTypeLike) -> float:
    """Return u, half the distance from 1 to the next float."""
    return float(np.finfo(dtype).eps) / 2


def ulp(x: float, dtype: DTypeLike) -> float:
    """Return one unit in the last place of x in dtype, between whose floats x may lie."""
    info = np.finfo(dtype)
    least = int(info.minexp)
    exponent = max(math.frexp(x)[1] - 1, least) if x else least
    return math.ldexp(1, exponent - info.nmant)


def _smallest(dtype: DTypeLike) -> float:
    return float(np.finfo(dtype).smallest_subnormal)


def assert_within(actual: Floats, truth: Quantity, *, working: DTypeLike = "float64") -> None:
    """Require a result within its bound in every place, NaN where NaN is right and ∞ where ∞ is."""
    assert_near(actual, truth.exact, truth.bound(actual.dtype, working))


def assert_agree(one: Floats, other: Floats, truth: Quantity) -> None:
    """Require two results to differ by no more than both may differ from the truth."""
    assert_near(one, exactly(other), truth.bound(one.dtype) + truth.bound(other.dtype))


def assert_near(actual: Floats, exact: Numbers, bound: Bounds) -> None:
    """Require |actual − exact| ≤ bound in every place, NaN where NaN is right and ∞ where ∞ is."""
    if actual.shape != exact.shape:
        raise AssertionError(f"shape {actual.shape}, should be {exact.shape}")
    bounds = np.broadcast_to(bound, exact.shape)
    for i in np.ndindex(*exact.shape):
        wrong = _miss(float(actual[i]), exact[i], float(bounds[i]))
        if wrong:
            right = _mp.nstr(exact[i], 20)
            raise AssertionError(
                f"[{', '.join(map(str, i))}] is {actual[i]!r}, not {right}: {wrong}"
            )


def _miss(x: float, y: Number, bound: float) -> str:
    """Say what is wrong with x where y is right; nothing if nothing is."""
    if not _mp.isfinite(y):
        right = math.isnan(x) if _mp.isnan(y) else x == float(y)
        return "" if right else "what is not finite must show"
    if not math.isfinite(x):
        return "it must be finite"
    error = abs(_mp.mpf(x) - y)
    return "" if error <= bound else f"error {_mp.nstr(error, 3)}, bound {_mp.nstr(bound, 3)}"
