"""What a page may show, and what is refused by name and place unless it is announced."""

import json
import re
from pathlib import Path

import pytest

import pages
from sitebuild import rules
from sitebuild.execute import execute, run
from sitebuild.script import PageError

SVG = "<svg xmlns='http://www.w3.org/2000/svg'>{}</svg>"
SHOW = "from IPython.display import display\ndisplay({data!r}, raw=True)"

REFUSED = {
    "raises": ("x = 1\n1 / 0", "raises-exception", "ZeroDivisionError: division by zero"),
    "warns": ("import warnings\nwarnings.warn('old')", "expect-stderr", "UserWarning: old"),
    "writes to stderr": ("import sys\nprint('oh', file=sys.stderr)", "expect-stderr", "oh"),
    "prints NaN": ("print('a', float('nan'))", "expect-nan", "a nan"),
    "prints Infinity": ("import json\nprint(json.dumps(1e999))", "expect-nan", "Infinity"),
    "prints NaT": ("import numpy\nprint(numpy.datetime64('NaT'))", "expect-nan", "NaT"),
    "prints inf": ("print([1.0, -float('inf')])", "expect-nan", "-inf"),
    "prints an address": ("print(object())", "expect-address", "0x"),
}


@pytest.mark.parametrize(("code", "tag", "shown"), REFUSED.values(), ids=REFUSED)
def test_page_that_shows_it_is_refused_with_its_place(
    code: str, tag: str, shown: str, tmp_path: Path
) -> None:
    """The message names the page, the line, the cell's first line and what it showed."""
    path = pages.page(tmp_path, code)
    with pytest.raises(PageError) as refusal:
        run(path)
    message = str(refusal.value)
    assert re.search(r"page\.py, line (7|8): the cell «", message)
    assert code.splitlines()[0] in message
    assert f"not tagged {tag}" in message
    assert shown in message


@pytest.mark.parametrize(("code", "tag", "shown"), REFUSED.values(), ids=REFUSED)
def test_page_that_announces_it_is_accepted(
    code: str, tag: str, shown: str, tmp_path: Path
) -> None:
    """The same cell, tagged to show exactly that, is published."""
    path = pages.page(tmp_path, code, tags=f'["{tag}"]')
    assert shown in str(run(path)["cells"])


@pytest.mark.parametrize("tag", sorted({tag for _, tag, _ in REFUSED.values()}))
def test_page_that_announces_what_it_does_not_show_is_refused(tag: str, tmp_path: Path) -> None:
    """A tag that nothing answers is a stale promise."""
    with pytest.raises(PageError, match=f"is tagged {tag} and does not show"):
        run(pages.page(tmp_path, "print(1)", tags=f'["{tag}"]'))


def test_unknown_tag_is_refused(tmp_path: Path) -> None:
    """A misspelt tag is an error, not a wish that is passed over."""
    with pytest.raises(PageError, match="unknown tag hide-imput"):
        run(pages.page(tmp_path, "print(1)", tags='["hide-imput"]'))


def test_words_that_only_resemble_nan_are_accepted(tmp_path: Path) -> None:
    """Information, nano and influence hold the letters and are no numbers."""
    run(pages.page(tmp_path, "print('information, nano, influence, Nancy')"))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"image/png": "iVBOR"}, "a figure must be SVG, never raster"),
        ({"image/png": "iVBOR", "text/plain": "<Figure>"}, "a figure must be SVG, never raster"),
        ({"image/svg+xml": SVG.format("<desc>d</desc>")}, "without <title>"),
        ({"image/svg+xml": SVG.format("<title>t</title>")}, "without <desc>"),
        ({"text/html": SVG.format("<title>t</title>")}, "without <desc>"),
        (
            {"image/svg+xml": SVG.format("<title>t</title><desc>d</desc><script>0</script>")},
            "with a script, a raster image or foreign content",
        ),
        ({"text/html": "<b>nan</b>"}, "not tagged expect-nan"),
        ({"text/html": "<img src='https://example.org/a.png'>"}, "foreign content: <img"),
        ({"text/html": "<b onclick='0'>b</b>"}, "foreign content: onclick"),
        ({"text/html": "<SVG><image href='a.png'/></SVG>"}, "foreign content: <image"),
        ({"image/svg+xml": SVG.format("<title></title><desc>d</desc>")}, "without <title>"),
    ],
)
def test_rich_output_obeys_the_rules_of_figures(
    data: dict[str, str], message: str, tmp_path: Path
) -> None:
    """No raster, no SVG without a name and a description, no script inside, no NaN in any form."""
    with pytest.raises(PageError, match=message):
        run(pages.page(tmp_path, SHOW.format(data=data)))


def test_page_that_hangs_is_ended_at_its_limit(tmp_path: Path) -> None:
    """A cell that never ends is named by its line when the time is up."""
    path = pages.page(tmp_path, "print('before')\nwhile True: pass")
    with pytest.raises(PageError, match=r"page\.py, line 7: .* time limit of 3 s"):
        run(path, time_limit=3)


def test_page_whose_process_dies_is_refused(tmp_path: Path) -> None:
    """A process that ends without a record, as in a crash of compiled code, is no empty page."""
    with pytest.raises(PageError, match="line 7: the process ended with code 3"):
        run(pages.page(tmp_path, "import os\nos._exit(3)"))


