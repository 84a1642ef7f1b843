"""A call in blocks of queries and keys, all heads at once: the scores of a block, and safe sums."""

from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor

from attnref import _checks, _integers, _shapes
from attnref._rules import Rule
from attnref.torch import _entry
from attnref.torch._attention import for_each_head

QUERIES, KEYS = 256, 512  # of a block
ARRAYS = ("query", "key", "value", "bias", "sink")  # what may have a gradient


@dataclass(frozen=True)
class Call:
    """The arguments of a call in blocks; its scores are (…, L, S), a sink is in float64."""

    query: Tensor
    key: Tensor
    value: Tensor
    mask: Tensor | Rule
    bias: Tensor | None
    sink: Tensor | None
    scale: float
    softcap: float | None
    block_size: int | None
    shape: tuple[int, ...]

    @property
    def work(self) -> torch.dtype:
        """The dtype of the work: that of the query, float32 for one of 16 bits."""
        return torch.promote_types(self.query.dtype, torch.float32)

    def arrays(self) -> tuple[Tensor | None, ...]:
        """Return what may have a gradient."""
        return tuple(getattr(self, name) for name in ARRAYS)

    def sums(self, names: Collection[str]) -> dict[str, Tensor]:
        """Return gradients that nothing was added to yet, by name, in the dtype of the work."""
        arrays = zip(ARRAYS, self.arrays(), strict=True)
        given = {name: x for name, x in arrays if x is not None and name in names}
        return {name: torch.zeros_like(x, dtype=self.work) for name, x in given.items()}

    def rows(self) -> list[range]:
        """Return the blocks of queries."""
        L = self.shape[-2]
        return [range(t, min(t + QUERIES, L)) for t in range(0, L, QUERIES)]

    def blocks(self, rows: range) -> Iterator[tuple[range, Tensor | None]]:
        """Yield the blocks of keys that these queries see, and which pairs; None for all pairs."""
        size = KEYS if self.block_size is None else self.block_size
        for span, whole in self._spans(rows):
            for start in span[::size]:
                keys = range(start, min(start + size, span.stop))
                yield keys, self._allowed(rows, keys, whole)

    def of(self, matrix: Tensor, part: range) -> Tensor:
        """Return some rows of a matrix in the dtype of the work, for each head that reads them."""
        rows = matrix[..., part.start : part.stop, :].to(self.work)
        return for_each_head(self.query, rows)

    def scaled(self, rows: range) -> Tensor:
        """Return βq_t, rounded once."""
        query = self.query[..., rows.start : rows.stop, :].double()
        return (self.scale * query).to(self.work)

    def products(self, rows: range, keys: range) -> Tensor:
        """Return β⟨q_t, k_s⟩."""
        return self.scaled(rows) @ self.of(self.key, keys).mT

    def scores(self, rows: range, keys: range, here: Tensor | None) -> Tensor:
        """Return a_ts, (…, rows, keys), −∞ where a key is masked."""
        a = self.products(rows, keys)
        if self.softcap is not None:
            a = self.softcap * torch.tanh(a / self.softcap)
        if self.bias is not None:
            a = a + self._pairs(self.bias, rows, keys)
        a = a.expand(*self.shape[:-2], len(rows), len(keys))
        return a if here is None else a.masked_fill(~here, -torch.inf)

    def sink_of(self, rows: range) -> Tensor:
        """Return the sink of some queries."""
        assert self.sink is not None
        whole = self.sink.expand(*self.sink.shape[:-1], self.shape[-2])
        return whole[..., rows.start : rows.stop]

    def _spans(self, rows: range) -> list[tuple[range, bool]]:
        if isinstance(self.mask, Rule):
            return self.mask.spans(rows)
        return [(range(self.shape[-1]), False)]

    def _allowed(self, rows: range, keys: range, whole: bool) -> Tensor | None:
        masks = []
        if isinstance(self.mask, Tensor):
            masks.append(self._pairs(self.mask, rows, keys))
        elif not whole:
            i, j = (torch.arange(p.start, p.stop, device=self.query.device) for p in (rows, keys))
            masks.append(self.mask(i.unsqueeze(-1), j))
        if self.bias is not None:
            masks.append(self._pairs(self.bias, rows, keys) != -torch.inf)
        return masks[0] & masks[-1] if masks else None

    def _pairs(self, array: Tensor, rows: range, keys: range) -> Tensor:
        whole = array.expand(*array.shape[:-2], *self.shape[-2:])
        return whole[..., rows.start : rows.stop, keys.start : keys.stop]


