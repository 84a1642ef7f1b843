"""The program of a rank: what it is told to call, one call after another, and what came of each.

    python ranks.py FOLDER RANK SIZE

The calls are read from FOLDER, and the answers written there. Where there are none to read, the
ways to fail are gone through instead, each in a group of its own: the last rank is the one at
fault.
"""

import os
import sys
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, NotRequired, TypedDict

import torch
import torch.distributed as dist
from torch import Tensor

from attnref.torch import distributed
from attnref.torch.masks import Rule

PATIENCE = timedelta(seconds=60)  # of a group in which nobody is at fault
TIMEOUT = timedelta(seconds=2)
DEAD = 3  # the exit code of a rank that dies
FUNCTIONS = tuple(distributed.__all__)


class Call(TypedDict):
    """A call of one rank."""

    function: str
    arrays: dict[str, Tensor]
    options: dict[str, Any]
    graded: tuple[str, ...]
    arriving: NotRequired[Tensor]  # the gradient of the output; without it nothing goes backward
    keys: NotRequired[tuple[int, int]]  # those of this rank, where the mask is a rule for all
    members: NotRequired[tuple[int, ...]]  # the ranks of the group; all unless given
    no_grad: NotRequired[bool]  # whether the call is made where Torch makes no graph


class Answer(TypedDict):
    """What came of a call: an error, or an output with its gradients."""

    error: NotRequired[str]
    output: NotRequired[Tensor]
    in_a_graph: NotRequired[bool]
    gradients: NotRequired[dict[str, Tensor]]


def answer(call: Call) -> Answer:
    """Make a call, backward too if it asks for that."""
    members = call.get("members")
    group = None if members is None else dist.new_group(list(members))
    given = call["arrays"] | call["options"]
    leaves = {
        name: given[name].clone().requires_grad_()
        for name in call["graded"]
        if isinstance(given[name], Tensor)
    }
    given |= leaves
    if "keys" in call:
        given["mask"] = given["mask"].part(*call["keys"])
    arrays = [given.pop(name) for name in ("query", "key", "value")]
    try:
        with torch.set_grad_enabled(not call.get("no_grad", False)):
            output = getattr(distributed, call["function"])(*arrays, group=group, **given)
    except (TypeError, ValueError, NotImplementedError) as error:
        return {"error": f"{type(error).__name__}: {error}"}
    found: Answer = {"output": output.detach(), "in_a_graph": output.requires_grad}
    if "arriving" in call and leaves:
        # A number is faster: for a gradient that is given Torch imports SymPy.
        loss = (output * call["arriving"]).sum()
        gradients = torch.autograd.grad(loss, list(leaves.values()))
        found["gradients"] = dict(zip(leaves, gradients, strict=True))
    return found


def checkered(i: Any, j: Any, first: int = 0) -> Any:
    """Let a query see every other key, a rule that is no band; query 0 stands at the first."""
    return (first + i + j) % 2 == 0


class Failing:
    """A rank of groups in which the last one is at fault: what each case raised here."""

    def __init__(self, rank: int, size: int, store: Any, file: Path) -> None:
        self.rank, self.store, self.file = rank, store, file
        self.ranks = list(range(size))
        self.groups = {
            f"{function} {case}": self.group(self.ranks[:-1] if case == "backward" else self.ranks)
            for case in ("silent", "stuck", "dead", "backward")
            for function in FUNCTIONS
        }
        self.raised: dict[str, str] = {}

    def group(self, ranks: list[int]) -> dist.ProcessGroup | None:
        """Return a group of little patience, once all ranks are there to make it."""
        dist.barrier()
        group: dist.ProcessGroup | None = dist.new_group(ranks, timeout=TIMEOUT)
        return group

    @property
    def at_fault(self) -> bool:
        """Whether this is the last rank of those that live."""
        return self.rank == self.ranks[-1]

    def go_through_all(self) -> None:
        """Go through all cases, the deadly ones last."""
        for function in FUNCTIONS:
            self.keep_silent(f"{function} silent")
        for function in FUNCTIONS:
            self.be_stuck(f"{function} stuck")
        if self.at_fault:
            self.die()
        for function in FUNCTIONS:
            self.attempt(f"{function} dead", partial(self.call, f"{function} dead"))
        self.ranks.pop()
        self.die_in_backward([f"{function} backward" for function in FUNCTIONS])
        torch.save(self.raised, self.file)

    def die(self) -> None:
        """Leave at once, with no word to the others."""
        torch.save(self.raised, self.file)
        os._exit(DEAD)

    def keep_silent(self, case: str) -> None:
        """Do not call before all others have given up."""
        if self.at_fault:
            self.wait_for_the_others(case)
        else:
            self.attempt(case, partial(self.call, case))

    def be_stuck(self, case: str) -> None:
        """Agree to the call, and then be busy until all others have given up."""

        def wait() -> None:
            if self.at_fault:
                self.wait_for_the_others(case)

        self.attempt(case, partial(self.call, case, wait))

    def die_in_backward(self, cases: list[str]) -> None:
        """Die when the scores are needed again."""
        backward = False

        def die_if_backward() -> None:
            if backward and self.at_fault:
                self.die()

        outputs = [self.call(case, die_if_backward) for case in cases]
        backward = True
        for case, output in zip(cases, outputs, strict=True):
            self.attempt(case, output.sum().backward)

    def call(self, case: str, before: Callable[[], None] = lambda: None) -> Tensor:
        """Call a function in the group of its case, and do something before any score is there."""

        def visible(i: Tensor, j: Tensor) -> Tensor:
            before()
            seen: Tensor = checkered(i, j) | True
            return seen

        function, group = case.split()[0], self.groups[case]
        keys = 2 * len(self.ranks) if function == "ring_attention" else 2
        leaves = [torch.ones(2, depth, requires_grad=True) for depth in (3, 3, 1)]
        attend = getattr(distributed, function)
        output: Tensor = attend(*leaves, mask=Rule(2, keys, visible), group=group)
        return output

    def attempt(self, case: str, do: Callable[[], object]) -> None:
        """Do what should fail, write down what was raised, and wait until that is done by all."""
        try:
            do()
            self.raised[case] = "nothing"
        except RuntimeError as error:
            self.raised[case] = f"{type(error).__name__}: {error}"
        self.store.set(f"{case} {self.rank}", "over")
        self.wait_for_the_others(case)

    def wait_for_the_others(self, case: str) -> None:
        """Wait until all ranks but the last have given up."""
        self.store.wait([f"{case} {rank}" for rank in self.ranks[:-1]], PATIENCE)


def main(folder: Path, rank: int, size: int) -> None:
    """Join the others, do what there is to do, and write down what came of it."""
    store = dist.FileStore(str(folder / "store"), size)  # type: ignore[attr-defined]  # Torch lists it nowhere
    dist.init_process_group("gloo", rank=rank, world_size=size, store=store, timeout=PATIENCE)
    told, file = folder / f"calls-{rank}", folder / f"answers-{rank}"
    if told.exists():
        calls: dict[str, Call] = torch.load(told, weights_only=False)
        torch.save({name: answer(call) for name, call in calls.items()}, file)
    else:
        Failing(rank, size, store, file).go_through_all()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
