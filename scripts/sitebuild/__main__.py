"""Write the whole site as plain Markdown: python -m sitebuild OUT.

Executed pages become Markdown files that hold their outputs; everything else is copied. The tree
depends on no builder: any that knows Python-Markdown's extensions can make a site of it.
"""

import argparse
import os
import re
import shutil
import sys
from pathlib import Path

from sitebuild.convert import convert
from sitebuild.execute import ROOT, execute

MARK = ".attnref-markdown"


def main() -> int:
    """Parse the arguments, write the tree, say what went wrong."""
    parser = argparse.ArgumentParser(prog="sitebuild", description=__doc__.splitlines()[0])
    parser.add_argument(
        "out", type=Path, help="folder to write; new, empty, or written by this before"
    )
    out = parser.parse_args().out
    try:
        write(ROOT / "docs", out)
    except (FileExistsError, ExceptionGroup) as error:
        details = map(str, error.exceptions) if isinstance(error, ExceptionGroup) else ()
        print("\n\n".join([*details, str(error)]), file=sys.stderr)
        return 1
    return 0


def write(docs: Path, out: Path) -> None:
    """Write every page under docs to out; nothing is left there unless every page was right."""
    if out.exists() and any(out.iterdir()) and not (out / MARK).exists():
        raise FileExistsError(f"{out} exists and was not written by this command: choose another")
    pages = sorted(docs.rglob("*.py"))
    records = execute(pages, say=print, memory=ROOT / ".cache" / "pages")
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(docs, out, ignore=shutil.ignore_patterns("*.py", "__pycache__", "ruff.toml"))
    for page in pages:
        target = out / page.relative_to(docs).with_suffix(".md")
        target.write_text(convert(page, records[page]).markdown, encoding="utf-8")
    for text in out.rglob("*.md"):
        text.write_text(_link_to_markdown(text.read_text(encoding="utf-8")), encoding="utf-8")
    (out / MARK).write_text(os.linesep)


def _link_to_markdown(text: str) -> str:
    return re.sub(r"(\]\((?![a-z]+:)[^)\s]*)\.py(?=[#)])", r"\1.md", text)


if __name__ == "__main__":
    raise SystemExit(main())
