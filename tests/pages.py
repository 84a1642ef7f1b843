"""Small pages and small sites for the tests of the chain, in folders of their own."""

import subprocess
import sys
from pathlib import Path

import yaml

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


def site(folder: Path, *, hook: bool = True, **extra: object) -> subprocess.CompletedProcess[str]:
    """Build folder/docs strictly with the project's own settings, into folder/site."""
    loader = type("Loader", (yaml.SafeLoader,), {})
    loader.add_constructor("!ENV", lambda *_: "")
    settings = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), loader)  # noqa: S506  # the project's own file, and a safe loader
    settings |= {"docs_dir": str(folder / "docs"), "site_dir": str(folder / "site")}
    settings["hooks"] = [str(ROOT / "scripts" / "mkdocs_hook.py")] if hook else []
    settings["extra"] |= extra
    del settings["nav"], settings["extra_css"], settings["site_url"]
    (folder / "mkdocs.yml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "mkdocs",
            "build",
            "--strict",
            "--config-file",
            folder / "mkdocs.yml",
        ],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        cwd=folder,
    )
