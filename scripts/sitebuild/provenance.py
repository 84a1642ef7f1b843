"""What an executed page was made from: its script, the files it read, the commit, the versions."""

import hashlib
import json
from pathlib import Path
from typing import Any

from sitebuild.memory import ROOT, Record, short

FOLDED = """\
<details markdown>
<summary>What this page was made from</summary>

{commit}`{page}`, whose SHA-256 begins with `{sha256}`

</details>"""


def of(page: Path, record: Record, commit: str) -> dict[str, Any]:
    """Return a page's provenance; files are named from the project's folder."""
    return {
        "page": name(page),
        "sha256": hashlib.sha256(page.read_bytes()).hexdigest(),
        "commit": commit,
        "versions": record["versions"],
        "files": {_from_root(file, page): known for file, known in record["files"].items()},
    }


def as_json(made_from: dict[str, Any]) -> str:
    """Return it for programs."""
    return json.dumps(made_from, indent=1) + "\n"


def markdown(made_from: dict[str, Any]) -> str:
    """Return it for readers, folded; hashes as far as one tells them apart."""
    commit, _, state = made_from["commit"].partition("-")
    known = f"Commit `{commit[:12]}`{state and ', ' + state}: " if commit else ""
    return FOLDED.format(commit=known, page=made_from["page"], sha256=made_from["sha256"][:16])


def name(page: Path) -> str:
    """Name a page from the project's folder, and one that stands elsewhere by itself."""
    return Path(page.name if short(page).is_absolute() else short(page)).as_posix()


def _from_root(file: str, page: Path) -> str:
    root = ROOT if Path(file).is_relative_to(ROOT) else page.parent
    return Path(file).relative_to(root).as_posix()
