"""The house: which room may import which, read from the source, and what every room looks like."""

import ast
import doctest
import importlib
import inspect
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path
from statistics import median
from typing import NamedTuple

import pytest

import attnref

ROOT = Path(attnref.__file__).parent


def module_name(path: Path) -> str:
    """Return the dotted name of a file of the package."""
    parts = ("attnref", *path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts).removesuffix(".__init__")


FILES = {module_name(path): path for path in sorted(ROOT.rglob("*.py"))}
TREES = {module: ast.parse(path.read_text()) for module, path in FILES.items()}
PACKAGES = [module for module, path in FILES.items() if path.name == "__init__.py"]
PUBLIC = [module for module in FILES if not any(part[0] == "_" for part in module.split("."))]

RULES = {"attnref._checks", "attnref._integers", "attnref._rules", "attnref._shapes"}
FOUNDATION = RULES | {"numpy", "attnref._typing", "attnref._entry"}
HALL = {"attnref._attention", "attnref._softmax", "attnref.masks"}

BLOCKS = {"attnref._call", "attnref._heads", "attnref._workers"}

# The arrows. A room holds the modules whose names begin with its own; the standard library is free.
ROOMS: dict[str, set[str]] = {
    "attnref._checks": set(),
    "attnref._integers": {"attnref._checks"},
    "attnref._shapes": {"attnref._checks"},
    "attnref._rules": {"attnref._checks", "attnref._integers", "attnref._shapes"},
    "attnref._filling": set(),
    "attnref._typing": {"numpy"},
    "attnref._entry": RULES | {"numpy", "attnref._typing"},
    "attnref.masks": FOUNDATION | {"attnref.masks"},
    "attnref._softmax": FOUNDATION,
    "attnref._attention": FOUNDATION | {"attnref._softmax"},
    "attnref._drop_in": FOUNDATION | HALL,
    "attnref._expanded": FOUNDATION,
    "attnref._partial": FOUNDATION | HALL | {"attnref._filling"},
    "attnref._heads": {"numpy", "attnref._typing", "attnref._rules"},
    "attnref._call": FOUNDATION | {"attnref._heads"},
    "attnref._workers": {"threadpoolctl"},
    "attnref._streaming": FOUNDATION | HALL | BLOCKS,
    "attnref._backward": FOUNDATION | BLOCKS | {"attnref._streaming"},
    "attnref._gradients": FOUNDATION
    | HALL
    | BLOCKS
    | {"attnref._partial", "attnref._streaming", "attnref._backward"},
    "attnref.inspection": FOUNDATION | {"attnref._filling"},
    "attnref.figures": {"numpy", "matplotlib", "attnref.figures"},
    "attnref.torch": RULES | {"torch", "attnref._filling", "attnref.torch"},
    "attnref.derivations": {"sympy", "attnref.derivations"},
    "attnref.testing": FOUNDATION | HALL | {"attnref.testing"},
    "attnref.__main__": {"attnref.derivations"},
}
ROOF = {
    "attnref._attention",
    "attnref._drop_in",
    "attnref._expanded",
    "attnref._gradients",
    "attnref._partial",
    "attnref._softmax",
    "attnref._streaming",
    "attnref.inspection",
    "attnref.masks",
}


class Import(NamedTuple):
    """What a module imports, and whether only a type checker follows it."""

    name: str
    typing_only: bool


def statements(body: list[ast.stmt], typing_only: bool = False) -> Iterator[tuple[ast.stmt, bool]]:
    """Return the statements of a module, through try, if and with, but not into functions."""
    for statement in body:
        yield statement, typing_only
        test = getattr(statement, "test", None)
        guarded = typing_only or (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING")
        if not isinstance(statement, ast.FunctionDef | ast.ClassDef):
            for part in ("body", "orelse", "finalbody"):
                yield from statements(getattr(statement, part, []), guarded)
            for handler in getattr(statement, "handlers", []):
                yield from statements(handler.body, guarded)


def imports(module: str) -> set[Import]:
    """Return what a module imports anywhere, functions included; of attnref, the very modules."""
    for_types = {s for s, typing_only in statements(TREES[module].body) if typing_only}
    found = set()
    for node in ast.walk(TREES[module]):
        if isinstance(node, ast.Import):
            found |= {Import(alias.name, node in for_types) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} imports by dots"
            assert node.module is not None
            for alias in node.names:
                deeper = f"{node.module}.{alias.name}"
                name = deeper if deeper in FILES else node.module
                found.add(Import(name, node in for_types))
    return found


def outside(name: str) -> bool:
    """Say whether a module is neither attnref's own nor of the standard library."""
    return name.split(".")[0] not in {*sys.stdlib_module_names, "attnref"}


def room_of(module: str) -> str:
    """Return the room that holds a module."""
    rooms = [room for room in ROOMS if f"{module}.".startswith(f"{room}.")]
    assert rooms, f"{module} stands in no room: give it a row, with the arrows that leave it"
    return rooms[0]


def allowed_in(module: str, name: str) -> bool:
    """Say whether the arrow from a module to a name is one of the plan's."""
    arrows = ROOF if module == "attnref" else ROOMS[room_of(module)]
    return any(f"{name}.".startswith(f"{arrow}.") for arrow in arrows)


@pytest.mark.parametrize("module", FILES)
def test_arrows_are_those_of_the_plan(module: str) -> None:
    """A module imports the standard library and what its room may import, and nothing else."""
    names = {name for name, _ in imports(module) if outside(name) or name.startswith("attnref")}
    assert not {name for name in names if not allowed_in(module, name)}


def test_arrows_go_one_way() -> None:
    """No module imports, by way of others, itself."""
    graph = {
        module: {name for name, typing_only in imports(module) if name in FILES and not typing_only}
        for module in FILES
    }
    TopologicalSorter(graph).prepare()


@pytest.mark.parametrize("module", FILES)
def test_arrows_stay_in_the_house(module: str) -> None:
    """Nothing imports the tests, the pages or the scripts."""
    parts = ("tests", "docs", "scripts")
    siblings = {path.stem for part in parts for path in (ROOT.parent / part).glob("*")}
    tops = {name.split(".")[0] for name, _ in imports(module)}
    assert not tops & {*parts, *siblings}


def test_arrows_are_seen_wherever_they_are_written() -> None:
    """The reading above finds imports in functions, in try and under TYPE_CHECKING."""
    tree = ast.parse(
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    import one\n"
        "try:\n    from attnref import masks\nexcept ImportError:\n    import two.parts\n"
        "def f():\n    import three\n"
    )
    TREES["attnref.example"] = tree
    try:
        assert imports("attnref.example") == {
            Import("typing", False),
            Import("one", True),
            Import("attnref.masks", False),
            Import("two.parts", False),
            Import("three", False),
        }
    finally:
        del TREES["attnref.example"]
    assert not allowed_in("attnref._checks", "numpy")
    assert not allowed_in("attnref.torch._attention", "attnref._attention")
    assert not allowed_in("attnref.derivations.z_form", "attnref.torch")
    assert allowed_in("attnref.torch._attention", "torch.nn")
    assert not allowed_in("attnref.torch._attention", "torchvision")


def test_import_attnref_loads_numpy_and_no_other_library() -> None:
    """A fresh `import attnref` brings no Torch, no SymPy, no Matplotlib, no IPython."""
    code = "import sys, attnref; print(*{name.split('.')[0] for name in sys.modules})"
    loaded = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], check=True, capture_output=True, text=True
    ).stdout.split()
    assert "numpy" in loaded
    others = {"torch", "sympy", "mpmath", "matplotlib", "IPython", "threadpoolctl"}
    assert not others & set(loaded)


