"""The register: no tag is lost, none is used twice, and every one of them leads somewhere."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from mkdocs.utils.yaml import yaml_load

import attnref
import pages
from attnref import derivations
from attnref.derivations import RECORDS, Record, _register, get
from attnref.derivations._register import Entry, read, register, since, why_not
from register_history import PATH, first_lost, git, is_whole, losses
from small_record import small_record

FIRST = (
    '{tag = "ABCD", date = 2026-01-01, version = "0.1.0", statement = "0123456789ab", title = "A"}'
)
NEXT = FIRST.replace("ABCD", "EFGH")
CHANGE = FIRST.replace('title = "A"', 'note = "corrected: a sign"').replace(
    "0123456789ab", "b" * 12
)
STONE = '{tag = "ABCD", date = 2026-02-02, version = "0.3.0", withdrawn = "it was false"}'
MOVED = STONE.replace("}", ', successor = "EFGH"}')


def _text(*lines: str) -> str:
    return "register = [\n" + "".join(f"    {line},\n" for line in lines) + "]\n"


# The records and the register ---------------------------------------------------------------------


def _complaints(records: Sequence[Record], entries: Mapping[str, Entry]) -> Iterator[str]:
    """Say what an author has to do, a line to be added to the register included."""
    counts = Counter(record.tag for record in records)
    yield from (f"{tag} is the tag of {n} records" for tag, n in counts.items() if n > 1)
    for record in records:
        entry = entries.get(record.tag)
        if entry is None:
            yield f"{record.tag} is not registered; add to {PATH}:\n{_line(record)}"
        elif entry.tombstone:
            yield f"{record.tag} is withdrawn, and a record has it"
        elif entry.statements[-1].fingerprint != record.fingerprint:
            note = ', note = "corrected: what and why" or "reworded: how"'
            yield f"{record.tag} claims what is not registered; add:\n{_line(record, note)}"
    for tag in entries.keys() - counts.keys():
        if not entries[tag].tombstone:
            yield f"{tag} has no record and is not withdrawn"


def _line(record: Record, end: str = "") -> str:
    title = json.dumps(record.title, ensure_ascii=False)
    return (
        f'    {{tag = "{record.tag}", date = {record.date}, version = "{attnref.__version__}", '
        f'statement = "{record.fingerprint}"{end or f", title = {title}"}}},'
    )


def test_records_are_what_the_register_says() -> None:
    """Each record is registered with the statement it has, once; each live tag has a record."""
    complaints = list(_complaints(RECORDS, register()))
    assert not complaints, "\n".join(["", *complaints])


def test_author_is_told_the_line_to_add() -> None:
    """A record that is not registered fails, and the line in the message registers it."""
    record = small_record()
    (complaint,) = _complaints([record], {})
    assert complaint.startswith(f"MEAN is not registered; add to {PATH}:\n    {{tag = ")
    entries = read(_text(complaint.splitlines()[-1].strip().removesuffix(",")))
    assert list(_complaints([record], entries)) == []


def test_statement_that_changed_is_to_be_registered() -> None:
    """A claim that differs from the registered one fails until a line says how."""
    record = get("ZFRM")
    changed = replace(record, assumptions=get("VDOT").assumptions)
    entries = {"ZFRM": register()["ZFRM"]}
    (complaint,) = _complaints([changed], entries)
    assert complaint.startswith("ZFRM claims what is not registered; add:\n")
    assert f'statement = "{changed.fingerprint}", note = "corrected: what and why"' in complaint


@pytest.mark.parametrize(
    ("lines", "records", "complaint"),
    [
        ([FIRST], ["ABCD", "ABCD"], "ABCD is the tag of 2 records"),
        ([FIRST, STONE], ["ABCD"], "ABCD is withdrawn, and a record has it"),
        ([FIRST], [], "ABCD has no record and is not withdrawn"),
    ],
)
def test_records_that_disagree_are_found(
    lines: list[str], records: list[str], complaint: str
) -> None:
    """A tag used twice, a record of a withdrawn tag and a tag without a record all fail."""
    assert complaint in list(
        _complaints([small_record(tag=tag) for tag in records], read(_text(*lines)))
    )


# What a register may say --------------------------------------------------------------------------

REFUSED = {
    "registered twice": ([FIRST, FIRST], "registers a tag that is given already"),
    "used again": ([FIRST, STONE, FIRST], "line 3 of the register .ABCD. registers a tag that is"),
    "change of nothing": ([CHANGE], "changes a tag that is not registered above"),
    "withdrawal of nothing": ([STONE], "changes a tag that is not registered above"),
    "change after the end": ([FIRST, STONE, CHANGE], "changes a tag that is withdrawn"),
    "withdrawn twice": ([FIRST, STONE, STONE], "changes a tag that is withdrawn"),
    "its own successor": ([FIRST, MOVED.replace("EFGH", "ABCD")], "a successor, ABCD, that is no"),
    "unknown successor": ([FIRST, MOVED], "names a successor, EFGH, that is no other tag"),
    "note without a kind": ([FIRST, CHANGE.replace("corrected: ", "")], "a note that begins with"),
    "empty note": ([FIRST, CHANGE.replace("a sign", "")], "a note that begins with"),
    "three characters": ([FIRST.replace("ABCD", "ABC")], "needs a tag of four characters"),
    "small letters": ([FIRST.replace("ABCD", "abcd")], "needs a tag of four characters"),
    "no tag": (
        [FIRST.replace('tag = "ABCD", ', "")],
        "line 1 of the register .no tag. needs a tag",
    ),
    "short hash": ([FIRST.replace("0123456789ab", "0123")], "statement of twelve hexadecimal"),
    "date in quotes": ([FIRST.replace("2026-01-01", '"2026-01-01"')], "has no date written"),
    "empty title": ([FIRST.replace('"A"', '" "')], "has title = ' ', which is no text"),
    "number for a version": ([FIRST.replace('"0.1.0"', "1")], "has version = 1, which is no text"),
    "unknown key": ([FIRST.replace("title", "name")], "has the keys date, name, statement, tag"),
}


@pytest.mark.parametrize(("lines", "message"), REFUSED.values(), ids=REFUSED)
def test_line_that_cannot_follow_is_refused(lines: list[str], message: str) -> None:
    """A register with a line that contradicts those before it is refused, and the line named."""
    with pytest.raises(ValueError, match=message):
        read(_text(*lines))


def test_register_is_read_in_order() -> None:
    """A tag has all its statements, oldest first, and its tombstone."""
    entry = read(_text(FIRST, NEXT, CHANGE, MOVED))["ABCD"]
    assert [s.fingerprint for s in entry.statements] == ["0123456789ab", "b" * 12]
    assert [s.note for s in entry.statements] == ["", "corrected: a sign"]
    assert entry.tombstone
    assert (entry.tombstone.reason, entry.tombstone.successor) == ("it was false", "EFGH")


def test_what_came_since_a_statement_is_known() -> None:
    """Of the statements, those after the cited one; if it was claimed twice, after the last."""
    back = CHANGE.replace("b" * 12, "0123456789ab")
    entry = read(_text(FIRST, CHANGE, back, CHANGE))["ABCD"]
    assert since(entry, "b" * 12) == ()
    assert since(entry, "0123456789ab") == entry.statements[-1:]
    assert since(entry, "c" * 12) is None


def test_tag_that_was_withdrawn_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    """To get a withdrawn tag is an error with the reason and what took its place."""
    for line, follows in ((MOVED, "EFGH took its place"), (STONE, "nothing took its place")):
        monkeypatch.setattr(_register, "register", lambda line=line: read(_text(FIRST, NEXT, line)))
        message = rf"ABCD \(A\) was withdrawn in version 0.3.0, 2026-02-02: it was false; {follows}"
        with pytest.raises(ValueError, match=message):
            derivations.get("abcd")


@pytest.mark.parametrize(("tag", "near"), [("ZFRN", "ZFRM"), ("vdto", "VDOT"), ("ZFORM", "ZFRM")])
def test_unknown_tag_is_told_the_nearest(tag: str, near: str) -> None:
    """A slip of the pen is an error that names the tag that was meant."""
    with pytest.raises(
        ValueError, match=rf"no derivation has the tag '{tag}'; did you mean {near}"
    ):
        get(tag)
    assert "did you mean" not in why_not("0000", ["ZFRM"], {})


# Its history --------------------------------------------------------------------------------------


def test_register_has_lost_nothing() -> None:
    """Every line of every earlier version still stands, in the same order and words."""
    if not (pages.ROOT / ".git").exists():
        pytest.skip("this is no clone: the register has no history to be compared with")
    assert losses(pages.ROOT) == []
    if not is_whole(pages.ROOT):
        pytest.skip("only the last part of the history was there: git fetch --unshallow")


def test_ci_has_the_whole_history() -> None:
    """GitHub's workflow and our own run fetch every commit, or the test above would not see it."""
    workflow = yaml_load((pages.ROOT / ".github/workflows/site.yml").read_text("utf-8"))
    steps = workflow["jobs"]["test"]["steps"]
    (checkout,) = [s for s in steps if s.get("uses", "").startswith("actions/checkout@")]
    assert checkout["with"]["fetch-depth"] == 0
    assert "fetch --quiet --unshallow" in (pages.ROOT / ".ci/run").read_text("utf-8")


