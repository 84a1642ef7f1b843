"""From a page and its record to Markdown."""

import importlib.metadata
import json
import re
from pathlib import Path

import pytest

import attnref
import pages
from sitebuild import __main__ as command
from sitebuild import relations
from sitebuild.convert import convert, fence
from sitebuild.execute import run
from sitebuild.script import PageError


def _markdown(path: Path, url: str = "") -> str:
    return convert(path, run(path), url=url).markdown


def test_output_stands_below_its_code(tmp_path: Path) -> None:
    """Code, then what it printed, each in a block of its own kind."""
    text = _markdown(pages.page(tmp_path, "print(6 * 7)"))
    assert "```python\nprint(6 * 7)\n```\n\n```{ .text .output .no-copy }\n42\n```" in text


def test_values_stand_in_the_prose(tmp_path: Path) -> None:
    """An expression in prose is replaced by its value at that place."""
    path = pages.page(tmp_path, "x = 1", prose=pages.prose("Six times seven is `{python} 6 * 7`."))
    assert "Six times seven is 42." in _markdown(path)


def test_prose_and_prints_keep_their_order(tmp_path: Path) -> None:
    """What a cell prints and displays comes out in the order it was shown."""
    code = "from attnref import show\nprint('first')\nshow('second')\nprint('third')"
    text = _markdown(pages.page(tmp_path, code))
    assert text.index("\nfirst\n") < text.index("\nsecond\n") < text.index("\nthird\n")


@pytest.mark.parametrize(("tag", "code", "output"), [("hide-input", 0, 1), ("hide-output", 1, 0)])
def test_tags_hide_one_side(tag: str, code: int, output: int, tmp_path: Path) -> None:
    """hide-input leaves the output, hide-output the code."""
    text = _markdown(pages.page(tmp_path, "print(6 * 7)", tags=f'["{tag}"]'))
    assert text.count("print(6 * 7)") == code
    assert text.count("\n42\n") == output


def test_folded_code_opens_and_its_output_stands_below(tmp_path: Path) -> None:
    """fold-input puts the code in a block that unfolds, every line of it; the output is seen."""
    text = _markdown(pages.page(tmp_path, "x = 6\n\nprint(x * 7)", tags='["fold-input"]'))
    code = '??? quote "Code"\n\n    ```python\n    x = 6\n\n    print(x * 7)\n    ```'
    assert f"{code}\n\n```{{ .text .output .no-copy }}\n42\n```" in text


@pytest.mark.parametrize(("text", "marks"), [("a", 3), ("a `b`", 3), ("```", 4), ("`````", 6)])
def test_fence_is_longer_than_any_inside(text: str, marks: int) -> None:
    """No output can end its own block."""
    block = fence(text, "text").splitlines()
    assert block[-1] == "`" * marks
    assert block[0] == "`" * marks + "text"


def test_description_is_the_first_paragraph(tmp_path: Path) -> None:
    """The sentence below the heading describes the page, without its markup."""
    path = pages.page(
        tmp_path,
        "x = 1",
        prose="# %% [markdown]\n# # T\n#\n# A *short* [link](b.md)\n# of $d_k$.\n",
    )
    assert convert(path, run(path)).description == "A short link of d_k."


def test_colophon_names_command_versions_and_citation(tmp_path: Path) -> None:
    """The end of a page says how to run it, what it ran with and how to cite it."""
    code = "import attnref\nimport json, mpmath.libmp"
    text = _markdown(pages.page(tmp_path, code), url="https://example.org/page/")
    assert ".venv/bin/python page.py" in text
    mpmath = importlib.metadata.version("mpmath")
    assert re.search(rf"attnref {attnref.__version__}, numpy [0-9.]+, mpmath {mpmath}\.", text)
    assert "@misc{attnref-page," in text
    assert "title = {A page}" in text
    assert "url = {https://example.org/page/}" in text


def test_colophon_without_a_published_site_claims_no_address(tmp_path: Path) -> None:
    """Where no site is published, nothing pretends to one."""
    assert "url =" not in _markdown(pages.page(tmp_path, "x = 1"))


