"""MkDocs drives the executed pages: run them, hand them to its Markdown, finish their formulas.

mkdocs-jupyter stays the plugin that finds the .py pages and can build the site alone; this hook
takes its rendering over, since its HTML knows no admonition, checks no link and weighs 600 kB a
page.
"""

import html
import json
import logging
import re
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemBytecodeCache
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from mkdocstrings import Handlers, MkdocstringsPlugin

from attnref import __version__
from sitebuild import font, head, register, rules
from sitebuild.convert import convert
from sitebuild.equations import EquationError, Equations, as_text
from sitebuild.execute import TIME_LIMIT, execute
from sitebuild.memory import ROOT, Record
from sitebuild.quiet import quiet
from sitebuild.script import PageError

SEARCH = "search/search_index.json"
FONT = "assets/fonts/stix-two-math.woff2"
MEMORY = ROOT / ".cache"
CITING = {"run-and-cite-this-page", "cite-this"}
PROOF = {"symbols", "definitions", "assumptions", "steps", "refused", "sources"}
SIGNATURE = re.compile(r"<pre>.*?</pre> ?", re.DOTALL)

log = logging.getLogger("mkdocs.hooks.attnref")
records: dict[str, Record] = {}
derivations: dict[str, dict[str, Any]] = {}
heads: dict[str, str] = {}
characters: set[str] = set()


@event_priority(-100)
def on_config(config: MkDocsConfig) -> None:
    """Have mkdocstrings read our docstrings, in our templates and without a style sheet of its own.

    Here and not in its settings, whose paths would be those of whatever inherits mkdocs.yml.
    """
    python: Any = _mkdocstrings(config).get_handler("python")
    python.global_options["extensions"] = [str(ROOT / "scripts" / "sitebuild" / "docstrings.py")]
    python.env.loader.searchpath.insert(0, str(ROOT / "scripts" / "templates"))
    _remember_compiled(python.env)
    config.extra_css = [style for style in config.extra_css if "_mkdocstrings" not in style]


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Run every page; one that may not be published ends the build."""
    records.clear()
    characters.clear()
    pages = {
        Path(f.abs_src_path or ""): f.src_uri for f in files.documentation_pages() if _executed(f)
    }
    limit = config.extra.get("seconds_per_page", TIME_LIMIT)
    try:
        done = execute(pages, say=log.info, folder=MEMORY / "pages", time_limit=limit)
    except ExceptionGroup as group:
        details = "\n\n".join(map(str, group.exceptions))
        raise PluginError(f"{group.message}\n\n{details}") from None
    records.update({pages[path]: record for path, record in done.items()})
    _put_data_beside(files, config)
    _read_register(pages, files, config)


@event_priority(-100)
def on_pre_page(page: Page, config: MkDocsConfig, files: Files) -> Page:
    """Give the page back to MkDocs: the plugin has put a renderer of its own on it."""
    if page.file.src_uri in records:
        vars(page).pop("render", None)
    return page


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return the page with its outputs."""
    if page.file.src_uri not in records:
        return markdown
    source = Path(page.file.abs_src_path or "")
    url = page.canonical_url or ""
    derivation = derivations.get(page.file.src_uri)
    try:
        document = convert(source, records[page.file.src_uri], url=url, derivation=derivation)
    except PageError as error:
        raise PluginError(str(error)) from None
    heads[page.file.src_uri] = (
        head.of_derivation(derivation["work"]) if derivation else head.of_page(document.title, url)
    )
    page.meta.setdefault("description", html.escape(document.description))
    return document.markdown


def on_env(env: Environment, config: MkDocsConfig, files: Files) -> None:
    """Let the inventory name what is public, and the version that it is of."""
    _remember_compiled(env)
    inventory = _mkdocstrings(config).inventory
    inventory.version = __version__
    for name in [name for name in inventory if "._" in name]:
        del inventory[name]


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Turn the formulas into MathML, once the search index has the page's text."""
    equations = Equations()
    try:
        finished = equations.render(output)
    except EquationError as error:
        raise PluginError(str(_located(page, error))) from None
    page.present_anchor_ids = (page.present_anchor_ids or set()) | equations.numbers.keys()
    characters.update(equations.characters)
    known = heads.get(page.file.src_uri, "")
    return quiet(finished.replace("</head>", f"{known}</head>", 1))


def on_post_build(config: MkDocsConfig) -> None:
    """Write the font that the formulas are set in, and make the search index readable."""
    target = Path(config.site_dir, FONT)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(font.cut(characters, MEMORY / "fonts"))
    index = Path(config.site_dir, SEARCH)
    if index.exists():
        found = json.loads(index.read_text(encoding="utf-8"))
        found["docs"] = [entry for entry in found["docs"] if _sought(entry["location"])]
        for entry in found["docs"]:
            entry |= {part: as_text(entry[part]) for part in ("title", "text")}
            if entry["location"].startswith("reference/"):  # its list of arguments says the same
                entry["text"] = SIGNATURE.sub("", entry["text"])
        text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
        index.write_text(text, encoding="utf-8")


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
    known = register.ask(config.site_url or "", register=other, folder=MEMORY / "register")
    derivations.clear()
    derivations.update({pages[path]: d for path in pages if (d := known.derivation(path))})
    for tag, text in known.tombstones.items():
        files.append(File.generated(config, f"d/{tag}.md", content=text))


def _sought(location: str) -> bool:
    """Say whether a part of a page is worth finding; every visitor loads the index with any page.

    Of a derivation that is its statement and where it is used. The mistakes have a page.
    """
    page, _, anchor = location.partition("#")
    return anchor not in CITING and not (page.startswith("d/") and anchor in PROOF)


def _mkdocstrings(config: MkDocsConfig) -> Handlers:
    plugin = config.plugins["mkdocstrings"]
    assert isinstance(plugin, MkdocstringsPlugin)
    return plugin.handlers


def _remember_compiled(templates: Environment) -> None:
    """Keep compiled templates: to compile them again is a fifth of a build with nothing new."""
    folder = MEMORY / "templates"
    folder.mkdir(parents=True, exist_ok=True)
    templates.bytecode_cache = FileSystemBytecodeCache(str(folder))


def _executed(file: Any) -> bool:
    return bool(file.src_uri.endswith(".py"))


def _located(page: Page, error: EquationError) -> PageError:
    """Find the formula in the page's source, so that the message can name its line.

    The last place where it stands is the one meant: of two equal labels, the second is too much.
    """
    script = Path(page.file.abs_src_path or "").read_text(encoding="utf-8")
    prose = re.sub(r"^# ?", "", script, flags=re.MULTILINE)
    place = prose.rfind(error.tex.strip())
    line = prose.count("\n", 0, place) + 1 if place >= 0 else None
    return PageError(page.file.src_uri, line, str(error))