def _commit(repository: Path, *lines: str) -> None:
    file = repository / PATH
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(_text(*lines), encoding="utf-8")
    _git(repository, "add", "--all")
    _git(repository, "commit", "--quiet", "--message", "A change")


def _git(repository: Path, *arguments: str) -> None:
    git(repository, "-c", "user.name=A", "-c", "user.email=a@example.org", *arguments)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a repository whose register got two tags, and a change of the first."""
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    _commit(tmp_path, FIRST)
    _commit(tmp_path, FIRST, NEXT)
    _commit(tmp_path, FIRST, NEXT, CHANGE)
    return tmp_path


def test_register_may_grow(repository: Path) -> None:
    """New lines, at the end or between, lose nothing."""
    _commit(repository, FIRST, NEXT, FIRST.replace("ABCD", "IJKL"), CHANGE, STONE)
    assert is_whole(repository)
    assert losses(repository) == []


LOST = {
    "removed": [FIRST, CHANGE],
    "renamed": [FIRST, NEXT.replace("EFGH", "EFGX"), CHANGE],
    "used again": [FIRST, NEXT.replace("0123456789ab", "c" * 12), CHANGE],
    "another title": [FIRST, NEXT.replace('"A"', '"Another"'), CHANGE],
    "change forgotten": [FIRST, NEXT],
    "out of order": [NEXT, FIRST, CHANGE],
    "emptied": [],
}


@pytest.mark.parametrize("lines", LOST.values(), ids=LOST)
@pytest.mark.parametrize("committed", [True, False])
def test_register_that_lost_a_line_is_found(
    lines: list[str], committed: bool, repository: Path
) -> None:
    """A line removed or changed is found before it is committed, and ever after."""
    if committed:
        _commit(repository, *lines)
        _commit(repository, *lines, FIRST.replace("ABCD", "IJKL"))
    else:
        (repository / PATH).write_text(_text(*lines), encoding="utf-8")
    assert losses(repository)


def test_register_that_was_deleted_is_found(repository: Path) -> None:
    """To delete the file and begin a new one loses what the old one had."""
    (repository / PATH).unlink()
    assert len(losses(repository)) == 3
    _git(repository, "commit", "--quiet", "--all", "--message", "No register")
    _commit(repository, NEXT)
    assert len(losses(repository)) == 3


def test_tag_lost_in_a_merge_is_found(repository: Path) -> None:
    """A tag that only a side branch registered may not be lost when that is merged."""
    _git(repository, "switch", "--quiet", "--create", "side")
    _commit(repository, FIRST, NEXT, CHANGE, FIRST.replace("ABCD", "SIDE"))
    _git(repository, "switch", "--quiet", "main")
    _git(repository, "merge", "--quiet", "--no-ff", "--strategy=ours", "--message", "M", "side")
    (loss,) = losses(repository)
    assert "'tag': 'SIDE'" in loss


def test_clone_without_history_is_known_as_one(repository: Path, tmp_path: Path) -> None:
    """A shallow clone is not taken for one that has lost nothing."""
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{repository}", str(shallow))
    assert not is_whole(shallow)


def test_first_line_that_is_lost_is_named() -> None:
    """Of two versions, the earlier's first line that the later has not, or not there."""
    one, two = {"tag": "ABCD"}, {"tag": "EFGH"}
    assert first_lost([one, two], [one, two]) is None
    assert first_lost([one], [two, one]) is None
    assert first_lost([one, two], [two, one]) == two
    assert first_lost([one], []) == one


