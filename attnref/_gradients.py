"""The gradients of attention: what `attention_gradients` adds up over the heads that share it."""

from typing import NamedTuple

import numpy as np

from attnref import _backward, _call, _entry, _shapes, _streaming, _workers
from attnref._entry import wide
from attnref._heads import Queries
from attnref._partial import Partial
from attnref._rules import Rule
from attnref._softmax import decided
from attnref._typing import Floats, Mask, Sink

ROOM = 2**19  # bytes of the scores of a block


class Gradients(NamedTuple):
    """The gradients of what went in, each of its shape and dtype.

    Those of bias and sink are None where none was given; that of a bias is 0 where it masks, and
    where a mask does.
    """

    query: Floats
    key: Floats
    value: Floats
    bias: Floats | None = None
    sink: Floats | None = None


@decided
def attention_gradients(
    query: Floats,
    key: Floats,
    value: Floats,
    grad_output: Floats,
    *,
    block_size: int | None = None,
    mask: Mask | Rule | None = None,
    bias: Floats | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    sink: Sink | None = None,
    grad_log_z: Floats | None = None,
    state: Partial | None = None,
) -> Gradients:
    """Return the gradients of a loss by what attention takes, from those by what it gives.

    da_ts = p_ts (⟨g_t, v_s⟩ − ⟨g_t, y_t⟩ + γ_t),   dv_s = Σ_t p_ts g_t,
    dq_t = β Σ_s da_ts k_s,   dk_s = β Σ_t da_ts q_t

    A masked key takes no gradient, an empty row gives none, and a gradient of 0 asks for nothing,
    whatever NaN it would meet. Memory beyond the results grows with L and S, not with L·S.

    Arguments:
        query: q, (…, L, d_k), floating.
        key: k, (…, S, d_k), of the query's dtype; leading axes broadcast, and heads (axis −3) may
            be fewer: query head h reads key head h // (Hq/Hkv), and so for the value.
        value: v, (…, S, d_v), of the query's dtype.
        grad_output: g = ∂ℓ/∂y, (…, L, d_v), of the query's dtype; broadcasts.
        block_size: number of keys of a block, 1 or more; unless given, as many as make the scores
            of a block half a MiB.
        mask: True where query t may attend to key s, broadcasts to (…, L, S); or a `masks.Rule`.
        bias: b, of the query's dtype, added to the scores; broadcasts to (…, L, S); −∞ masks.
        scale: β, any finite number; 1/√d_k unless given.
        softcap: c, positive and finite: c·tanh(a_ts / c) before the bias; None for no cap.
        sink: the score of one more key that has no value, a number or (…, L).
        grad_log_z: γ = ∂ℓ/∂log Z, (…, L), of the query's dtype; broadcasts; None for 0.
        state: that of all keys, sink included, if it is known, or if key and value are only some of
            the keys: then the gradients are those of these, and dq is their part of a sum.

    Returns:
        The gradients of query, key, value, bias and sink, the last two None if not given.

    Raises:
        TypeError: an array, a mask or a number of another kind or dtype.
        ValueError: shapes that do not fit, or a number outside its range.

    Source: derivations BWDV, BWDS, BWDQ, BWDK and LZGR, `python -m attnref show BWDS`.

    >>> query, key, value = np.zeros((1, 1)), np.array([[1.0], [-1.0]]), np.array([[2.0], [6.0]])
    >>> attention_gradients(query, key, value, np.ones((1, 1))).query
    array([[-2.]])
    """
    call = _call.checked(query, key, value, mask, bias, scale, softcap, sink, block_size)
    outputs = (*call.shape[:-1], value.shape[-1])
    _entry.gradients(query, outputs, grad_output=grad_output, grad_log_z=grad_log_z)
    _shapes.state_fits(Partial, state, outputs)
    gamma = np.zeros(1) if grad_log_z is None else grad_log_z
    asked = np.broadcast_to(grad_output, outputs), np.broadcast_to(gamma, outputs[:-1])
    work = _Pass(call, *asked, state)
    _workers.over(work.of_family, work.families())
    return Gradients(
        **{name: total.astype(query.dtype, copy=False) for name, total in work.sums.items()}
    )


class _Pass:
    """One backward pass: what is asked, and the sums that grow, in the dtype of the work."""

    def __init__(self, call: _call.Call, g: Floats, gamma: Floats, state: Partial | None) -> None:
        self.call, self.g, self.gamma, self.state = call, g, gamma, state
        arrays = {name: getattr(call, name) for name in Gradients._fields}
        self.sums = {
            name: np.zeros(array.shape, call.work)
            for name, array in arrays.items()
            if array is not None
        }

    def families(self) -> list[list[_call.Place]]:
        """Return the heads in groups that share nothing: two threads never add to one sum."""
        tails = ((total, _tail(name)) for name, total in self.sums.items())
        return self.call.families(*(total.shape[: max(total.ndim - n, 0)] for total, n in tails))

    @decided
    def of_family(self, places: list[_call.Place]) -> None:
        """Add the gradients of some heads."""
        for place in places:
            head = self.call.head(place)
            sums = {
                name: self.call.part(total, place, _tail(name)) for name, total in self.sums.items()
            }
            for rows in self.call.rows():
                _add_rows(self._asked(head.queries(rows), place), sums)

    def _asked(self, queries: Queries, place: _call.Place) -> _backward.Asked:
        part = slice(queries.places.start, queries.places.stop)
        state = _streaming.state(queries) if self.state is None else self._known(place, part)
        g, gamma = (x[place][part].astype(self.call.work) for x in (self.g, self.gamma))
        return _backward.asked(queries, *state, g, gamma)

    def _known(self, place: _call.Place, part: slice) -> _streaming.State:
        """Return a part of the state that was given; where m is rounded, z and n make up for it."""
        assert self.state is not None
        m, z, n = (wide(getattr(self.state, name)[place][part]) for name in "mzn")
        rounded = np.where(z == 0, 0, m + np.log(z)).astype(self.call.work)
        share = np.where(z == 0, 0, np.exp(m - rounded))
        known = share * z, share[:, np.newaxis] * n
        return rounded, known[0].astype(rounded.dtype), known[1].astype(rounded.dtype)


def _add_rows(asked: _backward.Asked, sums: dict[str, Floats]) -> None:
    """Add what some queries of a head give to all sums."""
    queries, head, rows = asked.queries, asked.queries.head, asked.queries.places
    if head.sink is not None:
        _add(sums["sink"], _backward.of_sink(asked), rows)
    for keys, here in queries.blocks(ROOM, head.depth):
        dv, da = _backward.of_block(asked, keys, here)
        _add(sums["value"], dv, keys)
        if head.bias is not None:
            _add(sums["bias"], da.T, rows, keys)
        if head.softcap is not None:
            np.multiply(da, _backward.slope(queries, keys), out=da, where=da != 0)
        _add(sums["key"], _backward.of_factor(da, queries.scaled), keys)
        dq = _backward.of_factor(da.T, head.of(head.key, keys))
        _add(sums["query"], head.scale * dq, rows)


def _add(total: Floats, block: Floats, *places: range) -> None:
    """Add a block in its place; an axis of which there is one is summed over."""
    own = total[(np.newaxis,) * (block.ndim - total.ndim)]
    sizes = zip(places, own.shape, strict=False)
    own = own[tuple(slice(part.start, part.stop) if n > 1 else slice(None) for part, n in sizes)]
    ones = tuple(axis for axis, n in enumerate(own.shape) if n == 1)
    own += block.sum(axis=ones, keepdims=True) if ones else block


def _tail(name: str) -> int:
    return 1 if name == "sink" else 2
