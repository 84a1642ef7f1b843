"""Measure how fast attention in blocks is, against others, on one thread of this machine.

    .venv/bin/python scripts/benchmarks/speed.py [--rounds 5] [--out docs/guide/cost.json]

All contenders of a case take turns in one process, and a turn is measured in CPU time. A ratio is
the median, over the turns, of a contender's time to that of Torch's own function in the same turn.
JAX and ONNX Runtime take part where they are installed.
"""

import argparse
import importlib.metadata
import json
import math
import platform
import re
import statistics
import time
from itertools import product
from pathlib import Path
from typing import Any

import torch
from contenders import CONTENDERS, Case
from threadpoolctl import threadpool_limits

SIZES = {128: 1, 512: 8, 2048: 8, 8192: 2}  # L = S: heads
DTYPES = ("float32", "float64")
BASE = "Torch SDPA"
OWN_THREADS = {"JAX", "ONNX Runtime"}  # which turn for a while after their work is done
LIBRARIES = ("numpy", "torch", "onnxruntime", "jax")

Row = dict[str, Any]


def main() -> None:
    """Print the tables, and write what was measured as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="turns of each case")
    parser.add_argument("--out", type=Path, help="a JSON file for what is measured")
    options = parser.parse_args()
    torch.set_num_threads(1)
    with threadpool_limits(1):
        rows = [measured(case, options.rounds) for case in cases()]
    found = {"machine": machine(), "rounds": options.rounds, "rows": rows, "growth": growth(rows)}
    print(markdown(found))
    if options.out:
        options.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def cases() -> list[Case]:
    """Return what is measured: three kinds of pass, both dtypes, causal and not, and decoding."""
    square = product(("forward", "backward", "both"), SIZES.items(), DTYPES, (False, True))
    found = [
        Case(kind, L, L, heads, dtype, causal)
        for kind, (L, heads), dtype, causal in square
        if kind != "backward" or L <= 2048
    ]
    return found + [Case("forward", 1, 16384, 8, dtype, False) for dtype in DTYPES]


def measured(case: Case, rounds: int) -> Row:
    """Return the milliseconds and the ratio of each contender that takes part in a case."""
    calls = {}
    for contender in CONTENDERS:
        call = contender(case, case.arrays())
        if call is not None:
            calls[(contender.__doc__ or "").rstrip(".")] = call
    for call in calls.values():
        call()
    turns = [{name: _seconds(name, call) for name, call in calls.items()} for _ in range(rounds)]
    times = {name: statistics.median(turn[name] for turn in turns) for name in calls}
    ratios = {name: statistics.median(turn[name] / turn[BASE] for turn in turns) for name in calls}
    return {
        **case._asdict(),
        "ms": {name: _digits(1000 * seconds) for name, seconds in times.items()},
        "ratio": {name: round(ratio, 2) for name, ratio in ratios.items()},
    }


def growth(rows: list[Row]) -> dict[str, float]:
    """Return the exponent b of time ~ L^b a head, by least squares on logarithms, from 512 on."""
    found = {}
    for kind, causal in product(("forward", "both"), (False, True)):
        same = [
            row
            for row in rows
            if row["kind"] == kind and row["causal"] == causal and row["dtype"] == DTYPES[0]
        ]
        points = [
            (math.log(row["L"]), math.log(row["ms"]["attnref, NumPy"] / row["heads"]))
            for row in same
            if row["L"] >= 512
        ]
        found[f"{kind}{', causal' * causal}"] = round(_slope(points), 2)
    return found


def machine() -> dict[str, str]:
    """Return what ran: the CPU by name, and versions."""
    info = Path("/proc/cpuinfo")
    text = info.read_text(encoding="utf-8") if info.exists() else ""
    name = re.search(r"model name\s*: (.*)", text)
    found = {"cpu": name[1] if name else platform.processor(), "python": platform.python_version()}
    for library in LIBRARIES:
        try:
            found[library] = importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def markdown(found: Row) -> str:
    """Return a table of the ratios, a line a case."""
    rows = found["rows"]
    names = [name for name in _names() if any(name in row["ratio"] for row in rows)]
    lines = [", ".join(f"{key} {value}" for key, value in found["machine"].items()), ""]
    lines.append(f"| case | {BASE}, ms | {' | '.join(names)} |")
    lines.append("|---" * (len(names) + 2) + "|")
    for row in rows:
        case = f"{row['kind']} {row['heads']} × {row['L']} × {row['S']} {row['dtype']}"
        ratios = (str(row["ratio"].get(name, "")) for name in names)
        lines.append(
            f"| {case}{' causal' * row['causal']} | {row['ms'][BASE]} | {' | '.join(ratios)} |"
        )
    fits = ", ".join(f"{kind} {b}" for kind, b in found["growth"].items())
    return "\n".join([*lines, "", f"time of attnref, NumPy ~ L^b: {fits}"])


def _names() -> list[str]:
    return [(contender.__doc__ or "").rstrip(".") for contender in CONTENDERS]


def _seconds(name: str, call: Any) -> float:
    clock = time.process_time if name in OWN_THREADS else time.thread_time
    start = clock()
    call()
    return clock() - start


def _slope(points: list[tuple[float, float]]) -> float:
    x, y = zip(*points, strict=True)
    return statistics.linear_regression(x, y).slope


def _digits(ms: float) -> float:
    return float(f"{ms:.3g}")


if __name__ == "__main__":
    main()
