"""The laws of the commands: what they leave behind, what they say when something is missing."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import small_project

# Take MkDocs' place: write a page as it does, then end as the file named `end` says.
MKDOCS = """
import os, pathlib, sys, time
print(*sys.argv[1:], flush=True)
site = pathlib.Path(sys.argv[-1])
if sys.argv[1] == "build":
    site.mkdir()
    pages = os.environ.get("ATTNREF_DIRECTORY_URLS", "folders")
    (site / "index.html").write_text("new" if pages == "folders" else "new, a file")
print("running", flush=True)
end = pathlib.Path("end").read_text()
time.sleep(60) if end == "never" else sys.exit(int(end))
"""
TOOL = """
import pathlib, sys
name = pathlib.Path(__file__).stem
print(name, *sys.argv[1:], flush=True)
sys.exit(name in pathlib.Path("failing").read_text().split())
"""
# A shell may have told its background jobs, and so the tests, to ignore Ctrl-C.
LISTENING = (
    "import runpy, signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler);"
    "sys.argv = sys.argv[1:]; sys.path.insert(0, 'scripts');"
    "runpy.run_path(sys.argv[0], run_name='__main__')"
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a project that is set up, with an old site and a stand-in for MkDocs."""
    small_project.make_ready(tmp_path)
    (tmp_path / "mkdocs.py").write_text(MKDOCS)
    for old in ("site", "site.building"):
        (tmp_path / old).mkdir()
        (tmp_path / old / "old.html").write_text("old")
    return tmp_path


