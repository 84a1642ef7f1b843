"""One head at a time, in blocks of queries and keys: who reads what, and the scores of a block.

The scores of a block stand with one row a key and one column a query: what belongs to a query, its
largest score, its normaliser, then lies along a row, where NumPy is fastest.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from attnref._rules import Rule
from attnref._typing import Floats, Mask

Pairs = TypeVar("Pairs", Floats, Mask)


@dataclass(frozen=True)
class Head:
    """The matrices of one head and its options: mask and bias for (L, S), the sink for (L,)."""

    query: Floats
    key: Floats
    value: Floats
    mask: Mask | Rule
    bias: Floats | None
    sink: Floats | None
    scale: float
    softcap: float | None
    block_size: int | None
    work: np.dtype[np.floating]

    def blocks(self, rows: range, room: int, least: int = 0) -> Iterator[tuple[range, Mask | None]]:
        """Yield the blocks of keys that these queries see, and which pairs; None for all pairs.

        A block has as many keys as the call says, or as many as room, in bytes, allows, if each
        needs as many numbers as there are queries, and the least.
        """
        size = self.block_size or max(room // (self.work.itemsize * max(len(rows), least)), 1)
        for span, whole in self._spans(rows):
            for start in span[::size]:
                keys = range(start, min(start + size, span.stop))
                here = self._allowed(rows, keys, whole)
                if here is None or here.any():
                    yield keys, None if here is None or here.all() else here

    @property
    def depth(self) -> int:
        """The larger of d_k and d_v."""
        return int(max(self.key.shape[-1], self.value.shape[-1]))

    def of(self, matrix: Floats, part: range) -> Floats:
        """Return some rows of a matrix in the dtype of the work."""
        return matrix[part.start : part.stop].astype(self.work, copy=False)

    def scaled(self, rows: range) -> Floats:
        """Return βq_t, rounded once."""
        query = self.query[rows.start : rows.stop].astype(np.float64)
        return (self.scale * query).astype(self.work)

    def products(self, rows: range, keys: range) -> Floats:
        """Return β⟨q_t, k_s⟩."""
        return self.of(self.key, keys) @ self.scaled(rows).T

    def scores(self, rows: range, keys: range, here: Mask | None) -> Floats:
        """Return a_ts, −∞ where a key is masked."""
        a = self.products(rows, keys)
        if self.softcap is not None:
            np.tanh(np.divide(a, self.softcap, out=a), out=a)
            a *= self.softcap
        if self.bias is not None:
            a += _pairs(self.bias, rows, keys)
        if here is not None:
            np.copyto(a, -np.inf, where=~here)
        return a

    def _spans(self, rows: range) -> list[tuple[range, bool]]:
        if isinstance(self.mask, Rule):
            return self.mask.spans(rows)
        return [(range(len(self.key)), False)]

    def _allowed(self, rows: range, keys: range, whole: bool) -> Mask | None:
        masks: list[Mask] = []
        if isinstance(self.mask, np.ndarray):
            masks.append(_pairs(self.mask, rows, keys))
        elif not whole:
            masks.append(self.mask(_places(rows)[:, np.newaxis], _places(keys)).T)
        if self.bias is not None:
            masks.append(_pairs(self.bias, rows, keys) != -np.inf)
        return masks[0] & masks[-1] if masks else None


def total(x: Floats, y: Floats, x_counts: Mask, y_counts: Mask) -> Floats:
    """Return Σ_b x_ab y_bc over the terms of which both factors count, whatever others hold."""
    wild = ~(np.isfinite(x).all(axis=0) & np.isfinite(y).all(axis=1))
    result: Floats = x[:, ~wild] @ y[~wild]
    for b in np.flatnonzero(wild):
        result += np.where(x_counts[:, [b]] & y_counts[[b]], x[:, [b]] * y[[b]], 0)
    return result


def _places(part: range) -> NDArray[np.int64]:
    return np.arange(part.start, part.stop)


def _pairs(array: Pairs, rows: range, keys: range) -> Pairs:
    return array[rows.start : rows.stop, keys.start : keys.stop].T
