"""Entries of the memory that are damaged, half-written or too many, and disks that are full."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import pages
from sitebuild import memory as module
from sitebuild.execute import execute

BUILD = """\
import os, signal, sys
from pathlib import Path
from sitebuild.execute import execute
{before}
records = execute([Path({page!r})], say=lambda _: None, folder=Path({memory!r}))
print(records)
"""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """Return a page that shows a number; alone in its folder, which is a thing that it reads."""
    folder = tmp_path / "docs"
    folder.mkdir()
    return pages.page(folder, "print(6 * 7)")


@pytest.fixture
def memory(tmp_path: Path, page: Path) -> Path:
    """Return the folder in which that page is remembered."""
    assert _said(page, tmp_path / "memory") == ["executed"]
    return tmp_path / "memory"


def _said(page: Path, memory: Path) -> list[str]:
    said: list[str] = []
    records = execute([page], say=said.append, folder=memory)
    assert records[page]["cells"][1] == [{"kind": "stdout", "text": "42\n"}]
    return [line.split()[0] for line in said]


def _start(page: Path, memory: Path, before: str = "") -> subprocess.Popen[str]:
    code = BUILD.format(before=before, page=str(page), memory=str(memory))
    scripts = {"PYTHONPATH": str(pages.ROOT / "scripts")}
    return subprocess.Popen(
        [sys.executable, "-c", code], env=os.environ | scripts, stdout=subprocess.PIPE, text=True
    )


def test_change_of_any_byte_of_an_entry_is_seen(tmp_path: Path) -> None:
    """Whichever it is, in the checksum or in what it is of; and an entry cut short anywhere."""
    entry, content = tmp_path / "entry", '{"text": "42", "other": "é"}'.encode()
    module.save(entry, content)
    whole = entry.read_bytes()
    assert module.load(entry) == content
    for place in range(len(whole)):
        flipped = bytes([whole[place] ^ 1])
        for damaged in (whole[:place], whole[:place] + flipped + whole[place + 1 :]):
            entry.write_bytes(damaged)
            assert module.load(entry) is None, damaged
    entry.write_bytes(whole + b" ")
    assert module.load(entry) is None


def test_what_is_damaged_is_made_again(tmp_path: Path) -> None:
    """Whatever it is that is kept; and what can't be kept is made every time."""
    entry, made = tmp_path / "folder" / "entry", iter([b"one", b"two", b"three", b"four"])
    kept = [module.load_or_make(entry, made.__next__) for _ in range(2)]
    entry.write_bytes(entry.read_bytes()[:-1])
    kept += [module.load_or_make(entry, made.__next__) for _ in range(2)]
    kept += [module.load_or_make(entry / "in the way", made.__next__) for _ in range(2)]
    assert kept == [b"one", b"one", b"two", b"two", b"three", b"four"]


def test_page_whose_entry_shows_another_number_runs_again(page: Path, memory: Path) -> None:
    """A digit that was changed leaves valid JSON, and is not published."""
    (entry,) = memory.iterdir()
    entry.write_bytes(entry.read_bytes().replace(b'"42', b'"43'))
    assert b'"43' in entry.read_bytes()
    assert _said(page, memory) == ["executed"]
    assert _said(page, memory) == ["unchanged"]


def test_entry_of_another_page_is_not_trusted(page: Path, memory: Path, tmp_path: Path) -> None:
    """An entry under another name is no entry."""
    (entry,) = memory.iterdir()
    other = pages.page(tmp_path, "print(43)", name="other")
    execute([other], say=lambda _: None, folder=memory)
    (swapped,) = {*memory.iterdir()} - {entry}
    entry.write_bytes(swapped.read_bytes())
    assert _said(page, memory) == ["executed"]


def test_build_that_was_killed_leaves_nothing_that_is_trusted(page: Path, tmp_path: Path) -> None:
    """Killed while it writes, it leaves a file that is not read, and that goes in its turn."""
    memory = tmp_path / "memory"
    killed = _start(page, memory, "Path.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)")
    assert killed.wait() == -signal.SIGKILL
    killed.communicate()
    (left,) = memory.iterdir()
    assert _said(page, memory) == ["executed"]
    assert _said(page, memory) == ["unchanged"]
    assert left.exists()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "KEPT", 1)
        module.prune(memory)
    assert not left.exists()
    assert _said(page, memory) == ["unchanged"]


def test_full_disk_costs_the_memory_and_not_the_build(page: Path, tmp_path: Path) -> None:
    """The page is shown, one line says why it is not remembered, and no part of it is left."""
    resource = pytest.importorskip("resource")
    said: list[str] = []
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, hard))  # the page's own process lifts it again
    try:
        execute([page], say=said.append, folder=tmp_path / "memory")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert said[0].startswith("executed")
    assert said[1:] == ["1 of 1 pages are not remembered: File too large"]
    assert list((tmp_path / "memory").iterdir()) == []


def test_memory_that_cannot_be_made_costs_no_build(page: Path, tmp_path: Path) -> None:
    """A file stands where the folder should."""
    said: list[str] = []
    (tmp_path / "memory").write_text("in the way")
    execute([page], say=said.append, folder=tmp_path / "memory")
    assert said[1:] == ["1 of 1 pages are not remembered: File exists"]


def test_two_builds_at_once_show_the_same(page: Path, tmp_path: Path) -> None:
    """Both write the same entries, both go well, and what they leave is whole."""
    builds = [_start(page, tmp_path / "memory") for _ in range(2)]
    shown = [build.communicate()[0] for build in builds]
    assert [build.returncode for build in builds] == [0, 0]
    assert shown[0] == shown[1]
    assert "42" in shown[0]
    assert len(list((tmp_path / "memory").iterdir())) == 1
    assert _said(page, tmp_path / "memory") == ["unchanged"]


def test_writers_of_one_entry_do_not_meet(tmp_path: Path) -> None:
    """However many write at once, none takes another's unfinished file."""
    entry, content = tmp_path / "entry", bytes(100_000)
    with ThreadPoolExecutor(8) as pool:
        done = [pool.submit(module.save, entry, content) for _ in range(200)]
    assert [writer.exception() for writer in done] == [None] * 200
    assert module.load(entry) == content
    assert list(tmp_path.iterdir()) == [entry]


def test_memory_lets_go_of_what_was_used_longest_ago(
    page: Path, memory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a build shows from memory is in use, however old; the number of entries has a bound."""
    monkeypatch.setattr(module, "KEPT", 2)
    others = [pages.page(tmp_path, f"print({n})", name=f"other{n}") for n in range(2)]
    execute(others[:1], say=lambda _: None, folder=memory)
    assert _said(page, memory) == ["unchanged"]
    execute(others[1:], say=lambda _: None, folder=memory)
    assert len(list(memory.iterdir())) == 2
    assert _said(page, memory) == ["unchanged"]
