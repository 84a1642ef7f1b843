"""The pages are valid HTML, with the MathML and SVG in them, and the style sheets valid CSS.

The judge is the Nu checker, which stands behind validator.w3.org as well. Of those that were tried
it alone knows MathML and SVG; its releases for Python are of 2020 and refuse the CSS of today.
"""

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from checks import npm

JAR = "build/dist/vnu.jar"

# What the checker says and we let stand, and why.
ALLOWED = {
    "Attribute “autocomplete” is only allowed when the input type is": (
        "Material's two switches: without it Firefox opens the drawer again on a reload"
    ),
    "Attribute “scriptlevel” not allowed on element “mtable”": (
        "MathML Core has it on every element; the checker goes by MathML 3"
    ),
    "Resource violates Content Security Policy": (
        "the checker reads files, which have no origin; what is blocked, a browser's console tells"
    ),
    "Inline script violates Content Security Policy": (
        "data in a script element, which nothing runs and the policy is not about"
    ),
}

# A body with a fault in it, and what has to be said of it.
FAULTS = {
    "unclosed": ("<p><em>open</p>", "End tag “p” seen, but there were open elements"),
    "misplaced": ("<ul><p>x</p></ul>", "Element “p” not allowed as child of element “ul”"),
    "twice": ('<p id="x">a</p><p id="x">b</p>', "Duplicate ID “x”"),
    "mathml": ("<math><mfrac><mi>x</mi></mfrac></math>", "Element “mfrac” is missing"),
    "svg": ('<svg><rect wdth="3"/></svg>', "Attribute “wdth” not allowed on element “rect”"),
    "nameless": ('<img src="x.svg">', "An “img” element must have an “alt” attribute"),
    "style": ('<p style="colour: red">x</p>', "Property “colour” doesn't exist"),
}
PAGE = '<!doctype html><html lang="en"><head><title>x</title></head><body>{}</body></html>'

pytestmark = pytest.mark.xdist_group("html")  # one run of the checker judges all pages


def judge(files: Iterable[Path]) -> list[dict[str, Any]]:
    """Return what the checker finds wrong in some files."""
    java = npm.program("java", "default-jre-headless")
    options = ["--also-check-css", "--skip-info-messages", "--format", "json", "--stdout"]
    command: list[str | Path] = [java, "-jar", npm.package("vnu-jar") / JAR, *options, *files]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert '"messages":' in done.stdout, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["messages"]
    return found


def known(message: dict[str, Any]) -> str:
    """Return the exception that a message falls under, or nothing."""
    return next((start for start in ALLOWED if message["message"].startswith(start)), "")


@pytest.fixture(scope="session")
def messages(site: Path) -> list[dict[str, Any]]:
    """Return what the checker says of the whole site."""
    files = sorted([*site.rglob("*.html"), *site.rglob("*.css")])
    assert len(files) > 100
    return judge(files)


def test_pages_and_styles_are_valid(messages: list[dict[str, Any]]) -> None:
    """Nothing is said of any page or style sheet but what ALLOWED gives a reason for."""
    wrong = [
        f"{message['url']}, line {message.get('lastLine')}: {message['message']}"
        for message in messages
        if not known(message)
    ]
    assert not wrong, "\n".join(wrong)


def test_exceptions_are_needed(messages: list[dict[str, Any]]) -> None:
    """What is allowed occurs: an exception that outlived its cause would hide the next fault."""
    assert {known(message) for message in messages} - {""} == ALLOWED.keys()


def test_faults_are_found(tmp_path: Path) -> None:
    """The checker refuses what is wrong, in MathML, SVG and CSS too."""
    for name, (body, _) in FAULTS.items():
        (tmp_path / f"{name}.html").write_text(PAGE.format(body), encoding="utf-8")
    (tmp_path / "sheet.css").write_text("p { margin-outline: 0 }", encoding="utf-8")
    found = judge(sorted(tmp_path.iterdir()))
    said = dict.fromkeys([*FAULTS, "sheet"], "")
    for message in found:
        said[Path(message["url"]).stem] += message["message"] + "\n"
    for name, (_, words) in FAULTS.items():
        assert words in said[name]
    assert "Property “margin-outline” doesn't exist" in said["sheet"]
