"""Every page is a program: as a plain script it says in the terminal what it says on the site."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pages import ROOT
from sitebuild import script
from sitebuild.execute import PINNED
from sitebuild.memory import Record

PAGES = script.pages(ROOT / "docs")
TORCH = re.compile(r"^ *(?:import|from) (?:(?:attnref\.)?torch|claims)\b", re.MULTILINE)
WITH_TORCH = [page for page in PAGES if TORCH.search(page.read_text(encoding="utf-8"))]


@pytest.fixture
def without_torch(tmp_path: Path) -> dict[str, str]:
    """Return the variables of a Python in which Torch can't be found."""
    halt = "raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')"
    (tmp_path / "torch.py").write_text(halt, encoding="utf-8")
    return {"PYTHONPATH": str(tmp_path)}


def _run(page: Path, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a page as a reader does, in a folder that knows nothing of the project."""
    return subprocess.run(
        [sys.executable, page],
        capture_output=True,
        encoding="utf-8",
        check=False,
        cwd=folder,
        env=os.environ | PINNED | variables,
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}-{page.stem}")
def test_page_prints_in_a_terminal_what_the_site_shows(
    page: Path, records: dict[Path, Record], without_torch: dict[str, str], tmp_path: Path
) -> None:
    """From any folder, and without Torch where it names none, a page prints its outputs' text."""
    run = _run(page, tmp_path, **({} if page in WITH_TORCH else without_torch))
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    assert run.stdout == _shown(records[page])


@pytest.mark.parametrize("page", WITH_TORCH, ids=lambda page: f"{page.parent.name}-{page.stem}")
def test_page_says_what_to_install_where_torch_is_missing(
    page: Path, records: dict[Path, Record], without_torch: dict[str, str], tmp_path: Path
) -> None:
    """A reader without Torch learns how to get it, at the end of the error or in the output."""
    run = _run(page, tmp_path, **without_torch)
    if run.returncode:
        needs = "attnref.torch needs PyTorch, which is not installed"
        assert run.stderr.endswith(f'\nImportError: {needs}: pip install "attnref[torch]"\n')
    elif run.stdout != _shown(records[page]):  # not all of it works without, and it says so
        assert "not installed: pip install torch" in run.stdout


def _shown(record: Record) -> str:
    """Return what the site shows of a page, as text."""
    return "".join(
        event["data"]["text/plain"] + "\n" if event["kind"] == "display" else event["text"]
        for events in record["cells"]
        for event in events
        if event["kind"] in ("stdout", "display")
    )
