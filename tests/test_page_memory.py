"""What is remembered of a page, and what makes it run again."""

import shutil
from pathlib import Path

import pytest

import pages
from pages import ROOT
from sitebuild import memory as module
from sitebuild.execute import execute
from sitebuild.memory import digest, surroundings

VERB = 0


def _verbs(paths: list[Path], memory: Path) -> list[str]:
    said: list[str] = []
    execute(paths, say=said.append, folder=memory)
    return [line.split()[VERB] for line in said]


def test_unchanged_page_is_not_run_again(tmp_path: Path) -> None:
    """The second time, the record comes from memory and is the same."""
    path, memory = pages.page(tmp_path, "print(6 * 7)"), tmp_path / "memory"
    first = execute([path], say=lambda _: None, folder=memory)
    assert _verbs([path], memory) == ["unchanged"]
    assert execute([path], say=lambda _: None, folder=memory) == first


def test_changed_page_is_run_again_and_no_other(tmp_path: Path) -> None:
    """One edit re-executes one page."""
    paths = [pages.page(tmp_path, f"print({n})", name=f"page{n}") for n in (1, 2)]
    assert _verbs(paths, tmp_path / "memory") == ["executed", "executed"]
    pages.page(tmp_path, "print(3)", name="page2")
    assert sorted(_verbs(paths, tmp_path / "memory")) == ["executed", "unchanged"]


@pytest.mark.parametrize("entry", ["", "{", "[]", '{"cells": 1', '{"cells": 1}'])
def test_damaged_memory_is_not_trusted(entry: str, tmp_path: Path) -> None:
    """A half-written entry is a page that runs again."""
    path, memory = pages.page(tmp_path, "print(1)"), tmp_path / "memory"
    assert _verbs([path], memory) == ["executed"]
    (memory / f"{digest(path, surroundings())}.json").write_text(entry)
    assert _verbs([path], memory) == ["executed"]


def test_page_runs_again_when_a_file_it_read_has_changed(tmp_path: Path) -> None:
    """A helper module beside the page and a file it opens decide what it shows."""
    (tmp_path / "helper.py").write_text("x = 1\n")
    (tmp_path / "data.txt").write_text("one")
    code = f"import helper\nprint(helper.x, open({str(tmp_path / 'data.txt')!r}).read())"
    path, memory = pages.page(tmp_path, code), tmp_path / "memory"
    assert _verbs([path], memory) == ["executed"]
    assert _verbs([path], memory) == ["unchanged"]
    for name, content in (("helper.py", "x = 22\n"), ("data.txt", "two")):
        (tmp_path / name).write_text(content)
        assert _verbs([path], memory) == ["executed"], name
        assert _verbs([path], memory) == ["unchanged"], name


def test_page_edited_while_it_runs_is_not_remembered_as_it_was(tmp_path: Path) -> None:
    """What ran is not what the digest names, so nothing is kept under it."""
    memory = tmp_path / "memory"
    path = pages.page(tmp_path, "from pathlib import Path\n_ = Path(__file__).write_text('# %%')")
    execute([path], say=lambda _: None, folder=memory)
    assert not memory.exists()


def test_refused_page_is_not_remembered(tmp_path: Path) -> None:
    """An error is found again at the next build."""
    path, memory = pages.page(tmp_path, "1 / 0"), tmp_path / "memory"
    for _ in range(2):
        with pytest.raises(ExceptionGroup, match="1 of 1 pages failed"):
            execute([path], say=lambda _: None, folder=memory)


def test_editing_a_function_of_attnref_changes_every_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page made with another attnref is stale, whichever of its files was edited."""
    copy = tmp_path / "project"
    shutil.copytree(
        ROOT / "attnref", copy / "attnref", ignore=shutil.ignore_patterns("__pycache__")
    )
    monkeypatch.setattr(module, "ROOT", copy)
    path = pages.page(tmp_path, "print(1)")
    sources = sorted((copy / "attnref").rglob("*.py"))
    assert len(sources) > 5
    for source in sources:
        before = digest(path, surroundings())
        source.write_text(source.read_text(encoding="utf-8") + "\n# edited\n", encoding="utf-8")
        assert digest(path, surroundings()) != before, source


def test_other_versions_change_the_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python and every installed distribution decide what a page shows."""
    path = pages.page(tmp_path, "print(1)")
    before = digest(path, surroundings())
    monkeypatch.setattr("platform.python_version", lambda: "3.99.0")
    assert digest(path, surroundings()) != before
    monkeypatch.undo()
    monkeypatch.setattr("importlib.metadata.distributions", list)
    assert digest(path, surroundings()) != before
