"""A small project in a folder of its own: the real commands, stand-ins for what they start."""

import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

from environment import STAMP, digest, python_of
from installation import site_packages
from terminal import ROOT, Clock

PYPROJECT = '[project]\nname = "small"\nversion = "0"\n[dependency-groups]\nsite = []\ntest = []\n'


def make(root: Path) -> Path:
    """Write the project, without an environment."""
    (root / "scripts").mkdir()
    for script in (ROOT / "scripts").glob("*.py"):
        shutil.copy(script, root / "scripts")
    (root / "pyproject.toml").write_text(PYPROJECT)
    (root / "constraints.txt").write_text("pip==99.1\n")
    return root


def make_ready(root: Path, *, with_tools: bool = False) -> Path:
    """Write the project with an environment that is found ready: empty, or with our tools."""
    make(root)
    venv.create(root / ".venv", symlinks=sys.platform != "win32")
    if with_tools:
        ours = sysconfig.get_path("purelib")
        (site_packages(root / ".venv") / "ours.pth").write_text(ours)
    (root / ".venv" / STAMP).write_text(digest(root))
    return root


def run(root: Path, script: str, *arguments: str, **variables: str) -> SimpleNamespace:
    """Run one of the project's commands as a user does; return its exit code and all it says."""
    command = [sys.executable, str(root / "scripts" / script), *arguments]
    done = subprocess.run(
        command, cwd=root, env=variables or None, capture_output=True, text=True, check=False
    )
    return SimpleNamespace(code=done.returncode, text=done.stdout + done.stderr)


class StandInPip:
    """Takes pip's place: notes what it is asked, and fails if told to."""

    def __init__(self, failure: BaseException | None = None) -> None:
        self.calls: list[list[str]] = []
        self.failure = failure

    def __call__(self, python: Path, arguments: Sequence[str], root: Path, clock: Clock) -> None:
        """Note the arguments; the real pip is started in the same way."""
        assert python == python_of(root)
        self.calls.append(list(arguments))
        if self.failure:
            raise self.failure
