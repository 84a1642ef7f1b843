"""A page runs by itself: what is around it does not reach it, and it does not reach out."""

import os
import select
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import pages
from sitebuild.execute import execute, run
from sitebuild.memory import ROOT
from sitebuild.script import PageError

# What a page can learn of the variables of its build and of the settings of its user.
LEARNS = """\
import builtins, locale, os, shutil, sys, tempfile, time
import matplotlib
from IPython import get_ipython

print(time.localtime(0).tm_hour, time.tzname, locale.getlocale(), shutil.get_terminal_size())
print(matplotlib.rcParams["font.size"], hasattr(builtins, "customised"), sys.flags.optimize)
folders = os.path.expanduser("~"), get_ipython().ipython_dir, tempfile.gettempdir()
print("own folders:", *(folder == os.getcwd() for folder in folders))
print(sorted(os.environ))
"""
VARIABLES = {
    "TZ": "Asia/Kathmandu",
    "LC_ALL": "de_DE.UTF-8",
    "LANG": "tr_TR.UTF-8",
    "COLUMNS": "33",
    "NO_COLOR": "1",
    "SOURCE_DATE_EPOCH": "1",
    "PYTHONOPTIMIZE": "1",
}
PLACES = ("HOME", "XDG_CONFIG_HOME", "MPLCONFIGDIR", "IPYTHONDIR", "PYTHONPATH")
SETTINGS = {
    "sitecustomize.py": "import builtins\nbuiltins.customised = True\n",
    "matplotlibrc": "font.size: 33\n",
    "matplotlib/matplotlibrc": "font.size: 33\n",
}


def test_variables_and_settings_of_the_user_do_not_reach_a_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are not in the digest, so they may not decide; a page has a home of its own."""
    page = pages.page(tmp_path, LEARNS)
    before = run(page)["cells"]
    assert "0 ('UTC', 'UTC')" in before[1][0]["text"]
    assert "own folders: True True True" in before[1][0]["text"]
    for name, content in SETTINGS.items():
        (tmp_path / "home" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "home" / name).write_text(content)
    for name, value in {**VARIABLES, **dict.fromkeys(PLACES, str(tmp_path / "home"))}.items():
        monkeypatch.setenv(name, value)
    assert run(page)["cells"] == before


def test_choice_of_a_kernel_reaches_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another processor would make it too, and a check of two builds makes it."""
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    page = pages.page(tmp_path, "import os\nprint(os.environ['OPENBLAS_CORETYPE'])")
    assert run(page)["cells"][1] == [{"kind": "stdout", "text": "Haswell\n"}]


