"""A process that runs one page, in a folder of its own; it ends in time, with all it started."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

WORKER = Path(__file__).with_name("worker.py")
OWN = ("HOME", "USERPROFILE", "IPYTHONDIR", "TMPDIR", "TEMP", "TMP")
STRAY = 4000  # bytes of what a page wrote past Python's streams, to quote
RUNNING: set[subprocess.Popen[str]] = set()


def run(
    job: dict[str, Any], variables: dict[str, str], seconds: float
) -> tuple[int | None, str, str]:
    """Return how the process ended, what it told, and what was written past it.

    It ended in no way of its own, None, if its time was up.
    """
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        tempfile.TemporaryFile() as stray,
        subprocess.Popen(
            [sys.executable, str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stray,
            encoding="utf-8",
            cwd=folder,
            env=variables | dict.fromkeys(OWN, str(Path(folder).resolve())),
            start_new_session=True,
        ) as process,
    ):
        RUNNING.add(process)
        try:
            told, _ = process.communicate(json.dumps(job), timeout=seconds)
        except subprocess.TimeoutExpired as late:
            return None, (late.output or b"").decode("utf-8", "replace"), ""
        finally:
            _end(process)
            RUNNING.remove(process)
        stray.seek(0)
        return process.returncode, told, stray.read(STRAY).decode("utf-8", "backslashreplace")


def end_all() -> None:
    """End every page that runs, for a build that was interrupted."""
    for process in [*RUNNING]:
        _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    """End a process and everything that it started."""
    if sys.platform == "win32":
        process.kill()
    else:
        with contextlib.suppress(OSError):  # nothing is left of them
            os.killpg(process.pid, signal.SIGKILL)
