"""Measure how far attention is from the truth, against the bound, on families of hard inputs.

    .venv/bin/python scripts/benchmarks/accuracy.py [--seeds 5]

The truth is the oracle of the tests, exact to 120 digits. Two ratios, the worst of all places and
seeds: the error over the bound of `attnref.testing`, for the dtype of the work, and the error in
units in the last place of Σ p|v|, of which rounding once leaves half a unit, or a little more at
most. A second table has the errors of gradients where all scores are far from 0.
"""

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.nn.functional import scaled_dot_product_attention

import attnref
import attnref.torch
from attnref.testing import error_bound

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests"))

import oracle
from families import FAMILIES, family
from oracle import Floats


class Worst(NamedTuple):
    """The worst error of a family, over its bound and in units in the last place."""

    of_bound: float
    in_units: float


class Kind(NamedTuple):
    """An implementation, the dtype of what it is given, and that of its work."""

    name: str
    attend: Callable[..., Floats]
    dtype: str
    working: str


def of_torch(query: Floats, key: Floats, value: Floats) -> Floats:
    """Return what the Torch side gives for NumPy's arrays."""
    return attnref.torch.attention(*(torch.tensor(x) for x in (query, key, value))).numpy()


REFERENCES: dict[str, Callable[..., Floats]] = {"NumPy": attnref.attention, "Torch": of_torch}
BLOCKS = {
    f"blocks of {size}": partial(attnref.streaming_attention, block_size=size)
    for size in (1, 16, 256)
}
KINDS = [
    Kind(name, attend, dtype, "float64")
    for name, attend in REFERENCES.items()
    for dtype in ("float64", "float32", "float16")
] + [
    Kind(name, attend, dtype, dtype)
    for dtype in ("float64", "float32")
    for name, attend in BLOCKS.items()
]
OFFSETS = 0, 4096, 65536


def main() -> None:
    """Print a table of the families, and the worst of all; then the gradients."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5, help="draws of each family")
    seeds = range(parser.parse_args().seeds)
    print("error / bound, and units in the last place of Σ p|v|\n")
    print("| family |", " | ".join(f"{kind.name} {kind.dtype}" for kind in KINDS), "|")
    print("|---" * (len(KINDS) + 1) + "|")
    table = {name: [_worst(name, kind, seeds) for kind in KINDS] for name in FAMILIES}
    table["worst"] = [_largest(column) for column in zip(*table.values(), strict=True)]
    for name, row in table.items():
        print(f"| {name} |", " | ".join(f"{w.of_bound:.3f}, {w.in_units:.3f}" for w in row), "|")
    print("\nfloat32 gradients, largest error / largest gradient: dq, dk, dv\n")
    print("| scores from | attnref, NumPy | attnref, Torch | Torch SDPA |\n|---|---|---|---|")
    for offset in OFFSETS:
        cells = (" ".join(f"{x:.1e}" for x in errors) for errors in gradient_errors(offset))
        print(f"| {offset} |", " | ".join(cells), "|")


def _worst(name: str, kind: Kind, seeds: range) -> Worst:
    return _largest([_of(family(name, kind.dtype, seed), kind) for seed in seeds])


def _largest(of: list[Worst] | tuple[Worst, ...]) -> Worst:
    return Worst(max(w.of_bound for w in of), max(w.in_units for w in of))


def _of(arrays: tuple[Floats, Floats, Floats], kind: Kind) -> Worst:
    truth, output = oracle.attention(*arrays), kind.attend(*arrays)
    exact = truth.output.exact
    error = abs(oracle.exactly(output) - exact).astype("float64")
    bound = error_bound(*arrays, working=kind.working)
    last = [oracle.ulp(float(x), output.dtype) for x in truth.magnitude.flat]
    return Worst(float((error / bound).max()), float((error.ravel() / last).max()))


def gradient_errors(offset: int) -> list[list[float]]:
    """Return the errors of three backward passes where every score is exact, and this far from 0.

    Scores are sums of sixteenths, of which float32 holds all below a million. The truth is the
    backward pass in float64.
    """
    rng = np.random.default_rng(offset)
    q, k = (rng.integers(-4, 5, (n, 16)) / 4 for n in (61, 257))
    q[:, 0], k[:, 0] = 64, offset / 64
    v, g = rng.standard_normal((257, 16)), rng.standard_normal((61, 16))
    small: list[Any] = [x.astype("float32") for x in (q, k, v, g)]
    truth = attnref.attention_gradients(*(x.astype("float64") for x in small), scale=1.0)[:3]
    found: list[Any] = [attnref.attention_gradients(*small, scale=1.0)[:3]]
    passes: tuple[Any, ...] = attnref.torch.streaming_attention, scaled_dot_product_attention
    for attend in passes:
        tensors = [torch.tensor(x, requires_grad=True) for x in small[:3]]
        output = attend(*(x.unsqueeze(0).unsqueeze(0) for x in tensors), scale=1.0)
        gradients = torch.autograd.grad(output[0, 0], tensors, torch.tensor(small[3]))
        found.append([x.numpy() for x in gradients])
    return [
        [float(abs(x - y).max() / abs(y).max()) for x, y in zip(one, truth, strict=True)]
        for one in found
    ]


if __name__ == "__main__":
    main()
