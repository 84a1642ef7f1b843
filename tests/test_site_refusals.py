"""Bad input to the site: the build exits with an error that names the page and the place."""

from pathlib import Path

import pytest

import pages

EQUATION = "$$\nx = 1 \\label{one}\n$$"

# What the prose says, and what the message has to name besides the page.
REFUSED = {
    "unknown LaTeX command": ("$$\n\\foo{x} \\label{a}\n$$", ["line 7", "\\foo"]),
    "unbalanced brace": ("Inline $\\frac{a$ is open.", ["line 6", "\\frac{a"]),
    "unresolved eqref": ("See \\eqref{nowhere}.", ["line 6", "no equation", "\\eqref{nowhere}"]),
    "duplicate label": (f"{EQUATION}\n\n{EQUATION}", ["line 11", "'one' stands twice"]),
    "missing label": ("$$\nx = 1\n$$", ["line 7", "needs one \\label"]),
    "dead link": ("[gone](gone.py)", ["gone.py", "not found"]),
    "dead anchor": ("[gone](#gone)", ["#gone", "no such anchor"]),
    "dead equation": (f"[gone](#two)\n\n{EQUATION}", ["#two", "no such anchor"]),
}


def _docs(folder: Path, prose: str, code: str = "y = 2") -> None:
    (folder / "docs").mkdir()
    pages.page(folder / "docs", code, prose=pages.prose(prose), name="index")


@pytest.mark.parametrize(("prose", "named"), REFUSED.values(), ids=REFUSED)
def test_site_with_a_fault_in_its_prose_is_refused(
    prose: str, named: list[str], tmp_path: Path
) -> None:
    """The build fails, and says which page and what there."""
    _docs(tmp_path, prose)
    build = pages.site(tmp_path)
    assert build.returncode != 0
    for words in ["index.py", *named]:
        assert words in build.stderr


def test_site_with_a_page_that_raises_is_refused(tmp_path: Path) -> None:
    """A traceback ends the build; it is never published."""
    _docs(tmp_path, "Text.", "print('before')\nundefined")
    build = pages.site(tmp_path)
    assert build.returncode != 0
    assert "index.py, line 10: the cell «print('before')» shows an exception" in build.stderr
    assert "NameError: name 'undefined' is not defined" in build.stderr
    assert not list((tmp_path / "site").rglob("*.html"))


def test_site_with_a_page_that_hangs_is_refused(tmp_path: Path) -> None:
    """The time limit is a setting, and a page that passes it ends the build."""
    _docs(tmp_path, "Text.", "import time\ntime.sleep(60)")
    build = pages.site(tmp_path, seconds_per_page=2)
    assert build.returncode != 0
    assert "index.py, line 9" in build.stderr
    assert "time limit of 2 s" in build.stderr


def test_site_takes_what_is_right(tmp_path: Path) -> None:
    """Every feature of the Markdown works in a page that is a program, and links hold."""
    prose = (
        f"{EQUATION}\n\nSee \\eqref{{one}}, [the same](#one), [below](#below), [two](two.md).\n\n"
        '!!! note "Look"\n    An admonition.\n\n'
        "## Below\n\nA term\n:   explained.[^1]\n\n[^1]: Note."
    )
    _docs(tmp_path, prose, "print(6 * 7)")
    (tmp_path / "docs" / "two.md").write_text("# Two\n\n[one](index.py#one)\n", encoding="utf-8")
    build = pages.site(tmp_path)
    assert build.returncode == 0, build.stderr
    html = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    for wanted in (
        '<div class="admonition note">',
        '<div class="equation" id="one">',
        '<a class="equation-reference" href="#one">(1)</a>',
        '<a href="two/">two</a>',
        "<dt>A term</dt>",
        'class="footnote"',
        '<div class="output no-copy highlight">',
    ):
        assert wanted in html
    assert "executed" in build.stderr


def test_site_builds_without_the_hook(tmp_path: Path) -> None:
    """mkdocs-jupyter alone still makes a site of the same pages, and shows what they print."""
    _docs(tmp_path, "Text.", "from attnref import show\nshow('forty-two')\nprint(6 * 7)")
    build = pages.site(tmp_path, hook=False)
    assert build.returncode == 0, build.stderr
    html = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert "forty-two" in html
    assert "jp-OutputArea" in html
