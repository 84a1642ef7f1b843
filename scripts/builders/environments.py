"""An environment for each builder, under .cache/canary/, made once, kept until it changes."""

import sys
from collections.abc import Iterable
from pathlib import Path

from environment import pins, python_of, remove
from installation import failure, pip
from terminal import ROOT, Clock, Stop, ask

FOLDER = ROOT / ".cache" / "canary"
STAMP = "installed"

# What is tried, in which versions; all that they draw in has the versions of constraints.txt.
# Ruff sets the signatures of the reference in lines.
READING = ("mkdocstrings-python", "ruff")
PROPERDOCS = ("properdocs==1.6.7", "mkdocs-material", *READING)
ZENSICAL = ("zensical==0.0.73", "deepmerge==4.0.0", "tomli==2.5.0", *READING)
JUPYTER = ("mkdocs-jupyter==0.27.0", "-e", ".[figures]", "--group", "site", "ruff")


def make(
    name: str, wanted: Iterable[str], *, base: str = sys.executable, newest: bool = False
) -> Path:
    """Return the Python of an environment that holds what is wanted, made if there is none."""
    root = FOLDER / name
    wanted = [part.split("==")[0] if newest else part for part in wanted]
    held = "" if newest else constraints(wanted)
    asked = "\n".join([base, *wanted, held])
    stamp = root / STAMP
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != asked:
        _make_anew(root, base, wanted, held)
        stamp.write_text(asked, encoding="utf-8")
    return python_of(root)


def constraints(wanted: Iterable[str]) -> str:
    """Return the project's pins, but for what is wanted in another version, and Torch."""
    others = {part.split("==")[0] for part in wanted if "==" in part} | {"torch"}
    return "".join(f"{name}=={pin}\n" for name, pin in pins(ROOT).items() if name not in others)


def share(name: str) -> None:
    """Let an environment find what is installed in the project's own as well."""
    ours = [folder for folder in sys.path if folder.endswith("site-packages")]
    lines = [f"import site; site.addsitedir({folder!r})\n" for folder in ours]
    for packages in (FOLDER / name / ".venv").rglob("site-packages"):
        (packages / "project.pth").write_text("".join(lines), encoding="utf-8")


class Silent(Clock):
    """Says nothing: what pip unpacks is no news here, and what it fails with is told at the end."""

    def say(self, text: str) -> None:
        """Keep quiet."""


def _make_anew(root: Path, base: str, wanted: list[str], held: str) -> None:
    print(f"  making {root.relative_to(ROOT)}, once", flush=True)
    clock = Silent()
    remove(root)
    root.mkdir(parents=True)
    code, said = ask([base, "-I", "-m", "venv", str(root / ".venv")])
    if code:
        raise Stop(failure(f"Making {root / '.venv'}", said.splitlines()))
    (root / "constraints.txt").write_text(held, encoding="utf-8")
    pip(python_of(root), ["install", f"pip=={pins(ROOT)['pip']}"], ROOT, clock)
    options = ["-c", str(root / "constraints.txt"), "--progress-bar", "raw"]
    pip(python_of(root), ["install", *options, *wanted], ROOT, clock)