def checked(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | Rule | None,
    bias: Tensor | None,
    scale: float | None,
    softcap: float | None,
    sink: Tensor | float | None,
    block_size: int | None,
) -> Call:
    """Return a call that has passed the rules of entry."""
    _entry.tensors(None, sink, query=query, key=key, value=value)
    shape = _shapes.attention_shape(query, key, value)
    _entry.fit(shape, sink=sink)
    require_pairs(query, shape, mask, bias)
    cap = _checks.softcap(softcap)
    work = torch.promote_types(query.dtype, torch.float32)
    holds = torch.finfo(work)
    return Call(
        query,
        key,
        value,
        Rule(shape[-2], shape[-1]) if mask is None else mask,
        bias,
        None if sink is None else _held(_entry.tensor_of(sink, like=query), work),
        _checks.scale(scale, query),
        None if cap is None else min(max(cap, holds.tiny), holds.max),
        None if block_size is None else _integers.count("block_size", block_size),
        shape,
    )


def _held(sink: Tensor, work: torch.dtype) -> Tensor:
    """Return a sink that the dtype of the work holds, or that is less than 1 from one it holds."""
    largest = torch.finfo(work).max
    rounded = sink.clamp(-largest, largest).to(work).double()
    return torch.where(sink.isinf() | ((sink - rounded).abs() < 1), sink, rounded)


def require_pairs(
    query: Tensor, shape: tuple[int, ...], mask: Tensor | Rule | None, bias: Tensor | None
) -> None:
    """Require a mask and a bias for scores of a shape."""
    array = None if isinstance(mask, Rule) else mask
    _entry.tensors(array, query=query, bias=bias)
    if isinstance(mask, Rule):
        _shapes.rule_fits(mask, shape)
    _entry.fit(shape, mask=array, bias=bias)


def total(x: Tensor, y: Tensor, counts: Callable[[], tuple[Tensor, Tensor]]) -> Tensor:
    """Return Σ_b x_ab y_bc; what is not finite enters where both factors count, and only there."""
    result = x @ y
    if bool(result.isfinite().all()):
        return result
    wild = ~(_finite(x, -1) & _finite(y, -2))
    result = x.masked_fill(wild, 0.0) @ y.masked_fill(wild.unsqueeze(-1), 0.0)
    x_counts, y_counts = counts()
    for b in wild.nonzero().flatten().tolist():
        term = x[..., :, b, None] * y[..., b, None, :]
        counted = x_counts[..., :, b, None] & y_counts[..., b, None, :]
        result = result + term.masked_fill(~counted, 0.0)
    return result


def exactly(like: Tensor) -> AbstractContextManager[object]:
    """Keep autocast out, which would multiply in 16 bits."""
    kind = like.device.type
    usable = torch.amp.is_autocast_available(kind)
    return torch.autocast(kind, enabled=False) if usable else nullcontext()


def largest(x: Tensor) -> float:
    """Return the largest number of a tensor, 0 if it has none; NaN is the largest of all."""
    return float(x.amax()) if x.numel() else 0.0


def everywhere(x: Tensor) -> Tensor:
    """Return that every place counts."""
    return torch.ones_like(x, dtype=torch.bool)


def _finite(x: Tensor, axis: int) -> Tensor:
    """Return along one axis whether all is finite on the others."""
    return x.isfinite().movedim(axis, 0).flatten(1).all(dim=1)
