"""Set up, then ask PyPI which versions of constraints.txt have known vulnerabilities.

python3 scripts/audit.py

A report, and no verdict on the code: what is known today was not yesterday. It ends with 0 if every
version was looked up and none is vulnerable, with 1 if one is, and with 2 if some were not looked
up, which it names.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from environment import ensure, pins
from terminal import ROOT, Stop, ask, guarded

# The pins hold all that is drawn in: nothing is resolved, and nothing installed, to ask about them.
OPTIONS = ["--no-deps", "--disable-pip", "--progress-spinner", "off", "--format", "json"]


def main() -> int:
    """Ask, and tell what came back."""
    if len(sys.argv) > 1:
        raise Stop(__doc__.strip())
    python = ensure()
    print(f"Asking PyPI about the {len(pins(ROOT))} versions of constraints.txt.", flush=True)
    return audit(ROOT, python)


def audit(root: Path, python: Path) -> int:
    """Have pip-audit ask; return the exit code."""
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder, "audit.json")
        asked = ["--requirement", str(root / "constraints.txt"), "--output", str(written)]
        _, said = ask([str(python), "-m", "pip_audit", *asked, *OPTIONS])
        if written.exists():
            return tell(json.loads(written.read_text(encoding="utf-8"))["dependencies"])
    print("Nothing was looked up, for the service could not be asked:")
    print("  " + (said.strip().splitlines() or ["it said nothing"])[-1])
    print(f"Not looked up: {', '.join(pins(root))}")
    return 2


def tell(versions: "list[dict[str, Any]]") -> int:
    """Say what is known of each version; return the exit code."""
    unknown = [version["name"] for version in versions if "skip_reason" in version]
    vulnerable = [version for version in versions if version.get("vulns")]
    for version in vulnerable:
        for known in version["vulns"]:
            mended = ", ".join(known["fix_versions"]) or "no version yet"
            print(f"  {version['name']} {version['version']}: {known['id']}, mended in {mended}")
    looked_up = len(versions) - len(unknown)
    print(
        f"{looked_up} of {len(versions)} looked up, {len(vulnerable)} with known vulnerabilities."
    )
    if unknown:
        print(f"Not looked up, for what answers as PyPI says nothing of them: {', '.join(unknown)}")
    return 1 if vulnerable else 2 if unknown else 0


if __name__ == "__main__":
    sys.exit(guarded(main))