# The site -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("tag", register())
def test_every_tag_leads_to_its_page(tag: str, site: Path) -> None:
    """At d/TAG/ stands the derivation, or why there is none any more."""
    page = (site / "d" / tag / "index.html").read_text(encoding="utf-8")
    assert re.search(rf'<h1 id="[^"]*">{tag}: ', page)
    live = f'<div class="derivation" id="{tag}">' in page
    assert live or "This tag was withdrawn." in page
    assert live == (register()[tag].tombstone is None)


def test_withdrawn_tag_has_a_page_that_nobody_wrote(tmp_path: Path) -> None:
    """The build makes a tombstone of each: why, when, and a link to what took its place."""
    old, older, alone = FIRST, FIRST.replace("ABCD", "OLDR"), FIRST.replace("ABCD", "ALNE")
    stones = [
        MOVED,
        STONE.replace("ABCD", "OLDR").replace("}", ', successor = "ABCD"}'),
        STONE.replace("ABCD", "ALNE").replace("it was false", "it said <nothing>"),
    ]
    made_up = tmp_path / "register.toml"
    made_up.write_text(_text(NEXT, old, older, alone, CHANGE, *stones), encoding="utf-8")
    (tmp_path / "docs" / "d").mkdir(parents=True)
    pages.page(tmp_path / "docs", "x = 1", name="index")
    pages.page(tmp_path / "docs" / "d", "x = 1", name="EFGH")
    build = pages.site(tmp_path, register=str(made_up))
    assert build.returncode == 0, build.stderr
    found = {
        tag: (tmp_path / "site" / "d" / tag / "index.html").read_text(encoding="utf-8")
        for tag in ("ABCD", "OLDR", "ALNE")
    }
    assert all("This tag was withdrawn." in page for page in found.values())
    assert "Withdrawn in version 0.3.0, 2026-02-02: it was false" in found["ABCD"]
    assert '<a href="../EFGH/">EFGH</a>, A, took its place.' in found["ABCD"]
    assert f"<code>0123456789ab</code> (0.1.0), <code>{'b' * 12}</code> (0.1.0)" in found["ABCD"]
    assert '<a href="../ABCD/">ABCD</a>' in found["OLDR"]
    assert "Nothing took its place." in found["ALNE"]
    assert "it said &lt;nothing&gt;" in found["ALNE"]
    assert "citation_title" not in "".join(found.values())


def test_register_that_cannot_be_read_ends_the_build(tmp_path: Path) -> None:
    """A site is not published with a register that contradicts itself."""
    made_up = tmp_path / "register.toml"
    made_up.write_text(_text(FIRST, FIRST), encoding="utf-8")
    (tmp_path / "docs").mkdir()
    pages.page(tmp_path / "docs", "x = 1", name="index")
    build = pages.site(tmp_path, register=str(made_up))
    assert build.returncode != 0
    assert "line 2 of the register (ABCD) registers a tag that is given already" in build.stderr
