"""Build the site into a folder, and beside its pages the zip of them that is read offline."""

import os
import shutil
import subprocess
import tempfile
import zipfile
from pathlib import Path

from terminal import run

ARCHIVE = "attnref-offline.zip"


def whole(root: Path, python: Path, site: Path, variables: "dict[str, str]") -> int:
    """Build a site with its zip; return the exit code."""
    code = mkdocs(root, python, site, dict(variables, ATTNREF_ARCHIVE=ARCHIVE))
    return code or offline(root, python, site / ARCHIVE, variables)


def mkdocs(root: Path, python: Path, site: Path, variables: "dict[str, str]") -> int:
    """Have MkDocs build into a folder, strictly."""
    command: list[str | Path] = [python, "-m", "mkdocs", "build", "--strict", "--site-dir", site]
    return run(command, root, variables)


def offline(root: Path, python: Path, archive: Path, variables: "dict[str, str]") -> int:
    """Zip a site that is read from a folder, without a server: there pages are files."""
    variables = dict(variables, ATTNREF_DIRECTORY_URLS="false", ATTNREF_SITE_URL="")
    with tempfile.TemporaryDirectory() as folder:
        site = Path(folder, "attnref")
        code = mkdocs(root, python, site, variables)
        if code == 0:
            (site / "404.html").unlink(missing_ok=True)  # which answers for a server
            pack(site, archive)
    return code


def pack(site: Path, archive: Path) -> None:
    """Write a zip in which nothing depends on when or where it was made."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(site.rglob("*")):
            if path.is_file():
                entry = zipfile.ZipInfo(path.relative_to(site.parent).as_posix())
                entry.external_attr = 0o644 << 16
                packed.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)


def settings(root: Path) -> "dict[str, str]":
    """Return the environment variables MkDocs runs with."""
    variables = dict(os.environ, NO_MKDOCS_2_WARNING="1", PYTHONUNBUFFERED="1")
    if "SOURCE_DATE_EPOCH" not in variables:
        variables.update(commit_date(root))
    return variables


def commit_date(root: Path) -> "dict[str, str]":
    """Return the last commit's date: the same commit makes the same files on any day."""
    git = shutil.which("git")
    if git is None or not (root / ".git").exists():
        return {}
    command = [git, "log", "-1", "--format=%ct"]
    date = subprocess.run(
        command, cwd=root, capture_output=True, text=True, check=False
    ).stdout.strip()
    return {"SOURCE_DATE_EPOCH": date} if date else {}
