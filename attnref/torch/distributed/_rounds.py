"""The ring: whose keys are where, and how they go from rank to rank with what belongs to them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TypeVar

from torch import Tensor

from attnref._rules import Rule
from attnref.torch._blocks import Call
from attnref.torch.distributed._ranks import Ranks

Found = TypeVar("Found")
Pairs = TypeVar("Pairs", Tensor, Tensor | Rule)


@dataclass(frozen=True)
class Ring:
    """How many keys each rank has. A call holds this rank's keys, and mask and bias for all."""

    ranks: Ranks
    sizes: list[int]

    def call(self, whole: Call, rank: int, key: Tensor, value: Tensor) -> Call:
        """Return the call of this rank's queries and of the keys of another; a sink counts once."""
        columns = self.columns(rank)
        return replace(
            whole,
            key=key,
            value=value,
            mask=_part(whole.mask, columns),
            bias=None if whole.bias is None else _part(whole.bias, columns),
            sink=whole.sink if rank == self.ranks.rank else None,
            shape=(*whole.shape[:-1], self.sizes[rank]),
        )

    def columns(self, rank: int) -> slice:
        """Return where the keys of a rank are among all."""
        stop = list(accumulate(self.sizes))[rank]
        return slice(stop - self.sizes[rank], stop)

    def rounds(
        self, whole: Call, visit: Callable[[int, Tensor, Tensor], Found]
    ) -> Iterator[tuple[int, Found]]:
        """Yield what a visit to the keys of each rank finds; the next are on their way then."""
        key, value = whole.key, whole.value
        for step in range(self.ranks.size):
            rank = (self.ranks.rank - step) % self.ranks.size
            last = step == self.ranks.size - 1
            moving = [] if last else [key.contiguous(), value.contiguous()]
            coming, wait = self._pass_on(rank, moving, 0)
            found = visit(rank, key, value)
            wait()
            key, value = coming or (key, value)
            yield rank, found

    def add(self, rank: int, sums: dict[str, Tensor], found: dict[str, Tensor]) -> None:
        """Add to the gradients what the keys of a rank have found."""
        for name, gradient in found.items():
            total = _part(sums[name], self.columns(rank)) if name == "bias" else sums[name]
            total += gradient

    def pass_on(self, rank: int, gradients: list[Tensor]) -> list[Tensor]:
        """Send the gradients of the keys of a rank after them; return those of the keys to come."""
        coming, wait = self._pass_on(rank, gradients, len(gradients))
        wait()
        return coming

    def _pass_on(
        self, rank: int, moving: list[Tensor], tag: int
    ) -> tuple[list[Tensor], Callable[[], None]]:
        S = self.sizes[(rank - 1) % self.ranks.size]
        coming = [x.new_empty((*x.shape[:-2], S, x.shape[-1])) for x in moving]
        return coming, self.ranks.pass_on(moving, coming, tag)


def _part(pairs: Pairs, columns: slice) -> Pairs:
    """Return the columns of a mask or bias, or the whole where it has one for all."""
    if isinstance(pairs, Rule):
        return pairs.part(columns.start, columns.stop)
    return pairs[..., columns] if pairs.ndim and pairs.shape[-1] > 1 else pairs
