"""Set up, build the site as it is published, and check what was built: see checks/.

python3 scripts/check.py               everything; needs Chromium, Java and npm
python3 scripts/check.py -- -k axe     what follows -- goes to pytest
"""

import contextlib
import functools
import http.server
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import building
from environment import ensure, remove
from lock import lock
from terminal import ROOT, Stop, guarded, run

FOLDER = ROOT / ".cache" / "checked"
NAME = "attnref"  # not at the root of its server, as no project's site on Pages is


class Handler(http.server.SimpleHTTPRequestHandler):
    """A server like the one that publishes: a wrong address gets the site's own page."""

    def send_error(
        self, code: int, message: "str | None" = None, explain: "str | None" = None
    ) -> None:
        """Send the site's page for wrong addresses."""
        if code != 404:
            super().send_error(code, message, explain)
            return
        page = (FOLDER / NAME / "404.html").read_bytes()
        self.send_response(code)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, *_: object) -> None:
        """Say nothing: who asks is our own browser."""


class Server(http.server.ThreadingHTTPServer):
    """A server that a browser may leave before it has everything."""

    def handle_error(self, request: object, client_address: object) -> None:
        """Say of a broken connection nothing, of anything else what it is."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


def main() -> int:
    """Build and check."""
    arguments = sys.argv[1:]
    if arguments and arguments[0] != "--":
        raise Stop(__doc__.strip())
    python = ensure()
    with lock(ROOT, "check"), served(FOLDER) as origin:
        return check(python, f"{origin}/{NAME}/", arguments[1:])


def check(python: Path, address: str, for_pytest: "Sequence[str]") -> int:
    """Build for this address and for a folder, and run pytest over both."""
    remove(FOLDER)
    FOLDER.mkdir(parents=True)
    published = dict(building.settings(ROOT), ATTNREF_SITE_URL=address)
    published["ATTNREF_EDIT_URL"] = "https://example.org/edit/docs/"
    if building.whole(ROOT, python, FOLDER / NAME, published):
        return 1
    tested = dict(published, ATTNREF_CHECKED=str(FOLDER))
    checks = ["-o", "testpaths=checks", "-n", "logical", "--dist", "loadgroup"]
    return run([python, "-m", "pytest", *checks, *for_pytest], ROOT, tested)


@contextlib.contextmanager
def served(folder: Path) -> "Iterator[str]":
    """Serve a folder on a port that is free, and return the address."""
    handler = functools.partial(Handler, directory=os.fspath(folder))
    server = Server(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()


if __name__ == "__main__":
    sys.exit(guarded(main))
