"""Run pip in `.venv`: its output condensed to readable lines, its failures explained."""

import os
import queue
import re
import subprocess
import sysconfig
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path

from terminal import Clock, Stop, child

SILENCE = 10  # seconds without a word, after which what is going on is said again
LAST_LINES = 12

_PACKAGE = re.compile(
    r"\s*(?:Downloading|Using cached|Processing) (?:.*[\\/])?"
    r"(?P<name>[A-Za-z0-9._]+)-(?P<version>[0-9][^-\s]*)(?:-\S+\.whl|\.tar\.gz)"
    r"(?P<size> \([^)]*B\))?(?:\s|$)"
)
_FETCHED = re.compile(r"Progress (\d+) of (\d+)")
_UNPACKING = re.compile(r"Installing collected packages: (.*)")
_NOISE = re.compile(r"WARNING: Location .* is ignored|WARNING: Ignoring invalid distribution")

# What pip and the system write when the cause lies outside, and the sentence that says so.
_DISK_FULL = (
    "No space left on device",
    r"Errno 28\b",
    "not enough space on the disk",
    "quota exceeded",
)
_NO_NETWORK = (
    "name resolution",
    "NameResolutionError",
    "getaddrinfo failed",
    "nodename nor servname",
    "failed to establish a new connection",
    r"connection (\w+ ){0,3}(refused|reset|aborted|timed out)",
    "ConnectTimeoutError",
    "read timed out",
    "network is unreachable",
    "no route to host",
    "ProxyError",
    "from versions: none",
)
_CAUSES = [
    (
        "|".join(_DISK_FULL),
        "The disk is full: .venv needs about 1.5 GB, and the folder for temporary files as much\n"
        "for a while (with a CUDA build of torch several times that). Make room and run the\n"
        "command again; it goes on where it stopped.",
    ),
    (
        "CERTIFICATE_VERIFY_FAILED",
        "The network's certificate is not trusted: behind a company proxy, name its certificate\n"
        "file in the environment variable PIP_CERT and run the command again.",
    ),
    (
        "|".join(_NO_NETWORK),
        "No network: pip could not reach its package index. Connect this machine (behind a proxy,\n"
        "set HTTPS_PROXY) and run the command again; what is already here is kept.",
    ),
    (
        r"no matching distribution(?:s available for your environment:\s+| found for )(\S+)",
        "The package index has no {0} for this Python and this machine.",
    ),
]


def pip(python: Path, arguments: "Sequence[str]", root: Path, clock: Clock) -> None:
    """Run pip with these arguments in the project's root; stop with its own words if it fails."""
    command = [str(python), "-I", "-m", "pip", *arguments]
    process = subprocess.Popen(
        command,
        cwd=root,
        env=patient(os.environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    )
    with child(process):
        last_lines = Progress(clock, python).follow(process)
        code = process.wait()
    if code:
        raise Stop(failure("pip", last_lines))


def patient(environ: "Mapping[str, str]") -> "dict[str, str]":
    """Bound how long pip waits for a network that is not there; the user's own bounds hold."""
    settings = dict(environ, PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_NO_INPUT="1", PIP_USER="0")
    settings.setdefault("PIP_RETRIES", "2")
    if "PIP_TIMEOUT" not in settings:
        settings.setdefault("PIP_DEFAULT_TIMEOUT", "15")
    return settings


def failure(what: str, lines: "Sequence[str]") -> str:
    """Return the last lines of what failed and one sentence on what to do."""
    text = "\n".join(lines)
    sentence = "That is why the environment is not ready; the same command goes on from here."
    for pattern, meaning in _CAUSES:
        found = re.search(pattern, text, re.IGNORECASE)
        if found:
            sentence = meaning.format(*found.groups())
            break
    told = "\n".join("    " + line[:200] for line in lines[-LAST_LINES:])
    return f"\n{what} failed; its last lines:\n{told}\n\n{sentence}"


class Progress:
    """What pip has done so far, told in one short line a package, and again when nothing ends."""

    def __init__(self, clock: Clock, python: Path) -> None:
        self.clock = clock
        self.told = time.monotonic()
        self.doing = "pip is looking the packages up"
        self.looked_up = 0
        self.names: set[str] = set()
        self.last_lines: deque[str] = deque(maxlen=5 * LAST_LINES)
        self.place = python.parent.parent
        self.in_place = _count_packages(self.place)
        self.unpacking = 0

    def follow(self, process: "subprocess.Popen[str]") -> "list[str]":
        """Tell pip's output while it comes; return its last lines."""
        lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=_read, args=(process, lines), daemon=True).start()
        while True:
            try:
                line = lines.get(timeout=1)
            except queue.Empty:
                line = ""
            if line is None:
                return list(self.last_lines)
            self.hear(line.rstrip())

    def hear(self, line: str) -> None:
        """Take in one line of pip's, or none ("") when a second has passed without."""
        fetched = _FETCHED.match(line)
        if fetched:
            done, size = (int(number) / 1e6 for number in fetched.groups())
            self.doing = f"{self.doing.split(':')[0]}: {done:.0f} of {size:.0f} MB"
        elif line and not _NOISE.search(line):
            self.last_lines.append(line)
            self.read(line)
        if time.monotonic() - self.told > SILENCE:
            self.say(self.still())

    def read(self, line: str) -> None:
        """Tell what one line means for the user, if anything."""
        package, unpacking = _PACKAGE.match(line), _UNPACKING.match(line)
        if package and package["name"] not in self.names:
            self.names.add(package["name"])
            self.doing = f"{package['name']} {package['version']}"
            self.say(f"{len(self.names):3} {self.doing}{package['size'] or ''}")
        elif unpacking:
            self.unpacking = len(unpacking[1].split(", "))
            if self.unpacking > 1:
                self.say(f"unpacking {self.unpacking} packages, which takes the longest")
        elif line.startswith("Collecting "):
            self.looked_up += 1

    def still(self) -> str:
        """Say how far the work has come that goes on in silence."""
        if self.unpacking:
            return f"unpacking: {_count_packages(self.place) - self.in_place} of {self.unpacking}"
        return f"{self.doing} ({self.looked_up} looked up)"

    def say(self, text: str) -> None:
        """Print one line, and begin to wait anew."""
        self.told = time.monotonic()
        self.clock.say(text)


def site_packages(place: Path) -> Path:
    """Return where an environment keeps its packages."""
    return Path(sysconfig.get_path("purelib", "venv", {"base": str(place)}))


def _count_packages(place: Path) -> int:
    # INSTALLER is the first file that pip adds after a package's own files are complete.
    return sum(1 for _ in site_packages(place).glob("*.dist-info/INSTALLER"))


def _read(process: "subprocess.Popen[str]", lines: "queue.Queue[str | None]") -> None:
    """Hand pip's lines over one by one, and None at the end (in a thread: reading waits)."""
    if process.stdout:
        for line in process.stdout:
            lines.put(line)
    lines.put(None)
