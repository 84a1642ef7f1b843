"""What the processes of a group do together, and how they agree on what to do."""

import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Generic, NamedTuple, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

Own = TypeVar("Own")


class Checked(NamedTuple, Generic[Own]):
    """Arguments that are right on this rank: what they are, what must be the same, what to tell."""

    own: Own
    same: dict[str, object]
    told: object = None


class Ranks:
    """The processes of a group, one of which is this."""

    def __init__(self, group: dist.ProcessGroup | None) -> None:
        if not (dist.is_available() and dist.is_initialized()):
            raise ValueError(
                "group must be one of torch.distributed, which has none in this process: "
                "call torch.distributed.init_process_group first"
            )
        self.group: Any = dist.group.WORLD if group is None else group
        self.rank, self.size = dist.get_rank(self.group), dist.get_world_size(self.group)
        if self.rank < 0:
            raise ValueError("group must have this process as a member")

    def agree(self, check: Callable[[], Checked[Own]]) -> tuple[Own, list[Any]]:
        """Check the arguments on every rank; raise on every rank if one of them has to.

        Return what the check found here, and what each rank tells the others.
        """
        try:
            mine = check()
        except Exception as error:
            self._gather(str(error))
            raise
        heard = self._gather((mine.same, mine.told))
        for rank, of_rank in enumerate(heard):
            if isinstance(of_rank, str):
                raise ValueError(f"rank {rank} refused its arguments: {of_rank}")
        _require_one([same for same, _ in heard])
        return mine.own, [told for _, told in heard]

    def add(self, tensor: Tensor) -> None:
        """Replace a tensor by its sum over all ranks."""
        with self._together("adding up"):
            dist.all_reduce(tensor, dist.ReduceOp.SUM, self.group)

    def largest(self, tensor: Tensor) -> Tensor:
        """Return the largest of all ranks, place by place."""
        result = tensor.clone()
        with self._together("looking for the largest"):
            dist.all_reduce(result, dist.ReduceOp.MAX, self.group)
        return result

    def pass_on(
        self, moving: Sequence[Tensor], coming: Sequence[Tensor], tag: int
    ) -> Callable[[], None]:
        """Send tensors to the next rank of the ring, and receive others from the one before.

        What is returned waits until both is done.
        """
        if self.size == 1:
            for mine, again in zip(moving, coming, strict=True):
                again.copy_(mine)
            return lambda: None
        steps = [
            *self._steps(dist.isend, 1, moving, tag),
            *self._steps(dist.irecv, -1, coming, tag),
        ]
        with self._together("passing on"):
            works = dist.batch_isend_irecv(steps) if steps else []

        def wait() -> None:
            with self._together("passing on"):
                for work in works:
                    work.wait()

        return wait

    def _steps(
        self, do: Callable[..., Any], ahead: int, tensors: Sequence[Tensor], tag: int
    ) -> list[dist.P2POp]:
        peer = dist.get_global_rank(self.group, (self.rank + ahead) % self.size)
        return [
            dist.P2POp(do, tensor, peer, self.group, tag + i)
            for i, tensor in enumerate(tensors)
            if tensor.numel()
        ]

    def _gather(self, mine: object) -> list[Any]:
        found: list[Any] = [None] * self.size
        with self._together("comparing arguments"):
            dist.all_gather_object(found, mine, self.group)
        return found

    @contextmanager
    def _together(self, doing: str) -> Iterator[None]:
        try:
            yield
        except RuntimeError as error:
            raise RuntimeError(
                f"rank {self.rank} of {self.size}: another rank failed, or kept silent for longer "
                f"than the group's timeout, while {doing}: {error}"
            ) from error


def numbers(tensor: Tensor) -> str:
    """Return what tells two tensors apart: shape, dtype, and a checksum of all their bits."""
    bits = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
    dtype = str(tensor.dtype).removeprefix("torch.")
    return f"{tuple(tensor.shape)} {dtype} with checksum {zlib.crc32(bits.numpy().data):08x}"


def _require_one(words: list[dict[str, object]]) -> None:
    for name in words[0]:
        said = [str(of_rank[name]) for of_rank in words]
        if len(set(said)) > 1:
            found = ", ".join(f"rank {rank} {value}" for rank, value in enumerate(said))
            raise ValueError(f"{name} must be the same on every rank: {found}")
