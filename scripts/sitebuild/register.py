"""What the register of derivations says: how each is cited, and which tags were withdrawn.

It is asked in a process of its own, as pages are run: a server that has been up for hours would
cite the package as it was when it started.
"""

import hashlib
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sitebuild import execute, memory

REGISTRAR = Path(__file__).with_name("registrar.py")


@dataclass(frozen=True)
class Register:
    """By tag: what a page says of a derivation, and the page of each tag that was withdrawn."""

    derivations: dict[str, dict[str, Any]]
    tombstones: dict[str, str]

    def derivation(self, page: Path) -> dict[str, Any] | None:
        """Return what is known of the derivation that a page is the page of, if it is one."""
        return self.derivations.get(page.stem) if page.parent.name == "d" else None


def ask(site: str = "", *, register: str = "", folder: Path | None = None) -> Register:
    """Ask for a site at this address; unless something changed, the folder remembers the answer."""
    job = json.dumps({"site": site, "register": register})
    known = Path(register).read_bytes() if register else b""
    state = hashlib.sha256(job.encode() + known + memory.surroundings()).hexdigest()
    if not folder:
        return Register(**json.loads(_answer(job)))
    answer = memory.load_or_make(folder / state, lambda: _answer(job).encode())
    return Register(**json.loads(answer))


def _answer(job: str) -> str:
    process = subprocess.run(
        [sys.executable, str(REGISTRAR)],
        input=job,
        capture_output=True,
        encoding="utf-8",
        env=execute.environment() | {"PYTHONDONTWRITEBYTECODE": "1"},  # a server watches attnref
        check=False,
    )
    if process.returncode:
        raise RuntimeError(f"the register of derivations can't be read\n{process.stderr}")
    return process.stdout
