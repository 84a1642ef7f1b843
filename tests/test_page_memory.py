"""What is remembered of a page: what makes it run again, and what does not."""

import ast
import json
import os
import py_compile
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pages
from pages import ROOT
from sitebuild import memory as module
from sitebuild import reading
from sitebuild.execute import execute
from sitebuild.memory import surroundings

VERB = 0
BUILD = """\
import json, sys
{before}
from sitebuild import memory, script
from sitebuild.execute import execute
docs, cache = memory.ROOT / "docs", memory.ROOT / ".cache" / "pages"
said = []
records = execute(script.pages(docs), say=said.append, folder=cache)
verbs = [line.split()[:2] for line in said]
shown = {{page.stem: record["cells"][1][0]["text"] for page, record in records.items()}}
print(json.dumps([{{name.split("/")[-1][:-3]: verb for verb, name in verbs}}, shown]))
"""
PAGES = {
    "alone": "print(6 * 7)",
    "reads": "from pathlib import Path\nprint(Path(__file__).with_name('data.txt').read_text())",
    "uses": "from attnref import _filling, masks\nprint(_filling.probe(), masks.__name__)",
}
ALL, NONE = dict.fromkeys(PAGES, "executed"), dict.fromkeys(PAGES, "unchanged")


def _verbs(paths: list[Path], memory: Path) -> list[str]:
    said: list[str] = []
    execute(paths, say=said.append, folder=memory)
    return [line.split()[VERB] for line in said]


def _shown(paths: list[Path], memory: Path) -> list[str]:
    records = execute(paths, say=lambda _: None, folder=memory)
    return [records[path]["cells"][1][0]["text"] for path in paths]


def _folders(more: Path) -> list[str]:
    return [*reading.versioned(), str(more)]


def _install(folder: Path, version: str) -> None:
    info = folder / f"fake-{version}.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: fake\nVersion: {version}\n")


