"""The prose is spelt the British way: of every page, and of the README and its like.

A word is right if the dictionary has it, or words.txt: what attention, its authors and its programs
are called. A line of two words or more is the title of a work, which keeps its own spelling.
"""

import re
from collections import defaultdict
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import hunspell
import markdown
import pytest

from attnref.derivations import RECORDS
from checks import npm
from terminal import ROOT

HERE = Path(__file__).parent
LISTED = (HERE / "words.txt").read_text(encoding="utf-8").splitlines()
TAGS = {record.tag for record in RECORDS}

# What is no prose: code and formulas; and what ends no word, so that what follows belongs to it.
LEFT_OUT = {"code", "math", "pre", "script", "style"}
WITHIN_A_WORD = {"a", "abbr", "em", "span", "strong", "sub", "sup", "tspan"}
SYNTAX = ["fenced_code", "tables"]
VOID = {"br", "hr", "img", "input", "wbr"}

NAME = re.compile(r"\S*\w[./\\_]\w\S*|\\\w+")  # an address, a dotted name, a macro of LaTeX
WORD = re.compile(r"(?<!\w)[A-Za-zÀ-ɏ][A-Za-zÀ-ɏ']*[A-Za-zÀ-ɏ](?!\w)")

pytestmark = pytest.mark.xdist_group("spelling")  # the pages are read once


class Prose(HTMLParser):
    """The text of a page's article, but for what is no prose."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.parts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, _: object) -> None:
        """Note where the text is from here on."""
        if tag not in VOID:
            self.open.append(tag)
        self.parts.append("" if tag in WITHIN_A_WORD else " ")

    def handle_endtag(self, tag: str) -> None:
        """Leave an element, and those within it that have no end of their own."""
        while tag in self.open and self.open.pop() != tag:
            pass
        self.parts.append("" if tag in WITHIN_A_WORD else " ")

    def handle_data(self, data: str) -> None:
        """Keep what is prose."""
        if "article" in self.open and not LEFT_OUT & {*self.open}:
            self.parts.append(data)

    @property
    def text(self) -> str:
        """The prose in one line."""
        return NAME.sub(" ", " ".join("".join(self.parts).replace("’", "'").split()))


@cache
def dictionary() -> Any:
    """Return the dictionary of British spelling."""
    folder = npm.package("dictionary-en-gb")
    return hunspell.Hunspell("index", hunspell_data_dir=str(folder))


@cache
def knows(word: str) -> bool:
    """Say whether the dictionary has a word."""
    return bool(dictionary().spell(word))


def parts(word: str) -> set[str]:
    """Return the ways in which a word may be listed: as it is, without an s, in small letters."""
    bare = word.removesuffix("'s")
    return {word, bare, bare[0].lower() + bare[1:]}


@pytest.fixture(scope="session")
def prose(site: Path) -> dict[str, str]:
    """Return the prose of every page, and of what stands in the project's folder."""
    text = {
        path.relative_to(site).as_posix(): Prose(path.read_text(encoding="utf-8")).text
        for path in site.rglob("*.html")
    }
    for path in ROOT.glob("*.md"):
        html = markdown.markdown(path.read_text(encoding="utf-8"), extensions=SYNTAX)
        text[path.name] = Prose(f"<article>{html}</article>").text
    return text


@pytest.fixture(scope="session")
def unknown(prose: dict[str, str]) -> dict[str, set[str]]:
    """Return the words that the dictionary lacks, and where each stands."""
    found = defaultdict(set)
    for page, text in prose.items():
        for title in filter(lambda line: " " in line, LISTED):
            text = text.replace(title, " ")
        for word in {*WORD.findall(text)} - TAGS:
            if not knows(word.removesuffix("'s")):
                found[word].add(page)
    return found


def test_words_are_spelt_right(unknown: dict[str, set[str]]) -> None:
    """Every word is in the dictionary or on the list."""
    wrong = [
        f"{word} in {min(unknown[word])}: {', '.join(dictionary().suggest(word)[:3])}"
        for word in sorted(unknown)
        if not parts(word) & {*LISTED}
    ]
    assert not wrong, "\n".join(wrong)


def test_word_list_is_sorted_and_holds_nothing_twice() -> None:
    """A new word has one place."""
    assert sorted(set(LISTED), key=lambda word: (word.lower(), word)) == LISTED


def test_word_list_holds_no_word_of_the_dictionary() -> None:
    """Only what the dictionary lacks has to be known to us."""
    assert [word for word in LISTED if all(map(knows, word.split()))] == []


def test_word_list_holds_no_word_without_use(
    unknown: dict[str, set[str]], prose: dict[str, str]
) -> None:
    """Each word stands on a page, each title too; what was taken away there goes here as well."""
    used = {form for word in unknown for form in parts(word)}
    titles = [line for line in LISTED if any(line in text for text in prose.values())]
    assert {*LISTED} - used - {title for title in titles if " " in title} == set()


@pytest.mark.parametrize("word", ["analyze", "behavior", "center", "color", "normalize"])
def test_american_spelling_is_refused(word: str) -> None:
    """The dictionary is British, and so is the list."""
    assert not knows(word)
    assert not parts(word) & {*LISTED}


def test_code_is_no_prose_and_everything_else_is() -> None:
    """Code, formulas and addresses are passed over; text in a figure, in bold or folded is not."""
    page = (
        "<article>One <code>tw</code> <b>thr</b>ee <math><mi>fr</mi></math> a/fve np.sx"
        "<pre>sv</pre> <details><summary>egt</summary>"
        "<svg><title>nne</title><text>tn</text></svg></details></article>elvn"
    )
    assert Prose(page).text.split() == ["One", "thr", "ee", "egt", "nne", "tn"]
