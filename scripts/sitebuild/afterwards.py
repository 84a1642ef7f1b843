"""Set the formulas of a site that any builder made: python -m sitebuild.afterwards SITE.

The builder has to know Python-Markdown's arithmatex, with `generic: true`; nothing else of the site
is touched but for the font, which is written to where our style sheet looks for it.
"""

import sys
from pathlib import Path

from sitebuild import font, places
from sitebuild.equations import EquationError, Equations
from sitebuild.memory import ROOT

FONT = "assets/fonts/stix-two-math.woff2"


def main() -> int:
    """Do it, and name the pages that stay as they are."""
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        print("usage: python -m sitebuild.afterwards SITE, a folder with a built site")
        return 2
    refused = finish(Path(sys.argv[1]))
    print("\n".join(refused), end="\n" if refused else "")
    return 1 if refused else 0


def finish(site: Path) -> list[str]:
    """Set every formula; return what is wrong with the pages where one can't be set."""
    characters: set[str] = set()
    refused = []
    for path in sorted(site.rglob("*.html")):
        equations = Equations()
        try:
            text = equations.render(places.take_back(path.read_text(encoding="utf-8")))
        except EquationError as error:
            refused.append(f"{path.relative_to(site)}: {error}")
        else:
            path.write_text(text, encoding="utf-8")
            characters |= equations.characters
    target = site / FONT
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(font.cut(characters, ROOT / ".cache" / "fonts"))
    return refused


if __name__ == "__main__":
    raise SystemExit(main())
