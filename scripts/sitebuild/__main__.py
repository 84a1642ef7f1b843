"""Write the whole site as plain Markdown: python -m sitebuild OUT.

Executed pages become Markdown files that hold their outputs; everything else is copied. The tree
depends on no builder: any that knows Python-Markdown's extensions can make a site of it, and one
that knows mkdocstrings too can put a docstring for each line `::: name` of the reference.
"""

import argparse
import os
import shutil
import sys
from pathlib import Path

from sitebuild import history, places, plain, register, rules, script
from sitebuild.convert import convert
from sitebuild.execute import execute
from sitebuild.memory import ROOT
from sitebuild.script import PageError

MARK = ".attnref-markdown"
NOT_COPIED = ("*.py", "__pycache__", "ruff.toml", ".*")


def main() -> int:
    """Parse the arguments, write the tree, say what went wrong."""
    parser = argparse.ArgumentParser(prog="sitebuild", description=__doc__.splitlines()[0])
    parser.add_argument(
        "out", type=Path, help="folder to write; new, empty, or written by this before"
    )
    out = parser.parse_args().out
    try:
        write(ROOT / "docs", out)
    except (FileExistsError, PageError, ExceptionGroup) as error:
        details = map(str, error.exceptions) if isinstance(error, ExceptionGroup) else ()
        print("\n\n".join([*details, str(error)]), file=sys.stderr)
        return 1
    return 0


def write(docs: Path, out: Path) -> None:
    """Write every page under docs to out; nothing is left there unless every page was right."""
    if out.exists() and any(out.iterdir()) and not (out / MARK).exists():
        raise FileExistsError(f"{out} exists and was not written by this command: choose another")
    pages = script.pages(docs)
    records = execute(pages, say=print, folder=ROOT / ".cache" / "pages")
    known = register.ask(folder=ROOT / ".cache" / "register")
    writing = out.with_name(f"{out.name}.writing")
    shutil.rmtree(writing, ignore_errors=True)
    try:
        shutil.copytree(docs, writing, ignore=shutil.ignore_patterns(*NOT_COPIED))
        for page in pages:
            target = writing / page.relative_to(docs).with_suffix(".md")
            document = convert(
                page,
                records[page],
                commit=history.commit(),
                derivation=known.derivation(page),
            )
            target.write_text(document.markdown, encoding="utf-8")
            if data := rules.data_of(page, records[page]):
                target.with_suffix(".json").write_text(data, encoding="utf-8")
        for tag, tombstone in known.tombstones.items():
            (writing / "d").mkdir(exist_ok=True)
            (writing / "d" / f"{tag}.md").write_text(tombstone, encoding="utf-8")
        shutil.copy(ROOT / "CHANGELOG.md", writing / "changelog.md")
        for text in writing.rglob("*.md"):
            linked = plain.link_to_markdown(text.read_text(encoding="utf-8"))
            text.write_text(places.mark(linked), encoding="utf-8")
        (writing / MARK).write_text(os.linesep)
        shutil.rmtree(out, ignore_errors=True)
        writing.rename(out)
    finally:
        shutil.rmtree(writing, ignore_errors=True)


if __name__ == "__main__":
    raise SystemExit(main())