def test_page_runs_as_a_script_would(tmp_path: Path) -> None:
    """__name__, __file__ and the first entry of sys.path are those of `python page.py`."""
    path = pages.page(
        tmp_path, "import sys\nprint(__name__, __file__, sys.path[0], sys.argv, sep='|')"
    )
    assert f"__main__|{path}|{tmp_path}|['{path}']" in _markdown(path)


def test_last_expression_of_a_cell_shows_nothing(tmp_path: Path) -> None:
    """As in a script: what is not printed or shown is not seen."""
    assert ".output" not in _markdown(pages.page(tmp_path, "6 * 7"))


def test_plain_tree_holds_every_page_and_links_between_them(tmp_path: Path) -> None:
    """The command's tree has a Markdown file for each page; links to pages lead to those files."""
    docs, out = tmp_path / "docs", tmp_path / "out"
    docs.mkdir()
    pages.page(docs, "print(6 * 7)", prose=pages.prose("[other](two.py#run-and-cite-this-page)"))
    (docs / "two.md").write_text("[page](page.py), [code](https://example.org/a.py)")
    command.write(docs, out)
    assert "\n42\n" in (out / "page.md").read_text(encoding="utf-8")
    assert "(two.md#run-and-cite-this-page)" in (out / "page.md").read_text(encoding="utf-8")
    assert (out / "two.md").read_text() == "[page](page.md), [code](https://example.org/a.py)"
    assert not list(out.rglob("*.py"))
    command.write(docs, out)


def test_plain_tree_holds_the_data_of_a_page(tmp_path: Path) -> None:
    """What a page shows as data stands beside its Markdown, under its name."""
    docs, out = tmp_path / "docs", tmp_path / "out"
    docs.mkdir()
    form = "show(type('T', (), {'_repr_json_': lambda s: [7], '_repr_markdown_': lambda s: '7'})())"
    pages.page(docs, f"from attnref import show\n{form}")
    command.write(docs, out)
    assert json.loads((out / "page.json").read_text(encoding="utf-8")) == [7]


def test_plain_tree_leaves_code_alone(tmp_path: Path) -> None:
    """What looks like a link inside code stays as it is written, in prose and in outputs."""
    docs, out = tmp_path / "docs", tmp_path / "out"
    docs.mkdir()
    code = "print('table[0](page.py)')"
    pages.page(docs, code, prose=pages.prose("`table[0](page.py)`, [page](page.py)"))
    command.write(docs, out)
    text = (out / "page.md").read_text(encoding="utf-8")
    assert text.count("(page.py)") == 3
    assert text.count("(page.md)") == 1


def test_page_without_a_heading_is_refused(tmp_path: Path) -> None:
    """A page needs a title to be cited by; a comment in its code is none."""
    path = pages.page(tmp_path, "# No title\nx = 1", prose="# %% [markdown]\n# Text.\n")
    with pytest.raises(PageError, match="has no heading"):
        _markdown(path)


def test_plain_tree_does_not_replace_what_it_did_not_write(tmp_path: Path) -> None:
    """A folder with other files in it is left alone."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="was not written by this command"):
        command.write(tmp_path, tmp_path / "out")
    assert (tmp_path / "out" / "mine.txt").read_text() == "mine"


def test_plain_tree_is_not_written_when_a_page_fails(tmp_path: Path) -> None:
    """One wrong page, and no tree is left that looks finished."""
    docs = tmp_path / "docs"
    docs.mkdir()
    pages.page(docs, "1 / 0")
    with pytest.raises(ExceptionGroup, match="1 of 1 pages failed"):
        command.write(docs, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_relations_lead_to_code_and_derivations_both_ways() -> None:
    """Names lead into the reference, tags to pages, and a line without links is not there."""
    around = {"code": ["attnref.masks.alibi", "attnref.torch.attention", "attnref.softmax"]}
    text = relations.markdown({**around, "uses": [], "used_by": ["SNUL", "SVAR"]})
    assert text.splitlines() == [
        "**In code:** [`attnref.masks.alibi`](../reference/masks.md#attnref.masks.alibi), "
        "[`attnref.torch.attention`](../reference/torch.md#attnref.torch.attention), "
        "[`attnref.softmax`](../reference/attention.md#attnref.softmax)",
        "",
        "**Used by:** [SNUL](SNUL.py), [SVAR](SVAR.py)",
    ]
