"""The contributors' page: its drawing is the house as it stands, its commands and paths exist."""

import re
import shlex
from xml.etree import ElementTree

import pytest

import attnref.figures
from environment import pins
from sitebuild.rules import KNOWN_TAGS
from terminal import ROOT
from test_architecture import ROOMS, outside
from test_architecture_scripts import PLACES

PAGE = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")
PROSE = re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL)
SPANS = re.findall(r"`([^`\n]+)`", PROSE)
PATHS = [span for span in SPANS if re.fullmatch(r"[\w./-]*(?:/|\.(?:md|py|toml|txt|yml))", span)]

STARTS = ("python3 ", ".venv/bin/")
LINES = [
    line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.split("\n")
]
COMMANDS = [line.split("  #")[0] for line in [*LINES, *SPANS] if line.startswith(STARTS)]

DRAWING = ElementTree.fromstring(PAGE[PAGE.index("<svg") : PAGE.index("</figure>")])  # noqa: S314  # ours
DRAWN = {
    text.attrib["data-room"]: text for text in DRAWING.iter("text") if "data-room" in text.attrib
}


def height(room: str) -> float:
    """Return how far above the ground a room is drawn."""
    return -float(DRAWN[room].attrib["y"])


def test_drawing_has_the_rooms_of_the_plan() -> None:
    """Every room is drawn once, under its name, and no other."""
    assert DRAWN.keys() == {"attnref", *ROOMS}
    assert len(DRAWN) == PAGE.count("data-room=")
    for room, text in DRAWN.items():
        assert text.text == room.split(".")[-1]


def test_drawing_has_the_files_of_the_package() -> None:
    """Each file and folder of the package is a room, and each room is one of them."""
    there = {path.stem for path in (ROOT / "attnref").glob("*.py")} - {"__init__"}
    there |= {path.parent.name for path in (ROOT / "attnref").glob("*/__init__.py")}
    assert {room.split(".")[1] for room in ROOMS} == there


@pytest.mark.parametrize("room", ROOMS)
def test_arrows_of_the_drawing_lead_down(room: str) -> None:
    """What a room may import is drawn below it, or beside it; the roof is above all."""
    assert height("attnref") > height(room)
    for other in ROOMS[room] & ROOMS.keys():
        assert height(room) >= height(other), f"{room} stands below {other}"


def test_drawing_names_every_library() -> None:
    """For those who can't see it, the description says which rooms need which library."""
    description = DRAWING.findtext("desc", "").lower()
    libraries = {name for arrows in ROOMS.values() for name in arrows if outside(name)}
    assert {name for name in libraries if name not in description} == set()


def test_places_around_the_house_are_those_of_the_plan() -> None:
    """Every folder that has arrows of its own is told of, and so are the tests."""
    told = re.findall(r"^- `([\w/]+)/`: ", PAGE, re.MULTILINE)
    folders = {place for place in PLACES if (ROOT / place).is_dir()} - {"docs/articles/claims"}
    assert sorted(told) == sorted({*folders, "tests"})


@pytest.mark.parametrize("path", sorted({*PATHS}))
def test_path_on_the_page_exists(path: str) -> None:
    """A file or folder that is named is there; one whose name is left open has its like."""
    likes = list(ROOT.glob(re.sub(r"NAME|TAG", "*", path)))
    assert likes
    assert all(like.is_dir() == path.endswith("/") for like in likes)


@pytest.mark.parametrize("command", sorted({*COMMANDS}))
def test_command_on_the_page_exists(command: str) -> None:
    """The script is there, or the package that brings the program; what is chosen are files."""
    program, *arguments = shlex.split(command)
    if program == "python3":
        assert (ROOT / arguments[0]).is_file()
    elif program.endswith("python"):
        assert arguments[:2] == ["-m", "attnref"]
    else:
        assert program.removeprefix(".venv/bin/") in pins(ROOT)
    folder = "checks" if "scripts/check.py" in arguments else "tests"
    for words in arguments[arguments.index("-k") + 1 :] if "-k" in arguments else ():
        for word in words.split(" or "):
            assert list((ROOT / folder).glob(f"test_*{word}*.py"))


def test_names_on_the_page_are_those_of_the_code() -> None:
    """The tags of a cell, the colours and the classes for figures."""
    tags = {span for span in SPANS if re.match(r"(?:expect|fold|hide|raises)-", span)}
    assert tags == KNOWN_TAGS
    names = {span for span in SPANS if re.fullmatch(r"[A-Z]\w+", span)} - {"ROOMS", "PLACES"}
    assert names | {"Figure"} == {*attnref.figures.__all__}
