"""What is remembered of a page that has run, and what makes it run again.

A record is kept under a digest of the page, all of attnref, this package, the version of every
installed distribution, and Python; and it names the other files of the project that the page read,
with a hash of each. Nothing else may decide what a page shows.
"""

import hashlib
import importlib.metadata
import json
import os
import platform
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]

# What runs a page and judges what it shows, as it was when this process began: a server goes on
# with the code it has. The rest of this package sets what a page showed, and runs nothing.
RUNNERS = ("execute", "memory", "rules", "script", "worker")
OURS = b"\0".join(Path(__file__).with_name(f"{name}.py").read_bytes() for name in RUNNERS)

Record = dict[str, Any]


def digest(page: Path, surroundings: bytes) -> str:
    """Return a digest of a page and of what decides what it shows."""
    place = f"{short(page)}\0".encode()
    return hashlib.sha256(place + page.read_bytes() + surroundings).hexdigest()


def surroundings() -> bytes:
    """Return what decides what any page shows: attnref, this package, every version, Python."""
    installed = sorted({f"{d.name}=={d.version}" for d in importlib.metadata.distributions()})
    state = hashlib.sha256("\n".join([platform.python_version(), *installed]).encode())
    state.update(OURS)
    for path in sorted([*ROOT.glob("attnref/**/*.py"), *ROOT.glob("attnref/**/*.toml")]):
        state.update(f"\0{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    return state.digest()


def recall(entry: Path) -> Record | None:
    """Return the record kept in a file, unless it is damaged or a file it rests on has changed."""
    try:
        record: Record = json.loads(entry.read_text(encoding="utf-8"))
        unchanged = all(_hash(Path(file)) == known for file, known in record["files"].items())
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
    return record if unchanged else None


def keep(entry: Path, content: bytes) -> None:
    """Write a file whole or not at all, whoever else is writing it."""
    entry.parent.mkdir(parents=True, exist_ok=True)
    partial = entry.with_suffix(f".{os.getpid()}")
    partial.write_bytes(content)
    partial.replace(entry)


def files(names: list[str], page: Path) -> dict[str, str]:
    """Return the project's own files among those that a page read, each with its hash."""
    return {name: _hash(Path(name)) for name in names if _decides(Path(name), page)}


def short(page: Path) -> Path:
    """Return the page as one names it from the project's folder."""
    return page.relative_to(ROOT) if page.is_relative_to(ROOT) else page


def _decides(file: Path, page: Path) -> bool:
    ours = file.is_relative_to(ROOT) or file.is_relative_to(page.parent)
    return ours and file.suffix != ".pyc" and "site-packages" not in file.parts and file.is_file()


def _hash(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""
