"""The ways to build the site: today's, from plain Markdown, and with other versions."""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import building
from builders import configuration, environments
from environment import remove
from sitebuild import afterwards
from terminal import ROOT, Stop, ask

PROJECT = environments.FOLDER / "project"
SITES = environments.FOLDER / "sites"

LAST = 12  # lines that are told of what a builder said
# What nobody reads: colours, and the frames of a traceback that are not ours.
NOISE = re.compile(r'\x1b\[[0-9;]*m|^ *File ".*site-packages.*\n(?: {4}.*\n)*', re.MULTILINE)

Build = Callable[[Path, Path], None]


@dataclass(frozen=True)
class Way:
    """A way to build the site: what to call it, whose version counts, how it is done.

    `environment` makes its environment and returns its Python; `build` takes that and the folder
    that the site is to be in. A way that is `partial` leaves pages out.
    """

    name: str
    builder: str
    environment: Callable[[], Path]
    build: Build
    partial: bool = False

    def version(self, python: Path) -> str:
        """Return the version of what builds."""
        said = f"import importlib.metadata as m; print(m.version({self.builder!r}))"
        return ask([str(python), "-I", "-c", said])[1].strip()


def ways(*, executed: bool = False, python: str = "", newest: bool = False) -> list[Way]:
    """Return today's way and those to compare with it."""

    def make(name: str, wanted: Sequence[str], base: str = sys.executable) -> Callable[[], Path]:
        return lambda: environments.make(name, wanted, base=base, newest=newest)

    properdocs = make("properdocs", environments.PROPERDOCS)
    zensical = make("zensical", environments.ZENSICAL)
    found = [
        Way("MkDocs, as today", "mkdocs", lambda: Path(sys.executable), _executed("mkdocs")),
        Way("ProperDocs", "properdocs", properdocs, _plain("properdocs")),
        Way("Zensical", "zensical", zensical, _plain("zensical")),
    ]
    if executed:
        shared = _shared("properdocs-executed", environments.PROPERDOCS[:1], newest)
        found.append(Way("ProperDocs, our hook", "properdocs", shared, _executed("properdocs")))
    if python:
        other = make("mkdocs-jupyter", environments.JUPYTER, python)
        found.append(Way("MkDocs, no Torch", "mkdocs-jupyter", other, _torchless, partial=True))
    return found


def write_project() -> None:
    """Write the tree of plain Markdown, and beside it the settings that both builders read."""
    remove(PROJECT)
    PROJECT.mkdir(parents=True)
    _run([sys.executable, "-m", "sitebuild", PROJECT / "docs"], ROOT)
    templates = PROJECT / "templates"
    shutil.copytree(ROOT / "scripts" / "templates", templates / "python" / "material")
    settings = configuration.plain(configuration.read(), templates)
    configuration.write(settings, PROJECT / "mkdocs.yml")


def _plain(module: str) -> Build:
    """Build from the project of plain Markdown, and set the formulas afterwards."""

    def build(python: Path, site: Path) -> None:
        remove(PROJECT / "site")
        _run([python, "-m", module, "build", "--strict", "-f", "mkdocs.yml", "--clean"], PROJECT)
        shutil.move(PROJECT / "site", site)
        if refused := afterwards.finish(site):
            raise Stop("\n".join(refused))

    return build


def _executed(module: str) -> Build:
    """Build as today, from the pages that run."""
    return lambda python, site: _mkdocs(python, module, ROOT / "mkdocs.yml", site)


def _torchless(python: Path, site: Path) -> None:
    """Build as today, without the pages that need what is not there."""
    pages = _run([python, "-m", "builders.needing"], ROOT).split()
    file = environments.FOLDER / "torchless.yml"
    configuration.write(configuration.without(configuration.read(), pages), file)
    _mkdocs(python, "mkdocs", file, site)


def _mkdocs(python: Path, module: str, settings: Path, site: Path) -> None:
    options = ("-f", settings, "--site-dir", site)
    _run([python, "-m", module, "build", "--strict", *options], ROOT)


def _shared(name: str, wanted: Sequence[str], newest: bool) -> Callable[[], Path]:
    """Make an environment that finds what is installed in the project's own too."""

    def make() -> Path:
        python = environments.make(name, wanted, newest=newest)
        environments.share(name)
        return python

    return make


def _run(command: Sequence[str | Path], folder: Path) -> str:
    """Run a command to its end and return what it prints; what fails says why."""
    done = subprocess.run(
        command, cwd=folder, env=_variables(), capture_output=True, encoding="utf-8", check=False
    )
    if done.returncode:
        raise Stop("\n".join([*last(done.stdout), *last(done.stderr)]))
    return done.stdout


def last(said: str) -> list[str]:
    """Return the last lines that are no news of what went well."""
    lines = NOISE.sub("", said).splitlines()
    return [line for line in lines if line.strip() and not line.startswith("INFO ")][-LAST:]


def _variables() -> dict[str, str]:
    return building.settings(ROOT) | {"NO_COLOR": "1", "PYTHONPATH": str(ROOT / "scripts")}
