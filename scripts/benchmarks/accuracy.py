"""Measure how far attention is from the truth, against the bound, on families of hard inputs.

    .venv/bin/python scripts/benchmarks/accuracy.py [--seeds 5]

The truth is the oracle of the tests, exact to 120 digits. Two ratios, the worst of all places and
seeds: the error over the bound of `attnref.testing` for work in float64, and the error in units in
the last place of Σ p|v|, of which rounding once leaves half a unit, or a little more at most.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import torch

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


def of_torch(query: Floats, key: Floats, value: Floats) -> Floats:
    """Return what the Torch side gives for NumPy's arrays."""
    return attnref.torch.attention(*(torch.tensor(x) for x in (query, key, value))).numpy()


BACKENDS: dict[str, Callable[..., Floats]] = {"NumPy": attnref.attention, "Torch": of_torch}
DTYPES = ("float64", "float32", "float16")


def main() -> None:
    """Print a table of the families, and the worst of all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5, help="draws of each family")
    seeds = range(parser.parse_args().seeds)
    kinds = [(backend, dtype) for backend in BACKENDS for dtype in DTYPES]
    print("error / bound, and units in the last place of Σ p|v|\n")
    print("| family |", " | ".join(f"{backend} {dtype}" for backend, dtype in kinds), "|")
    print("|---" * (len(kinds) + 1) + "|")
    table = {name: [_worst(name, *kind, seeds) for kind in kinds] for name in FAMILIES}
    table["worst"] = [_largest(column) for column in zip(*table.values(), strict=True)]
    for name, row in table.items():
        print(f"| {name} |", " | ".join(f"{w.of_bound:.3f}, {w.in_units:.3f}" for w in row), "|")


def _worst(name: str, backend: str, dtype: str, seeds: range) -> Worst:
    return _largest([_of(family(name, dtype, seed), BACKENDS[backend]) for seed in seeds])


def _largest(of: list[Worst] | tuple[Worst, ...]) -> Worst:
    return Worst(max(w.of_bound for w in of), max(w.in_units for w in of))


def _of(arrays: tuple[Floats, Floats, Floats], attend: Callable[..., Floats]) -> Worst:
    truth, output = oracle.attention(*arrays), attend(*arrays)
    exact = truth.output.exact
    error = abs(oracle.exactly(output) - exact).astype("float64")
    bound = error_bound(*arrays, working="float64")
    last = [oracle.ulp(float(x), output.dtype) for x in truth.magnitude.flat]
    return Worst(float((error / bound).max()), float((error.ravel() / last).max()))


if __name__ == "__main__":
    main()
