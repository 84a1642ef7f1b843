"""A wrong page, served: it says what is wrong, the server goes on, and the fix appears."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

import pages

PATIENCE = 60  # seconds, for whatever else the machine is at
WRONG = 'role="alert"'
RIGHT = "Right now."


class Server:
    """MkDocs' own server over a small site."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        self.log = folder / "log"
        command = ["-m", "mkdocs", "serve", "--no-strict", "--dev-addr", self.address]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, *command, "--config-file", str(folder / "mkdocs.yml")],
                cwd=pages.ROOT,
                env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def write(self, prose: str, code: str = "y = 2") -> None:
        """Write the page anew, as an editor does."""
        pages.page(self.folder / "docs", code, prose=pages.prose(prose), name="index")

    def shows(self, *words: str) -> str:
        """Wait until the page shows the words, and return it."""
        end, html = time.monotonic() + PATIENCE, ""
        while time.monotonic() < end:
            assert self.process.poll() is None, self.said()
            try:
                with urllib.request.urlopen(f"http://{self.address}/", timeout=5) as answer:
                    html = answer.read().decode()
            except OSError:
                html = ""
            if all(word in html for word in words):
                return html
            time.sleep(0.2)
        raise AssertionError(f"{words} are not shown\n{html[-3000:]}\n{self.said()}")

    def said(self) -> str:
        """Return what stands in the terminal."""
        return self.log.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serve a small site until the tests of this file are over."""
    folder = tmp_path_factory.mktemp("served")
    (folder / "docs").mkdir()
    pages.configure(folder, seconds_per_page=4)
    pages.page(folder / "docs", "y = 2", prose=pages.prose(RIGHT), name="index")
    pages.page(folder / "docs", "print(6 * 7)", name="other")
    served = Server(folder)
    served.shows(RIGHT)
    yield served
    served.process.send_signal(signal.SIGINT)
    served.process.wait(20)


EQUATION = "$$\nx = 1 \\label{one}\n$$"
# What is wrong, and what the page and the terminal name.
WRONGS = {
    "exception": ("Text.", "1 / 0", "ZeroDivisionError: division by zero"),
    "not Python": ("Text.", "y = = 2", "index.py"),
    "hangs": ("Text.", "while True: pass", "time limit of 4 s"),
    "warning": ("Text.", "import warnings\nwarnings.warn('odd')", "odd"),
    "not a number": ("Text.", "print(float('nan'))", "expect-nan"),
    "unknown LaTeX": ("$$\n\\foo{x} \\label{a}\n$$", "y = 2", "\\foo"),
    "unbalanced brace": ("Inline $\\frac{a$ is open.", "y = 2", "\\frac{a"),
    "unresolved eqref": ("See \\eqref{nowhere}.", "y = 2", "\\eqref{nowhere}"),
    "duplicate label": (f"{EQUATION}\n\n{EQUATION}", "y = 2", "stands twice"),
    "missing label": ("$$\nx = 1\n$$", "y = 2", "needs one \\label"),
    "dead link": ("[gone](gone.py)", "y = 2", "gone.py"),
    "dead anchor": ("[gone](#gone)", "y = 2", "#gone"),
}


@pytest.mark.parametrize(("prose", "code", "named"), WRONGS.values(), ids=WRONGS)
def test_wrong_page_says_so_and_the_fix_appears(
    prose: str, code: str, named: str, server: Server
) -> None:
    """The error stands on the page and in the terminal; the edit that mends it is shown."""
    server.write(prose, code)
    server.shows(WRONG, "may not be published", named)
    assert named in server.said()
    server.write(RIGHT)
    assert WRONG not in server.shows(RIGHT)


def test_page_that_is_not_text_says_so(server: Server) -> None:
    """Bytes of another encoding are an error of this page, and of no other."""
    (server.folder / "docs" / "index.py").write_bytes(b"# %% [markdown]\n# # \xff\xfe\n")
    server.shows(WRONG, "may not be published", "is not UTF-8")
    server.write(RIGHT)
    assert WRONG not in server.shows(RIGHT)


def test_settings_that_cannot_be_read_are_told_in_the_browser(server: Server) -> None:
    """A build that fails as a whole says so on every page, instead of none answering."""
    settings = server.folder / "mkdocs.yml"
    right = settings.read_text(encoding="utf-8")
    settings.write_text("nav: [", encoding="utf-8")
    server.shows(WRONG, "could not be built")
    settings.write_text(right, encoding="utf-8")
    assert WRONG not in server.shows(RIGHT)


def test_edit_runs_the_page_that_was_edited_and_no_other(server: Server) -> None:
    """The other pages are as they were."""
    before = server.said()
    server.write(f"{RIGHT} Edited.", "z = 3")
    server.shows("Edited.")
    new = server.said().removeprefix(before)
    assert "executed" in new
    assert "unchanged" in new
    assert all("index.py" in line for line in new.splitlines() if " executed " in line)
