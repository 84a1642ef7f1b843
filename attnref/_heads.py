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

    @property
    def depth(self) -> int:
        """The larger of d_k and d_v."""
        return int(max(self.key.shape[-1], self.value.shape[-1]))

    def of(self, matrix: Floats, part: range) -> Floats:
        """Return some rows of a matrix in the dtype of the work."""
        return matrix[part.start : part.stop].astype(self.work, copy=False)

    def queries(self, places: range) -> "Queries":
        """Return some queries, scaled in float64 and rounded once."""
        query = self.query[places.start : places.stop].astype(np.float64)
        return Queries(self, places, (self.scale * query).astype(self.work))


@dataclass(frozen=True)
class Queries:
    """Some queries of a head, by their places, and βq_t."""

    head: Head
    places: range
    scaled: Floats

    def blocks(self, room: int, least: int = 0) -> Iterator[tuple[range, Mask | None]]:
        """Yield the blocks of keys that these queries see, and which pairs; None for all pairs.

        A block has as many keys as the call says, or as many as room, in bytes, allows, if each
        needs as many numbers as there are queries, and the least.
        """
        numbers = max(len(self.places), least)
        size = self.head.block_size or max(room // (self.head.work.itemsize * numbers), 1)
        for span, whole in self._spans():
            for start in span[::size]:
                keys = range(start, min(start + size, span.stop))
                here = self._allowed(keys, whole)
                if here is None or here.any():
                    yield keys, None if here is None or here.all() else here

    def part(self, array: Floats) -> Floats:
        """Return what an array (L,) has for these queries."""
        return array[self.places.start : self.places.stop]

    def products(self, keys: range) -> Floats:
        """Return β⟨q_t, k_s⟩."""
        return self.head.of(self.head.key, keys) @ self.scaled.T

    def scores(self, keys: range, here: Mask | None) -> Floats:
        """Return a_ts, −∞ where a key is masked."""
        a, cap, bias = self.products(keys), self.head.softcap, self.head.bias
        if cap is not None:
            np.tanh(np.divide(a, cap, out=a), out=a)
            a *= cap
        if bias is not None:
            a += self._pairs(bias, keys)
        if here is not None:
            np.copyto(a, -np.inf, where=~here)
        return a

    def _spans(self) -> list[tuple[range, bool]]:
        mask = self.head.mask
        return mask.spans(self.places) if isinstance(mask, Rule) else [(range(len(mask.T)), False)]

    def _allowed(self, keys: range, whole: bool) -> Mask | None:
        mask, bias = self.head.mask, self.head.bias
        masks: list[Mask] = []
        if isinstance(mask, np.ndarray):
            masks.append(self._pairs(mask, keys))
        elif not whole:
            masks.append(mask(_numbers(self.places)[:, np.newaxis], _numbers(keys)).T)
        if bias is not None:
            masks.append(self._pairs(bias, keys) != -np.inf)
        return masks[0] & masks[-1] if masks else None

    def _pairs(self, array: Pairs, keys: range) -> Pairs:
        return array[self.places.start : self.places.stop, keys.start : keys.stop].T


def total(x: Floats, y: Floats, x_counts: Mask, y_counts: Mask) -> Floats:
    """Return Σ_b x_ab y_bc over the terms of which both factors count, whatever others hold."""
    wild = ~(np.isfinite(x).all(axis=0) & np.isfinite(y).all(axis=1))
    result: Floats = x[:, ~wild] @ y[~wild]
    for b in np.flatnonzero(wild):
        result += np.where(x_counts[:, [b]] & y_counts[[b]], x[:, [b]] * y[[b]], 0)
    return result


def _numbers(part: range) -> NDArray[np.int64]:
    return np.arange(part.start, part.stop)
