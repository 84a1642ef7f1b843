"""The command line: what it prints, and the exit code it leaves."""

import json
import re
import subprocess
import sys
from dataclasses import replace

import pytest

import attnref
from attnref.derivations import RECORDS, Record, _command_line, get
from attnref.derivations._citing import FORMATS, cite
from attnref.derivations._command_line import main
from attnref.derivations._printing import latex
from attnref.derivations._register import read

CITED, CHANGED, AGAIN = "0" * 12, "1" * 12, "2" * 12
CHANGES = f"""register = [
    {{tag = "ABCD", date = 2026-01-01, version = "0.1.0", statement = "{CITED}", title = "A"}},
    {{tag = "EFGH", date = 2026-01-01, version = "0.1.0", statement = "{CITED}", title = "E"}},
    {{tag = "ABCD", date = 2026-02-01, version = "0.2.0", statement = "{CHANGED}",
      note = "reworded: d is d_k"}},
    {{tag = "ABCD", date = 2026-03-01, version = "0.3.0", statement = "{AGAIN}",
      note = "corrected: a sign"}},
    {{tag = "EFGH", date = 2026-04-01, version = "0.4.0", withdrawn = "false", successor = "ABCD"}},
]""".replace(",\n      note", ", note")


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-m", "attnref", *arguments]
    return subprocess.run(command, capture_output=True, encoding="utf-8", check=False)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> tuple[Record, ...]:
    """Take two records for all, so that the checks are quick, and return them."""
    records = (get("ZFRM"), get("VSCL"))
    monkeypatch.setattr(_command_line, "RECORDS", records)
    return records


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


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.tag)
def test_show_latex_is_what_was_checked(record: Record, capsys: pytest.CaptureFixture[str]) -> None:
    """Statement and steps as LaTeX source, whole environments, each formula of the record in it."""
    assert main(["show", record.tag, "--latex"]) == 0
    source = capsys.readouterr().out
    assert source.startswith(f"% {record.citation}\n")
    lines = [line.step.expression for line in record.lines]
    for e in (record.statement, *(chain.start for chain in record.chains), *lines):
        assert latex(e) in source
    code = re.sub(r"%.*", "", source)
    assert code.count("{") == code.count("}")
    assert re.findall(r"\\begin\{(\w+)\}", code) == re.findall(r"\\end\{(\w+)\}", code)
    labels = re.findall(r"\\label\{([^}]*)\}", code)
    words = ["statement", *(line.address for line in record.lines)]
    assert labels == [f"{record.tag}-{word}" for word in words]


