"""Run pages, each in a fresh process, two at a time, within a time limit; unchanged ones not."""

import json
import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from sitebuild import memory, process, rules
from sitebuild.memory import ROOT, Record, short
from sitebuild.script import Cell, PageError, read

AT_ONCE = 2
TIME_LIMIT = 120.0
MOST = 2_000_000  # characters that a page may show
SILENT = "and no word: os._exit, a full disk or too little memory end a process so"

# What finds and loads programs; and the choice of a kernel, which a page has to bear unchanged.
PASSED = ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT", "GLOO_SOCKET_IFNAME", "OPENBLAS_CORETYPE")
PINNED = {
    "PYTHONHASHSEED": "0",
    "PYTHONNOUSERSITE": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "MPLBACKEND": "agg",
    "MPLCONFIGDIR": str(ROOT / ".cache" / "matplotlib"),  # its list of fonts takes a second to make
    "PYTHONIOENCODING": "utf-8",
    "TZ": "UTC",
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
    memory.compare_by_content()
    surroundings = memory.surroundings() if folder else b""
    start, outcomes, lost = time.monotonic(), {}, list[OSError]()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        runs = {pool.submit(_outcome, p, folder, surroundings, time_limit, lost): p for p in pages}
        try:
            for number, run in enumerate(as_completed(runs), 1):
                page, (verb, outcomes[page]) = runs[run], run.result()
                seconds = time.monotonic() - start
                say(f"{verb} {short(page)} ({number} of {len(pages)}, {seconds:.1f} s)")
        except BaseException:  # interrupted: no other page begins, and none has to end by itself
            pool.shutdown(wait=False, cancel_futures=True)
            process.end_all()
            raise
    if lost:
        say(f"{len(lost)} of {len(pages)} pages are not remembered: {lost[0].strerror}")
    if folder:
        memory.prune(folder)
    return {page: outcomes[page] for page in pages}


def _outcome(
    page: Path, folder: Path | None, surroundings: bytes, time_limit: float, lost: list[OSError]
) -> tuple[str, Any]:
    """Return what became of a page, and its record or the error that keeps it from the site."""
    entry = folder / memory.digest(page, surroundings) if folder else None
    if entry and (record := memory.recall(entry)):
        return "unchanged", record
    began = time.time_ns()
    try:
        record = run(page, time_limit)
    except PageError as error:
        return "refused", error
    except OSError as error:  # a full disk, say; the next page may fare better
        return "refused", PageError(short(page), None, f"can't be run: {error}")
    except Exception as error:
        error.add_note(f"while running {short(page)}")
        raise
    if entry and memory.names_it(entry, page, record, began):
        try:
            memory.remember(entry, record)
        except OSError as error:  # a build needs no memory
            lost.append(error)
    return "executed", record


def run(page: Path, time_limit: float = TIME_LIMIT) -> Record:
    """Run one page in a process of its own and hold what it showed against the rules."""
    cells = read(page)
    record, stray = _told(page, cells, time_limit)
    for cell, events in zip(cells, record["cells"], strict=False):
        rules.check(short(page), cell, events)
    rules.data_of(short(page), record)
    if stray:
        raise PageError(short(page), None, f"wrote past Python's own streams or too late\n{stray}")
    return record | memory.read(record["files"], page)


def _told(page: Path, cells: tuple[Cell, ...], time_limit: float) -> tuple[Record, str]:
    """Return what the process of a page told when it was done, and what was written past that."""
    job = {
        "path": str(page),
        "cells": [_job(cell) for cell in cells],
        "seconds": time_limit + 10,  # for a page whose build was killed
    }
    code, told, stray = process.run(job, environment(), time_limit)
    lines, _, record = told.rpartition("\n")
    reached = int(lines.rpartition("\n")[2]) if lines and not record else None
    if code is None:
        what = "the cell here" if reached else "something that a cell started"
        fault = f"{what} did not end: the page has a time limit of {time_limit:g} s"
    elif code or not record:
        fault = f"the process ended with code {code}\n{stray or SILENT}"
    elif len(record) > MOST:
        fault = f"shows {len(record):,} characters, and a page may show {MOST:,}"
    else:
        return json.loads(record), stray.strip()
    raise PageError(short(page), reached, fault)


def environment() -> dict[str, str]:
    """Return the variables a page runs with: what is needed to start, what is pinned, no other."""
    passed = {name: os.environ[name] for name in PASSED if name in os.environ}
    return passed | PINNED | {"PYTHONPATH": str(ROOT)}


def _job(cell: Cell) -> dict[str, Any]:
    return {
        "kind": cell.kind,
        "source": cell.source,
        "expressions": cell.expressions,
        "line": cell.line,
        "may_raise": "raises-exception" in cell.tags,
    }
