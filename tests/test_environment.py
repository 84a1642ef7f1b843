"""The laws of .venv: a working one is found, a broken one mended, what is missing named."""

import ast
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import environment
import small_project
from environment import STAMP, ensure, python_of, what_is_wrong
from installation import site_packages
from small_project import StandInPip
from terminal import ROOT, Stop, check_python

BEFORE_THE_CHECK = (
    "serve",
    "test",
    "plain_markdown",
    "audit",
    "building",
    "canary",
    "check",
    "environment",
    "installation",
    "lock",
    "terminal",
)


@pytest.fixture(autouse=True)
def no_ensurepip(monkeypatch: pytest.MonkeyPatch) -> None:
    """Adding the real pip takes seconds; one test below does it, in a process of its own."""
    monkeypatch.setattr(environment, "add_pip", lambda root: "")


def test_old_python_is_told_what_is_needed() -> None:
    """The message names the version needed, the version found and which Python it was."""
    with pytest.raises(Stop) as told:
        check_python((3, 7), "/usr/bin/python3")
    assert str(told.value) == "attnref needs Python 3.11 or newer; this is 3.7 (/usr/bin/python3)"
    check_python((3, 11), "/usr/bin/python3")


@pytest.mark.parametrize("name", BEFORE_THE_CHECK)
def test_old_python_can_read_the_scripts(name: str) -> None:
    """Python 3.7 gets as far as the message: it knows the syntax and the annotations are quoted."""
    tree = ast.parse((ROOT / "scripts" / f"{name}.py").read_text(), feature_version=(3, 7))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    parts = [part for function in functions for part in ast.walk(function.args)]
    annotations = [part.annotation for part in parts if isinstance(part, ast.arg)]
    for annotation in [*annotations, *(function.returns for function in functions)]:
        assert not isinstance(annotation, ast.Subscript | ast.BinOp), ast.dump(annotation)


def nothing(venv: Path) -> None:
    """Leave no environment."""


def a_file(venv: Path) -> None:
    """Put a file where the folder belongs."""
    venv.write_text("")


def a_dead_link(venv: Path) -> None:
    """Put a link to a folder that is gone."""
    venv.symlink_to(venv.parent / "gone")


def an_empty_folder(venv: Path) -> None:
    """Stop where making an environment begins."""
    venv.mkdir()


def a_python_that_does_not_start(venv: Path) -> None:
    """Have a file that is no program."""
    python_of(venv.parent).parent.mkdir(parents=True)
    python_of(venv.parent).write_text("")
    python_of(venv.parent).chmod(0o755)


def the_machines_own_python(venv: Path) -> None:
    """Lack the file that makes an environment of its own of it."""
    python_of(venv.parent).parent.mkdir(parents=True)
    python_of(venv.parent).symlink_to(Path(sys.executable).resolve())


@pytest.mark.skipif(sys.platform == "win32", reason="makes links and sets file modes")
@pytest.mark.parametrize(
    "left",
    [
        nothing,
        a_file,
        a_dead_link,
        an_empty_folder,
        a_python_that_does_not_start,
        the_machines_own_python,
    ],
)
def test_venv_that_cannot_run_is_made_anew(tmp_path: Path, left: Callable[[Path], None]) -> None:
    """Whatever lies there, the set-up makes an environment that runs, and installs into that."""
    root = small_project.make(tmp_path)
    left(root / ".venv")
    pip = StandInPip()
    assert ensure(root, pip) == python_of(root)
    assert not what_is_wrong(root)
    assert pip.calls[0] == ["install", "pip==99.1"]
    assert pip.calls[1][:3] == ["install", "-c", "constraints.txt"]
    assert environment.is_ready(root)


def test_venv_that_runs_is_completed(tmp_path: Path) -> None:
    """An environment without a stamp is kept, a torch in it too; what is half unpacked is not."""
    root = small_project.make_ready(tmp_path)
    (root / ".venv" / STAMP).unlink()
    packages = site_packages(root / ".venv")
    for name, files in {"torch-1": ["METADATA", "INSTALLER"], "half-1": ["METADATA"]}.items():
        (packages / f"{name}.dist-info").mkdir()
        for file in files:
            (packages / f"{name}.dist-info" / file).touch()
    ensure(root, StandInPip())
    assert [path.stem for path in packages.glob("*.dist-info")] == ["torch-1"]


def test_venv_of_another_python_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment that another version made cannot be used, and it is said why."""
    root = small_project.make_ready(tmp_path)
    monkeypatch.setattr(environment, "_PROBE", "print('3.9', True)")
    assert what_is_wrong(root) == "it was made by Python 3.9"


def test_stamp_equal_does_nothing(tmp_path: Path) -> None:
    """What is ready is found ready: pip is not asked."""
    root = small_project.make_ready(tmp_path)
    assert ensure(root, StandInPip(AssertionError("pip was asked"))) == python_of(root)


def test_stamp_follows_what_is_installed(tmp_path: Path) -> None:
    """New pins or requirements install again; a new rule for a tool does not."""
    root = small_project.make_ready(tmp_path)
    with (root / "pyproject.toml").open("a") as file:
        file.write("[tool.ruff]\nline-length = 99\n")
    assert environment.is_ready(root)
    (root / "constraints.txt").write_text("pip==99.2\n")
    assert not environment.is_ready(root)


@pytest.mark.parametrize("end", [Stop("no network"), KeyboardInterrupt()])
def test_stamp_is_gone_when_the_set_up_ends_early(tmp_path: Path, end: BaseException) -> None:
    """After a set-up that was cut short the environment is not ready, not even for the old pins."""
    root = small_project.make_ready(tmp_path)
    (root / "constraints.txt").write_text("pip==99.2\n")
    with pytest.raises(type(end)):
        ensure(root, StandInPip(end))
    (root / "constraints.txt").write_text("pip==99.1\n")
    assert not environment.is_ready(root)


def test_missing_venv_module_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On Debian the module is a package of its own: the message says which."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(Stop, match=r"apt install python3\.\d+-venv"):
        ensure(small_project.make(tmp_path), StandInPip())


def test_missing_pins_are_named(tmp_path: Path) -> None:
    """Without constraints.txt it is no whole copy."""
    root = small_project.make(tmp_path)
    (root / "constraints.txt").unlink()
    with pytest.raises(Stop, match=r"constraints\.txt is missing"):
        ensure(root, StandInPip())
