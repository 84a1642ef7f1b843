"""Measure the memory that attention takes beyond its results, by tracemalloc, in MiB.

    .venv/bin/python scripts/benchmarks/memory.py [--out docs/guide/memory.json]

One head, d_k = d_v = 64, float32, one thread. The last line is a call of 65,536 queries and as many
keys under a causal rule, of which no mask is built.
"""

import argparse
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import attnref

SIZES = 512, 2048, 8192
LONG = 65536

Floats = NDArray[np.floating]


def main() -> None:
    """Print a table, and write it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="a JSON file for what is measured")
    out = parser.parse_args().out
    with threadpool_limits(1):
        found = {name: {L: beyond(call, L) for L in SIZES} for name, call in CALLS.items()}
        found[f"streaming_attention, causal, of {LONG:,}"] = {LONG: beyond(causal, LONG)}
    print("| MiB beyond results |", " | ".join(map(str, [*SIZES, LONG])), "|")
    print("|---" * (len(SIZES) + 2) + "|")
    for name, row in found.items():
        print(f"| {name} |", " | ".join(str(row.get(L, "")) for L in [*SIZES, LONG]), "|")
    if out:
        out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def whole(q: Floats, k: Floats, v: Floats) -> Floats:
    """Return the output with all scores at once, as it is mostly written."""
    a = q @ k.mT / np.float32(8)
    e = np.exp(a - a.max(axis=-1, keepdims=True))
    output: Floats = e / e.sum(axis=-1, keepdims=True) @ v
    return output


def causal(q: Floats, k: Floats, v: Floats) -> Floats:
    """Return the output under a causal rule."""
    return attnref.streaming_attention(q, k, v, mask=attnref.masks.Rule.causal(len(q), len(k)))


def gradients(q: Floats, k: Floats, v: Floats) -> tuple[Floats, ...]:
    """Return the three gradients."""
    return attnref.attention_gradients(q, k, v, v)[:3]


CALLS: dict[str, Callable[[Floats, Floats, Floats], Floats | tuple[Floats, ...]]] = {
    "all scores at once, NumPy": whole,
    "attention, in 64 bits": attnref.attention,
    "streaming_attention": attnref.streaming_attention,
    "streaming_attention, causal": causal,
    "attention_gradients": gradients,
}


def beyond(call: Callable[[Floats, Floats, Floats], Floats | tuple[Floats, ...]], L: int) -> float:
    """Return the MiB that a call takes at its height, without its results."""
    rng = np.random.default_rng(L)
    arrays = [rng.standard_normal((L, 64)).astype("float32") for _ in range(3)]
    call(*(x[:2] for x in arrays))  # what is loaded once does not count
    tracemalloc.start()
    try:
        results = call(*arrays)
        height = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    own = sum(x.nbytes for x in (results if isinstance(results, tuple) else (results,)))
    return round((height - own) / 2**20, 2)


if __name__ == "__main__":
    main()
