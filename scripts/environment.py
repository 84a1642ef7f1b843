"""Make the project's environment, `.venv`, once; find it ready every other time.

`ensure` is what the commands call; `python3 scripts/environment.py` does just that. pyproject.toml
says what is installed and why, constraints.txt which versions. A stamp in `.venv`, written last,
names the state that was installed: with an equal stamp nothing is done at all.
"""

import hashlib
import importlib.util
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from installation import failure, pip, site_packages
from lock import lock
from terminal import ROOT, Clock, Stop, ask, guarded

STAMP = "attnref-installed"
PINS = ["-c", "constraints.txt"]
EVERYTHING = ["-e", ".[torch,figures]", "--group", "site", "--group", "test"]
_PROBE = "import sys; print('%d.%d' % sys.version_info[:2], sys.prefix != sys.base_prefix)"


def ensure(
    root: Path = ROOT, run_pip: "Callable[[Path, Sequence[str], Path, Clock], None]" = pip
) -> Path:
    """Return the Python of root/.venv with everything installed; install what is missing."""
    try:
        if not is_ready(root):
            with lock(root, "environment"):
                if not is_ready(root):  # another set-up may have ended while this one waited
                    set_up(root, run_pip)
    except OSError as error:
        raise Stop(failure("The set-up", [str(error)])) from error
    return python_of(root)


def is_ready(root: Path) -> bool:
    """Say whether .venv works and holds what is asked for."""
    stamp = root / ".venv" / STAMP
    return stamp.exists() and stamp.read_text() == digest(root) and not what_is_wrong(root)


def set_up(root: Path, run_pip: "Callable[[Path, Sequence[str], Path, Clock], None]") -> None:
    """Bring .venv from whatever state it is in to the one that is asked for."""
    clock = Clock()
    asked = digest(root)
    announce(root)
    stamp = root / ".venv" / STAMP
    if stamp.exists():
        stamp.unlink()  # from here to the end .venv is not ready, whatever stops us
    make_usable(root, clock)
    discard_half_installed(root)
    python = python_of(root)
    run_pip(python, ["install", f"pip=={pins(root)['pip']}"], root, clock)
    builds = ["--build-constraint", "constraints.txt"]  # a newer pip's option: it is here by now
    run_pip(python, ["install", *PINS, *builds, "--progress-bar", "raw", *EVERYTHING], root, clock)
    new = stamp.with_suffix(".new")
    new.write_text(asked)
    new.replace(stamp)
    clock.say(".venv is ready")


def announce(root: Path) -> None:
    """Say what is about to happen and how much of it there is."""
    print("Setting up .venv in this folder, once; from then on it is found ready.")
    print(f"  Up to {len(pins(root))} packages, about 1.5 GB; some minutes on a usual connection.")
    if sys.platform == "linux" and not (site_packages(root / ".venv") / "torch").exists():
        print("  On Linux torch can bring several GB of CUDA libraries more, which are not needed:")
        print("  README.md says how to have the CPU build, which is kept once it is in .venv.")
    sys.stdout.flush()


def pins(root: Path) -> "dict[str, str]":
    """Return what constraints.txt says: a version for every name."""
    lines = (root / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.split("==") for line in lines if line and not line.startswith("#"))


def digest(root: Path) -> str:
    """Name the state asked for: what is to be installed, for which Python, in which folder."""
    for name in ("constraints.txt", "pyproject.toml"):
        if not (root / name).exists():
            raise Stop(f"{root / name} is missing: this is no whole copy of attnref")
    pins = (root / "constraints.txt").read_text(encoding="utf-8")
    parts = [
        pins,
        wanted(root),
        f"{sys.version_info[0]}.{sys.version_info[1]}",
        str(root.resolve()),
    ]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def wanted(root: Path) -> str:
    """Return what pyproject.toml says of the installation: a new rule for ruff installs nothing."""
    import tomllib  # not at the top: a Python too old to have it must get as far as hearing so

    try:
        tables = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise Stop(f"{root / 'pyproject.toml'} cannot be read: {error}") from error
    names = ("build-system", "project", "dependency-groups")
    return repr([tables.get(name) for name in names] + [tables.get("tool", {}).get("hatch")])


def python_of(root: Path) -> Path:
    """Return where the environment's Python is, or would be."""
    inside = "Scripts/python.exe" if sys.platform == "win32" else "bin/python"
    return root / ".venv" / inside


def what_is_wrong(root: Path) -> str:
    """Return why .venv cannot be used, or nothing."""
    code, said = ask([str(python_of(root)), "-I", "-c", _PROBE])
    words = said.split()
    if code or len(words) != 2:
        return "its Python does not start"
    if words[0] != f"{sys.version_info[0]}.{sys.version_info[1]}":
        return f"it was made by Python {words[0]}"
    # Without its pyvenv.cfg the same Python would install into the machine's own packages.
    return "" if words[1] == "True" else "it is no environment of its own"


def make_usable(root: Path, clock: Clock) -> None:
    """Keep a .venv that runs, complete one that lacks pip, make any other anew."""
    wrong = what_is_wrong(root)
    if not wrong and not has_pip(root):
        clock.say("adding pip to the .venv that is here")
        wrong = add_pip(root)
    if wrong:
        make_anew(root, wrong, clock)


def make_anew(root: Path, wrong: str, clock: Clock) -> None:
    """Make .venv from nothing."""
    venv = root / ".venv"
    if os.path.lexists(venv):
        clock.say(f"removing the .venv that is here: {wrong.splitlines()[0]}")
        remove(venv)
    if not (importlib.util.find_spec("venv") and importlib.util.find_spec("ensurepip")):
        package = f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"
        raise Stop(
            f"{sys.executable} cannot make environments: on Debian and Ubuntu its modules venv\n"
            f"and ensurepip are a package of their own. Install it and run the command again:\n"
            f"    sudo apt install {package}"
        )
    clock.say(f"making .venv with Python {sys.version.split()[0]} ({sys.executable})")
    code, said = ask([sys.executable, "-I", "-m", "venv", "--without-pip", str(venv)])
    wrong = said if code else add_pip(root)
    if wrong:
        raise Stop(failure("Making .venv", wrong.splitlines()))


def add_pip(root: Path) -> str:
    """Put the pip that comes with Python into .venv; return why that failed, or nothing."""
    _, said = ask([str(python_of(root)), "-I", "-m", "ensurepip", "--upgrade"])
    return "" if has_pip(root) else f"pip cannot be added\n{said}"


def has_pip(root: Path) -> bool:
    """Say whether the environment's pip starts."""
    return ask([str(python_of(root)), "-I", "-m", "pip", "--version"])[0] == 0


def discard_half_installed(root: Path) -> None:
    """Let pip install again what an interruption left half unpacked.

    pip takes a package whose record lies there for installed; INSTALLER is what it writes last.
    """
    for record in site_packages(root / ".venv").glob("*.dist-info"):
        if not (record / "INSTALLER").exists():
            remove(record)


def remove(path: Path) -> None:
    """Remove a folder, a file or a link, whichever it is."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif os.path.lexists(path):
        path.unlink()


def main() -> int:
    """Make the environment ready, and say so."""
    print(f"Ready: {ensure()}")
    return 0


if __name__ == "__main__":
    sys.exit(guarded(main))
