"""Small pages and small sites for the tests of the chain, in folders of their own."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]

PROSE = "# %% [markdown]\n# # A page\n#\n# What it is for.\n"


def page(
    folder: Path, code: str, *, prose: str = PROSE, tags: str = "", name: str = "page"
) -> Path:
    """Write a page of one cell of prose and one of code."""
    path = folder / f"{name}.py"
    marker = f"# %% tags={tags}" if tags else "# %%"
    path.write_text(f"{prose}\n{marker}\n{code}\n", encoding="utf-8")
    return path


def prose(text: str) -> str:
    """Return a cell of prose that says this below its heading."""
    return PROSE + "".join(f"# {line}".rstrip() + "\n" for line in ["", *text.splitlines()])


def site(folder: Path, **settings: Any) -> subprocess.CompletedProcess[str]:
    """Build folder/docs strictly into folder/site; see configure for the settings."""
    return mkdocs("build", "--strict", "--config-file", configure(folder, **settings))


def configure(
    folder: Path, *, hook: bool = True, site_url: str = "", edit_uri: str = "", **extra: object
) -> Path:
    """Write the project's own settings, but for a site in this folder, and return their file."""
    settings = {
        "INHERIT": str(ROOT / "mkdocs.yml"),
        "docs_dir": str(folder / "docs"),
        "site_dir": str(folder / "site"),
        "hooks": [str(ROOT / "scripts" / "mkdocs_hook.py")] if hook else [],
        "nav": None,
        "extra_css": [],
        "extra": extra,
    }
    addresses = {"site_url": site_url, "edit_uri": edit_uri}
    settings |= {name: address for name, address in addresses.items() if address}
    config = folder / "mkdocs.yml"
    config.write_text(json.dumps(settings), encoding="utf-8")
    return config


def mkdocs(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run MkDocs as the project's commands do."""
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", *arguments],
        capture_output=True,
        encoding="utf-8",
        check=False,
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
    )
