"""Set up, then write the executed pages as plain Markdown: plain_markdown.py OUT."""

import os
import sys
from pathlib import Path

from environment import ensure
from terminal import ROOT, Stop, guarded, run


def main() -> int:
    """Hand the folder to sitebuild, which writes it or says why not."""
    if len(sys.argv) != 2:
        raise Stop("usage: python3 scripts/plain_markdown.py OUT")
    command: list[str | Path] = [ensure(), "-m", "sitebuild", Path(sys.argv[1]).resolve()]
    return run(command, ROOT, dict(os.environ, PYTHONPATH=str(ROOT / "scripts")))


if __name__ == "__main__":
    sys.exit(guarded(main))