def test_verify_checks_all_derivations(
    small: tuple[Record, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """One line a derivation, with status, counts and seconds, one for all, and exit code 0."""
    assert main(["verify"]) == 0
    *lines, last = capsys.readouterr().out.splitlines()
    assert [line[:4] for line in lines] == [record.tag for record in small]
    assert re.fullmatch(
        r"ZFRM  The Z form +✓ proved for all m, d_k; 5 of 5 steps, 6 of 6 refused, \d\.\d s",
        lines[0],
    )
    assert re.fullmatch(r"2 of 2 derivations proved, \d+\.\d s", last)


def test_verify_of_all_takes_seconds() -> None:
    """A process of its own proves every derivation, and names each."""
    run = _run("verify")
    assert (run.returncode, run.stderr) == (0, "")
    *lines, last = run.stdout.splitlines()
    assert [line[:4] for line in lines] == [record.tag for record in RECORDS]
    assert last.startswith(f"{len(RECORDS)} of {len(RECORDS)} derivations proved, ")


def test_verify_names_a_derivation_before_it_is_checked(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever waits sees what for."""

    def check(record: Record) -> None:
        assert capsys.readouterr().out == "ZFRM  The Z form  "
        raise KeyboardInterrupt

    monkeypatch.setattr(_command_line, "verify", check)
    with pytest.raises(KeyboardInterrupt):
        main(["verify", "ZFRM"])


def test_verify_of_one_tag_checks_that_one(capsys: pytest.CaptureFixture[str]) -> None:
    """Only the named derivation is checked."""
    assert main(["verify", "VSCL"]) == 0
    first, _ = capsys.readouterr().out.splitlines()
    assert first.startswith("VSCL  The variance of a score")


def test_verify_fails_with_a_derivation(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 1 after all have been checked, and the step that fails is named."""
    monkeypatch.setattr(_command_line, "RECORDS", (_wrong(), get("VSCL")))
    assert main(["verify"]) == 1
    first, unused, failure, second, last = capsys.readouterr().out.splitlines()
    assert "✗ not proved; 4 of 5 steps" in first
    assert unused.endswith("law attention is used in no step")
    assert "step weights is not proved: not shown to be equal: the two sides differ by" in failure
    assert second.startswith("VSCL")
    assert last.startswith("1 of 2 derivations proved, ")


def _wrong() -> Record:
    record = get("ZFRM")
    return replace(record, steps=(replace(record.steps[0], using=()), *record.steps[1:]))


def test_verify_json_says_all_that_was_found(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One object, as `verify --help` describes it, and the same exit codes."""
    monkeypatch.setattr(_command_line, "RECORDS", (_wrong(), get("VSCL")))
    assert main(["verify", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["attnref"], found["proved"]) == (attnref.__version__, False)
    wrong, right = found["records"]
    assert (wrong["tag"], wrong["proved"], wrong["status"]) == ("ZFRM", False, "✗ not proved")
    assert wrong["steps"][0]["good"] is False
    assert wrong["steps"][0]["outcome"] == "not shown to be equal"
    assert wrong["problems"] == ["law attention is used in no step"]
    assert (right["proved"], right["statement"]) == (True, get("VSCL").fingerprint)
    assert [step["good"] for step in right["steps"]] == [True] * len(get("VSCL").steps)
    assert right["variants"][0]["name"] == get("VSCL").variants[0].name
    assert main(["verify", "VSCL", "--json"]) == 0


def test_json_is_described_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    """Every name in the object stands in `verify --help`."""
    main(["verify", "VSCL", "--json"])
    found = json.loads(capsys.readouterr().out)
    with pytest.raises(SystemExit, match="0"):
        main(["verify", "--help"])
    words = set(re.findall(r"\w+", capsys.readouterr().out))
    record = found["records"][0]
    assert {*found, *record, *record["steps"][0], *record["variants"][0]} <= words


@pytest.mark.parametrize("form", FORMATS)
def test_cite_prints_every_format(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A format is an option, and so is the address of a site."""
    assert main(["cite", "zfrm", "--format", form]) == 0
    assert capsys.readouterr().out == f"{cite(get('ZFRM'), form)}\n"
    main(["cite", "ZFRM", "--format", form, "--site", "https://example.org"])
    assert "https://example.org/d/ZFRM/" in capsys.readouterr().out


def test_cite_is_text_unless_asked(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a format, one line for a human."""
    main(["cite", "ZFRM"])
    assert capsys.readouterr().out == f"{get('ZFRM').citation}\n"


@pytest.mark.parametrize(
    ("tag", "cited", "code", "said"),
    [
        ("abcd", AGAIN, 0, f"ABCD {AGAIN}: unchanged in version {attnref.__version__}\n"),
        ("ABCD", CHANGED, 1, f"ABCD {CHANGED}: changed in version 0.3.0, corrected: a sign\n"),
        (
            "ABCD",
            CITED,
            1,
            f"ABCD {CITED}: changed in version 0.2.0, reworded: d is d_k\n"
            f"ABCD {CITED}: changed in version 0.3.0, corrected: a sign\n",
        ),
        (
            "EFGH",
            CITED,
            1,
            f"EFGH {CITED}: withdrawn in version 0.4.0, 2026-04-01: false; ABCD took its place\n",
        ),
        (
            "ABCD",
            "nothing",
            2,
            f"ABCD nothing: unknown; ABCD has had {CITED} (0.1.0), {CHANGED} (0.2.0), "
            f"{AGAIN} (0.3.0)\n",
        ),
    ],
)
def test_check_citation_says_what_became_of_it(
    tag: str,
    cited: str,
    code: int,
    said: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Unchanged is 0; changed or withdrawn since is 1, with each change; an unknown hash is 2."""
    monkeypatch.setattr(_command_line, "register", lambda: read(CHANGES))
    assert main(["check-citation", tag, cited]) == code
    assert capsys.readouterr().out == said


def test_statement_that_stands_is_unchanged(capsys: pytest.CaptureFixture[str]) -> None:
    """What a page cites today is found unchanged, in capitals too."""
    for record in RECORDS:
        assert main(["check-citation", record.tag, record.fingerprint.upper()]) == 0
        assert "unchanged" in capsys.readouterr().out


@pytest.mark.parametrize(
    "command", [("show",), ("verify",), ("cite",), ("check-citation", "731ff370f77e")]
)
def test_unknown_tag_is_a_wrong_call(command: tuple[str, ...]) -> None:
    """Exit code 2, and a message that names the nearest tag."""
    run = _run(command[0], "ZFRN", *command[1:])
    assert (run.returncode, run.stdout) == (2, "")
    assert "no derivation has the tag 'ZFRN'; did you mean ZFRM?" in run.stderr


@pytest.mark.parametrize(
    "arguments", [(), ("prove",), ("show",), ("cite", "ZFRM", "--format", "word")]
)
def test_wrong_call_says_what_is_right(arguments: tuple[str, ...]) -> None:
    """Exit code 2, and the commands there are."""
    run = _run(*arguments)
    assert run.returncode == 2
    assert "usage: python -m attnref" in run.stderr
