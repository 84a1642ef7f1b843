"""Attention over ranks: the keys are split over real processes, and every rank is asked.

The processes of each number of ranks are started once, and make all calls one after another; the
laws are read from what they wrote down.
"""

import math
import os
import socket
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
import torch
import torch.distributed as dist
from torch import Tensor

import oracle
import ranks
from attnref.torch import attention, attention_weights, distributed
from attnref.torch.masks import Rule
from ranks import DEAD, FUNCTIONS, Answer, Call
from samples import D_K, D_V, B, L, S, both_values, normal, random_mask

pytestmark = pytest.mark.xdist_group("ranks")  # one process starts the ranks

TESTS = Path(ranks.__file__).parent
LIMIT = 300  # seconds in which all ranks must have ended; nothing comes near it

# How many keys and how many queries each rank has, by the number of ranks.
KEYS = {1: (S,), 2: (3, 4), 3: (2, 0, 5), 4: (1, 3, 0, 3)}
QUERIES = {1: (L,), 2: (3, 2), 3: (0, 2, 3), 4: (2, 0, 1, 2)}
assert {sum(keys) for keys in KEYS.values()} == {S}
assert {sum(queries) for queries in QUERIES.values()} == {L}

HQ, HKV = 6, 3  # each head of key and value is read by two of the query
EMPTY, ABSENT, SOME = 2, slice(0, 3), 5  # a query without keys, keys that none sees, one that some
MASK = torch.tensor(random_mask(L, S))
MASK[EMPTY] = MASK[:, ABSENT] = False
for keys in KEYS.values():  # of several ranks, the first has none that is seen
    assert len(keys) == 1 or not MASK[:, : keys[0]].any()
both_values(MASK[:, SOME].numpy())
SHARED = torch.tensor(random_mask(L, S, seed=1))  # every rank that has keys has some that are seen
SHARED[EMPTY] = False
assert SHARED.any(dim=0).all()

GRADED = ("query", "key", "value", "bias", "sink")
every_size = pytest.mark.parametrize("size", KEYS)
every_group = pytest.mark.parametrize("size", [2, 3, 4])
every_function = pytest.mark.parametrize("function", FUNCTIONS)

Answers: TypeAlias = dict[str, Answer]
Worlds: TypeAlias = Callable[[int], list[Answers]]


# The calls, whole, and their parts.


