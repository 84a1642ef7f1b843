"""The reference: every public name has one entry, and every link to an entry holds."""

import gzip
import html
import importlib
import inspect
import pkgutil
import re
import zlib
from collections import Counter
from functools import partial
from pathlib import Path
from types import ModuleType

import pytest

import attnref
import pages
from sitebuild.__main__ import write
from sitebuild.docstrings import as_markdown
from sitebuild.quiet import quiet

MODULES = [
    "attnref",
    *(
        module.name
        for module in pkgutil.walk_packages(attnref.__path__, "attnref.")
        if not re.search(r"\._", module.name)
        and hasattr(importlib.import_module(module.name), "__all__")
    ),
]
NAMES = [f"{name}.{public}" for name in MODULES for public in importlib.import_module(name).__all__]
PUBLIC = [*MODULES, *NAMES]
PAGES = sorted((pages.ROOT / "docs" / "reference").glob("*.md"))
HEADING = re.compile(r'<h\d id="(attnref[\w.]*)"')
CODE = re.compile(r"<pre>.*?</pre>", re.DOTALL)

# What a page says, and what the message has to name besides the page.
REFUSED = {
    "link to no entry": ("[gone][attnref.gone]", ["'attnref.gone'"]),
    "entry of no name": ("::: attnref.gone", ["attnref.gone could not be found"]),
    "dead anchor": ("[gone](#attnref.scores)", ["#attnref.scores", "no such anchor"]),
    "public names without entries": ("::: attnref.masks", ["'attnref.masks.causal'"]),
}


def _html(site: Path, page: Path) -> str:
    name = "" if page.stem == "index" else page.stem
    return (site / "reference" / name / "index.html").read_text(encoding="utf-8")


def _entries(site: Path) -> Counter[str]:
    return Counter(name for page in PAGES for name in HEADING.findall(_html(site, page)))


def _found(name: str) -> object:
    """Return what a full name stands for, as a reader's `import` and dots would."""
    parts = name.split(".")
    found: object = attnref
    for end, part in enumerate(parts[1:], 2):
        if not hasattr(found, part) and isinstance(found, ModuleType):
            importlib.import_module(".".join(parts[:end]))
        found = getattr(found, part)
    return found


def _inventory(site: Path) -> dict[str, str]:
    """Return the address of each name in objects.inv."""
    *_, packed = (site / "objects.inv").read_bytes().split(b"\n", 4)
    lines = zlib.decompress(packed).decode().splitlines()
    found = [line.split(" ")[:4] for line in lines]
    return {name: address.replace("$", name) for name, _, _, address in found}


def test_every_module_with_public_names_is_known() -> None:
    """The list of names to hold the reference against is that of the package's modules."""
    wings = {"attnref", "attnref.masks", "attnref.torch", "attnref.torch.masks"}
    assert wings | {"attnref.derivations"} <= set(MODULES)
    assert len(set(NAMES)) == len(NAMES)


def _entry(name: str) -> str:
    """Return the name that something has its entry under: of several public ones the shortest."""
    return min((n for n in PUBLIC if _found(n) is _found(name)), key=len)


DOCUMENTED = {_entry(name) for name in PUBLIC if hasattr(_found(name), "__name__")}


@pytest.mark.parametrize("name", PUBLIC)
def test_public_name_has_one_entry(name: str, site: Path) -> None:
    """What is in a public module's __all__ has its name for an address, on one page, once."""
    assert _entries(site)[_entry(name)] == 1


@pytest.mark.parametrize("name", PUBLIC)
def test_inventory_leads_to_the_entry(name: str, site: Path) -> None:
    """What objects.inv says of a public name is a page and a place on it."""
    page, _, anchor = _inventory(site)[name].partition("#")
    assert anchor == _entry(name)
    assert f' id="{anchor}"' in (site / page / "index.html").read_text(encoding="utf-8")


def test_what_is_named_exists(site: Path) -> None:
    """Entries and inventory name what can be imported and is public, each under one entry."""
    entries = _entries(site)
    assert set(entries.values()) == {1}
    assert set(entries) <= set(_inventory(site))
    for name, address in _inventory(site).items():
        assert "._" not in name
        anchor = address.partition("#")[2]
        assert anchor in entries
        assert _found(anchor) == _found(name)


def test_inventory_says_the_version(site: Path) -> None:
    """Another project's documentation can tell which version it links to."""
    _, project, version, _ = (site / "objects.inv").read_bytes().split(b"\n")[:4]
    assert project == b"# Project: attnref"
    assert version.decode() == f"# Version: {attnref.__version__}"


