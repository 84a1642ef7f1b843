"""A lock that processes share: the second one waits until the first has ended, however it ends."""

import contextlib
import errno
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_HELD = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)


@contextlib.contextmanager
def lock(root: Path, name: str) -> "Iterator[None]":
    """Let one process at a time into this block.

    It is the system's lock on an open file, not the file's existence: so none is left behind by a
    process that was killed, and none is taken from one that lives. The number in it is for reading.
    """
    path = root / ".cache" / f"{name}.lock"
    path.parent.mkdir(exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT)
    try:
        if not taken(handle):
            print(f"Waiting for process {path.read_text()}, which is at the same work.", flush=True)
            while not taken(handle):
                time.sleep(0.2)
        os.ftruncate(handle, 0)
        os.write(handle, str(os.getpid()).encode())
        yield
    finally:
        os.close(handle)


def taken(handle: int) -> bool:
    """Take the lock of an open file; say whether that was possible."""
    try:
        if sys.platform == "win32":
            os.lseek(handle, 1 << 20, os.SEEK_SET)  # far behind the number, which others may read
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
            os.lseek(handle, 0, os.SEEK_SET)
        else:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in _HELD  # a file system without locks: go on without
    return True
