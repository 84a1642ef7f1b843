"""What stands around the house: which of the scripts, checks, pages and tests may import which."""

import ast
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from terminal import ROOT

# They are read by whatever Python there is, before anything is installed.
COMMANDS = {
    *("audit", "building", "canary", "check", "environment", "installation"),
    *("lock", "plain_markdown", "serve", "terminal", "test"),
}
NUMBERS = {"numpy", "onnx", "torch"}

# The arrows. A file belongs to the first place that it lies in; the standard library is free.
PLACES: dict[str, set[str]] = {
    "scripts/sitebuild": {"attnref", "sitebuild"}
    | {"IPython", "PIL", "fontTools", "griffe", "jupytext", "markdown", "math_core"},
    "scripts/mkdocs_site": {"attnref", "sitebuild", "mkdocs_site"}
    | {"jinja2", "mkdocs", "mkdocstrings"},
    "scripts/mkdocs_hook.py": {"sitebuild", "mkdocs_site", "jinja2", "mkdocs"},
    "scripts/builders": COMMANDS | {"sitebuild", "builders", "bs4", "mkdocs"},
    "scripts/benchmarks": COMMANDS
    | NUMBERS
    | {"attnref", "benchmarks", "tests", "jax", "onnxruntime", "threadpoolctl"},
    "scripts/kill_rate.py": {"attnref", "tests"},
    "scripts/mutants.py": set(),
    "scripts/mutations.py": {"mutants"},
    "scripts/reading_time.py": {"sitebuild"},
    "scripts": COMMANDS,
    "docs/articles/claims": {"attnref", "claims", "numpy", "torch"},
    "docs": NUMBERS | {"attnref", "claims"},
    "checks": COMMANDS
    | {"attnref", "checks", "tests"}
    | {"hunspell", "markdown", "playwright", "pypdf", "pytest"},
}
FILES = [path for top in ("checks", "docs", "scripts") for path in (ROOT / top).rglob("*.py")]
TESTS = sorted((ROOT / "tests").glob("*.py"))
BENCHMARKS = {path.stem for path in (ROOT / "scripts" / "benchmarks").glob("*.py")}


def name_of(path: Path) -> str:
    """Return a file's place in the project, with slashes."""
    return path.relative_to(ROOT).as_posix()


def place_of(path: Path) -> str:
    """Return the place that a file belongs to."""
    places = [place for place in PLACES if f"{name_of(path)}/".startswith(f"{place}/")]
    assert places, f"{name_of(path)} stands nowhere: give it a row, with the arrows that leave it"
    return places[0]


def modules(path: Path) -> set[str]:
    """Return the modules that a file imports anywhere, and what it may be that is taken of them."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name_of(path)} imports by dots"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def imported(path: Path) -> set[str]:
    """Return what a file imports but the standard library; of tests and benchmarks, just that."""
    groups = {"tests": {test.stem for test in TESTS}, "benchmarks": BENCHMARKS}
    names = {module.split(".")[0] for module in modules(path)} - sys.stdlib_module_names
    return {next((g for g, members in groups.items() if name in members), name) for name in names}


@pytest.mark.parametrize("path", sorted(FILES), ids=name_of)
def test_arrows_around_the_house_are_those_of_the_plan(path: Path) -> None:
    """A file imports what its place may; sitebuild no MkDocs, a command nothing installed."""
    assert imported(path) - PLACES[place_of(path)] == set()


@pytest.mark.parametrize("place", PLACES)
def test_arrows_of_the_plan_are_in_use(place: str) -> None:
    """An arrow that nobody takes any more is taken back; so is a place that nobody is in."""
    here = [path for path in FILES if place_of(path) == place]
    assert here
    taken = {name for path in here for name in imported(path)}
    assert PLACES[place] - COMMANDS - taken == set()


def test_commands_are_those_that_need_nothing_installed() -> None:
    """Whatever lies right in scripts/ and has no row of its own is one of them."""
    assert {path.stem for path in FILES if place_of(path) == "scripts"} == COMMANDS


@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.stem)
def test_tests_need_no_built_site(path: Path) -> None:
    """The checks look at what was built, and may take from the tests; the tests take nothing."""
    assert "checks" not in imported(path)


def test_house_knows_nothing_of_what_stands_around_it() -> None:
    """No file of the package imports a script, a check, a page or a test."""
    around = {name for path in [*FILES, *TESTS] for name in (path.stem, path.parent.name)}
    for path in (ROOT / "attnref").rglob("*.py"):
        assert not imported(path) & around, name_of(path)


def test_arrows_around_the_house_go_one_way() -> None:
    """No script imports, by way of others, itself."""
    scripts = {
        ".".join(path.relative_to(ROOT / "scripts").with_suffix("").parts): path
        for path in (ROOT / "scripts").rglob("*.py")
    }
    ends = {name: {*modules(path)} for name, path in scripts.items()}
    graph = {
        name: {
            other for other in scripts if any(f"{end}.".startswith(f"{other}.") for end in found)
        }
        for name, found in ends.items()
    }
    TopologicalSorter(graph).prepare()