def public_names(module: str) -> set[str]:
    """Return what a module defines under a public name, and what a package takes in from within."""
    names: set[str] = set()
    for statement, _ in statements(TREES[module].body):
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            names.add(statement.name)
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
        elif isinstance(statement, ast.ImportFrom) and module in PACKAGES:
            within = (statement.module or "").split(".")[0] == "attnref"
            names |= {alias.asname or alias.name for alias in statement.names if within}
    return {name for name in names if not name.startswith("_")}


def listed(module: str) -> list[str] | None:
    """Return `__all__` as it is written."""
    for statement in TREES[module].body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__all__":
            return [str(name) for name in ast.literal_eval(statement.value)]
    return None


def by_kind(name: str) -> tuple[bool, bool, str]:
    """Order names as ruff does: constants, classes, the rest."""
    return not name.isupper(), not name[0].isupper(), name


@pytest.mark.parametrize("module", [m for m in PUBLIC if m in PACKAGES or listed(m) is not None])
def test_all_is_what_is_public_and_sorted(module: str) -> None:
    """`__all__` holds every public name once, in order, and no other."""
    names = listed(module)
    assert names is not None
    assert set(names) == public_names(module)
    assert names == sorted(set(names), key=by_kind)


def public_functions() -> Iterator[tuple[str, str]]:
    """Return the functions that a user may call, each with the public module that has it."""
    for module in PUBLIC:
        for name in listed(module) or sorted(public_names(module)):
            if inspect.isfunction(getattr(importlib.import_module(module), name)):
                yield module, name


@pytest.mark.parametrize(("module", "name"), list(public_functions()))
def test_docstring_says_what_goes_in_and_comes_out_and_shows_it(module: str, name: str) -> None:
    """Every public function names its arguments and its result and has an example that runs."""
    function = getattr(importlib.import_module(module), name)
    signature = inspect.signature(function)
    said = inspect.getdoc(function) or ""
    assert "Arguments:" in said or not signature.parameters
    assert "Returns:" in said or signature.return_annotation is None
    for parameter in signature.parameters:
        assert f"\n    {parameter}: " in said, f"{parameter} is not explained"
    assert doctest.DocTestParser().get_examples(said), "no example"


@pytest.mark.parametrize("module", FILES)
def test_module_is_short_and_says_what_it_is(module: str) -> None:
    """A room has about 200 lines, 220 at most, and opens with a docstring."""
    assert len(FILES[module].read_text().splitlines()) <= 220
    assert ast.get_docstring(TREES[module])


@pytest.mark.parametrize("module", FILES)
def test_module_has_a_subject(module: str) -> None:
    """No module is a drawer for what belongs nowhere."""
    assert not {"utils", "common", "helpers"} & {part.strip("_") for part in module.split(".")}


def body_lines(function: ast.FunctionDef) -> int:
    """Return the number of lines of a function below its signature and docstring."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    last = function.end_lineno or 0
    return last - body[0].lineno + 1 if body else 0


@pytest.mark.parametrize("package", PACKAGES)
def test_functions_are_short(package: str) -> None:
    """Half the functions of a package have at most 8 lines below the docstring."""
    lengths = [
        body_lines(node)
        for module, tree in TREES.items()
        if module.rpartition(".")[0] == package or module == package
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
    ]
    assert not lengths or median(lengths) <= 8


TESTS = sorted(Path(__file__).parent.glob("test_*.py"))


@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.stem)
def test_tests_are_laws(path: Path) -> None:
    """A test is named after its subject and its law, which its docstring states in one line."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            assert node.name.count("_") >= 2, node.name
            law = ast.get_docstring(node) or ""
            assert law, f"{node.name} states no law"
            assert "\n" not in law, f"{node.name} needs more than a line"
