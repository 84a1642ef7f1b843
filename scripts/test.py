"""Set up, then run every check: style, types, tests.

python3 scripts/test.py                everything
python3 scripts/test.py -- -k masks    what follows -- goes to pytest
"""

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from environment import ensure
from terminal import ROOT, Stop, guarded, run

# pytest is the last, so that its closing line closes the output.
CHECKS = [
    ("ruff check", ["ruff", "check"]),
    ("ruff format", ["ruff", "format", "--check"]),
    ("mypy", ["mypy"]),
    ("pytest", ["pytest", "-n", "logical", "--dist", "loadgroup"]),
]


def main() -> int:
    """Run the checks one after the other, all of them."""
    arguments = sys.argv[1:]
    if arguments and arguments[0] != "--":
        raise Stop(__doc__.strip())
    return check_all(ROOT, ensure(), arguments[1:])


def check_all(root: Path, python: Path, for_pytest: "Sequence[str]") -> int:
    """Run every check even if one fails; say at the end which did."""
    failed = []
    for name, command in CHECKS:
        print(f"== {name}", flush=True)
        began = time.monotonic()
        extra = for_pytest if name == "pytest" else ()
        code = run([python, "-m", *command, *extra], root)
        if code:
            failed.append(name)
        if name != "pytest":  # which tells its own time, in its closing line
            print(f"   {'FAILED' if code else 'ok'}, {time.monotonic() - began:.1f} s", flush=True)
    if failed:
        print(f"Failed: {', '.join(failed)}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(guarded(main))
