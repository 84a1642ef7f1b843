"""No result is typed: a number in the prose of a page is an input, or the page computes it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pages import ROOT
from pages import page as write
from pages import prose as cell
from sitebuild import script

PAGES = script.pages(ROOT / "docs")
COUNTED, SENTENCE = 12, 5  # a number up to a dozen may be a word; five words are prose
NOT_PROSE = re.compile(
    r"`[^`]+`"  # code, and what the page computes
    r"|\$\$.*?\$\$|\$[^$]+\$"  # formulas: their constants belong to them
    r"|\]\([^)]*\)|<[^>]*>|\{[^}]*\}"  # addresses
    r"|arXiv:[\d.]+|(?i:section|equation|figure|table|chapter|page|opset|version|CC BY)s? [\d.]+",
    re.DOTALL,
)
SOURCES = re.compile(r"^## [^\n]*[Ss]ources.*", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"(?<![\w.,\-–/#])\d+(?:[ , ]\d{3})*(?:\.\d+)?(?![\w]|-bit)")


def typed(page: Path) -> Iterator[str]:
    """Return the numbers that stand in a page's prose, captions too, and in none of its code."""
    cells = script.read(page)
    code = [cell.source for cell in cells if cell.kind == "code"]
    code += [expression for cell in cells for expression in cell.expressions]
    constants = [constant for source in code for constant in _constants(ast.parse(source))]
    sentences = [c for c in constants if isinstance(c, str) and len(c.split()) >= SENTENCE]
    inputs = "; ".join(str(c) for c in constants if c not in sentences)
    known = {*map(float, range(COUNTED + 1)), *map(_value, NUMBER.findall(inputs))}
    prose = "\n\n".join(cell.source for cell in cells if cell.kind == "markdown")
    for text in (NOT_PROSE.sub(" … ", text) for text in [SOURCES.sub("", prose), *sentences]):
        for found in NUMBER.finditer(text):
            share = re.match(r"\s?%", text[found.end() :]) and _value(found[0]) / 100
            if not {_value(found[0]), share} & known:
                yield " ".join(text[max(0, found.start() - 40) : found.end() + 20].split())


def _constants(node: ast.AST) -> Iterator[object]:
    """Return the constants of some code; a string with values in it is one string."""
    within = [node.value] if isinstance(node, ast.FormattedValue) else ast.iter_child_nodes(node)
    parts = [found for child in within for found in _constants(child)]
    if isinstance(node, ast.Constant):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        yield " … ".join(part for part in parts if isinstance(part, str))
        yield from (part for part in parts if not isinstance(part, str))
    else:
        yield from parts


def _value(number: str) -> float:
    return float(re.sub(r"[ , ]", "", number))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}-{page.stem}")
def test_prose_types_no_result(page: Path) -> None:
    """A changed constant changes the prose: each number is computed there, or an input."""
    assert list(typed(page)) == []


@pytest.mark.parametrize(
    "prose",
    ["About 0.76 of it.", "It takes 99 % of all.", "$x$ is 1.41, see [that](page.py).", "= 20 000"],
)
def test_typed_result_is_found(prose: str, tmp_path: Path) -> None:
    """A number that the code does not hold is found wherever it stands in a sentence."""
    assert len(list(typed(write(tmp_path, "x = 7.5", prose=cell(prose))))) == 1


@pytest.mark.parametrize(
    "prose",
    [
        "About `{python} x / 2` of it, of twelve, of 12.",
        "Of 7.5 and $1/20$, in `0.3`, float32, section 3.2.1, [arXiv:1706.03762](https://a.b/17.5).",
        "Twice `{python} x * 33`, and 33.",
        "750 % of it.",
        "## Where next, and sources\n\nA. Vaswani, 2017.",
    ],
)
def test_input_and_computed_value_may_stand_in_prose(prose: str, tmp_path: Path) -> None:
    """What the page computes, what its code starts from, a formula's constants and sources."""
    assert list(typed(write(tmp_path, "x = 7.5", prose=cell(prose)))) == []


def test_typed_result_is_found_in_a_caption(tmp_path: Path) -> None:
    """A sentence in the code is prose, and no input."""
    code = "x = 7.5\ncaption = f'It rises from 7.5 to {x} and then to 8.25.'"
    assert list(typed(write(tmp_path, code))) == ["It rises from 7.5 to … and then to 8.25."]
