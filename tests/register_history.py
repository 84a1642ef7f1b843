"""The register of tags against every earlier version of itself."""

import shutil
import subprocess
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

PATH = "attnref/derivations/register.toml"

Line = dict[str, Any]


def git(repository: Path, *arguments: str) -> str:
    """Run git, whoever owns the folder, and return what it says."""
    program = shutil.which("git")
    assert program, "git is not installed"
    # A set-up may run as another user than the one who cloned.
    command = [program, "-c", "safe.directory=*", "-C", str(repository), *arguments]
    return subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout


def is_whole(repository: Path) -> bool:
    """Say whether a clone has all of its history."""
    return git(repository, "rev-parse", "--is-shallow-repository").strip() == "false"


def losses(repository: Path) -> list[str]:
    """Return a sentence for each commit whose register has a line that is lost or changed now."""
    file = repository / PATH
    now = _lines(file.read_text(encoding="utf-8")) if file.exists() else []
    earlier = [(commit, first_lost(lines, now)) for commit, lines in _versions(repository)]
    return [f"commit {commit[:12]} has {line}" for commit, line in earlier if line]


def first_lost(earlier: Sequence[Line], now: Sequence[Line]) -> Line | None:
    """Return the first of the earlier lines that no longer follows the ones before it."""
    rest = iter(now)
    return next((line for line in earlier if line not in rest), None)  # `in` reads on in the rest


def _versions(repository: Path) -> Iterator[tuple[str, list[Line]]]:
    """Yield each commit that touched the register, side branches included, and its lines."""
    for commit in git(repository, "log", "--full-history", "--format=%H", "--", PATH).split():
        if git(repository, "ls-tree", commit, "--", PATH):
            yield commit, _lines(git(repository, "show", f"{commit}:{PATH}"))


def _lines(text: str) -> list[Line]:
    return list(tomllib.loads(text)["register"])
