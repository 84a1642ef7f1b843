"""What git tells of the pages, and what is said where it tells nothing."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sitebuild import history


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Make a repository with one file in one commit take the project's place."""
    root = tmp_path / "project"
    root.mkdir()
    monkeypatch.setattr(history, "ROOT", root)
    _git(root, "init", "--quiet")
    _commit(root, "page.py", "2025-03-04T05:06:07+0000")
    history.forget()
    yield root
    history.forget()


def _git(root: Path, *arguments: str, **variables: str) -> str:
    name = {"GIT_AUTHOR_NAME": "n", "GIT_AUTHOR_EMAIL": "e", "GIT_COMMITTER_NAME": "n"}
    variables |= name | {"GIT_COMMITTER_EMAIL": "e", "HOME": str(root), "PATH": "/usr/bin:/bin"}
    command = ["/usr/bin/env", "git", *arguments]
    done = subprocess.run(command, cwd=root, env=variables, check=True, capture_output=True)
    return done.stdout.decode().strip()


def _commit(root: Path, name: str, day: str) -> None:
    (root / name).write_text(day)
    _git(root, "add", name)
    _git(root, "commit", "--quiet", "-m", name, GIT_COMMITTER_DATE=day, GIT_AUTHOR_DATE=day)


def test_commit_is_the_one_that_is_checked_out(repository: Path) -> None:
    """A file that differs from it is told."""
    head = _git(repository, "rev-parse", "HEAD")
    assert history.commit() == head
    (repository / "page.py").write_text("edited")
    assert history.commit() == head
    history.forget()
    assert history.commit() == f"{head}-modified"


def test_page_changed_when_a_commit_last_touched_it(repository: Path) -> None:
    """A later commit to another file is none of its own."""
    _commit(repository, "übrig.py", "2026-07-08T05:06:07+0000")
    assert history.changes() == {"page.py": "2025-03-04", "übrig.py": "2026-07-08"}


def test_shallow_history_tells_no_day(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There every file seems to be as old as the oldest commit that is left."""
    _commit(repository, "other.py", "2026-07-08T05:06:07+0000")
    clone = repository.parent / "clone"
    _git(repository, "clone", "--quiet", "--depth=1", repository.as_uri(), str(clone))
    monkeypatch.setattr(history, "ROOT", clone)
    assert history.changes() == {}
    assert history.commit()


def test_folder_without_history_tells_nothing(
    tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy without .git has no commit and no days."""
    monkeypatch.setattr(history, "ROOT", tmp_path)
    assert history.commit() == ""
    assert history.changes() == {}