def interrupt(root: Path, name: str, *arguments: str) -> tuple[int, str]:
    """Start a command of serve.py's, press Ctrl-C (or another signal) when MkDocs is at work."""
    (root / "end").write_text("never")
    command = [sys.executable, "-c", LISTENING, "scripts/serve.py", *arguments]
    with subprocess.Popen(
        command,
        cwd=root,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout
        while process.stdout.readline() != "running\n":
            assert process.poll() is None
        if name == "SIGINT":  # a terminal tells everyone who runs in it
            os.killpg(process.pid, signal.SIGINT)
        else:
            process.send_signal(getattr(signal, name))
        said = process.stdout.read()
    return process.returncode, said


def free_port() -> str:
    """Return a port that nothing uses."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return str(server.getsockname()[1])


def left(root: Path) -> dict[str, str]:
    """Return what lies in the folders of the site, by path."""
    return {f"{p.parent.name}/{p.name}": p.read_text() for p in root.glob("site*/*.html")}


def test_build_that_succeeds_replaces_the_site(root: Path) -> None:
    """The new site is there, whole; nothing of the old one is, nor of the building."""
    (root / "end").write_text("0")
    said = small_project.run(root, "serve.py", "--build")
    assert said.code == 0
    assert "Built" in said.text
    assert "1 pages" in said.text
    assert left(root) == {"site/index.html": "new"}
    with zipfile.ZipFile(root / "site" / "attnref-offline.zip") as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == {
            "attnref/index.html": b"new, a file"
        }


def test_build_that_fails_leaves_no_site(root: Path) -> None:
    """Neither a half-built site nor an old one that looks like new; the exit code says so."""
    (root / "end").write_text("3")
    said = small_project.run(root, "serve.py", "--build")
    assert said.code == 3
    assert "The build failed" in said.text
    assert not list(root.glob("site*"))


@pytest.mark.skipif(sys.platform == "win32", reason="signals are another thing there")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_build_that_is_stopped_leaves_no_site(root: Path, name: str) -> None:
    """Ctrl-C, or the system's end, leaves nothing half-built; one line, no traceback of ours."""
    code, said = interrupt(root, name, "--build")
    assert code == {"SIGINT": 130, "SIGTERM": 1}[name]
    assert not list(root.glob("site*"))
    assert said.endswith("Stopped.\n")
    assert "serve.py" not in said


@pytest.mark.skipif(sys.platform == "win32", reason="signals are another thing there")
def test_serving_ends_with_ctrl_c(root: Path) -> None:
    """Ctrl-C is how serving ends: no error, and the site that was built stays."""
    code, said = interrupt(root, "SIGINT", "--port", free_port())
    assert code == 0
    assert "serve.py" not in said
    assert (root / "site" / "old.html").exists()


def test_build_is_strict(tmp_path: Path) -> None:
    """With the real MkDocs a dead link is a failure, not a warning that passes by."""
    root = small_project.make_ready(tmp_path, with_tools=True)
    (root / "mkdocs.yml").write_text("site_name: small\n")
    (root / "docs").mkdir()
    page = root / "docs" / "index.md"
    page.write_text("[dead](missing.md)")
    said = small_project.run(root, "serve.py", "--build")
    assert said.code == 1
    assert "missing.md" in said.text
    assert not (root / "site").exists()
    page.write_text("alive")
    assert small_project.run(root, "serve.py", "--build").code == 0
    assert "alive" in (root / "site" / "index.html").read_text()


def test_port_in_use_is_named(root: Path) -> None:
    """The message says which port, and the command that takes another one."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        said = small_project.run(root, "serve.py", "--port", str(port))
    other = f"python3 scripts/serve.py --port {port + 1}"
    assert said.text == (f"port {port} is in use; stop what uses it or choose another: {other}\n")
    assert said.code == 1


def test_port_that_does_not_exist_is_refused(root: Path) -> None:
    """A port has a number from 1 to 65535."""
    said = small_project.run(root, "serve.py", "--port", "70000")
    assert said.text == "there is no port 70000: choose one from 1 to 65535\n"


@pytest.mark.skipif(
    shutil.which("git") is None, reason="without git there is no commit to date from"
)
def test_build_is_dated_by_the_last_commit(root: Path) -> None:
    """The same commit makes the same site on any day; the user's own date comes first."""
    (root / "end").write_text("0")
    (root / "mkdocs.py").write_text("import os; print('dated', os.environ['SOURCE_DATE_EPOCH'])")
    commit = "git init -q . && git -c user.name=x -c user.email=x@x commit -q --allow-empty -m x"
    dated = dict(os.environ, GIT_COMMITTER_DATE="@1700000000 +0000")
    subprocess.run(commit, shell=True, cwd=root, env=dated, check=True)  # noqa: S602 - our own words
    assert "dated 1700000000" in small_project.run(root, "serve.py", "--port", free_port()).text
    own = dict(os.environ, SOURCE_DATE_EPOCH="5")
    assert "dated 5\n" in small_project.run(root, "serve.py", "--port", free_port(), **own).text


@pytest.mark.parametrize(("failing", "code"), [("", 0), ("mypy ruff", 1), ("pytest", 1)])
def test_checks_all_run(root: Path, failing: str, code: int) -> None:
    """One that fails stops none of the others; the exit code and the last line tell of it."""
    for tool in ("ruff", "mypy", "pytest"):
        (root / f"{tool}.py").write_text(TOOL)
    (root / "failing").write_text(failing)
    said = small_project.run(root, "test.py", "--", "-k", "masks")
    asked = [
        line for line in said.text.splitlines() if line.split()[0] in ("ruff", "mypy", "pytest")
    ]
    tests = "pytest -n logical --dist loadgroup -k masks"
    assert asked == ["ruff check", "ruff format --check", "mypy", tests]
    assert said.code == code
    last = {"": tests, "pytest": "Failed: pytest"}
    assert said.text.splitlines()[-1] == last.get(failing, "Failed: ruff check, ruff format, mypy")


def test_checks_refuse_what_they_do_not_know(root: Path) -> None:
    """A forgotten -- is told, with the right way."""
    said = small_project.run(root, "test.py", "-k", "masks")
    assert said.code == 1
    assert "python3 scripts/test.py -- -k masks" in said.text


def test_plain_markdown_hands_the_folder_on(root: Path) -> None:
    """The command does the set-up and leaves the rest to sitebuild."""
    assert "usage:" in small_project.run(root, "plain_markdown.py").text
    (root / "scripts" / "sitebuild.py").write_text("import sys; print('to', sys.argv[1])")
    said = small_project.run(root, "plain_markdown.py", "out")
    assert said.text == f"to {(root / 'out').resolve()}\n"