def test_text_written_past_python_is_refused(tmp_path: Path) -> None:
    """What compiled code writes to the file descriptors does not vanish."""
    with pytest.raises(PageError, match="past Python's own streams or too late\nraw"):
        run(pages.page(tmp_path, "import os\n_ = os.write(2, b'raw')"))


LATE = {
    "exit handler": "import atexit\n_ = atexit.register(print, 'late')",
    "exit handler that raises": "import atexit\n_ = atexit.register(lambda: 1 / 0)",
    "thread": (
        "import threading, time\n"
        "threading.Thread(target=lambda: (time.sleep(0.3), print('late'))).start()"
    ),
}


@pytest.mark.parametrize("code", LATE.values(), ids=LATE)
def test_what_happens_after_the_last_cell_is_refused(code: str, tmp_path: Path) -> None:
    """Nothing that a page says too late is lost."""
    with pytest.raises(PageError, match=r"or too late|ended with code"):
        run(pages.page(tmp_path, code))


def test_process_that_ends_early_without_an_error_is_refused(tmp_path: Path) -> None:
    """Code 0 without a record is no finished page."""
    with pytest.raises(PageError, match="line 7: the process ended with code 0"):
        run(pages.page(tmp_path, "import os\nos._exit(0)"))


def test_form_of_an_object_that_fails_is_refused(tmp_path: Path) -> None:
    """A rich form that raises is an error of the page, never a printed traceback."""
    code = (
        "from attnref import show\n\n\nclass Bad:\n"
        "    def _repr_markdown_(self):\n        raise ValueError('broken form')\n\n\nshow(Bad())"
    )
    with pytest.raises(PageError, match="ValueError: broken form"):
        run(pages.page(tmp_path, code))


@pytest.mark.parametrize("expression", ["print('told')", "__import__('attnref').show('told')"])
def test_prose_that_prints_is_refused(expression: str, tmp_path: Path) -> None:
    """Prose takes values; what it would print has no place in a sentence."""
    path = pages.page(tmp_path, "x = 1", prose=pages.prose(f"So `{{python}} {expression}`."))
    with pytest.raises(PageError, match="is prose and takes values only"):
        run(path)


def test_environment_of_the_build_does_not_reach_a_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Warnings that are switched off outside are not switched off on a page."""
    monkeypatch.setenv("PYTHONWARNINGS", "ignore")
    monkeypatch.setenv("PYTHONOPTIMIZE", "1")
    with pytest.raises(PageError, match="UserWarning: old"):
        run(pages.page(tmp_path, "import warnings\nwarnings.warn('old')"))
    with pytest.raises(PageError, match="AssertionError"):
        run(pages.page(tmp_path, "assert False"))


def test_page_that_waits_for_input_is_refused(tmp_path: Path) -> None:
    """Nobody is there to type."""
    with pytest.raises(PageError, match="EOFError"):
        run(pages.page(tmp_path, "input()"))


def test_error_in_a_value_of_the_prose_is_refused(tmp_path: Path) -> None:
    """An expression in prose is code like any other."""
    path = pages.page(tmp_path, "x = 1", prose=pages.prose("So `{python} 1 / 0`."))
    with pytest.raises(PageError, match="ZeroDivisionError"):
        run(path)


def test_every_page_that_fails_is_named(tmp_path: Path) -> None:
    """Two wrong pages are two errors in one go, and a right one beside them is neither."""
    paths = [
        pages.page(tmp_path, code, name=name)
        for name, code in [("one", "1 / 0"), ("two", "print(1)"), ("three", "undefined")]
    ]
    said: list[str] = []
    with pytest.raises(ExceptionGroup, match="2 of 3 pages failed") as failure:
        execute(paths, say=said.append)
    assert {Path(str(getattr(e, "page", ""))).stem for e in failure.value.exceptions} == {
        "one",
        "three",
    }
    assert len(said) == 3
    assert all(re.fullmatch(r"\w+ .*\.py \([123] of 3, \d+\.\d s\)", line) for line in said)


DATA = """\
from attnref import show

class Found:
    def __init__(self, data):
        self.data = data
    def __str__(self):
        return "found"
    _repr_markdown_ = __str__
    def _repr_json_(self):
        return self.data

show(Found({}))
"""


def test_data_of_a_page_are_what_it_shows_as_json(tmp_path: Path) -> None:
    """An object with a form for programs gives the page a file; the reader sees its other form."""
    record = run(pages.page(tmp_path, DATA.format("[{'分': 1.5}]")))
    (event,) = record["cells"][1]
    assert rules.text_of(event) == "found"
    assert json.loads(rules.data_of(tmp_path, record) or "") == [{"分": 1.5}]
    assert rules.data_of(tmp_path, run(pages.page(tmp_path, "print(1)"))) is None


def test_data_of_a_page_are_one_file(tmp_path: Path) -> None:
    """A second thing shown as data would have no name, and a number that JSON lacks no form."""
    with pytest.raises(PageError, match="shows 2 things as data, and has one file"):
        run(pages.page(tmp_path, DATA.format("[]") + "show(Found([]))"))
    with pytest.raises(PageError, match="Out of range float values are not JSON compliant"):
        run(pages.page(tmp_path, DATA.format("[float('nan')]")))
