"""Run the pages, and hand what they showed to MkDocs' own Markdown.

mkdocs-jupyter stays the plugin that finds the .py pages and can build the site alone; its rendering
is taken over, since its HTML knows no admonition, checks no link and weighs 600 kB a page.
"""

import html
import logging
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from mkdocs_site import faults
from sitebuild import describe, history, register, rules
from sitebuild.convert import convert
from sitebuild.describe import Document
from sitebuild.execute import TIME_LIMIT, attempt
from sitebuild.memory import ROOT, Record
from sitebuild.script import PageError

MEMORY = ROOT / ".cache"

log = logging.getLogger("mkdocs.hooks.attnref")
records: dict[str, Record] = {}
derivations: dict[str, dict[str, Any]] = {}
titles: dict[str, str] = {}


def drop_loader(config: MkDocsConfig) -> None:
    """Keep out of every page what mkdocs-jupyter, from 0.27 on, would load from another server."""
    plugin = config.plugins["mkdocs-jupyter"]
    if "mathjax_version" in plugin.config:
        plugin.config["mathjax_version"] = 2  # the one version for which it puts nothing in


def run(files: Files, config: MkDocsConfig) -> None:
    """Run every page; one that may not be published ends the build."""
    for known in (records, derivations, titles):
        known.clear()
    pages = {
        Path(f.abs_src_path or ""): f.src_uri for f in files.documentation_pages() if executed(f)
    }
    limit = config.extra.get("seconds_per_page", TIME_LIMIT)
    done = attempt(pages, say=log.info, folder=MEMORY / "pages", time_limit=limit)
    failed = {pages[path]: error for path, error in done.items() if isinstance(error, PageError)}
    if failed:
        faults.refuse(dict(failed), f"{len(failed)} of {len(done)} pages failed")
    records.update({pages[p]: record for p, record in done.items() if isinstance(record, dict)})
    _put_data_beside(files, config)
    _read_register(pages, files, config)


def give_back(page: Page) -> None:
    """Give the page back to MkDocs: the plugin has put a renderer of its own on it.

    There is nothing to read, for what it shows is known; and its script may be no text at all.
    """
    if executed(page.file):
        vars(page).pop("render", None)
        vars(page)["read_source"] = lambda config: vars(page).update(markdown="", meta={})


def markdown(text: str, page: Page) -> str:
    """Return a page's Markdown: with its outputs, if it is one that runs."""
    name = page.file.src_uri
    document = _document(page) if executed(page.file) else describe.document(text)
    titles[name] = document.title
    page.meta.setdefault("description", html.escape(document.description))
    return document.markdown


def _document(page: Page) -> Document:
    source, name = Path(page.file.abs_src_path or ""), page.file.src_uri
    url, derivation = page.canonical_url or "", derivations.get(name)
    try:
        if name in records:
            return convert(
                source, records[name], commit=history.commit(), url=url, derivation=derivation
            )
    except PageError as error:
        faults.refuse({name: error})
    return describe.document(f"# {name}")


def _put_data_beside(files: Files, config: MkDocsConfig) -> None:
    """Let what a page shows as data stand beside it, so that the page can link to it."""
    for page, record in records.items():
        if data := rules.data_of(Path(page), record):
            name = Path(page).with_suffix(".json").as_posix()
            files.append(File.generated(config, name, content=data))


def _read_register(pages: dict[Path, str], files: Files, config: MkDocsConfig) -> None:
    """Note how derivations are cited, and give each tag that was withdrawn a page that says so.

    A setting may name another register, for the sites of the tests.
    """
    other = config.extra.get("register", "")
    try:
        known = register.ask(config.site_url or "", register=other, folder=MEMORY / "register")
    except RuntimeError as error:  # attnref itself is broken, and each page says so
        faults.refuse({"d/index.py": error})
        return
    derivations.update({pages[path]: d for path in pages if (d := known.derivation(path))})
    for tag, text in known.tombstones.items():
        files.append(File.generated(config, f"d/{tag}.md", content=text))


def executed(file: File) -> bool:
    """Say whether a page is a program."""
    return file.src_uri.endswith(".py")