@dataclass(frozen=True)
class Whole:
    """A call of all queries and all keys, which ranks are to make together."""

    arrays: dict[str, Tensor]
    options: dict[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        """Return an argument, None if it is not given."""
        return (self.arrays | self.options).get(name)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the scores, (…, L, S)."""
        return (*self["query"].shape[:-1], self["key"].shape[-2])

    @property
    def graded(self) -> tuple[str, ...]:
        """The names of what takes a gradient."""
        return tuple(name for name in GRADED if isinstance(self[name], Tensor))

    @property
    def arriving(self) -> Tensor:
        """The gradient of the output."""
        shape = (*self.shape[:-1], self["value"].shape[-1])
        return torch.tensor(normal(*shape, seed=1)).to(self["query"].dtype)

    def exact(self) -> dict[str, Any]:
        """Return all arguments with the same numbers in float64, and a mask in place of a rule."""
        given = self.arrays | self.options
        exact = {n: x.double() if n in self.graded else x for n, x in given.items()}
        if isinstance(self["mask"], Rule):
            exact["mask"] = self["mask"](torch.arange(L)[:, None], torch.arange(S))
        exact.pop("block_size", None)
        return exact


def heads(
    *front: int, dtype: torch.dtype = torch.float64, queries: int = L, keys: int = S, **options: Any
) -> Whole:
    """Return a call with more heads of the query than of key and value."""
    shapes = (HQ, queries, D_K), (HKV, keys, D_K), (HKV, keys, D_V)
    arrays = (torch.tensor(normal(*front, *shape)).to(dtype) for shape in shapes)
    return Whole(dict(zip(("query", "key", "value"), arrays, strict=True)), options)


def numbers(*shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    """Return numbers for a bias or a sink."""
    return torch.tensor(normal(*shape, seed=2)).to(dtype)


def holes() -> Tensor:
    """Return a bias in which some keys are at −∞."""
    hidden = ~torch.tensor(random_mask(B, HQ, L, S, seed=3))
    return numbers(B, HQ, L, S).masked_fill(hidden, -math.inf)


def all_at_once(dtype: torch.dtype) -> Whole:
    """Return a call with every option."""
    bias, sink = numbers(HQ, L, S, dtype=dtype), numbers(L, dtype=dtype)
    return heads(dtype=dtype, mask=SHARED, bias=bias, sink=sink, softcap=1.5, scale=-0.75)


def changed(whole: Whole, **arrays: Callable[[Tensor], object]) -> Whole:
    """Return a call some of whose arrays are changed in place."""
    for name, change in arrays.items():
        change(whole[name])
    return whole


def fill(number: float, place: int | slice) -> Callable[[Tensor], object]:
    """Return what puts a number into all entries of a key or value."""
    return lambda array: array[..., place, :].fill_(number)


CASES: dict[str, Callable[[], Whole]] = {
    "plain": lambda: Whole({n: x[0] for n, x in heads().arrays.items()}),
    "heads": lambda: heads(B),
    "mask": lambda: heads(mask=MASK),
    "causal": lambda: heads(mask=Rule.causal(L, S, offset=1)),
    "rule that is no band": lambda: heads(mask=Rule(L, S, ranks.checkered, last=4)),
    "bias": lambda: heads(B, bias=holes()),
    "bias of a query": lambda: heads(bias=numbers(L, 1)),
    "bias of a key": lambda: heads(bias=numbers(HQ, 1, S)),
    "sink": lambda: heads(mask=MASK, sink=0.75),
    "NaN for a sink": lambda: heads(mask=MASK, sink=math.nan),
    "sink of a head": lambda: heads(sink=numbers(HQ, 1)),
    "softcap": lambda: heads(softcap=1.5),
    "scale": lambda: heads(scale=-0.75),
    "blocks": lambda: heads(mask=SHARED, block_size=2),
    "scores of order 1000": lambda: changed(heads(), key=lambda key: key.mul_(1000)),
    "NaN in keys that none sees": lambda: changed(
        heads(mask=MASK), key=fill(math.nan, ABSENT), value=fill(math.inf, ABSENT)
    ),
    "NaN in a key that some see": lambda: changed(heads(mask=MASK), key=fill(math.nan, SOME)),
    "NaN in a value that some see": lambda: changed(heads(mask=MASK), value=fill(math.nan, SOME)),
    "no keys": lambda: heads(keys=0),
    "no queries": lambda: heads(queries=0),
    **{
        f"all in {str(dtype).removeprefix('torch.')}": partial(all_at_once, dtype)
        for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64)
    },
}
WILD_SINK = "NaN for a sink"  # its truth is NaN almost everywhere: no bound to hold it against
every_case = pytest.mark.parametrize("name", [name for name in CASES if name != WILD_SINK])


@cache
def case(name: str) -> Whole:
    """Return the call of a case."""
    return CASES[name]()


# Along which axis a rank has a part of an argument; of all others it has the whole.
AXES = {
    "sharded_attention": {"key": -2, "value": -2, "mask": -1, "bias": -1},
    "ring_attention": {"query": -2, "key": -2, "value": -2, "mask": -2, "bias": -2, "sink": -1},
}


def span(lengths: tuple[int, ...], rank: int) -> range:
    """Return what belongs to a rank, where each has as many as it has."""
    stop = list(accumulate(lengths))[rank]
    return range(stop - lengths[rank], stop)


def rows_of(whole: Whole, function: str, size: int, rank: int) -> range:
    """Return the queries whose output a rank has."""
    queries = whole["query"].shape[-2]
    return span(QUERIES[size], rank) if function == "ring_attention" and queries else range(queries)


def axis_of(whole: Whole, function: str, name: str) -> int | None:
    """Return the axis along which an array is split over the ranks, None if it is not."""
    axis, array = AXES[function].get(name), whole[name]
    split = axis is not None and isinstance(array, Tensor) and array.ndim >= -axis
    return axis if split and array.shape[axis] != 1 else None


def own(whole: Whole, function: str, name: str, size: int, rank: int) -> Any:
    """Return what a rank has of an argument."""
    by_queries = function == "ring_attention" and name not in ("key", "value")
    axis, argument = axis_of(whole, function, name), whole[name]
    part = span((QUERIES if by_queries else KEYS)[size], rank)
    if by_queries and isinstance(argument, Rule):
        return of_rows(argument, part)
    if axis is None or argument.shape[axis] == 0:
        return argument
    return argument.narrow(axis, part.start, len(part))


def of_rows(rule: Rule, rows: range) -> Rule:
    """Return the rule of some of the queries."""
    limits = (None if x is None else x + rows.start for x in (rule.first, rule.last))
    visible = rule.visible and partial(ranks.checkered, first=rows.start)
    return Rule(len(rows), rule.S, visible, *limits)


def call_of(whole: Whole, function: str, size: int, rank: int) -> Call:
    """Return what a rank calls, forward and backward, when it makes a call with others."""
    parts = {n: own(whole, function, n, size, rank) for n in whole.arrays | whole.options}
    rows = rows_of(whole, function, size, rank)
    call: Call = {
        "function": function,
        "arrays": {name: parts.pop(name) for name in whole.arrays},
        "options": parts,
        "graded": whole.graded,
        "arriving": whole.arriving[..., rows.start : rows.stop, :],
    }
    if function == "sharded_attention" and isinstance(whole["mask"], Rule):
        keys = span(KEYS[size], rank)
        call["keys"] = keys.start, keys.stop
    return call


# The truth.


@cache
def truth(name: str) -> oracle.Quantity:
    """Return the oracle's output of a case."""
    given = case(name).exact()
    exact: dict[str, Any] = {n: x.numpy() if isinstance(x, Tensor) else x for n, x in given.items()}
    arrays = [exact.pop(n) for n in ("query", "key", "value")]
    found = oracle.attention(*arrays, **exact)
    # A state is joined to another with six roundings more, of z and of n; each rank has a state,
    # and so has each block of keys.
    joins = 4 + (S if "block_size" in case(name).options else 0)
    output = found.output
    return oracle.Quantity(
        output.exact, output.error + 6 * joins * found.magnitude, output.underflow
    )


def working(dtype: torch.dtype) -> str:
    """Return the dtype of the work."""
    return "float64" if dtype == torch.float64 else "float32"


def with_last_rounding(bound: Any, size: Any, dtype: torch.dtype) -> Any:
    """Return a bound of the work with that of the one rounding to a dtype of 16 bits."""
    info = torch.finfo(dtype)
    if info.bits > 16:
        return bound
    return bound + info.eps / 2 * (abs(size) + bound) + info.smallest_normal * info.eps


def assert_output(output: Tensor, name: str, rows: range = range(L)) -> None:
    """Require the oracle's output of some queries, within its bound."""
    dtype, right = case(name)["query"].dtype, truth(name)
    assert output.dtype == dtype
    bound = right.bound(working(dtype), working(dtype))
    bound = with_last_rounding(bound, right.exact.astype(float), dtype)
    some = (..., slice(rows.start, rows.stop), slice(None))
    oracle.assert_near(output.double().numpy(), right.exact[some], bound[some])


@cache
def gradients_of(name: str) -> dict[str, Tensor]:
    """Return the gradients of a case by autograd, in float64, with no ranks."""
    whole = case(name)
    exact = whole.exact()
    leaves = {n: exact[n].clone().requires_grad_() for n in whole.graded}
    arguments: dict[str, Any] = exact | leaves
    output = attention(**arguments)
    found = torch.autograd.grad(output, list(leaves.values()), whole.arriving.double())
    return dict(zip(leaves, found, strict=True))


@cache
def sizes_of(name: str) -> dict[str, Tensor]:
    """Return the sum of the absolute terms of each gradient."""
    whole = case(name)
    exact = {n: x.nan_to_num(0, 0) if n in GRADED[:3] else x for n, x in whole.exact().items()}
    p = attention_weights(**{n: x for n, x in exact.items() if n != "value"})
    q, k, v = (shared(exact[n].abs(), p) for n in ("query", "key", "value"))
    g, beta = whole.arriving.double().abs(), abs(whole["scale"] or D_K**-0.5)
    excess = g @ v.mT
    delta = (p * excess).sum(dim=-1)
    da = p * (excess + delta.unsqueeze(-1))
    terms = {"query": beta * da @ k, "key": beta * da.mT @ q, "value": p.mT @ g}
    terms |= {"bias": da, "sink": (1 - p.sum(dim=-1)).clamp(0) * delta}
    return {n: gathered(terms[n], whole[n]) for n in whole.graded}


def shared(array: Tensor, scores: Tensor) -> Tensor:
    """Return a key or value with a head for each of the scores."""
    if array.ndim < 3 or array.shape[-3] == scores.shape[-3]:
        return array
    return array.repeat_interleave(scores.shape[-3] // array.shape[-3], dim=-3)


def gathered(terms: Tensor, array: Tensor) -> Tensor:
    """Add up what came of the same entry of an array."""
    if array.ndim > 2 and array.shape[-3] == HKV:
        terms = terms.reshape(*terms.shape[:-3], HKV, HQ // HKV, *terms.shape[-2:]).sum(dim=-3)
    return terms.sum_to_size(array.shape)


def units_of(name: str) -> float:
    """Return how many roundings a term of a gradient may have.

    A weight has 2ε + S + 3, as in the oracle, ⟨g, v⟩ has d_v, and ⟨g, y⟩ both and S more; the slope
    of a cap has those of its score, and the sum as many as it has terms, B·HQ·L or S at most.
    """
    whole, given = case(name), case(name).exact()
    q, k = (given[n].nan_to_num(0, 0).abs() for n in ("query", "key"))
    products = abs(whole["scale"] or D_K**-0.5) * q @ shared(k, q).mT
    bias = torch.zeros(()) if whole["bias"] is None else given["bias"]
    added = bias.masked_fill(bias == -math.inf, 0.0).abs()
    largest, highest = (float(x.max()) if x.numel() else 0.0 for x in (products, added))
    epsilon = (D_K + 16) * largest + 3 * highest + 4
    return 6 * epsilon + 4 * S + 4 * D_V + 2 * B * HQ * L + 20


def assert_gradient(found: Tensor, name: str, of: str) -> None:
    """Require autograd's gradient of the whole, up to the rounding of both; NaN where NaN is."""
    dtype, right = case(name)["query"].dtype, gradients_of(name)[of]
    assert found.shape == right.shape
    if not right.numel():
        return
    sizes = sizes_of(name)[of]
    units = oracle.unit(working(dtype)) + oracle.unit("float64")
    bound = with_last_rounding(units * units_of(name) * sizes, right, dtype)
    wrong = ~((found - right).abs() <= bound) & ~(found.isnan() & right.isnan())
    assert not wrong.any(), (of, found[wrong], right[wrong], bound[wrong])


def assert_same_bits(one: Tensor, other: Tensor) -> None:
    """Require the same dtype, shape and bits, those of NaN too."""
    assert (one.dtype, one.shape) == (other.dtype, other.shape)
    assert torch.equal(*(x.reshape(-1).view(torch.uint8) for x in (one, other)))


# What must be the same on every rank, and what each must have right.

BASE = "all in float64"
Change: TypeAlias = Callable[[Call], object]
Said: TypeAlias = Callable[[Call], object]


def nothing(call: Call) -> None:
    """Change nothing."""


def with_options(**options: Any) -> Change:
    """Return what gives a call other options."""
    return lambda call: call["options"].update(options)


def with_array(name: str, change: Callable[[Tensor], Tensor]) -> Change:
    """Return what changes an array of a call."""

    def replace(call: Call) -> None:
        given: dict[str, Any] = call["arrays"] if name in call["arrays"] else call["options"]
        given[name] = change(given[name].clone())

    return replace


def with_next_float(array: Tensor) -> Tensor:
    """Return an array whose last entry is the next float: one bit differs."""
    last = array.view(-1)[-1:]
    last.copy_(last.nextafter(last + 1))
    return array


def in_single(call: Call) -> None:
    """Make all arrays of a call float32."""
    given: list[dict[str, Any]] = [call["arrays"], call["options"]]
    for arrays in given:
        arrays.update({name: x.float() for name, x in arrays.items() if name in GRADED})


def graded(*names: str) -> Change:
    """Return what makes these arrays of a call take gradients, and no others."""
    return lambda call: call.update({"graded": names})


def without_graph(call: Call) -> None:
    """Make a call where Torch makes no graph."""
    call["no_grad"] = True


def bits(name: str) -> Said:
    """Return what says the shape, dtype and checksum of an array."""

    def said(call: Call) -> object:
        array = (call["arrays"] | call["options"])[name]
        if array is None:
            return None
        array = torch.as_tensor(array).to(torch.float64 if name == "sink" else array.dtype)
        dtype = str(array.dtype).removeprefix("torch.")
        checksum = zlib.crc32(np.ascontiguousarray(array.numpy()).tobytes())
        return f"{tuple(array.shape)} {dtype} with checksum {checksum:08x}"

    return said


def option(name: str) -> Said:
    """Return what says an option."""
    return lambda call: call["options"][name]


def axes_but_keys(name: str) -> Said:
    """Return what says the axes of a key or value, but for the number of keys."""
    return lambda call: (*call["arrays"][name].shape[:-2], call["arrays"][name].shape[-1])


def takes_gradients(*names: str) -> Said:
    """Return what says whether one of these arrays takes gradients."""
    return lambda call: not call.get("no_grad") and not {*names}.isdisjoint(call["graded"])


def output_shape(call: Call) -> object:
    """Say the shape of the output."""
    return (*call["arrays"]["query"].shape[:-1], call["arrays"]["value"].shape[-1])


def dtype_of_query(call: Call) -> object:
    """Say the dtype of the query."""
    return call["arrays"]["query"].dtype


@dataclass(frozen=True)
class Difference:
    """What differs on the last rank, how it is named, and what each rank says of it."""

    on_last: Change
    name: str
    said: Said
    base: str = BASE
    elsewhere: Change = nothing


def shorter(array: Tensor) -> Tensor:
    """Return an array without its last column."""
    return array[..., :-1]


OF_BOTH = {
    "another scale": Difference(with_options(scale=-0.5), "scale", option("scale")),
    "no cap": Difference(with_options(softcap=None), "softcap", option("softcap")),
}
DIFFERENCES = {
    "sharded_attention": OF_BOTH
    | {
        "fewer queries": Difference(
            with_array("query", lambda query: query[..., 1:, :]), "query", bits("query"), "heads"
        ),
        "one bit": Difference(with_array("query", with_next_float), "query", bits("query")),
        "another dtype": Difference(in_single, "query", bits("query")),
        "shallower values": Difference(
            with_array("value", shorter), "the output's shape", output_shape
        ),
        "one bit of the sink": Difference(
            with_array("sink", with_next_float), "sink", bits("sink")
        ),
        "a number for the sink": Difference(with_options(sink=0.5), "sink", bits("sink")),
        "no sink": Difference(with_options(sink=None), "sink", bits("sink")),
        "gradients of keys alone": Difference(
            graded("key", "value"), "requires_grad of the query", takes_gradients("query")
        ),
        "no graph": Difference(
            without_graph, "requires_grad of the query", takes_gradients("query")
        ),
    },
    "ring_attention": OF_BOTH
    | {
        "another dtype": Difference(in_single, "the query's dtype", dtype_of_query),
        "more heads": Difference(
            with_array("key", lambda key: key.repeat_interleave(2, dim=-3)),
            "the axes of key but S",
            axes_but_keys("key"),
        ),
        "shallower values": Difference(
            with_array("value", shorter), "the axes of value but S", axes_but_keys("value")
        ),
        "no gradients": Difference(graded(), "requires_grad of any", takes_gradients(*GRADED)),
        "no graph": Difference(without_graph, "requires_grad of any", takes_gradients(*GRADED)),
        "gradients of a bias alone": Difference(
            graded("bias"), "requires_grad of any", takes_gradients(*GRADED), elsewhere=graded()
        ),
        "gradients of a sink alone": Difference(
            graded("sink"), "requires_grad of any", takes_gradients(*GRADED), elsewhere=graded()
        ),
    },
}


def with_rule_of_own_keys(call: Call) -> None:
    """Give a call a rule for the keys of its rank, where it should be for all."""
    L, S = (call["arrays"][name].shape[-2] for name in ("query", "key"))
    call["options"]["mask"] = Rule(L, S)


def with_no_numbers(call: Call) -> None:
    """Leave the tensors of a call their shapes alone: only the comparing of queries sees it."""
    given: list[dict[str, Any]] = [call["arrays"], call["options"]]
    for arguments in given:
        tensors = {name: x for name, x in arguments.items() if isinstance(x, Tensor)}
        arguments.update({name: x.to("meta") for name, x in tensors.items()})


# What is wrong on the last rank alone, and the beginning of what is said.
too_few = with_array("value", lambda value: value[..., 1:, :])
FAULTS_OF_BOTH: dict[str, tuple[Change, str]] = {
    "a value too few": (
        too_few,
        "ValueError: key and value must share their second-last axis S: ",
    ),
    "a mask of numbers": (
        with_array("mask", Tensor.double),
        "TypeError: mask must be boolean, True where a query may attend, not float64",
    ),
    "no block": (with_options(block_size=0), "ValueError: block_size must be at least 1: 0"),
}
FAULTS = {
    "sharded_attention": FAULTS_OF_BOTH
    | {
        "a mask of all keys": (
            with_options(mask=MASK),
            f"ValueError: mask must broadcast to the scores (…, L, S): mask {(L, S)}, ",
        ),
        "no numbers": (with_no_numbers, "NotImplementedError: "),
    },
    "ring_attention": FAULTS_OF_BOTH
    | {
        "a mask of some keys": (
            with_array("mask", shorter),
            "ValueError: mask must broadcast to the scores (…, L, S): mask ",
        ),
        "a bias of some keys": (
            with_array("bias", shorter),
            "ValueError: bias must broadcast to the scores (…, L, S): bias ",
        ),
        "a rule of own keys": (
            with_rule_of_own_keys,
            "ValueError: mask must be a rule for the L queries and S keys of the scores ",
        ),
    },
}


# The processes.


def calls_of(function: str, size: int, rank: int) -> dict[str, Call]:
    """Return all that a rank calls, by name: after each refusal, a call that is none."""
    calls = {name: call_of(case(name), function, size, rank) for name in CASES}
    calls |= {f"only {name}": call_of(case(BASE), function, size, rank) for name in GRADED}
    for name in GRADED:
        calls[f"only {name}"]["graded"] = (name,)

    def add(name: str, change: Change, base: str = BASE) -> None:
        calls[name] = call_of(case(base), function, size, rank)
        calls[name].pop("arriving")
        change(calls[name])

    if function == "sharded_attention":
        calls["keys of one"] = call_of(case(BASE), function, size, rank)
        calls["keys of one"]["graded"] = ("key",) if rank == size - 1 else ()

    add("without gradients", graded())
    add("without a graph", without_graph)
    if size == 1:
        return {f"{function} {name}": call for name, call in calls.items()}
    first, last = rank == 0, rank == size - 1
    for name, unlike in DIFFERENCES[function].items():
        add(f"unlike: {name}", unlike.on_last if last else unlike.elsewhere, unlike.base)
        add(f"unlike: {name}, after", nothing)
    for name, (change, _) in FAULTS[function].items():
        add(f"wrong: {name}", change if last else nothing)
        add(f"wrong: {name}, after", nothing)
    add("wrong twice", with_options(block_size=0) if first else too_few if last else nothing)
    add("wrong twice, after", nothing)
    if size == 3:
        calls["of a pair"] = call_of(case(BASE), function, 2, max(rank - 1, 0))
        calls["of a pair"]["members"] = 1, 2
    return {f"{function} {name}": call for name, call in calls.items()}


@cache
def told(size: int, rank: int) -> dict[str, Call]:
    """Return all that a rank is told to call."""
    ring, sharded = (calls_of(function, size, rank) for function in FUNCTIONS)
    return ring | sharded


def run(folder: Path, size: int, codes: list[int]) -> list[Any]:
    """Start the processes of all ranks; return their answers once they have ended as they should.

    They talk over the loopback interface, whatever the network of the machine is.
    """
    loopback = next(name for _, name in socket.if_nameindex() if name.startswith("lo"))
    paths = os.pathsep.join([str(TESTS.parent), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": paths, "GLOO_SOCKET_IFNAME": loopback}
    command = [sys.executable, "-W", "error", str(TESTS / "ranks.py"), str(folder)]
    processes = [
        subprocess.Popen(
            [*command, str(rank), str(size)], env=environment, stderr=subprocess.PIPE, text=True
        )
        for rank in range(size)
    ]
    try:
        said = [process.communicate(timeout=LIMIT)[1] for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [process.returncode for process in processes] == codes, "\n".join(said)
    return [torch.load(folder / f"answers-{rank}") for rank in range(size)]


@contextmanager
def group_of_one() -> Iterator[None]:
    """Make this process the only rank of a group."""
    store = dist.HashStore()  # type: ignore[attr-defined]  # Torch lists it nowhere
    dist.init_process_group("gloo", rank=0, world_size=1, store=store)
    try:
        yield
    finally:
        dist.destroy_process_group()


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Worlds:
    """Return what gives the answers of all ranks, by their number; each world is started once."""

    @cache
    def answers(size: int) -> list[Answers]:
        if size == 1:
            with group_of_one():
                return [{name: ranks.answer(call) for name, call in told(1, 0).items()}]
        folder = tmp_path_factory.mktemp(f"{size}-ranks")
        for rank in range(size):
            torch.save(told(size, rank), folder / f"calls-{rank}")
        return run(folder, size, [0] * size)

    return answers


@pytest.fixture(scope="module")
def raised(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, str]]:
    """Return what each of four ranks raised while the last one failed, and then the one before."""
    return run(tmp_path_factory.mktemp("failing"), 4, [0, 0, DEAD, DEAD])


# Values.


@every_size
@every_function
@every_case
def test_output_is_the_oracle_within_its_bound(
    worlds: Worlds, size: int, function: str, name: str
) -> None:
    """However keys and queries are split, every rank has the oracle's output, in its own dtype."""
    for rank, answers in enumerate(worlds(size)):
        rows = rows_of(case(name), function, size, rank)
        assert_output(answers[f"{function} {name}"]["output"], name, rows)


@every_size
@every_function
@every_case
def test_gradients_are_those_of_the_whole(
    worlds: Worlds, size: int, function: str, name: str
) -> None:
    """Those of a part are on its rank; those of a whole are on each, or each has its share."""
    found = [answers[f"{function} {name}"]["gradients"] for answers in worlds(size)]
    for of in case(name).graded:
        assert {gradients[of].dtype for gradients in found} == {case(name)["query"].dtype}
        axis = axis_of(case(name), function, of)
        parts = [gradients[of].double() for gradients in found]
        if axis is not None and case(name)[of].shape[axis]:
            assert_gradient(torch.cat(parts, dim=axis), name, of)
        elif function == "sharded_attention" and of in ("query", "sink"):
            for part in parts:
                assert_gradient(part, name, of)
        else:
            assert_gradient(torch.stack(parts).sum(dim=0), name, of)


@every_group
@every_case
def test_sharded_answers_are_the_same_bits_on_every_rank(
    worlds: Worlds, size: int, name: str
) -> None:
    """The output, and the gradients of the query and of a sink, are the same wherever they are."""
    first, *others = (answers[f"sharded_attention {name}"] for answers in worlds(size))
    for other in others:
        assert_same_bits(first["output"], other["output"])
        for of in {"query", "sink"} & {*case(name).graded}:
            assert_same_bits(first["gradients"][of], other["gradients"][of])


@every_size
@every_function
@pytest.mark.parametrize("of", ["key", "value"])
def test_nan_that_a_query_sees_shows_on_every_rank(
    worlds: Worlds, size: int, function: str, of: str
) -> None:
    """One rank has the key, all have NaN: in the rows that see it, and in no other."""
    name = f"NaN in a {of} that some see"
    for rank, answers in enumerate(worlds(size)):
        rows = rows_of(case(name), function, size, rank)
        wild = answers[f"{function} {name}"]["output"].isnan()
        seen = MASK[rows.start : rows.stop, SOME]
        assert torch.equal(wild, seen[:, None].expand(wild.shape))


@every_size
@every_function
def test_nan_that_none_sees_shows_nowhere(worlds: Worlds, size: int, function: str) -> None:
    """The output is that of other numbers there, bit for bit; such a key and value get 0 back."""
    wild, tame = (
        [answers[f"{function} {name}"] for answers in worlds(size)]
        for name in ("NaN in keys that none sees", "mask")
    )
    for one, other in zip(wild, tame, strict=True):
        assert_same_bits(one["output"], other["output"])
    for of in ("key", "value"):
        gradient = torch.cat([one["gradients"][of] for one in wild], dim=-2)
        assert (gradient[:, ABSENT] == 0).all()


@every_size
@every_function
def test_sink_says_nothing_where_no_key_is_seen(worlds: Worlds, size: int, function: str) -> None:
    """NaN for a sink shows in every row that sees a key, on any rank; the row of none is 0."""
    for rank, answers in enumerate(worlds(size)):
        rows = rows_of(case(WILD_SINK), function, size, rank)
        output = answers[f"{function} {WILD_SINK}"]["output"]
        seen = MASK[rows.start : rows.stop].any(dim=-1, keepdim=True).expand(output.shape)
        assert torch.equal(output.isnan(), seen)
        assert (output[~seen] == 0).all()


@every_size
@every_function
def test_call_without_gradients_makes_no_graph(worlds: Worlds, size: int, function: str) -> None:
    """Where nothing takes gradients, or Torch is told to make no graph; no bit is another."""
    for answers in worlds(size):
        usual = answers[f"{function} {BASE}"]
        assert usual["in_a_graph"]
        for name in ("without gradients", "without a graph"):
            found = answers[f"{function} {name}"]
            assert not found["in_a_graph"]
            assert_same_bits(found["output"], usual["output"])


@every_size
@every_function
@pytest.mark.parametrize("of", GRADED)
def test_gradient_of_one_array_is_that_among_all(
    worlds: Worlds, size: int, function: str, of: str
) -> None:
    """Whether others take gradients too changes no bit, and no rank waits for what isn't sent."""
    for answers in worlds(size):
        (alone,) = answers[f"{function} only {of}"]["gradients"].items()
        assert alone[0] == of
        assert_same_bits(alone[1], answers[f"{function} {BASE}"]["gradients"][of])


@every_size
def test_sharded_keys_of_one_rank_may_take_gradients_alone(worlds: Worlds, size: int) -> None:
    """Theirs need nothing of the other ranks, which need not go backward."""
    *others, last = worlds(size)
    assert not any(answers["sharded_attention keys of one"]["in_a_graph"] for answers in others)
    alone, usual = (last[f"sharded_attention {n}"]["gradients"] for n in ("keys of one", BASE))
    assert_same_bits(alone["key"], usual["key"])


@every_function
def test_second_derivatives_are_refused(function: str) -> None:
    """It is differentiable once, and says so."""
    leaf = torch.ones(2, 2, requires_grad=True)
    with group_of_one():
        output = getattr(distributed, function)(leaf, leaf, leaf)
        (gradient,) = torch.autograd.grad(output.sum(), leaf, create_graph=True)
        with pytest.raises(RuntimeError, match="attention in blocks is differentiable once"):
            torch.autograd.grad(gradient.sum(), leaf)


# Groups.


@every_function
def test_group_of_some_ranks_is_all_there_is(worlds: Worlds, function: str) -> None:
    """Two of three ranks make a call among themselves: ranks 1 and 2, which are its 0 and 1."""
    _, *pair = (answers[f"{function} of a pair"] for answers in worlds(3))
    for rank, (found, other) in enumerate(zip(pair, worlds(2), strict=True)):
        assert_output(found["output"], BASE, rows_of(case(BASE), function, 2, rank))
        alike = other[f"{function} {BASE}"]
        assert_same_bits(found["output"], alike["output"])
        for of in GRADED:
            assert_same_bits(found["gradients"][of], alike["gradients"][of])


@every_function
def test_group_without_this_rank_is_refused(worlds: Worlds, function: str) -> None:
    """Who is no member can't call, and holds nobody up."""
    found = worlds(3)[0][f"{function} of a pair"]
    assert found == {"error": "ValueError: group must have this process as a member"}


@every_function
def test_group_must_be_there(function: str) -> None:
    """Without any process group the function says how to make one."""
    matrix = torch.ones(2, 2)
    with pytest.raises(
        ValueError,
        match=r"^group must be one of torch\.distributed, which has none in this process: "
        r"call torch\.distributed\.init_process_group first$",
    ):
        getattr(distributed, function)(matrix, matrix, matrix)


# Refusals.


def assert_usable(worlds: Worlds, size: int, function: str, name: str) -> None:
    """Require the call after a refusal to give what it always gives, on every rank."""
    for answers in worlds(size):
        after, usual = (answers[f"{function} {n}"] for n in (f"{name}, after", BASE))
        assert_same_bits(after["output"], usual["output"])


def refusals(worlds: Worlds, size: int, function: str, name: str) -> list[str]:
    """Return what each rank said to a call."""
    return [answers[f"{function} {name}"].get("error", "nothing") for answers in worlds(size)]


@every_group
@pytest.mark.parametrize(
    ("function", "name"), [(f, name) for f in FUNCTIONS for name in DIFFERENCES[f]]
)
def test_what_differs_is_refused_by_every_rank(
    worlds: Worlds, size: int, function: str, name: str
) -> None:
    """Each says the same: what must not differ, and what it is on each; the group goes on."""
    unlike = DIFFERENCES[function][name]
    calls = [told(size, rank)[f"{function} unlike: {name}"] for rank in range(size)]
    found = ", ".join(f"rank {rank} {unlike.said(call)}" for rank, call in enumerate(calls))
    message = f"ValueError: {unlike.name} must be the same on every rank: {found}"
    assert refusals(worlds, size, function, f"unlike: {name}") == [message] * size
    assert_usable(worlds, size, function, f"unlike: {name}")


@every_group
@pytest.mark.parametrize(("function", "name"), [(f, name) for f in FUNCTIONS for name in FAULTS[f]])
def test_what_is_wrong_on_one_rank_is_refused_by_every_rank(
    worlds: Worlds, size: int, function: str, name: str
) -> None:
    """The rank itself says what is wrong, the others who says so, and what; the group goes on."""
    *others, its_own = refusals(worlds, size, function, f"wrong: {name}")
    assert its_own.startswith(FAULTS[function][name][1])
    heard = its_own.partition(": ")[2]
    refused = f"ValueError: rank {size - 1} refused its arguments: {heard}"
    assert others == [refused] * (size - 1)
    assert_usable(worlds, size, function, f"wrong: {name}")


@every_group
@every_function
def test_what_is_wrong_on_two_ranks_is_said_by_each(
    worlds: Worlds, size: int, function: str
) -> None:
    """Either says what is wrong with its own; the others hear of the first."""
    first, *others, last = refusals(worlds, size, function, "wrong twice")
    assert first.startswith(FAULTS_OF_BOTH["no block"][1])
    assert last.startswith(FAULTS_OF_BOTH["a value too few"][1])
    heard = first.partition(": ")[2]
    assert others == [f"ValueError: rank 0 refused its arguments: {heard}"] * (size - 2)
    assert_usable(worlds, size, function, "wrong twice")


# Failures.

DOING = {
    ("silent", "sharded_attention"): "comparing arguments",
    ("silent", "ring_attention"): "comparing arguments",
    ("stuck", "sharded_attention"): "looking for the largest",
    ("stuck", "ring_attention"): "passing on",
    ("dead", "sharded_attention"): "comparing arguments",
    ("dead", "ring_attention"): "comparing arguments",
    ("backward", "sharded_attention"): "adding up",
    ("backward", "ring_attention"): "passing on",
}


@pytest.mark.parametrize(("fault", "function"), DOING)
def test_failure_of_a_rank_is_an_error_on_the_others(
    raised: list[dict[str, str]], fault: str, function: str
) -> None:
    """One rank keeps silent, is busy for too long, or dies: the others say so, and none hangs."""
    size = 3 if fault == "backward" else 4
    for rank in range(size - 1):
        said = raised[rank][f"{function} {fault}"]
        assert said.startswith(
            f"RuntimeError: rank {rank} of {size}: another rank failed, or kept silent for longer "
            f"than the group's timeout, while {DOING[fault, function]}: "
        )


@every_function
def test_rank_that_was_given_up_hears_of_it(raised: list[dict[str, str]], function: str) -> None:
    """A rank that comes back too late raises an error as well, and has no wrong output."""
    assert "another rank failed" in raised[3][f"{function} stuck"]
