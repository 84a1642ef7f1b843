"""The command line: what it prints, and the exit code it leaves."""

import subprocess
import sys
from dataclasses import replace

import pytest

from attnref import __main__ as command_line
from attnref.derivations import RECORDS, get


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-m", "attnref", *arguments]
    return subprocess.run(command, capture_output=True, encoding="utf-8", check=False)


def test_list_names_every_derivation() -> None:
    """One line a derivation: tag and title."""
    run = _run("list")
    assert run.returncode == 0
    assert run.stdout.splitlines() == [f"{record.tag}  {record.title}" for record in RECORDS]


def test_show_prints_the_derivation() -> None:
    """The text of the record, in any locale, and nothing else."""
    run = _run("show", "zfrm")
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout == f"{get('ZFRM')}\n"


def test_verify_checks_all_derivations() -> None:
    """One line a derivation, with counts and seconds, and exit code 0."""
    run = _run("verify")
    assert (run.returncode, run.stderr) == (0, "")
    lines = run.stdout.splitlines()
    assert [line[:4] for line in lines] == [record.tag for record in RECORDS]
    assert " 5 of  5 steps proved, 6 of 6 variants refused, " in lines[0]
    assert all(line.endswith(" s") for line in lines)


@pytest.mark.parametrize("command", ["show", "verify"])
def test_unknown_tag_is_a_wrong_call(command: str) -> None:
    """Exit code 2, and a message that lists the tags there are."""
    run = _run(command, "NOPE")
    assert (run.returncode, run.stdout) == (2, "")
    assert "no derivation has the tag 'NOPE'; there are ZFRM, VDOT, VSCL" in run.stderr


@pytest.mark.parametrize("arguments", [(), ("prove",), ("show",)])
def test_wrong_call_says_what_is_right(arguments: tuple[str, ...]) -> None:
    """Exit code 2, and the commands there are."""
    run = _run(*arguments)
    assert run.returncode == 2
    assert "usage: python -m attnref" in run.stderr


def test_verify_of_one_tag_checks_that_one(capsys: pytest.CaptureFixture[str]) -> None:
    """Only the named derivation is checked."""
    assert command_line.main(["verify", "VSCL"]) == 0
    assert capsys.readouterr().out.startswith("VSCL  The variance of a score")


def test_verify_fails_with_a_derivation(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 1 after all have been checked, and the step that fails is named."""
    record = get("ZFRM")
    steps = (replace(record.steps[0], using=()), *record.steps[1:])
    wrong = replace(record, steps=steps)
    monkeypatch.setattr(command_line, "RECORDS", (wrong, get("VSCL")))
    assert command_line.main(["verify"]) == 1
    first, unused, failure, last = capsys.readouterr().out.splitlines()
    assert " 4 of  5 steps proved" in first
    assert unused.endswith("law attention is used in no step")
    assert "step weights is not proved: not shown to be equal: the two sides differ by" in failure
    assert last.startswith("VSCL")
