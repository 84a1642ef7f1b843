"""The laws of the audit: what is vulnerable is named, and so is what nobody was asked about."""

import json
from pathlib import Path

import pytest

import small_project

# Take pip-audit's place: write down what it would, or end as it does without a network.
PIP_AUDIT = """
import pathlib, sys
answer = pathlib.Path({answer!r})
print("asked", *sys.argv[1:], flush=True)
if not answer.exists():
    raise ConnectionError("Failed to resolve the name")
pathlib.Path(sys.argv[sys.argv.index("--output") + 1]).write_text(answer.read_text())
"""
VULNERABLE = {
    "name": "one",
    "version": "1.2",
    "vulns": [{"id": "PYSEC-2099-7", "fix_versions": ["1.3", "2.0"]}],
}
UNMENDED = {"name": "two", "version": "3", "vulns": [{"id": "PYSEC-2099-8", "fix_versions": []}]}
SOUND = {"name": "three", "version": "4", "vulns": []}
UNKNOWN = {"name": "four", "skip_reason": "Dependency not found"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a project that is set up, with a stand-in for pip-audit."""
    small_project.make_ready(tmp_path)
    stand_in = PIP_AUDIT.format(answer=str(tmp_path / "answer.json"))
    (tmp_path / "pip_audit.py").write_text(stand_in)
    return tmp_path


def audited(root: Path, *found: object) -> tuple[int, list[str]]:
    """Return the exit code and the lines of an audit that is answered like this."""
    (root / "answer.json").write_text(json.dumps({"dependencies": found}))
    said = small_project.run(root, "audit.py")
    first, *lines = said.text.splitlines()
    assert first == "Asking PyPI about the 1 versions of constraints.txt."
    return said.code, lines


def test_audit_names_what_is_vulnerable(root: Path) -> None:
    """Each vulnerability with the version, and where it is mended; the exit code tells."""
    code, lines = audited(root, VULNERABLE, SOUND, UNMENDED)
    assert lines == [
        "  one 1.2: PYSEC-2099-7, mended in 1.3, 2.0",
        "  two 3: PYSEC-2099-8, mended in no version yet",
        "3 of 3 looked up, 2 with known vulnerabilities.",
    ]
    assert code == 1


def test_audit_that_finds_nothing_says_what_it_looked_at(root: Path) -> None:
    """Nothing vulnerable is good news about as many versions as were looked up."""
    assert audited(root, SOUND) == (0, ["1 of 1 looked up, 0 with known vulnerabilities."])


def test_audit_that_skips_a_version_is_no_good_news(root: Path) -> None:
    """A mirror of PyPI that knows no vulnerability of anything makes no version sound."""
    code, lines = audited(root, SOUND, UNKNOWN)
    assert lines[0] == "1 of 2 looked up, 0 with known vulnerabilities."
    assert lines[1].startswith("Not looked up")
    assert lines[1].endswith(": four")
    assert code == 2


def test_audit_without_a_network_says_that_nothing_was_looked_up(root: Path) -> None:
    """The reason and every version stand there, and no traceback."""
    said = small_project.run(root, "audit.py")
    assert said.text.splitlines()[1:] == [
        "Nothing was looked up, for the service could not be asked:",
        "  ConnectionError: Failed to resolve the name",
        "Not looked up: pip",
    ]
    assert said.code == 2


def test_audit_asks_about_the_pins_and_installs_nothing(root: Path) -> None:
    """What is asked about is constraints.txt, as it is."""
    (root / "pip_audit.py").write_text("import sys; sys.exit(' '.join(sys.argv[1:]))")
    said = small_project.run(root, "audit.py").text
    assert f"--requirement {root / 'constraints.txt'} " in said
    assert "--no-deps --disable-pip" in said
