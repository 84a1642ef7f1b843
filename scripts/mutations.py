"""Break the reference in many small ways, and see that the tests notice every one.

    .venv/bin/python scripts/mutations.py [NAME…]

Each mutant is one change of one line, in a copy of the project; the tests of its room then run
until the first failure. A mutant that survives is a law that nobody has written down: the exit code
is 1, and its name is printed.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from mutants import MUTANTS

ROOT = Path(__file__).resolve().parents[1]

# Which tests speak for a side, in the order in which they are asked: the quick ones first.
NUMPY = (
    ["faults", "checks", "options"],
    ["masks", "merging", "attention", "testing"],
    ["drop_in", "expanded"],
)
BLOCKS = (
    ["rules", "streaming"],
    ["gradients"],
    ["checks"],
)
TORCH_BLOCKS = (
    ["torch_streaming", "torch_once"],
    ["torch_blocks_gradients", "block_edges"],
)
SEVERAL = (["torch_distributed"],)
IN_BLOCKS = (
    *("rules", "heads", "call", "workers", "streaming", "backward", "gradients"),
    *("blocks", "forward", "saving"),
)
TORCH = (
    ["torch_attention", "torch", "torch_merging"],
    ["torch_drop_in", "torch_gradients"],
    ["torch_modules"],
)


class Outcome(NamedTuple):
    """What became of a mutant: the test that failed first, or None where none did."""

    name: str
    killer: str | None


def main() -> int:
    """Try the mutants that are named, or all, and print what became of each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="mutants to try; all unless given")
    names = parser.parse_args().names or list(MUTANTS)
    with tempfile.TemporaryDirectory() as folder:
        copy = _copy(Path(folder))
        quick = ("merging", "torch_merging", "rules", "streaming", "gradients")
        if failure := _failure([f"tests/test_{name}.py" for name in quick], copy):
            raise SystemExit(f"without any mutant: {failure}")
        outcomes = [_try(name, copy) for name in names]
    survivors = [outcome.name for outcome in outcomes if outcome.killer is None]
    print(f"{len(outcomes) - len(survivors)} of {len(outcomes)} mutants killed")
    return 1 if survivors else 0


def _copy(folder: Path) -> Path:
    ignored = shutil.ignore_patterns("__pycache__", ".*")
    for part in ("attnref", "tests", "scripts"):
        shutil.copytree(ROOT / part, folder / part, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def _try(name: str, copy: Path) -> Outcome:
    path, before, after = MUTANTS[name]
    file = copy / path
    text = file.read_text(encoding="utf-8")
    if text.count(before) != 1:
        raise SystemExit(f"{name}: {before!r} stands {text.count(before)} times in {path}")
    file.write_text(text.replace(before, after), encoding="utf-8")
    try:
        outcome = Outcome(name, _first_failure(path, copy))
    finally:
        file.write_text(text, encoding="utf-8")
    print(
        f"{'SURVIVED' if outcome.killer is None else 'killed':9}{name}: {outcome.killer}",
        flush=True,
    )
    return outcome


def _first_failure(path: str, copy: Path) -> str | None:
    for rooms in _rooms(path):
        failure = _failure([f"tests/test_{room}.py" for room in rooms], copy)
        if failure:
            return failure
    return None


def _rooms(path: str) -> tuple[list[str], ...]:
    in_blocks = Path(path).stem.removeprefix("_") in IN_BLOCKS
    if "/distributed/" in path:
        return SEVERAL
    if "/torch/" in path:
        return TORCH_BLOCKS if in_blocks else TORCH
    return BLOCKS if in_blocks else NUMPY


def _failure(files: list[str], copy: Path) -> str | None:
    """Run tests until one fails, and return its name."""
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-q",
            "--no-header",
            "-p",
            "no:cacheprovider",
            *files,
        ],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(copy), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    if run.returncode == 0:
        return None
    failures = [line for line in run.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return failures[0].split(" - ")[0] if failures else run.stdout[-200:] + run.stderr[-200:]


if __name__ == "__main__":
    sys.exit(main())
