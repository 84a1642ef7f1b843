"""Set up, then serve the website on this machine, or build it.

python3 scripts/serve.py            serves it on http://127.0.0.1:8000, and anew after every change
python3 scripts/serve.py --build    builds site/ strictly: any warning is a failure
"""

import argparse
import socket
import sys
from pathlib import Path

from building import settings, whole
from environment import ensure, remove
from lock import lock
from terminal import ROOT, Stop, guarded, run


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(
        description="Serve attnref's website on this machine, or build it."
    )
    parser.add_argument("--build", action="store_true", help="build site/ strictly and end")
    parser.add_argument("--port", type=int, default=8000, help="the port to serve on (%(default)s)")
    options = parser.parse_args()
    if options.build:
        return build(ROOT, ensure())
    check_port(options.port)
    return serve(ROOT, ensure(), options.port)


def build(root: Path, python: Path) -> int:
    """Build root/site; what is not built to the end is not left where it looks finished."""
    site, building = root / "site", root / "site.building"
    with lock(root, "build"):
        remove(site)
        remove(building)
        try:
            code = whole(root, python, building, settings(root))
            if code == 0:
                building.rename(site)
        finally:
            remove(building)
    print(
        summary(site) if code == 0 else "The build failed, for the reason above; there is no site/."
    )
    return code


def summary(site: Path) -> str:
    """Return one line on the site that was built."""
    files = [path for path in site.rglob("*") if path.is_file()]
    pages = sum(path.suffix == ".html" for path in files)
    size = sum(path.stat().st_size for path in files) / 1e6
    return f"Built {site}: {pages} pages, {size:.1f} MB."


def serve(root: Path, python: Path, port: int) -> int:
    """Serve the site until Ctrl-C, which is how serving ends."""
    address = f"127.0.0.1:{port}"
    command: list[str | Path] = [
        python,
        "-m",
        "mkdocs",
        "serve",
        "--no-strict",  # a page that is wrong says so, and the server goes on
        "--dev-addr",
        address,
        "--watch",
        "attnref",
    ]
    try:
        return run(command, root, settings(root))
    except KeyboardInterrupt:
        return 0


def check_port(port: int) -> None:
    """Stop if nothing can be served on this port."""
    if not 1 <= port <= 65535:
        raise Stop(f"there is no port {port}: choose one from 1 to 65535")
    with socket.socket() as probe:
        taken = probe.connect_ex(("127.0.0.1", port)) == 0
    with socket.socket() as probe:
        if sys.platform != "win32":  # there it would let two programs share the port
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except PermissionError:
            raise Stop(f"port {port} is not open to you; choose one above 1023") from None
        except OSError:
            taken = True
    if taken:
        other = f"python3 scripts/serve.py --port {port + 1 if port < 65535 else 8000}"
        raise Stop(f"port {port} is in use; stop what uses it or choose another: {other}")


if __name__ == "__main__":
    sys.exit(guarded(main))
