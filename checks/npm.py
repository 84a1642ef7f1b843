"""What the checks take from npm: the checker of HTML, which runs in Java, and a dictionary.

package.json says what, package-lock.json exactly which; the first check that asks has them laid
into the cache. No script of a package runs.
"""

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

from lock import lock
from terminal import ROOT

HERE = Path(__file__).parent
ASKED = ("package.json", "package-lock.json", ".npmrc")
INSTALLED = "node_modules/.package-lock.json"  # what npm writes last


def package(name: str) -> Path:
    """Return the folder of a package, in the version that is pinned."""
    pinned = b"".join((HERE / asked).read_bytes() for asked in ASKED)
    folder = ROOT / ".cache" / "npm" / hashlib.sha256(pinned).hexdigest()[:12]
    with lock(ROOT, "npm"):
        if not (folder / INSTALLED).exists():
            _install(folder)
    return folder / "node_modules" / name


def program(name: str, debian: str) -> str:
    """Return where a program of this machine is; say what to install where it has none."""
    found = shutil.which(name)
    if not found:
        pytest.fail(f"needs {name}; on Debian and Ubuntu: sudo apt install {debian}", pytrace=False)
    return found


def _install(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for asked in ASKED:
        shutil.copy(HERE / asked, folder)
    command = [program("npm", "npm"), "ci"]
    done = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        pytest.fail(f"npm cannot install what checks/package.json asks for:\n{done.stderr}")
