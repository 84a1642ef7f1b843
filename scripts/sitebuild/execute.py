"""Run pages, each in a fresh process, two at a time, within a time limit; unchanged ones not.

What a page showed is kept under a digest of everything that decides it: the page, all of attnref,
this package, the version of every installed distribution, and Python. Nothing else may decide.
"""

import hashlib
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from sitebuild import rules
from sitebuild.script import Cell, PageError, read

ROOT = Path(__file__).resolve().parents[2]
WORKER = Path(__file__).with_name("worker.py")
AT_ONCE = 2
TIME_LIMIT = 120.0
PINNED = {
    "PYTHONHASHSEED": "0",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "MPLBACKEND": "agg",
    "PYTHONIOENCODING": "utf-8",
}

Record = dict[str, Any]
Progress = Callable[[str], None]


def execute(
    pages: Iterable[Path],
    *,
    say: Progress,
    memory: Path | None = None,
    time_limit: float = TIME_LIMIT,
) -> dict[Path, Record]:
    """Run the pages and return what each showed; every page that fails is named."""
    pages = sorted(pages)
    runner = _Runner(len(pages), say, memory, time_limit)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        outcomes = list(pool.map(runner.outcome, pages))
    if failures := [outcome for outcome in outcomes if isinstance(outcome, PageError)]:
        raise ExceptionGroup(f"{len(failures)} of {len(pages)} pages failed", failures)
    return {p: o for p, o in zip(pages, outcomes, strict=True) if not isinstance(o, PageError)}


class _Runner:
    def __init__(self, total: int, say: Progress, memory: Path | None, time_limit: float) -> None:
        self.total, self.say, self.memory, self.time_limit = total, say, memory, time_limit
        self.surroundings = surroundings() if memory else b""
        self.done = 0

    def outcome(self, page: Path) -> Record | PageError:
        """Return the page's record, or the error that keeps it from being published."""
        start = time.monotonic()
        result: Record | PageError
        try:
            result, verb = self._remembered_or_run(page)
        except PageError as error:
            result, verb = error, "refused"
        self.done += 1
        seconds = time.monotonic() - start
        self.say(f"{verb} {_short(page)} ({self.done} of {self.total}, {seconds:.1f} s)")
        return result

    def _remembered_or_run(self, page: Path) -> tuple[Record, str]:
        entry = self.memory / f"{digest(page, self.surroundings)}.json" if self.memory else None
        if entry and (record := _load(entry)):
            return record, "unchanged"
        record = run(page, self.time_limit)
        if entry:
            _store(entry, record)
        return record, "executed"


def run(page: Path, time_limit: float = TIME_LIMIT) -> Record:
    """Run one page in a process of its own and hold what it showed against the rules."""
    cells = read(page)
    with tempfile.TemporaryDirectory() as scratch:
        result = Path(scratch, "record.json")
        process = _start(page, cells, result, time_limit)
        if process.returncode:
            message = f"the process ended with code {process.returncode}\n{process.stderr}"
            raise PageError(_short(page), _reached(result), message)
        record: Record = json.loads(result.read_text(encoding="utf-8"))
    for cell, events in zip(cells, record["cells"], strict=False):
        rules.check(_short(page), cell, events)
    if stray := (process.stderr or process.stdout).strip():
        raise PageError(_short(page), None, f"a library wrote past Python's own streams\n{stray}")
    return record


def _start(
    page: Path, cells: tuple[Cell, ...], result: Path, time_limit: float
) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            [sys.executable, str(WORKER), str(result)],
            input=json.dumps({"path": str(page), "cells": [_job(cell) for cell in cells]}),
            capture_output=True,
            encoding="utf-8",
            cwd=result.parent,
            env=os.environ | PINNED | {"IPYTHONDIR": str(result.parent)},
            timeout=time_limit,
            check=False,
        )
    except subprocess.TimeoutExpired:
        message = f"the cell here did not end: the page has a time limit of {time_limit:g} s"
        raise PageError(_short(page), _reached(result), message) from None


def _job(cell: Cell) -> dict[str, Any]:
    return {
        "kind": cell.kind,
        "source": cell.source,
        "expressions": cell.expressions,
        "line": cell.line,
        "may_raise": "raises-exception" in cell.tags,
    }


def _reached(result: Path) -> int | None:
    """Return the line of the cell that ran last; it stands in the file until the record does."""
    text = result.read_text(encoding="utf-8") if result.exists() else ""
    return int(text) if text.isdecimal() else None


def digest(page: Path, surroundings: bytes) -> str:
    """Return a digest of all that decides what a page shows."""
    place = f"{_short(page)}\0".encode()
    return hashlib.sha256(place + page.read_bytes() + surroundings).hexdigest()


def surroundings() -> bytes:
    """Return what decides what any page shows: attnref, this package, every version, Python."""
    installed = sorted({f"{d.name}=={d.version}" for d in importlib.metadata.distributions()})
    state = hashlib.sha256("\n".join([platform.python_version(), *installed]).encode())
    for path in sorted([*ROOT.glob("attnref/**/*.py"), *ROOT.glob("scripts/sitebuild/*.py")]):
        state.update(f"\0{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    return state.digest()


def _load(entry: Path) -> Record | None:
    try:
        record: Record = json.loads(entry.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return record


def _store(entry: Path, record: Record) -> None:
    entry.parent.mkdir(parents=True, exist_ok=True)
    partial = entry.with_suffix(f".{os.getpid()}")
    partial.write_text(json.dumps(record), encoding="utf-8")
    partial.replace(entry)


def _short(page: Path) -> Path:
    return page.relative_to(ROOT) if page.is_relative_to(ROOT) else page
