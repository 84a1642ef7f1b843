"""Name the pages that can't run without Torch: python -m builders.needing, where there is none.

Nothing lists them: every page is run, and those that end for that reason are named.
"""

import re
import sys
from pathlib import Path

from sitebuild import script
from sitebuild.execute import execute
from sitebuild.memory import ROOT, short

TORCH = re.compile(r"needs PyTorch, which is not installed|No module named 'torch[.']")


def main() -> int:
    """Print a name a line; a page that ends for another reason is told, and is a failure."""
    names, others = sort_out(refusals(script.pages(ROOT / "docs")))
    print("\n".join(names))
    print("\n".join(others), file=sys.stderr, end="")
    return 1 if others else 0


def refusals(pages: list[Path]) -> dict[str, str]:
    """Run the pages; return why each of those ended that did not come to its end."""
    try:
        execute(pages, say=lambda _: None, folder=ROOT / ".cache" / "pages")
    except ExceptionGroup as group:
        return {_name(error): str(error) for error in group.exceptions}
    return {}


def sort_out(refused: dict[str, str]) -> tuple[list[str], list[str]]:
    """Return the pages that miss Torch, and what is said of all others."""
    names = [name for name, why in refused.items() if TORCH.search(why)]
    return names, [why for name, why in refused.items() if name not in names]


def _name(error: Exception) -> str:
    page = Path(getattr(error, "page", ""))
    return short(page).as_posix().removeprefix("docs/")


if __name__ == "__main__":
    raise SystemExit(main())
