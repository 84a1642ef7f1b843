"""The laws of the canary: what other builders are given to read, what is seen in their sites."""

import re
from pathlib import Path
from typing import Any

import markdown
import pytest
from mkdocs.utils.yaml import yaml_load

import small_project
from builders import __main__ as command
from builders import built, configuration, environments, needing, ways
from environment import pins
from sitebuild import afterwards, places
from sitebuild.equations import Equations
from terminal import ROOT

SETTINGS = configuration.read()
PLAIN = configuration.plain(SETTINGS, ROOT / "templates")
EQUATION = "$$\ny_t = N_t / Z_t \\label{z-form}\n$$"
WANTED = [*environments.PROPERDOCS, *environments.ZENSICAL, *environments.JUPYTER]
RAW = '<div class="arithmatex">\\[\nx \\label{one}\n\\]</div>'


def pages_of(navigation: Any) -> list[str]:
    """Return the pages that a navigation names."""
    if isinstance(navigation, str):
        return [navigation]
    entries = navigation.values() if isinstance(navigation, dict) else navigation
    return [page for entry in entries for page in pages_of(entry)]


def mkdocstrings_of(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of mkdocstrings."""
    plugins = [plugin for plugin in settings["plugins"] if "mkdocstrings" in plugin]
    found: dict[str, Any] = plugins[0]["mkdocstrings"]
    return found


def rendered(text: str) -> str:
    """Return HTML as a builder makes it with the extensions of mkdocs.yml."""
    extensions = [name for entry in SETTINGS["markdown_extensions"] for name in _names(entry)]
    options = {
        k: v for e in SETTINGS["markdown_extensions"] if isinstance(e, dict) for k, v in e.items()
    }
    html: str = markdown.markdown(text, extensions=extensions, extension_configs=options)
    return html


def _names(entry: Any) -> list[str]:
    return list(entry) if isinstance(entry, dict) else [entry]


def page(html: str) -> built.Page:
    """Return what is seen of a page with this text."""
    return built.page(f"<nav>Menu</nav><article>{html}</article>")


def test_configuration_has_neither_hook_nor_plugin_of_ours() -> None:
    """What other builders can't have is not asked of them."""
    assert "hooks" in SETTINGS
    assert "hooks" not in PLAIN
    assert [entry for entry in PLAIN["plugins"] if "mkdocs-jupyter" in entry] == []
    assert len(PLAIN["plugins"]) == len(SETTINGS["plugins"]) - 1


def test_configuration_is_else_what_mkdocs_yml_says() -> None:
    """Theme, extensions, validation and all others are handed on as they are."""
    changed = {"hooks", "nav", "not_in_nav", "plugins"}
    assert {"markdown_extensions", "theme", "validation", "strict"} <= PLAIN.keys()
    assert {k: v for k, v in SETTINGS.items() if k not in changed} == {
        k: v for k, v in PLAIN.items() if k not in changed
    }


def test_configuration_names_every_page_of_the_navigation_as_markdown() -> None:
    """Each entry is the Markdown of a page that is there, in the same order."""
    before, after = pages_of(SETTINGS["nav"]), pages_of(PLAIN["nav"])
    assert [Path(name).with_suffix("") for name in before] == [
        Path(name).with_suffix("") for name in after
    ]
    for name in after:
        sources = [ROOT / "docs" / name, (ROOT / "docs" / name).with_suffix(".py")]
        assert name.endswith(".md")
        assert any(source.exists() for source in sources), name
    assert ".py" not in PLAIN["not_in_nav"]
    assert PLAIN["not_in_nav"].count("\n") == SETTINGS["not_in_nav"].count("\n")


def test_configuration_lets_mkdocstrings_find_what_the_hook_gives_it() -> None:
    """Package and docstrings are found wherever the file lies, and our options are kept."""
    found = mkdocstrings_of(PLAIN)
    python = found["handlers"]["python"]
    ours = mkdocstrings_of(SETTINGS)["handlers"]["python"]["options"]
    assert [Path(path) for path in python["paths"]] == [ROOT]
    assert all(Path(path).is_file() for path in python["options"]["extensions"])
    assert python["options"].items() >= ours.items()
    assert Path(found["custom_templates"]) == ROOT / "templates"


def test_configuration_is_read_as_it_was_written(tmp_path: Path) -> None:
    """What builders read is what was meant, in any of our characters."""
    file = tmp_path / "mkdocs.yml"
    configuration.write(PLAIN, file)
    with file.open(encoding="utf-8") as text:
        assert yaml_load(text) == PLAIN


def test_configuration_takes_an_empty_setting_for_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an address of the site no builder is told that it has the address ''."""
    monkeypatch.delenv("ATTNREF_SITE_URL", raising=False)
    assert "site_url" not in configuration.read()
    monkeypatch.setenv("ATTNREF_SITE_URL", "https://example.org/")
    assert configuration.read()["site_url"] == "https://example.org/"


def test_configuration_without_pages_is_read_from_anywhere() -> None:
    """Pages are left out by name beside those that were, and every path is whole."""
    part = configuration.without(SETTINGS, ["guide/tools.py"])
    left_out = [line for line in part["exclude_docs"].splitlines() if line]
    assert left_out == [*SETTINGS["exclude_docs"].splitlines(), "/guide/tools.py"]
    assert Path(part["docs_dir"]) == ROOT / "docs"
    assert all(Path(hook).is_absolute() and Path(hook).is_file() for hook in part["hooks"])
    assert part["nav"] == SETTINGS["nav"]


@pytest.mark.parametrize("part", [part for part in WANTED if re.match(r"[a-z]", part)])
def test_environments_get_exact_versions(part: str) -> None:
    """What is wanted is pinned where it is wanted or in constraints.txt, or is all in there."""
    assert "==" in part or part in pins(ROOT) or part == "site"


def test_environments_are_held_to_our_pins_but_for_what_is_tried() -> None:
    """mkdocs-jupyter may be another one, Torch is nowhere, the rest is as it is here."""
    held = environments.constraints(["mkdocs-jupyter==0.27.0", "ruff"]).splitlines()
    names = {line.split("==")[0] for line in held}
    assert pins(ROOT).keys() - names == {"mkdocs-jupyter", "torch"}
    assert f"markdown=={pins(ROOT)['markdown']}" in held


def test_ways_begin_with_today() -> None:
    """The site of today comes first, since the others are held against it; others if asked for."""
    assert [way.builder for way in ways.ways()] == ["mkdocs", "properdocs", "zensical"]
    more = ways.ways(executed=True, python="python3.12")
    assert [way.builder for way in more[3:]] == ["properdocs", "mkdocs-jupyter"]
    assert [way.partial for way in more] == [False] * 4 + [True]


def test_failures_are_told_without_what_is_no_news() -> None:
    """Of what a builder said stay its warnings and our own places, not its colours and insides."""
    insides = (
        '  File "/x/site-packages/click/core.py", line 1\n    return main()\n           ^^^^\n'
    )
    ours = '  File "/x/scripts/hook.py", line 2\n    page.title\n'
    said = (
        f"INFO    -  Built\n\x1b[33mWarning:\x1b[0m no anchor\n{insides}{ours}KeyError: 'title'\n"
    )
    assert ways.last(said) == ["Warning: no anchor", *ours.splitlines(), "KeyError: 'title'"]
    assert len(ways.last("line\n" * 99)) == ways.LAST


def test_places_are_where_labels_are() -> None:
    """A labelled equation is marked; one without a label, and code that shows one, are not."""
    assert places.mark(f"Text.\n\n{EQUATION}\n") == f'Text.\n\n<a id="z-form"></a>\n\n{EQUATION}\n'
    code = f"```text\n{EQUATION}\n```\n"
    assert places.mark(code) == code
    assert places.mark("$$\nx\n$$\n\n$$\ny \\label{two}\n$$").count("<a id") == 1


@pytest.mark.parametrize("around", ["{}", '<div class="step" markdown>\n\n{}\n\n</div>'])
def test_places_leave_no_trace(around: str) -> None:
    """A builder finds the place in the page; taken back, the page is as without it."""
    text = around.format(EQUATION)
    marked = rendered(places.mark(text))
    assert built.page(marked).ids == {"z-form"}
    assert places.take_back(marked).split() == rendered(text).split()
    assert built.page(Equations().render(places.take_back(marked))).ids == {"z-form"}


def test_formulas_are_set_afterwards(tmp_path: Path) -> None:
    """A site that another builder made gets its formulas and their font; a bad page is named."""
    (tmp_path / "good.html").write_text(f"<p>{RAW} and \\eqref{{one}}</p>")
    (tmp_path / "bad.html").write_text(RAW.replace("\nx", "\n\\nothing"))
    refused = afterwards.finish(tmp_path)
    assert [line.split(":")[0] for line in refused] == ["bad.html"]
    assert "Unknown command" in refused[0]
    assert built.open_formulas((tmp_path / "good.html").read_text()) == 0
    assert (tmp_path / afterwards.FONT).read_bytes()[:4] == b"wOF2"


def test_open_formulas_are_counted_outside_code() -> None:
    """What is LaTeX to a reader counts, a reference without a number too; code is code."""
    assert built.open_formulas(RAW) == 1
    assert built.open_formulas("<p>$$ x</p>") == 1
    assert built.open_formulas("see \\eqref{one} and \\eqref{two}") == 2
    assert built.open_formulas("<pre>\\[ x \\]</pre><code>\\eqref{one}</code>") == 0
    assert built.open_formulas(Equations().render(RAW)) == 0


def test_broken_links_are_found(tmp_path: Path) -> None:
    """A link leads to a file or to a place in a page; other servers are none of its business."""
    links = ("a/", "a/#here", "a/#gone", "gone/", "a/style.css", "https://example.org/x", "#top")
    html = "".join(f'<a href="{link}">x</a>' for link in links) + '<img src="gone.svg">'
    for name, text in {
        "index.html": html,
        "a/index.html": '<p id="here">',
        "a/style.css": "",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    pages = built.read(tmp_path)
    assert pages.keys() == {"", "a/"}
    found = [line.split(" → ")[1] for line in built.broken(tmp_path, pages, {})]
    assert found == ["a/#gone", "gone/", "#top", "gone.svg"]
    elsewhere = built.broken(tmp_path, pages, {"gone/": page("")})
    assert [line.split(" → ")[1] for line in elsewhere] == ["a/#gone", "#top", "gone.svg"]


def test_pages_differ_in_what_they_say() -> None:
    """Words count, not what surrounds them; a page that one site lacks differs."""
    today = {"": page("<p>One</p>"), "a/": page("Two"), "b/": page("Three")}
    other = {"": page('One <a class="headerlink">¶</a>'), "a/": page("2")}
    assert built.differing(other, today) == ["a/", "b/"]
    assert built.differing(today, today) == []


def test_pages_of_a_part_may_miss_what_they_say_they_miss() -> None:
    """Neither other versions at a page's end nor what it says that it misses are a difference."""
    end = f"<h2>{built.COLOPHON}</h2>"
    today = {"": page(f"One {end} Python 3.11"), "a/": page("Two"), "b/": page("Three")}
    part = {"": page(f"One {end} Python 3.12"), "a/": page(f"{built.MISSING} torch")}
    assert built.differing_in_part(part, today) == []
    assert built.differing_in_part(part | {"b/": page("3")}, today) == ["b/"]
    assert built.differing_in_part(part | {"c/": page("new")}, today) == ["c/"]


def test_scripts_that_name_other_servers_are_seen() -> None:
    """A loader from elsewhere is a fault whatever attribute hides it; data is none."""
    loader = (
        '<script data-math="{&quot;url&quot;: &quot;https://example.org/m.js&quot;}">go()</script>'
    )
    data = '<script type="application/ld+json">{"@context": "https://schema.org"}</script>'
    assert page(loader).foreign == ("https://example.org/m.js",)
    assert page(data).foreign == ()


def test_pages_that_need_torch_are_told_from_those_that_are_wrong() -> None:
    """Only what misses Torch may be left out."""
    refused = {
        "a.py": "ImportError: attnref.torch needs PyTorch, which is not installed: pip install …",
        "b.py": "ModuleNotFoundError: No module named 'torch'",
        "c.py": "ModuleNotFoundError: No module named 'torchvision'",
        "d.py": "ZeroDivisionError: division by zero",
    }
    names, others = needing.sort_out(refused)
    assert names == ["a.py", "b.py"]
    assert others == [refused["c.py"], refused["d.py"]]


def test_table_says_built_when_nothing_is_wrong() -> None:
    """One row a way; a fault of any kind is in its result, and told in words."""
    good = command.Row("A", "1", 2.0, pages={"": page("")})
    rows = [
        good,
        good._replace(broken=["/ → gone/"]),
        good._replace(differing=["/"]),
        good._replace(pages={"": page(RAW)}),
        good._replace(pages={"": page("<script>'https://example.org'</script>")}),
        command.Row("B", "", 0.1, fault="No network"),
    ]
    assert [row.result for row in rows] == ["built", *["built, with faults"] * 4, "failed"]
    assert command.faults(good) == ""
    assert "broken link: / → gone/" in command.faults(rows[1])
    assert "No network" in command.faults(rows[5])
    lines = command.table(rows).splitlines()
    assert len(lines) == len(rows) + 2
    assert {line.count("|") for line in lines} == {len(command.HEADS) + 1}


def test_canary_hands_its_arguments_on(tmp_path: Path) -> None:
    """The command does the set-up and leaves the rest to the package."""
    root = small_project.make_ready(tmp_path)
    (root / "scripts" / "builders.py").write_text("import sys; print(*sys.argv[1:])")
    said = small_project.run(root, "canary.py", "--python", "python3.12")
    assert said.text == "--python python3.12\n"
