"""Attention over some of the keys, and how parts make the whole.

For one query t and a set of keys, with any number m_t for a reference exponent:

    z_t = Σ_s exp(a_ts − m_t),   n_t = Σ_s exp(a_ts − m_t) v_s,   y_t = n_t / z_t.

Over the union of two sets both are sums, once they have one m_t: (m, z, n) is a monoid, and its
neutral element is the state of no key, z = 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import DTypeLike

from attnref import _checks, _entry, _filling, _shapes
from attnref._attention import for_heads_of, scored, weighted_sum
from attnref._entry import wide
from attnref._softmax import decided, exponentials
from attnref._typing import Floats, Mask, Sink


@dataclass(frozen=True, eq=False)
class Partial:
    """What the queries know of the keys that they have seen.

    z_t = Σ_s exp(a_ts − m_t),   n_t = Σ_s exp(a_ts − m_t) v_s,   Z_t = z_t exp(m_t)

    It keeps (m, z) and not log Z alone: where scores are large, log Z has few digits left for what
    a weight depends on.

    Arguments:
        m: reference exponent, (…, L); any number that is finite, and −∞ where z is 0.
        z: Σ_s exp(a_ts − m_t), (…, L), of the same dtype; 0 where no key was allowed.
        n: Σ_s exp(a_ts − m_t) v_s, (…, L, d_v), of the same dtype.
        dtype: floating, what `output` and `log_z` are rounded to; that of n unless given.

    Raises:
        TypeError: an array of another kind or dtype.
        ValueError: shapes that do not fit.

    Source: derivation MSHF, `python -m attnref show MSHF`.

    >>> Partial(np.array([0.0]), np.array([4.0]), np.array([[2.0, 6.0]])).output
    array([[0.5, 1.5]])
    """

    m: Floats
    z: Floats
    n: Floats
    dtype: DTypeLike | None = None

    def __post_init__(self) -> None:
        _entry.arrays(m=self.m, z=self.z, n=self.n)
        _shapes.state(self.m, self.z, self.n)
        kind = self.n.dtype if self.dtype is None else np.dtype(self.dtype)
        _checks.floating(np.ndarray, dtype=np.empty(0, kind))
        object.__setattr__(self, "dtype", kind)

    @classmethod
    def empty(cls, shape: Sequence[int], dtype: DTypeLike = np.float64) -> Self:
        """Return the state of no key, with which any other merges to itself.

        Arguments:
            shape: (…, L, d_v), that of the output.
            dtype: floating, that of the output.

        Returns:
            The state with z = 0 and n = 0.

        Raises:
            TypeError: sizes that are no integers, or a dtype that is not floating.
            ValueError: a negative size, or fewer than two.

        Source: derivation MIDN, `python -m attnref show MIDN`.

        >>> Partial.empty((1, 2)).output
        array([[0., 0.]])
        """
        n = np.zeros(_filling.sizes(shape))
        _shapes.matrices(n=n)
        zero = n[..., 0] if n.shape[-1] else np.zeros(n.shape[:-1])
        return cls(np.full_like(zero, -np.inf), zero, n, dtype)

    @property
    @decided
    def output(self) -> Floats:
        """The average of the values, y_t = n_t / z_t, (…, L, d_v); 0 where no key was allowed."""
        z = wide(self.z)[..., np.newaxis]
        return np.divide(self.n, z, out=np.zeros(self.n.shape), where=z != 0).astype(self.dtype)

    @property
    @decided
    def log_z(self) -> Floats:
        """The logarithm of the normaliser, m_t + log z_t, (…, L); −∞ where no key was allowed."""
        return (_exponent(self) + np.log(wide(self.z))).astype(self.dtype)


@decided
def partial_attention(
    query: Floats,
    key: Floats,
    value: Floats,
    *,
    mask: Mask | None = None,
    bias: Floats | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    sink: Sink | None = None,
) -> Partial:
    """Attend to some of the keys, and keep what merges with the others.

    z_t = Σ_s exp(a_ts − m_t),   n_t = Σ_s exp(a_ts − m_t) v_s,   m_t = max_s a_ts

    A sink is one more key: give it with one of the parts, and it is counted once.

    Arguments:
        query: q, (…, L, d_k), floating.
        key: k, (…, S, d_k), of the query's dtype; leading axes broadcast, and heads (axis −3) may
            be fewer: query head h reads key head h // (Hq/Hkv), and so for the value.
        value: v, (…, S, d_v), of the query's dtype.
        mask: True where query t may attend to key s; broadcasts to (…, L, S).
        bias: b, of the query's dtype, added to the scores; broadcasts to (…, L, S); −∞ masks.
        scale: β, any finite number; 1/√d_k unless given.
        softcap: c, positive and finite: c·tanh(a_ts / c) before the bias; None for no cap.
        sink: the score of one more key that has no value, a number or (…, L).

    Returns:
        The state (m, z, n) in float64, with an output of the query's dtype.

    Raises:
        TypeError: an array, a mask or a number of another kind or dtype.
        ValueError: shapes that do not fit, or a number outside its range.

    Source: derivation MBLK, `python -m attnref show MBLK`.

    >>> query, key, value = np.ones((1, 2)), np.zeros((3, 2)), np.array([[1.0], [2.0], [6.0]])
    >>> first = partial_attention(query, key[:2], value[:2])
    >>> merge(first, partial_attention(query, key[2:], value[2:])).output
    array([[3.]])
    """
    _entry.arrays(query=query, key=key, value=value, bias=bias, sink=sink)
    shape = _shapes.attention_shape(query, key, value)
    _entry.options_fit(shape, mask=mask, bias=bias, sink=sink)
    a, here = scored(query, key, shape, mask, bias, scale, softcap)
    m, e, z = exponentials(a, here, None if sink is None else wide(sink))
    n = weighted_sum(e, for_heads_of(query, value), here)
    return Partial(m[..., 0], z[..., 0], n, query.dtype)


@decided
def merge(a: Partial, b: Partial) -> Partial:
    """Return the state of the keys of both, which have none in common.

    m = max(m_a, m_b),   z = exp(m_a − m) z_a + exp(m_b − m) z_b,   and n likewise

    Arguments:
        a: the state of some keys.
        b: the state of other keys, of the same shape and dtype.

    Returns:
        The state of all of them.

    Raises:
        TypeError: what is no Partial, or states of different dtypes.
        ValueError: states of different shapes.

    Source: derivations MSHF, MCOM, MASS and MIDN, `python -m attnref show MSHF`.

    >>> one = Partial(np.array([0.0]), np.array([1.0]), np.array([[8.0]]))
    >>> other = Partial(np.array([np.log(3.0)]), np.array([1.0]), np.array([[4.0]]))
    >>> merge(one, other).output
    array([[5.]])
    """
    _shapes.alike(Partial, a, b)
    m_a, m_b = _exponent(a), _exponent(b)
    m = np.maximum(m_a, m_b)
    common = np.where(m == -np.inf, 0, m)
    share_a, share_b = np.exp(m_a - common), np.exp(m_b - common)
    z = share_a * a.z + share_b * b.z
    n = share_a[..., np.newaxis] * a.n + share_b[..., np.newaxis] * b.n
    return Partial(m, z, n, a.dtype)


def _exponent(state: Partial) -> Floats:
    """Return m, −∞ where no key was seen: there it says nothing, and must not count as largest."""
    return np.where(wide(state.z) == 0, -np.inf, wide(state.m))
