"""Run pages, each in a fresh process, two at a time, within a time limit; unchanged ones not."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from sitebuild import memory, rules
from sitebuild.memory import ROOT, Record, short
from sitebuild.script import Cell, PageError, read

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


def execute(
    pages: Iterable[Path],
    *,
    say: Callable[[str], None],
    folder: Path | None = None,
    time_limit: float = TIME_LIMIT,
) -> dict[Path, Record]:
    """Run the pages and return what each showed; every page that fails is named.

    Unchanged pages are remembered in the folder, where one is given.
    """
    outcomes = attempt(pages, say=say, folder=folder, time_limit=time_limit)
    failures = [outcome for outcome in outcomes.values() if isinstance(outcome, PageError)]
    if failures:
        raise ExceptionGroup(f"{len(failures)} of {len(outcomes)} pages failed", failures)
    return {page: record for page, record in outcomes.items() if isinstance(record, dict)}


def attempt(
    pages: Iterable[Path],
    *,
    say: Callable[[str], None],
    folder: Path | None = None,
    time_limit: float = TIME_LIMIT,
) -> dict[Path, Record | PageError]:
    """Run the pages and return what each showed, or why it may not be published."""
    pages = sorted(pages)
    surroundings = memory.surroundings() if folder else b""
    start, outcomes = time.monotonic(), {}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        runs = {pool.submit(_outcome, p, folder, surroundings, time_limit): p for p in pages}
        for number, run in enumerate(as_completed(runs), 1):
            page, (verb, outcomes[page]) = runs[run], run.result()
            seconds = time.monotonic() - start
            say(f"{verb} {short(page)} ({number} of {len(pages)}, {seconds:.1f} s)")
    return {page: outcomes[page] for page in pages}


def _outcome(
    page: Path, folder: Path | None, surroundings: bytes, time_limit: float
) -> tuple[str, Any]:
    """Return what became of a page, and its record or the error that keeps it from the site."""
    entry = folder / f"{memory.digest(page, surroundings)}.json" if folder else None
    if entry and (record := memory.recall(entry)):
        return "unchanged", record
    try:
        record = run(page, time_limit)
    except PageError as error:
        return "refused", error
    except Exception as error:
        error.add_note(f"while running {short(page)}")
        raise
    # A page that was edited while it ran is not what the digest names.
    if entry and entry.stem == memory.digest(page, memory.surroundings()):
        memory.keep(entry, json.dumps(record).encode())
    return "executed", record


def run(page: Path, time_limit: float = TIME_LIMIT) -> Record:
    """Run one page in a process of its own and hold what it showed against the rules."""
    cells = read(page)
    with tempfile.TemporaryDirectory() as scratch:
        result = Path(scratch, "record.json")
        process = _start(page, cells, result, time_limit)
        if process.returncode or _reached(result) is not None:
            message = f"the process ended with code {process.returncode}\n{process.stderr}"
            raise PageError(short(page), _reached(result), message)
        record: Record = json.loads(result.read_text(encoding="utf-8"))
    for cell, events in zip(cells, record["cells"], strict=False):
        rules.check(short(page), cell, events)
    rules.data_of(short(page), record)
    if stray := (process.stderr or process.stdout).strip():
        raise PageError(short(page), None, f"wrote past Python's own streams or too late\n{stray}")
    return record | {"files": memory.files(record["files"], page)}


def _start(
    page: Path, cells: tuple[Cell, ...], result: Path, time_limit: float
) -> subprocess.CompletedProcess[str]:
    job = {
        "path": str(page),
        "cells": [_job(cell) for cell in cells],
        "seconds": time_limit + 10,  # for a page whose build was killed
    }
    try:
        return subprocess.run(
            [sys.executable, str(WORKER), str(result)],
            input=json.dumps(job),
            capture_output=True,
            encoding="utf-8",
            errors="backslashreplace",
            cwd=result.parent,
            env=environment() | {"IPYTHONDIR": str(result.parent)},
            timeout=time_limit,
            check=False,
        )
    except subprocess.TimeoutExpired:
        message = f"the cell here did not end: the page has a time limit of {time_limit:g} s"
        raise PageError(short(page), _reached(result), message) from None


def environment() -> dict[str, str]:
    """Return the variables a page runs with: none that changes Python, and this attnref first."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return kept | PINNED | {"PYTHONPATH": str(ROOT)}


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