@pytest.fixture
def pipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a named pipe, which is in no folder of a page."""
    pytest.importorskip("resource")  # Windows has neither
    path = tmp_path_factory.mktemp("between") / "pipe"
    os.mkfifo(path)
    return path


def test_two_pages_run_at_a_time(pipe: Path, tmp_path: Path) -> None:
    """Each waits for the other; one after the other, they would wait for ever."""
    paths = [
        pages.page(tmp_path, f"open({str(pipe)!r}, {mode!r}).close()", name=mode)
        for mode in ("rb", "wb")
    ]
    assert set(execute(paths, say=lambda _: None, time_limit=20)) == set(paths)


LEAVES = """\
import subprocess, time
command = "exec 3> {pipe}; echo ready; sleep 20; echo late >&3"
child = subprocess.Popen(["sh", "-c", command], stdout=subprocess.PIPE)
_ = child.stdout.readline()
{then}
"""


@pytest.mark.parametrize(
    ("then", "says"),
    [("print('done')", ""), ("time.sleep(60)", "line 7: the cell here did not end: the page has")],
)
def test_what_a_page_started_ends_with_it(then: str, says: str, pipe: Path, tmp_path: Path) -> None:
    """Whether a page is done or hangs, no process of its own is left, and none is waited for."""
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(reader, True)
    with pytest.MonkeyPatch.context() if not says else pytest.raises(PageError, match=says):
        run(pages.page(tmp_path, LEAVES.format(pipe=pipe, then=then)), time_limit=2)
    assert os.read(reader, 4) == b""  # nobody holds the other end
    os.close(reader)


FORKS = """\
import os, warnings
warnings.simplefilter("ignore")  # newer Pythons warn of threads
child = os.fork()
_ = child and os.waitpid(child, 0)
print("parent" if child else "child")
# %%
print("two")
"""


def test_child_that_a_page_forks_does_not_speak_for_it(tmp_path: Path) -> None:
    """It would run the rest of the page too, and end with a record of its own."""
    pytest.importorskip("resource")
    cells = run(pages.page(tmp_path, FORKS))["cells"]
    assert [event["text"] for events in cells for event in events] == ["parent\n", "two\n"]


SHOW = "from IPython.display import display\ndisplay({'text/plain': 'x' * 3_000_000}, raw=True)"
REFUSED = {
    "prints without end": ("while True: print('x' * 1000)", "may print 1,000,000 characters"),
    "shows too much": (SHOW, "shows 3,000,2.. characters, and a page may show 2,000,000"),
    "fills its folder": (
        "with open('file', 'wb') as file:\n    while True: file.write(bytes(1_000_000))",
        "line 8: .*OSError: .* File too large",
    ),
    "fills the disk past Python": (
        "import os\nwhile True: os.write(1, bytes(1_000_000))",
        "line 8: .*OSError: .* File too large",
    ),
    "ends its group": (
        "import os, signal\nos.killpg(0, signal.SIGKILL)",
        "line 7: the process ended with code -9\nand no word",
    ),
    "half a character": ("print('\\ud800')", "line 7: .*surrogates not allowed"),
    "goes on after its end": (
        "import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()",
        "something that a cell started did not end: the page has a time limit of 2 s",
    ),
}


@pytest.mark.parametrize(("code", "message"), REFUSED.values(), ids=REFUSED)
def test_page_without_measure_is_refused(code: str, message: str, tmp_path: Path) -> None:
    """It says too much, fills the disk, takes others with it or does not end: one clear error."""
    pytest.importorskip("resource")
    with pytest.raises(PageError, match=f"(?s){message}"):
        run(pages.page(tmp_path, code), time_limit=2)


@pytest.mark.parametrize("folder", ["docs", "attnref", ""])
def test_page_that_writes_into_the_project_is_refused(folder: str, tmp_path: Path) -> None:
    """A server would build again and again, and another page might read it or not."""
    file = (ROOT / folder if folder else tmp_path) / "written.txt"
    code = f"from pathlib import Path\n_ = Path({str(file)!r}).write_text('x')"
    with pytest.raises(PageError, match=r"a page writes nothing into the project: .*written\.txt"):
        run(pages.page(tmp_path, code))
    assert not file.exists()


WRITES = """\
import os, tempfile
from pathlib import Path

fonts = Path(os.environ["MPLCONFIGDIR"])
fonts.mkdir(parents=True, exist_ok=True)
for folder in (Path(), Path(tempfile.mkdtemp()), Path.home(), fonts):
    _ = (folder / "written").write_text("x")
    print((folder / "written").read_text())
(fonts / "written").unlink()
"""


def test_page_writes_into_its_own_folder(tmp_path: Path) -> None:
    """There, in the folder for temporary files and where Matplotlib lists the fonts."""
    record = run(pages.page(tmp_path, WRITES))
    assert record["cells"][1] == [{"kind": "stdout", "text": "x\n" * 4}]
    assert not [name for name in record["besides"] if name.endswith("written")]


def test_page_that_cannot_be_started_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No folder for its temporary files, as on a full disk, is an error that names the page."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(ExceptionGroup) as failure:
        execute([pages.page(tmp_path, "print(1)")], say=lambda _: None)
    (error,) = failure.value.exceptions
    assert "page.py: can't be run: [Errno 2] No such file or directory" in str(error)


BUILD = """\
from pathlib import Path
from sitebuild.execute import execute
execute([Path(page) for page in {paths}], say=print)
"""


def test_build_that_is_interrupted_ends(pipe: Path, tmp_path: Path) -> None:
    """It waits for no page, neither for those that run nor for those that would."""
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    code = f"import time\nopen({str(pipe)!r}, 'wb', buffering=0).write(b'x')\ntime.sleep(60)"
    paths = [str(pages.page(tmp_path, code, name=f"page{n}")) for n in range(3)]
    build = subprocess.Popen(
        [sys.executable, "-c", BUILD.format(paths=paths)],
        env=os.environ | {"PYTHONPATH": str(ROOT / "scripts")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert select.select([reader], [], [], 40)[0]  # a page runs
    build.send_signal(signal.SIGINT)
    said, error = build.communicate(timeout=40)
    os.close(reader)
    assert said == ""
    assert error.endswith("KeyboardInterrupt\n")
