"""What the site asks of the register: when it asks anew, and what it makes of the answer."""

import json
from pathlib import Path

import pytest

import pages
from sitebuild import __main__ as plain
from sitebuild import colophon, memory, register
from sitebuild.register import Register

EMPTY = json.dumps({"derivations": {}, "tombstones": {}})


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Stand in for the process that answers; return the jobs it gets."""
    jobs: list[str] = []

    def answer(job: str) -> str:
        jobs.append(job)
        return EMPTY

    monkeypatch.setattr(register, "_answer", answer)
    return jobs


def test_answer_is_remembered(asked: list[str], tmp_path: Path) -> None:
    """Nothing changed: nobody is asked; without a folder, every time."""
    for _ in range(2):
        assert register.ask(folder=tmp_path) == Register({}, {})
    assert len(asked) == 1
    register.ask()
    assert len(asked) == 2


def test_change_is_asked_for(asked: list[str], tmp_path: Path) -> None:
    """Another address, another register and another line in it are all asked for."""
    other = tmp_path / "register.toml"
    other.write_text("register = []")
    register.ask(folder=tmp_path)
    register.ask("https://example.org/", folder=tmp_path)
    register.ask(register=str(other), folder=tmp_path)
    other.write_text("register = [ ]")
    register.ask(register=str(other), folder=tmp_path)
    assert len(asked) == 4


def test_register_is_a_part_of_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that ran with another register runs again."""
    monkeypatch.setattr(memory, "ROOT", tmp_path)
    (tmp_path / "attnref").mkdir()
    before = memory.surroundings()
    (tmp_path / "attnref" / "register.toml").write_text("register = []")
    assert memory.surroundings() != before


def test_page_is_a_derivations_by_its_address() -> None:
    """The page of a tag is d/TAG; a page of that name elsewhere is not."""
    known = Register({"ZFRM": {"forms": {}}}, {})
    assert known.derivation(Path("docs/d/ZFRM.py")) == {"forms": {}}
    assert known.derivation(Path("docs/guide/ZFRM.py")) is None
    assert known.derivation(Path("docs/d/index.py")) is None


def test_page_tells_what_its_statement_was() -> None:
    """Each statement a tag has had stands on its page, with what was changed."""
    first = {"fingerprint": "0" * 12, "version": "0.1.0", "note": ""}
    second = {"fingerprint": "1" * 12, "version": "0.3.0", "note": "corrected: a sign"}
    text = colophon.of_derivation({"forms": {"text": "A."}, "statements": [first, second]})
    assert text.startswith('### Cite this\n\n=== "Text"\n\n    ```text\n    A.\n    ```\n')
    assert text.endswith(
        "- `000000000000` since version 0.1.0\n"
        "- `111111111111` since version 0.3.0, corrected: a sign"
    )


def test_plain_markdown_has_tombstones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tag that was withdrawn has its page in the plain tree too, and links lead to Markdown."""
    known = Register({}, {"ABCD": "# ABCD: A\n\n[EFGH](EFGH.py), E, took its place.\n"})
    monkeypatch.setattr(register, "ask", lambda **_: known)
    (tmp_path / "docs").mkdir()
    pages.page(tmp_path / "docs", "x = 1")
    plain.write(tmp_path / "docs", tmp_path / "out")
    assert "[EFGH](EFGH.md), E, took" in (tmp_path / "out" / "d" / "ABCD.md").read_text("utf-8")
