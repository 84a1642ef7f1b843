"""Reading a page: cells, tags, lines, and the values that prose takes from the code."""

from pathlib import Path

from sitebuild.script import read

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


def _cells(tmp_path: Path) -> tuple:  # type: ignore[type-arg]
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
