"""How the project's commands speak and end: plain lines, one clear sentence, never a traceback.

This file and those that the commands import with it are read by whatever `python3` a machine has.
Their syntax is old enough for Python 3.6, annotations are quoted: it gets to hear what it lacks.
"""

import contextlib
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
STOPPED = 130  # what a shell reports for a command ended by Ctrl-C


class Stop(Exception):  # noqa: N818 - it is no error of ours: its text is told, and the command ends
    """Something the user can mend is missing; the text says what it is and what to do."""


class Clock:
    """Says what is going on, with the seconds since the start."""

    def __init__(self) -> None:
        self.began = time.monotonic()

    def say(self, text: str) -> None:
        """Print one line with the time passed."""
        print(f"  [{time.monotonic() - self.began:3.0f} s] {text}", flush=True)


def check_python(version: "tuple[int, ...]", executable: str) -> None:
    """Refuse a Python that is too old for attnref."""
    if version < (3, 11):
        number = f"{version[0]}.{version[1]}"
        raise Stop(f"attnref needs Python 3.11 or newer; this is {number} ({executable})")


def guarded(main: "Callable[[], int]") -> int:
    """Run a command; what ends it early is told in one line."""
    signal.signal(signal.SIGTERM, _terminate)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # pip writes what a terminal's encoding may lack
            stream.reconfigure(errors="replace")
    try:
        check_python(sys.version_info[:2], sys.executable)
        return main()
    except Stop as stop:
        print(stop, file=sys.stderr, flush=True)
        return 1
    except KeyboardInterrupt:
        print("\nStopped.", file=sys.stderr, flush=True)
        return STOPPED


def run(command: "Sequence[str | Path]", cwd: Path, env: "Mapping[str, str] | None" = None) -> int:
    """Run a child to its end and return its exit code."""
    with child(subprocess.Popen(command, cwd=cwd, env=env)) as process:
        return process.wait()


def ask(command: "Sequence[str]") -> "tuple[int, str]":
    """Run a short command; return its exit code and all it says."""
    try:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return 1, str(error)
    return done.returncode, done.stdout.decode("utf-8", "replace")


@contextlib.contextmanager
def child(process: "subprocess.Popen[Any]") -> "Iterator[subprocess.Popen[Any]]":
    """Let no child outlive this block, however it ends."""
    try:
        yield process
    except KeyboardInterrupt:
        # Ctrl-C reaches the child as well, which cleans up by itself: give it the time.
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)
        raise
    finally:
        if process.poll() is None:
            _end(process)


def _end(process: "subprocess.Popen[Any]") -> None:
    process.terminate()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _terminate(_signal: int, _frame: "FrameType | None") -> None:
    """Turn the system's request to end into an exception: children end, files are removed."""
    sys.exit("Stopped.")