@pytest.mark.parametrize(("text", "named"), REFUSED.values(), ids=REFUSED)
def test_reference_with_a_fault_is_refused(text: str, named: list[str], tmp_path: Path) -> None:
    """The strict build fails on a link or an entry that leads nowhere, and names it."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text(f"# A page\n\n{text}\n", encoding="utf-8")
    build = pages.site(tmp_path)
    assert build.returncode != 0
    for words in ["index.md", *named]:
        assert words in build.stderr


def test_link_to_an_entry_holds(tmp_path: Path) -> None:
    """A page that is a program names an entry, and the link leads to its place."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "two.md").write_text("# Two\n\n::: attnref.scores\n", encoding="utf-8")
    prose = pages.prose("[a][attnref.scores], [b](two.md#attnref.scores)")
    pages.page(tmp_path / "docs", "y = 2", prose=prose, name="index")
    build = pages.site(tmp_path)
    assert build.returncode == 0, build.stderr
    text = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert len(re.findall(r'<a [^>]*href="two/#attnref.scores"[^>]*>[ab]</a>', text)) == 2


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_reference_page_is_light(page: Path, site: Path) -> None:
    """None weighs more than 50 kB, or compressed 10."""
    text = _html(site, page).encode()
    assert len(text) <= 50_000
    assert len(gzip.compress(text, 9, mtime=0)) <= 10_000


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_reference_asks_nothing_of_other_servers(page: Path, site: Path) -> None:
    """What a page loads is the site's own, and no style sheet of mkdocstrings is among it."""
    loaded = re.findall(r'<(?:link|script|img)\b[^>]*(?:href|src)="([^"]*)"', _html(site, page))
    assert loaded
    assert not [address for address in loaded if ":" in address or "mkdocstrings" in address]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples_and_formulas_are_code(page: Path, site: Path) -> None:
    """No example becomes a quotation, and no subscript of a formula emphasis."""
    text = _html(site, page)
    assert text.count("&gt;&gt;&gt;") == sum(c.count("&gt;&gt;&gt;") for c in CODE.findall(text))
    assert not re.search(r"<(blockquote|em)\b", text)


@pytest.mark.parametrize("name", sorted(DOCUMENTED))
def test_entry_says_what_the_docstring_says(name: str, site: Path) -> None:
    """Below the signature stand all letters of the docstring, in its order."""
    docstring = re.sub(r" *# doctest:.*", "", inspect.getdoc(_found(name)) or "")
    (page,) = (text for text in map(partial(_html, site), PAGES) if f' id="{name}"' in text)
    entry = page.partition(f' id="{name}"')[2].partition('class="doc doc-contents')[2]
    shown = html.unescape(re.sub(r"<[^>]*>", "", entry.partition(">")[2]))
    assert _letters(shown).startswith(_letters(docstring))


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))


def test_docstring_of_every_kind_of_paragraph() -> None:
    """A sentence stays prose, a formula, a table and an example become code, a source is marked."""
    parts = ["Add.", "y_t = a_t + b_t", "Arguments:\n    a: a_t", "    t = 1…L", "Source: us."]
    sentence, formula, section, table, source, example = as_markdown(
        "\n\n".join([*parts, ">>> 1\n1"])
    ).split("\n\n")
    assert (sentence, section) == ("Add.", "Arguments:\n    a: a_t")
    assert re.fullmatch(r"``` \{ \.text \.formula .*\}\ny_t = a_t \+ b_t\n```", formula)
    assert re.fullmatch(r"``` \{ \.text \.letters .*\}\nt = 1…L\n```", table)
    assert re.fullmatch(r"``` \{ \.pycon .*\}\n>>> 1\n1\n```", example)
    assert source == "Source: us.\n{: .source }"


def test_script_for_tabs_stands_where_there_are_tabs() -> None:
    """The template's script that opens a tab is dropped from a page without any."""
    script = '<script>var target=0;target.name.startsWith("__tabbed_")</script>'
    tabs = '<div class="tabbed-set">'
    assert quiet(f"<p>{script}") == "<p>"
    assert quiet(tabs + script) == tabs + script


def test_plain_markdown_keeps_the_entry(tmp_path: Path) -> None:
    """The tree of plain Markdown says of an entry which name it is for."""
    (tmp_path / "docs").mkdir()
    entry = "# Scores\n\n::: attnref.scores\n"
    (tmp_path / "docs" / "scores.md").write_text(entry, encoding="utf-8")
    write(tmp_path / "docs", tmp_path / "out")
    assert (tmp_path / "out" / "scores.md").read_text(encoding="utf-8") == entry
