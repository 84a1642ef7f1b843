"""Set up, then build the site with other builders than today's, and say what became of it.

python3 scripts/canary.py                  from plain Markdown, with ProperDocs and with Zensical
python3 scripts/canary.py --executed       with ProperDocs from mkdocs.yml as it is too
python3 scripts/canary.py --python PATH    with mkdocs-jupyter 0.27 too, on a Python from 3.12 on
python3 scripts/canary.py --newest         the newest versions to be had, not the pinned ones

It ends with 0 if every builder built strictly, left no formula and no link open, and every page
says what it says on today's site. MOVING.md tells what that means for a move.
"""

import os
import sys
from pathlib import Path

from environment import ensure
from terminal import ROOT, guarded, run


def main() -> int:
    """Hand the arguments to the package that does it."""
    command: list[str | Path] = [ensure(), "-m", "builders", *sys.argv[1:]]
    return run(command, ROOT, dict(os.environ, PYTHONPATH=str(ROOT / "scripts")))


if __name__ == "__main__":
    sys.exit(guarded(main))
