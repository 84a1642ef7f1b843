"""Every page is a program: as a plain script it says in the terminal what it says on the site."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pages import ROOT
from sitebuild import script
from sitebuild.execute import PINNED, execute
from sitebuild.memory import Record

PAGES = script.pages(ROOT / "docs")


@pytest.fixture(scope="module")
def records() -> dict[Path, Record]:
    """Return what each page showed when the site's chain ran it."""
    return execute(PAGES, say=lambda _: None, folder=ROOT / ".cache" / "pages")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page_prints_in_a_terminal_what_the_site_shows(
    page: Path, records: dict[Path, Record]
) -> None:
    """The text forms of all outputs, one after another, are the script's standard output."""
    run = subprocess.run(
        [sys.executable, page],
        capture_output=True,
        encoding="utf-8",
        check=False,
        env=os.environ | PINNED,
    )
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    shown = [
        event["data"]["text/plain"] + "\n" if event["kind"] == "display" else event["text"]
        for events in records[page]["cells"]
        for event in events
        if event["kind"] in ("stdout", "display")
    ]
    assert run.stdout == "".join(shown)
