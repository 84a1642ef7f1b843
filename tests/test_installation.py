"""The laws of installing: progress is told, a failure has a cause, two set-ups take turns."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import small_project
from environment import python_of
from installation import Progress, failure
from lock import lock, taken
from terminal import ROOT, Clock


def test_missing_network_is_named(tmp_path: Path) -> None:
    """From nothing, without a network: the real pip is added, fails soon, and the end says why."""
    root = small_project.make(tmp_path)
    kept = {
        name: os.environ[name]
        for name in ("PATH", "HOME", "SYSTEMROOT", "TEMP")
        if name in os.environ
    }
    variables = {"PIP_INDEX_URL": "http://127.0.0.1:9/", "PIP_CONFIG_FILE": os.devnull}
    said = small_project.run(root, "environment.py", **kept, **variables)
    assert said.code == 1
    assert "making .venv with Python" in said.text
    assert "No network: pip could not reach its package index." in said.text.splitlines()[-2]
    assert "Traceback" not in said.text


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("OSError: [Errno 28] No space left on device", "The disk is full"),
        ("[SSL: CERTIFICATE_VERIFY_FAILED] self-signed certificate", "certificate is not trusted"),
        ("Failed to resolve 'x' ([Errno -3] Temporary failure in name resolution)", "No network"),
        (
            "ERROR: No matching distribution found for torch==2.13.0",
            "has no torch==2.13.0 for this",
        ),
        ("error: something new", "the same command goes on from here"),
    ],
)
def test_failure_names_its_cause(line: str, sentence: str) -> None:
    """What failed is told in its own words and in one clear sentence."""
    told = failure("pip", ["Collecting x", line])
    assert line in told
    assert sentence in told.split(line)[-1]


def test_progress_is_one_line_a_package(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """What pip writes is told once a package, with its version and size, and nothing else."""
    progress = Progress(Clock(), python_of(tmp_path))
    for line in (
        "Collecting numpy>=2.0",
        "  Downloading numpy-2.4.6-cp311-cp311-win_amd64.whl.metadata (6.6 kB)",
        "Downloading numpy-2.4.6-cp311-cp311-win_amd64.whl (16.4 MB)",
        "Progress 8000000 of 16400000",
        r"Processing c:\wheels\torch-2.13.0+cpu-cp311-cp311-win_amd64.whl (from attnref==0.1.0)",
        "  Using cached old_name-1.0.tar.gz (3 kB)",
        "Installing collected packages: numpy, torch, old-name",
    ):
        progress.hear(line)
    told = [line.split("] ")[1].strip() for line in capsys.readouterr().out.splitlines()]
    assert told == [
        "1 numpy 2.4.6 (16.4 MB)",
        "2 torch 2.13.0+cpu",
        "3 old_name 1.0 (3 kB)",
        "unpacking 3 packages, which takes the longest",
    ]


def test_progress_breaks_a_silence(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """When nothing ends for a while, what is under way is said again."""
    progress = Progress(Clock(), python_of(tmp_path))
    progress.hear("Downloading torch-2.13.0-cp311-cp311-win_amd64.whl (190 MB)")
    progress.hear("Progress 95000000 of 190000000")
    progress.told -= 60
    progress.hear("")
    assert (
        capsys.readouterr()
        .out.splitlines()[-1]
        .endswith("torch 2.13.0: 95 of 190 MB (0 looked up)")
    )


def test_lock_lets_one_in_and_ends_with_its_process(tmp_path: Path) -> None:
    """A second set-up waits while the first one lives; a killed one keeps nobody out."""
    hold = (
        "import lock, pathlib, time\n"
        "with lock.lock(pathlib.Path.cwd(), 'x'):\n"
        "    print(flush=True); time.sleep(60)"
    )
    variables = dict(os.environ, PYTHONPATH=str(ROOT / "scripts"))
    with subprocess.Popen(
        [sys.executable, "-c", hold], cwd=tmp_path, env=variables, stdout=-1
    ) as other:
        assert other.stdout
        other.stdout.readline()
        handle = os.open(tmp_path / ".cache" / "x.lock", os.O_RDWR)
        assert not taken(handle)
        os.close(handle)
        other.kill()
    with lock(tmp_path, "x"):
        assert (tmp_path / ".cache" / "x.lock").read_text() == str(os.getpid())
