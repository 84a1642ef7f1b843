"""Attention over some of the keys in Torch, and how parts make the whole, differentiably.

For one query t and a set of keys, with any number m_t for a reference exponent:

    z_t = Σ_s exp(a_ts − m_t),   n_t = Σ_s exp(a_ts − m_t) v_s,   y_t = n_t / z_t.

m_t cancels, so no gradient goes through it; a query that has seen no key gives and takes none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from attnref import _filling, _shapes
from attnref.torch import _entry, _guarded, _softmax
from attnref.torch._attention import for_each_head, scored
from attnref.torch._rounding import rounded


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
        TypeError: a tensor of another kind or dtype.
        ValueError: shapes or devices that do not fit.

    Source: derivation MSHF, `python -m attnref show MSHF`.

    >>> Partial(torch.tensor([0.0]), torch.tensor([4.0]), torch.tensor([[2.0, 6.0]])).output
    tensor([[0.5000, 1.5000]])
    """

    m: Tensor
    z: Tensor
    n: Tensor
    dtype: torch.dtype | None = None

    def __post_init__(self) -> None:
        _entry.tensors(None, m=self.m, z=self.z, n=self.n)
        _shapes.state(self.m, self.z, self.n)
        kind = self.n.dtype if self.dtype is None else _entry.floating_dtype(self.dtype)
        object.__setattr__(self, "dtype", kind)

    @classmethod
    def empty(
        cls,
        shape: Sequence[int],
        dtype: torch.dtype | None = None,
        device: torch.device | str | None = None,
    ) -> Self:
        """Return the state of no key, with which any other merges to itself.

        Arguments:
            shape: (…, L, d_v), that of the output.
            dtype: floating, that of the output; Torch's default dtype unless given.
            device: where it is; Torch's default device unless given.

        Returns:
            The state with z = 0 and n = 0.

        Raises:
            TypeError: sizes that are no integers, or a dtype that is not floating.
            ValueError: a negative size, or fewer than two.

        Source: derivation MIDN, `python -m attnref show MIDN`.

        >>> Partial.empty((1, 2)).output
        tensor([[0., 0.]])
        """
        n = torch.zeros(_filling.sizes(shape), dtype=torch.float64, device=device)
        _shapes.matrices(n=n)
        zero = n.new_zeros(n.shape[:-1])
        return cls(torch.full_like(zero, -torch.inf), zero, n, _entry.floating_dtype(dtype))

    @property
    def output(self) -> Tensor:
        """The average of the values, y_t = n_t / z_t, (…, L, d_v); 0 where no key was allowed."""
        z, none = self._seen()
        y = self.n.double() / z.unsqueeze(-1)
        return rounded(y.masked_fill(none.unsqueeze(-1), 0.0), self._kind)

    @property
    def log_z(self) -> Tensor:
        """The logarithm of the normaliser, m_t + log z_t, (…, L); −∞ where no key was allowed."""
        z, none = self._seen()
        return rounded((self.m.double() + z.log()).masked_fill(none, -torch.inf), self._kind)

    @property
    def _kind(self) -> torch.dtype:
        return self.n.dtype if self.dtype is None else self.dtype

    def _seen(self) -> tuple[Tensor, Tensor]:
        """Return z, 1 where it is 0, and where that is."""
        none = self.z == 0
        return self.z.double().masked_fill(none, 1.0), none


def partial_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    sink: Tensor | float | None = None,
) -> Partial:
    """Attend to some of the keys, and keep what merges with the others.

    z_t = Σ_s exp(a_ts − m_t),   n_t = Σ_s exp(a_ts − m_t) v_s,   m_t = max_s a_ts

    A sink is one more key: give it with one of the parts, and it is counted once.

    Arguments:
        query: q, (…, L, d_k), floating.
        key: k, (…, S, d_k), of the query's dtype; leading axes broadcast, and heads (axis −3) may
            be fewer: Hq/Hkv query heads in a row share one, and so for the value.
        value: v, (…, S, d_v), of the query's dtype.
        mask: True where query t may attend to key s; broadcasts to (…, L, S).
        bias: added to the scores, of the query's dtype; broadcasts to (…, L, S). −∞ masks.
        scale: β, any finite number; 1/√d_k unless given.
        softcap: c, positive and finite: c·tanh(a_ts/c) before the bias.
        sink: the score of one more key, without a value: a number, or a tensor of the query's dtype
            that broadcasts to the rows (…, L).

    Returns:
        The state (m, z, n) in float64, with an output of the query's dtype.

    Raises:
        TypeError: a tensor of another kind or dtype, or a number that is none.
        ValueError: shapes or devices that do not fit, or a number outside its range.

    Source: derivation MBLK, `python -m attnref show MBLK`.

    >>> query, key = torch.ones(1, 2), torch.zeros(3, 2)
    >>> value = torch.tensor([[1.0], [2.0], [6.0]])
    >>> first = partial_attention(query, key[:2], value[:2])
    >>> merge(first, partial_attention(query, key[2:], value[2:])).output
    tensor([[3.]])
    """
    _entry.tensors(mask, sink, query=query, key=key, value=value, bias=bias)
    shape = _shapes.attention_shape(query, key, value)
    _entry.fit(shape, mask=mask, bias=bias, sink=sink)
    a = scored(query, key, scale, softcap, bias).expand(shape)
    allowed = _softmax.allowed(a, mask)
    m, e, z = _softmax.exponentials(a, allowed, sink)
    n = _guarded.total(e, for_each_head(query, value).double(), allowed)
    return Partial(m, z, n.masked_fill(_softmax.empty(allowed), 0.0), query.dtype)


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
        ValueError: states of different shapes, or on different devices.

    Source: derivations MSHF, MCOM, MASS and MIDN, `python -m attnref show MSHF`.

    >>> one = Partial(torch.tensor([0.0]), torch.tensor([1.0]), torch.tensor([[8.0]]))
    >>> other = Partial(torch.tensor([3.0]).log(), torch.tensor([1.0]), torch.tensor([[4.0]]))
    >>> merge(one, other).output
    tensor([[5.]])
    """
    _shapes.alike(Partial, a, b)
    _entry.one_device(a=a.n, b=b.n)
    m = torch.maximum(_exponent(a).detach(), _exponent(b).detach())
    common = m.masked_fill(m == -torch.inf, 0.0)
    z, n = torch.zeros_like(common), a.n.new_zeros(a.n.shape, dtype=torch.float64)
    for state in (a, b):
        share = (_exponent(state) - common).exp()
        z = z + share * state.z
        n = n + share.unsqueeze(-1) * state.n
    return Partial(m, z, n, a.dtype)


def _exponent(state: Partial) -> Tensor:
    """Return m, −∞ where no key was seen: there it says nothing, and must not count as largest."""
    return state.m.double().masked_fill(state.z == 0, -torch.inf)