def _build(project: Path, before: str = "") -> tuple[dict[str, str], dict[str, str]]:
    """Build a project's pages in a process of its own: what became of each, and what it showed."""
    build = subprocess.run(
        [sys.executable, "-c", BUILD.format(before=before)],
        env=os.environ | {"PYTHONPATH": str(project / "scripts")},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert build.returncode == 0, build.stderr
    verbs, shown = json.loads(build.stdout)
    return verbs, shown


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the project with small pages, built once."""
    project = tmp_path_factory.mktemp("built") / "project"
    for part in ("attnref", "scripts/sitebuild"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / part, project / part, ignore=ignored)
    with (project / "attnref" / "_filling.py").open("a") as source:
        source.write("\n\ndef probe() -> int:\n    return 1\n")
    for folder in ("docs", "tests"):
        (project / folder).mkdir()
    for name in ("README.md", "docs/data.txt", "docs/prose.md", "tests/test_one.py"):
        (project / name).write_text("one")
    for name, code in PAGES.items():
        pages.page(project / "docs", code, name=name)
    assert _build(project)[0] == ALL
    return project


@pytest.fixture
def project(built: Path, tmp_path: Path) -> Path:
    """Return a copy of that project, its memory with it, in another folder."""
    return shutil.copytree(built, tmp_path / "project")


def _edit(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert text.count(old) == 1
    file.write_text(text.replace(old, new), encoding="utf-8")


def test_project_that_was_moved_remembers_its_pages(project: Path) -> None:
    """Nothing depends on the folder; a file that a page read is the one in the new folder."""
    assert _build(project)[0] == NONE
    (project / "docs" / "data.txt").write_text("two")
    verbs, shown = _build(project)
    assert verbs == NONE | {"reads": "executed"}
    assert shown["reads"] == "two\n"


def test_edited_function_of_attnref_makes_every_page_run_again(project: Path) -> None:
    """No page shows what another attnref computed."""
    _edit(project / "attnref" / "_filling.py", "return 1\n", "return 22\n")
    verbs, shown = _build(project)
    assert verbs == ALL
    assert shown["uses"] == "22 attnref.masks\n"
    assert _build(project)[0] == NONE


def _compile_by_time(source: Path) -> None:
    """Compile a module as an import does that nobody prepared."""
    py_compile.compile(
        str(source), doraise=True, invalidation_mode=py_compile.PycInvalidationMode.TIMESTAMP
    )


def test_edit_that_no_clock_tells_is_seen(project: Path) -> None:
    """A source of the same size and time is another source, compiled anew."""
    source = project / "attnref" / "_filling.py"
    _compile_by_time(source)
    state = source.stat()
    _edit(source, "return 1\n", "return 2\n")
    os.utime(source, ns=(state.st_atime_ns, state.st_mtime_ns))
    verbs, shown = _build(project)
    assert verbs == ALL
    assert shown["uses"] == "2 attnref.masks\n"


def test_edited_page_runs_again_and_no_other(project: Path) -> None:
    """One edit re-executes one page."""
    pages.page(project / "docs", "print(8 * 9)", name="alone")
    verbs, shown = _build(project)
    assert verbs == NONE | {"alone": "executed"}
    assert shown["alone"] == "72\n"


def test_other_version_of_a_dependency_makes_every_page_run_again(
    project: Path, tmp_path: Path
) -> None:
    """A distribution that comes, and then one that changes; whether a page imports it or not."""
    installed = f"from sitebuild import reading; reading.versioned = lambda: {_folders(tmp_path)}"
    for version, verbs in (("1.0", ALL), ("1.0", NONE), ("1.1", ALL)):
        _install(tmp_path, version)
        assert _build(project, installed)[0] == verbs


def test_what_only_a_build_imports_makes_no_page_run_again(project: Path, tmp_path: Path) -> None:
    """A folder of distributions that a build adds to its own path is none that a page sees."""
    _install(tmp_path, "1.0")
    assert _build(project, f"sys.path.append({str(tmp_path)!r})")[0] == NONE


@pytest.mark.parametrize(
    "before",
    [
        "sys.version = sys.version.replace('.', '.9', 1)",
        "import sysconfig; sysconfig.get_config_vars()['SOABI'] = 'other'",
    ],
)
def test_other_python_makes_every_page_run_again(before: str, project: Path) -> None:
    """Its version, its implementation and what it was built for decide."""
    assert _build(project, before)[0] == ALL


def test_what_no_page_rests_on_makes_none_run_again(project: Path) -> None:
    """Prose without code, the README, tests, and the modules that do not run pages."""
    for name in ("README.md", "docs/prose.md", "tests/test_one.py", "scripts/sitebuild/head.py"):
        file = project / name
        file.write_text(file.read_text(encoding="utf-8") + "\n\n# more\n", encoding="utf-8")
    (project / "docs" / "new.md").write_text("# New\n")
    assert _build(project)[0] == NONE


def test_rules_make_every_page_run_again(project: Path) -> None:
    """A page that was right by other rules is held against these."""
    with (project / "scripts" / "sitebuild" / "rules.py").open("a") as rules:
        rules.write("\n# another rule\n")
    assert _build(project)[0] == ALL


def test_modules_that_run_pages_are_those_in_the_digest() -> None:
    """Whatever execute and the processes it starts import from here is named."""
    folder = ROOT / "scripts" / "sitebuild"
    found, left = set(), {"execute", "worker", "registrar"}
    while left:
        found.add(name := left.pop())
        for node in ast.walk(ast.parse((folder / f"{name}.py").read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sitebuild"):
                named = [node.module or "", *(alias.name for alias in node.names)]
                left |= {part.removeprefix("sitebuild.") for part in named} - found
        left = {part for part in left if (folder / f"{part}.py").exists()}
    assert found == set(module.DECIDING)


def test_every_file_of_attnref_is_in_the_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page made with another attnref is stale, whichever of its files was edited."""
    copy = shutil.copytree(ROOT / "attnref", tmp_path / "project" / "attnref")
    monkeypatch.setattr(module, "ROOT", tmp_path / "project")
    sources = sorted([*copy.rglob("*.py"), *copy.rglob("*.toml")])
    assert len(sources) > 100
    states = {surroundings()}
    for source in sources:
        source.write_text(source.read_text(encoding="utf-8") + "\n# edited\n", encoding="utf-8")
        states.add(surroundings())
    assert len(states) == 1 + len(sources)


def test_what_python_does_at_every_start_is_in_the_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pages start after it, so it decides what they show."""
    monkeypatch.syspath_prepend(tmp_path)
    before = surroundings()
    for content in ("x = 1", "x = 2"):
        (tmp_path / "sitecustomize.py").write_text(content)
        assert surroundings() != before
        before = surroundings()


def test_upgrade_is_seen_by_a_server_that_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Versions are read anew when what is installed has changed."""
    folders = _folders(tmp_path)
    monkeypatch.setattr(reading, "versioned", lambda: folders)
    states = [surroundings()]
    for version in ("1.0", "1.1"):
        _install(tmp_path, version)
        states.append(surroundings())
    assert len(set(states)) == 3


def test_unchanged_page_is_not_run_again(tmp_path: Path) -> None:
    """The second time, the record comes from memory and is the same."""
    path, memory = pages.page(tmp_path, "import json\nprint(6 * 7)"), tmp_path / "memory"
    first = execute([path], say=lambda _: None, folder=memory)
    assert _verbs([path], memory) == ["unchanged"]
    assert execute([path], say=lambda _: None, folder=memory) == first


LOOK = """\
try:
    print(open({folder!r} + "/new.txt").read())
except FileNotFoundError:
    print("none")
"""
READS = {
    "beside": "import helper\nprint(helper.x)",
    "file": "print(open({folder!r} + '/data.txt').read())",
    "bytes": "print(open({folder!r}.encode() + b'/data.txt').read())",
    "around": "print(open({folder!r} + '/../data/data.txt').read())",
    "within": "import os\nos.chdir({folder!r})\nprint(open('data.txt').read())",
    "names": "import os\nprint(os.listdir({folder!r}))",
    "own": "from pathlib import Path\nprint(len(list(Path(__file__).parent.iterdir())))",
    "pattern": "from pathlib import Path\nprint(len(list(Path({folder!r}).glob('*'))))",
    "nothing": LOOK,
}


def test_pages_run_again_when_what_they_read_has_changed(tmp_path: Path) -> None:
    """What a page opens, lists and imports, and what it looks for, decides what it shows."""
    docs, data, memory = tmp_path / "docs", tmp_path / "data", tmp_path / "memory"
    docs.mkdir()
    data.mkdir()
    paths = [pages.page(docs, c.format(folder=str(data)), name=n) for n, c in READS.items()]
    (docs / "helper.py").write_text("x = 1\n")
    _compile_by_time(docs / "helper.py")  # whoever imports it reads no source
    (data / "data.txt").write_text("1")
    before = _shown(paths, memory)
    assert set(_verbs(paths, memory)) == {"unchanged"}
    (docs / "helper.py").write_text("x = 22\n")
    (docs / "more.txt").write_text("22")
    for name in ("data.txt", "new.txt"):
        (data / name).write_text("22")
    after = _shown(paths, memory)
    assert [name for name, old, new in zip(READS, before, after, strict=True) if old == new] == []


def test_new_page_makes_no_other_run_again(tmp_path: Path) -> None:
    """An import looks through the page's folder; what it passes over does not decide."""
    code = "try:\n    import something_missing\nexcept ImportError:\n    print('missing')"
    paths = [pages.page(tmp_path, code, name="a")]
    assert _verbs(paths, tmp_path / "memory") == ["executed"]
    paths.append(pages.page(tmp_path, "print(2)", name="b"))
    assert sorted(_verbs(paths, tmp_path / "memory")) == ["executed", "unchanged"]


MEANWHILE = """\
import subprocess, sys
open({file!r}).read()
_ = subprocess.run([sys.executable, "-c", {edit!r}])
"""


@pytest.mark.parametrize("edited", ["page.py", "data.txt"])
def test_page_is_not_remembered_when_something_was_edited_while_it_ran(
    edited: str, tmp_path: Path
) -> None:
    """What ran is not what the digest names, or what was read is not what was hashed."""
    memory, file = tmp_path / "memory", str(tmp_path / edited)
    (tmp_path / "data.txt").write_text("1")
    edit = f"open({file!r}, 'a').write('# edited')"
    path = pages.page(tmp_path, MEANWHILE.format(file=file, edit=edit))
    execute([path], say=lambda _: None, folder=memory)
    assert not memory.exists()


def test_page_is_not_remembered_when_something_was_installed_while_it_ran(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody knows which version it ran with."""
    monkeypatch.setattr(module, "surroundings", iter([b"before", b"after"]).__next__)
    execute([pages.page(tmp_path, "print(1)")], say=lambda _: None, folder=tmp_path / "memory")
    assert not (tmp_path / "memory").exists()


def test_refused_page_is_not_remembered(tmp_path: Path) -> None:
    """An error is found again at the next build."""
    path, memory = pages.page(tmp_path, "1 / 0"), tmp_path / "memory"
    for _ in range(2):
        with pytest.raises(ExceptionGroup, match="1 of 1 pages failed"):
            execute([path], say=lambda _: None, folder=memory)
