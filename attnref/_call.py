"""The arguments of a call in blocks, checked, and which part of each array a head reads."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from attnref import _checks, _entry, _integers, _shapes
from attnref._heads import Head
from attnref._rules import Rule
from attnref._typing import Floats, Mask, Sink

Place = tuple[int, ...]
QUERIES = 256  # of a block


@dataclass(frozen=True)
class Call:
    """The arguments of a call in blocks, whose scores are (…, L, S); a place is one of (…)."""

    query: Floats
    key: Floats
    value: Floats
    mask: Mask | Rule
    bias: Floats | None
    sink: Floats | None
    scale: float
    softcap: float | None
    block_size: int | None
    shape: tuple[int, ...]

    @property
    def work(self) -> np.dtype[np.floating]:
        """The dtype of the work: that of the query, float32 for float16."""
        return np.result_type(self.query.dtype, np.float32)

    def places(self) -> list[Place]:
        """Return the places of all heads."""
        return list(np.ndindex(self.shape[:-2]))

    def rows(self) -> list[range]:
        """Return the blocks of queries."""
        L = self.shape[-2]
        return [range(t, min(t + QUERIES, L)) for t in range(0, L, QUERIES)]

    def head(self, place: Place) -> Head:
        """Return what the head in a place reads."""
        L = self.shape[-2]
        return Head(
            self.part(self.query, place),
            self.part(self.key, place),
            self.part(self.value, place),
            self.mask if isinstance(self.mask, Rule) else self._pairs(self.mask, place),
            None if self.bias is None else self._pairs(self.bias, place),
            None if self.sink is None else np.broadcast_to(self.part(self.sink, place, 1), L),
            self.scale,
            self.softcap,
            self.block_size,
            self.work,
        )

    def part(self, array: Any, place: Place, tail: int = 2) -> Any:
        """Return what the head in a place reads of an array: it may share it with others."""
        front = array.shape[: max(array.ndim - tail, 0)]
        return array[(*self._own(place, front), ...)]  # ...: a view, also of no axes

    def families(self, *fronts: tuple[int, ...]) -> list[list[Place]]:
        """Return the heads in groups of which no two share a part of arrays with these axes."""
        axes = self.shape[:-2]
        if not all(axes):
            return []
        sharing = [1] * len(axes)
        for front in fronts:
            for axis, size in enumerate((1,) * (len(axes) - len(front)) + front):
                sharing[axis] = math.lcm(sharing[axis], axes[axis] // size)
        step = np.array(sharing, dtype=int)
        corners, within = np.ndindex(*(axes // step)), list(np.ndindex(*step))
        return [[tuple(step * corner + i) for i in within] for corner in corners]

    def _own(self, place: Place, front: tuple[int, ...]) -> Place:
        skipped = len(place) - len(front)
        axes = zip(place[skipped:], front, self.shape[skipped:-2], strict=True)
        return tuple(i * size // n for i, size, n in axes)

    def _pairs(self, array: Any, place: Place) -> Any:
        return np.broadcast_to(self.part(array, place), self.shape[-2:])


def checked(
    query: Floats,
    key: Floats,
    value: Floats,
    mask: Mask | Rule | None,
    bias: Floats | None,
    scale: float | None,
    softcap: float | None,
    sink: Sink | None,
    block_size: int | None,
) -> Call:
    """Return a call that has passed the rules of entry."""
    _entry.arrays(query=query, key=key, value=value, bias=bias, sink=sink)
    shape = _shapes.attention_shape(query, key, value)
    if isinstance(mask, Rule):
        _shapes.rule_fits(mask, shape)
    _entry.options_fit(shape, mask=None if isinstance(mask, Rule) else mask, bias=bias, sink=sink)
    cap, holds = _checks.softcap(softcap), np.finfo(np.result_type(query.dtype, np.float32))
    return Call(
        np.asarray(query),
        np.asarray(key),
        np.asarray(value),
        Rule(shape[-2], shape[-1]) if mask is None else mask,
        None if bias is None else np.asarray(bias),
        None if sink is None else _held(_entry.wide(sink), holds),
        _checks.scale(scale, query),
        None if cap is None else float(np.clip(cap, holds.tiny, holds.max)),
        None if block_size is None else _integers.count("block_size", block_size),
        shape,
    )


def _held(sink: Floats, holds: np.finfo[np.floating]) -> Floats:
    """Return a sink that the dtype of the work holds, or that is less than 1 from one it holds."""
    rounded = np.clip(sink, -holds.max, holds.max).astype(holds.dtype).astype(np.float64)
    return np.where(np.isinf(sink) | (abs(sink - rounded) < 1), sink, rounded)
