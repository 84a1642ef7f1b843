"""The article on the Z form, Z17–Z24 and Z44: what it imports, and how it makes tensors."""

from collections.abc import Sequence
import inspect
import typing

import attnref.torch
import torch
from torch import Tensor

from claims import holds, imprecise
from claims.z_form_rebuilt import MAKERS, error, kind, made


def largest(dtype: torch.dtype, bits: int, low: float, high: float) -> float:
    """Scale the largest multiple of 2⁻ᵇ below 1, in the dtype."""
    u = torch.tensor(1 - 2.0**-bits, dtype=dtype)
    return float(((high - low) * u + low).item())


def again() -> Tensor:
    """Draw with attnref from a new generator, always of the same seed."""
    source = torch.Generator().manual_seed(0)
    return ours((3,), generator=source)


ours = attnref.torch.make_tensor
PARAMETERS = list(inspect.signature(ours).parameters.values())[:6]
SIGNATURE = [(p.name, p.default, p.kind.name) for p in PARAMETERS]
STATED = [
    ("shape", inspect.Parameter.empty, "POSITIONAL_OR_KEYWORD"),
    ("mode", "rand", "POSITIONAL_OR_KEYWORD"),
    ("dtype", torch.float32, "KEYWORD_ONLY"),
    ("device", None, "KEYWORD_ONLY"),
    ("low", 0.0, "KEYWORD_ONLY"),
    ("high", 1.0, "KEYWORD_ONLY"),
]

MANY = 100_000
with torch.random.fork_rng(devices=[]):
    torch.manual_seed(0)
    BFLOAT = made([MANY], dtype=torch.bfloat16, low=1, high=2)
    UNIT = made([MANY])
    NORMAL = made([MANY], "randn", low=5, high=6).double()
    FIRST, SECOND = made([3]), made([3])
with torch.device("meta"):
    ELSEWHERE = made([3]).device.type
AT_HIGH = (BFLOAT == 2).double().mean().item()
MEAN, VARIANCE = NORMAL.mean().item(), NORMAL.var().item()
ZERO_ONE = made([9], "zeros"), made([9], "ones")

MESSAGE = str(error(made, [1], "Foo"))
INTEGER = {kind(made, [2], way, dtype=torch.int64) for way in ("rand", "randn")}
FITTING: list[Sequence[int]] = [[1, 2, 3], [], [0, 3], torch.Size([2, 1])]
ODD = tuple(made([2.9, "3"]).shape), tuple(made("23").shape)
NAMES = ("Sequence", "Union", "Optional", "Any")

JUDGEMENTS = [
    holds(
        "Z17",
        SIGNATURE == STATED,
        "attnref keeps the function and adds `generator`.",
        "the same six in `attnref.torch.make_tensor`",
    ),
    holds(
        "Z18",
        all(
            made([2], way).shape == made([2], way.upper()).shape == (2,)
            for way in MAKERS
        ),
        "Capitals are allowed too.",
        "each makes a tensor",
    ),
    imprecise(
        "Z19",
        largest(torch.float32, 24, 100, 101) == 101
        and AT_HIGH > 0
        and UNIT.max().item() < 1,
        "So it is for the default ends, 0 and 1. For others, low + (high − low)·u is "
        "rounded in the tensor's dtype, at times up to high. attnref draws such a "
        "number again.",
        f"in bfloat16, {AT_HIGH:.1%} of the numbers from [1, 2) are "
        f"{BFLOAT.max().item():.0f}; in float32, the largest from [100, 101) is "
        f"{largest(torch.float32, 24, 100, 101):.0f}",
    ),
    holds(
        "Z20",
        abs(MEAN) < 0.02
        and abs(VARIANCE - 1) < 0.03
        and [set(x.tolist()) for x in ZERO_ONE] == [{0.0}, {1.0}],
        "`low` and `high` act on `rand` alone.",
        f"with low = 5 and high = 6 `randn` still has mean {abs(MEAN):.1f} and "
        f"variance {VARIANCE:.1f}",
    ),
    holds(
        "Z21",
        {"NotImplementedError"} == INTEGER
        and made([2], "ones", dtype=torch.int64).dtype == torch.int64,
        "`zeros` and `ones` take integers as well. The error is Torch's; attnref's "
        f"is a {kind(ours, [2], dtype=torch.int64)} that names the dtype.",
        f"int64 is a {INTEGER.pop()}",
    ),
    holds(
        "Z22",
        all(made(shape).shape == tuple(shape) for shape in FITTING)
        and ODD == ((2, 3), (2, 3))
        and kind(ours, [2.9, "3"]) == kind(ours, "23"),
        "`int` is applied to each entry, so a slip can pass unseen. attnref refuses "
        f"both ({kind(ours, [2.9, '3'])}).",
        f"[1, 2, 3] fits; [2.9, '3'] and '23' give {ODD[0]}; 3 is a {kind(made, 3)}, "
        f"[−1] a {kind(made, [-1])}",
    ),
    holds(
        "Z23",
        all(repr(way) in MESSAGE for way in MAKERS)
        and kind(made, [1], "") == "ValueError",
        "The mode is repeated in small letters. None is no string, and fails before "
        f"with an {kind(made, [1], None)}; in attnref it is a "
        f"{kind(ours, [1], None)}.",
        f"`{MESSAGE.rstrip('.')}`",
    ),
    holds(
        "Z24",
        (UNIT.dtype, UNIT.device.type, UNIT.requires_grad)
        == (torch.float32, "cpu", False)
        and ELSEWHERE == "meta"
        and not torch.equal(FIRST, SECOND)
        and torch.equal(again(), again()),
        "Without one, the demo prints other numbers each time, unless `torch.manual_seed` is "
        "called before; attnref's function takes a generator.",
        f"{UNIT.dtype}, {UNIT.device}, requires_grad {UNIT.requires_grad}; "
        f'under `torch.device("meta")`, {ELSEWHERE}',
    ),
    holds(
        "Z44",
        set(NAMES) <= set(typing.__all__)
        and getattr(typing, NAMES[1])[str, int] == (str | int),
        "From Python 3.10 on, `|` does what Union and Optional do.",
        "`typing` has all four",
    ),
]
