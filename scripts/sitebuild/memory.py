"""What is remembered of a page that has run, and what makes it run again.

A record is kept under a digest of the page, all of attnref, the modules here that run pages, the
version of every installed distribution, and Python; and it names what else the page read, with a
hash of each. Nothing else may decide what a page shows.

An entry begins with a checksum of its name and its content. Whatever a full disk, a killed build
or a power cut leaves behind, and whatever is changed or put under another name, is no entry: so
nothing has to wait until it is on the disk.
"""

import contextlib
import functools
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import py_compile
import sys
import sysconfig
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sitebuild import reading

ROOT = Path(__file__).resolve().parents[2]

# As they were when this process began: a server goes on with the code it has.
DECIDING = ("execute", "memory", "process", "reading", "registrar", "rules", "script", "worker")
OURS = b"\0".join(Path(__file__).with_name(f"{name}.py").read_bytes() for name in DECIDING)

PARTS = ("files", "besides")  # the project's own files that a page read, and what else it read
KEPT = 2000  # entries, some twenty of every page
BY_CONTENT = b"\3\0\0\0"  # what a compiled module says that is compared with its source by content

Record = dict[str, Any]


def digest(page: Path, surroundings: bytes) -> str:
    """Return a digest of a page and of what decides what it shows."""
    place = f"{short(page)}\0".encode()
    return hashlib.sha256(place + page.read_bytes() + surroundings).hexdigest()


def surroundings() -> bytes:
    """Return what decides what any page shows: attnref, what runs pages, every version, Python."""
    folders = [folder for folder in reading.versioned() if Path(folder).is_dir()]
    state = hashlib.sha256(_installed(tuple((f, Path(f).stat().st_mtime_ns) for f in folders)))
    state.update(_customised() + OURS)
    for path in sorted(filter(_is_of_attnref, ROOT.glob("attnref/**/*.*"))):
        state.update(f"\0{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    return state.digest()


@functools.cache
def _installed(folders: tuple[tuple[str, int], ...]) -> bytes:
    """Return Python and every version in the folders, read anew when one of them has changed.

    Not of sys.path: it has what a build adds for itself, setuptools for one, and no page sees.
    """
    found = importlib.metadata.distributions(path=[folder for folder, _ in folders])
    versions = sorted({f"{d.name}=={d.version}" for d in found})
    return "\n".join([sys.version, str(sysconfig.get_config_var("SOABI")), *versions]).encode()


def _customised() -> bytes:
    """Return what this Python is told to do whenever it starts."""
    found = importlib.util.find_spec("sitecustomize")
    return Path(found.origin).read_bytes() if found and found.origin else b""


def _is_of_attnref(path: Path) -> bool:
    """Say whether a file is in the digest; what else attnref reads is noted as a page reads it."""
    return path.suffix in (".py", ".toml") and path.is_relative_to(ROOT / "attnref")


def compare_by_content() -> None:
    """Have Python compare compiled modules of the project with their source by content.

    By time and size, as it does by itself, a change of one digit within a second goes unseen.
    """
    packages = [p for p in ROOT.glob("docs/**/*.py") if p.with_name("__init__.py").exists()]
    for source in [*ROOT.glob("attnref/**/*.py"), *packages]:
        name = f"{source.stem}.{sys.implementation.cache_tag}.pyc"
        compiled = source.parent / "__pycache__" / name
        with contextlib.suppress(OSError, py_compile.PyCompileError):
            if not (compiled.exists() and compiled.read_bytes()[4:8] == BY_CONTENT):
                mode = py_compile.PycInvalidationMode.CHECKED_HASH
                py_compile.compile(str(source), str(compiled), doraise=True, invalidation_mode=mode)


def recall(entry: Path) -> Record | None:
    """Return the record kept in a file, unless it is damaged or what it rests on has changed."""
    content = load(entry)
    if content is None:
        return None
    record: Record = json.loads(content)
    for part in PARTS:
        record[part] = {str(ROOT / name): known for name, known in record[part].items()}
    read = {Path(name): known for part in PARTS for name, known in record[part].items()}
    unchanged = all(_is_of_attnref(file) or _hash(file) == known for file, known in read.items())
    return record if unchanged else None


def remember(entry: Path, record: Record) -> None:
    """Keep a record; it names files from the project's folder, which may stand elsewhere later."""
    files = {part: {str(short(Path(n))): h for n, h in record[part].items()} for part in PARTS}
    save(entry, json.dumps(record | files).encode())


def load(entry: Path) -> bytes | None:
    """Return what was saved in a file, unless it is damaged; and note that it is in use."""
    with contextlib.suppress(OSError):
        os.utime(entry)
    try:
        checksum, _, content = entry.read_bytes().partition(b"\n")
    except OSError:
        return None
    return content if checksum == _checksum(entry, content) else None


def load_or_make(entry: Path, make: Callable[[], bytes]) -> bytes:
    """Return what was saved in a file, or make it now, and save it where that is possible."""
    content = load(entry)
    if content is None:
        content = make()
        with contextlib.suppress(OSError):
            save(entry, content)
    return content


def save(entry: Path, content: bytes) -> None:
    """Keep content with its checksum."""
    keep(entry, _checksum(entry, content) + b"\n" + content)


def keep(entry: Path, content: bytes) -> None:
    """Write a file whole or not at all, whoever else is writing it."""
    entry.parent.mkdir(parents=True, exist_ok=True)
    partial = entry.with_name(f"{entry.name}.{uuid.uuid4().hex}")
    try:
        partial.write_bytes(content)
        partial.replace(entry)
    finally:
        partial.unlink(missing_ok=True)


def prune(folder: Path) -> None:
    """Let go of what nothing has used for longest, and with it of what killed builds left."""
    with contextlib.suppress(OSError):  # another build may be at the same
        by_use = sorted(folder.iterdir(), key=lambda entry: entry.stat().st_mtime_ns)
        for entry in by_use[:-KEPT]:
            entry.unlink()


def read(names: list[str], page: Path) -> dict[str, dict[str, str]]:
    """Return what a page read, in parts, each file and each folder with its hash."""
    ours = {name: _hash(Path(name)) for name in names if _is_ours(Path(name), page)}
    return {"files": ours, "besides": {n: _hash(Path(n)) for n in names if n not in ours}}


def names_it(entry: Path, page: Path, record: Record, since: int) -> bool:
    """Say whether an entry is named after what ran: nothing that decides has changed since then."""
    read = [*record["files"], *record["besides"]]
    return entry.name == digest(page, surroundings()) and all(_changed(f) < since for f in read)


def short(page: Path) -> Path:
    """Return the page as one names it from the project's folder."""
    return page.relative_to(ROOT) if page.is_relative_to(ROOT) else page


def _checksum(entry: Path, content: bytes) -> bytes:
    return hashlib.sha256(entry.name.encode() + b"\0" + content).hexdigest().encode()


def _is_ours(file: Path, page: Path) -> bool:
    return file.is_file() and (file.is_relative_to(ROOT) or file.is_relative_to(page.parent))


def _changed(name: str) -> int:
    """Return when a file was changed or put in its place; never, where there is none."""
    try:
        state = Path(name).stat()
    except OSError:
        return 0
    return max(state.st_mtime_ns, state.st_ctime_ns)


def _hash(file: Path) -> str:
    """Return the hash of a file, or of a folder's names; what is not there has none."""
    if file.is_dir():
        names = sorted(entry.name for entry in file.iterdir())
        return hashlib.sha256("\0".join(names).encode("utf-8", "surrogateescape")).hexdigest()
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""
