"""What git knows of the pages: the commit they are built from, and when each was last changed."""

import shutil
import subprocess
from functools import cache

from sitebuild.memory import ROOT


@cache
def commit() -> str:
    """Return the commit, marked where a file differs from it; nothing where there is no history."""
    return _git("describe", "--always", "--abbrev=40", "--exclude=*", "--dirty=-modified").strip()


@cache
def changes() -> dict[str, str]:
    """Return the day of the last commit that touched each file; a shallow history tells none."""
    if _git("rev-parse", "--is-shallow-repository").strip() != "false":
        return {}
    days: dict[str, str] = {}
    for part in _git("log", "--format=%x00%cs", "--name-only").split("\0"):
        day, *names = part.split("\n")
        for name in filter(None, names):
            days.setdefault(name, day)
    return days


def forget() -> None:
    """Ask git again: a server lives through commits."""
    commit.cache_clear()
    changes.cache_clear()


def _git(*arguments: str) -> str:
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        return ""
    command = [git, "-c", "core.quotePath=false", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=False)
    return done.stdout if done.returncode == 0 else ""
