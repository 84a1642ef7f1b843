"""Reading a page: cells, tags, lines, and the values that prose takes from the code."""

from pathlib import Path

import pytest

from sitebuild.script import Cell, PageError, read

SCRIPT = """\
# %% [markdown]
# # Title
#
# A sum is `{python} 1 + 1`, and `code` is not; `{python} f"{x:.2f}"` is formatted.

# %%
import math

x = math.pi

# %% tags=["hide-input", "expect-nan"]

print(x)

# %% [markdown]
# A last word.
"""


def _cells(tmp_path: Path) -> tuple[Cell, ...]:
    path = tmp_path / "page.py"
    path.write_text(SCRIPT, encoding="utf-8")
    return read(path)


def test_cells_alternate_as_they_are_marked(tmp_path: Path) -> None:
    """Prose and code come out in the order of the script."""
    kinds = [cell.kind for cell in _cells(tmp_path)]
    assert kinds == ["markdown", "code", "code", "markdown"]


def test_cells_know_the_line_their_text_starts_on(tmp_path: Path) -> None:
    """The line of a cell is where its text stands in the script, so that messages lead there."""
    lines = SCRIPT.splitlines()
    for cell in _cells(tmp_path):
        blank = len(cell.source) - len(cell.source.lstrip("\n"))
        assert lines[cell.line - 1 + blank].lstrip("# ") == cell.first_line.lstrip("# ")


def test_tags_are_read_from_the_marker(tmp_path: Path) -> None:
    """A cell's tags are those in its marker, and no others."""
    assert [set(cell.tags) for cell in _cells(tmp_path)] == [
        set(),
        set(),
        {"hide-input", "expect-nan"},
        set(),
    ]


def test_expressions_are_found_in_prose_only(tmp_path: Path) -> None:
    """Values are taken where prose asks for them, in its order, and plain code is left alone."""
    found = [cell.expressions for cell in _cells(tmp_path)]
    assert found == [["1 + 1", 'f"{x:.2f}"'], [], [], []]


REFUSED = {
    "code below prose": (
        "# %% [markdown]\n# # T\nx = 1\n",
        "line 3: code stands in a cell of prose",
    ),
    "misspelt kind": ("# %% [markdwon]\n# # T\n", "line 1: the marker of this cell says"),
    "misspelt option": ('# %% tag=["a"]\nx = 1\n', "line 1: the marker of this cell says tag"),
    "raw cell": ("# %% [raw]\n# text\n", r"the marker of this cell says \[raw\]"),
    "value over two lines": ("# %% [markdown]\n# `{python}\n# x`\n", "on one line"),
    "no Python": ("# %%\nx = (\n", "is not Python"),
}


@pytest.mark.parametrize(("script", "message"), REFUSED.values(), ids=REFUSED)
def test_script_that_would_be_misread_is_refused(script: str, message: str, tmp_path: Path) -> None:
    """A marker that nobody understands is an error, and so is code that would not run."""
    path = tmp_path / "page.py"
    path.write_text(script, encoding="utf-8")
    with pytest.raises(PageError, match=message):
        read(path)


def test_script_in_another_encoding_is_refused(tmp_path: Path) -> None:
    """A page is UTF-8, with or without a mark at its start."""
    path = tmp_path / "page.py"
    path.write_bytes("# %%\nx = 'é'\n".encode("latin-1"))
    with pytest.raises(PageError, match="is not UTF-8"):
        read(path)
    path.write_bytes(SCRIPT.encode("utf-8-sig"))
    assert len(read(path)) == 4


def test_comments_that_look_like_commands_are_comments(tmp_path: Path) -> None:
    """What stands in a cell is the text of the script, to the letter."""
    code = "# ls\n# %d is a format\n# Why?\nx = 1"
    path = tmp_path / "page.py"
    path.write_text(f"# %%\n{code}\n", encoding="utf-8")
    assert [cell.source for cell in read(path)] == [code]
