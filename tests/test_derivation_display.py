"""How a derivation is shown, found and cited."""

import ast
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from math_core import LatexToMathML
from sympy import Eq, Expr, Sum, Symbol

import attnref
from attnref.derivations import RECORDS, Law, Record, get
from attnref.derivations._operators import difference, product, ratio, total
from attnref.derivations._printing import plain
from small_record import c, i, j, n, small_record, x

GOOD = small_record()
each_record = pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.tag)


@pytest.mark.parametrize(
    ("tag", "fingerprint"),
    [("ZFRM", "731ff370f77e"), ("VDOT", "889466d2a4ce"), ("VSCL", "7f2febae5ee5")],
)
def test_fingerprint_is_the_published_one(tag: str, fingerprint: str) -> None:
    """What the first release cited still has the hash it had; the register has those of all."""
    assert get(tag).fingerprint == fingerprint


def test_fingerprint_does_not_depend_on_the_hash_seed() -> None:
    """Every process finds the same fingerprints."""
    code = "from attnref.derivations import RECORDS; print(*[r.fingerprint for r in RECORDS])"
    for seed in ("0", "4242"):
        run = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert run.stdout.split() == [record.fingerprint for record in RECORDS]


@pytest.mark.parametrize(
    "changes",
    [
        {"statement": Eq(GOOD.statement.lhs, GOOD.statement.rhs + 1)},
        {"statement": Eq(GOOD.statement.lhs, GOOD.statement.rhs.xreplace({n: Symbol("n")}))},
        {"definitions": ()},
        {"definitions": (replace(GOOD.definitions[0], variables=(c,)),)},
        {"definitions": (), "assumptions": GOOD.definitions},
        {"assumptions": (Law("more", "", (Eq(c, 0),)),)},
        {"uses": (get("VDOT"),)},
    ],
)
def test_fingerprint_changes_with_the_claim(changes: dict[str, Any]) -> None:
    """Another statement, another law, another domain: another fingerprint."""
    assert replace(GOOD, **changes).fingerprint != GOOD.fingerprint


@pytest.mark.parametrize(
    "changes",
    [
        {"title": "Another title", "summary": "", "remark": "More", "date": "2027-01-01"},
        {"definitions": (replace(GOOD.definitions[0], words="other words"),)},
        {"steps": ()},
        {"statement": Eq(GOOD.statement.lhs, total(c, ratio(Sum(x[i], (i, 1, n)), n)))},
    ],
)
def test_fingerprint_keeps_with_the_claim(changes: dict[str, Any]) -> None:
    """Words, steps and the order on the page do not count."""
    assert replace(GOOD, **changes).fingerprint == GOOD.fingerprint


@each_record
def test_equations_have_one_label_and_convert(record: Record) -> None:
    """Each displayed equation carries the tag and a word, and is LaTeX that MathML takes."""
    markdown = record._repr_markdown_()
    converter = LatexToMathML(fancy_error=False)
    displays = re.findall(r"\$\$\n(.*?)\n\$\$", markdown, re.DOTALL)
    labels = [label for tex in displays for label in re.findall(r"\\label\{([^}]*)\}", tex)]
    laws = [f"law-{law.name.replace(' ', '-')}" for law in record.laws]
    steps = [line.address for line in record.lines]
    formulas = [variant for variant in record.variants if variant.expression is not None]
    wrong = [f"not-{variant.name.replace(' ', '-')}" for variant in formulas]
    assert labels == [f"{record.tag}-{word}" for word in ("statement", *laws, *steps, *wrong)]
    assert len(labels) == len(displays)
    for tex in displays:
        converter.convert_with_local_state(re.sub(r"\\label\{.*?\}", "", tex), displaystyle=True)
    prose = re.sub(r"\$\$.*?\$\$", "", markdown, flags=re.DOTALL)
    for tex in re.findall(r"\$([^$]+)\$", prose):
        converter.convert_with_local_state(tex, displaystyle=False)


@each_record
def test_references_lead_to_a_label_of_the_record(record: Record) -> None:
    """A reference in the prose names an equation that the record shows."""
    markdown = record._repr_markdown_()
    for label in re.findall(r"\\eqref\{([^}]*)\}", markdown):
        assert f"\\label{{{label}}}" in markdown


@each_record
def test_text_is_plain(record: Record) -> None:
    """The text for the terminal has no LaTeX left in it, and says all that was written."""
    text = str(record)
    assert not re.search(r"[$\\]", text)
    for part in (record.tag, record.title, plain(record.statement), record.fingerprint):
        assert part in text
    for line in record.lines:
        sign = {"=": "=", "<=": "≤"}[line.step.relation]
        assert f"{sign} {plain(line.step.expression)}\n        {line.address}: " in text


@each_record
def test_proof_is_the_steps_alone(record: Record) -> None:
    """The short form has the status and the steps, as on the record's own page, and no more."""
    text, markdown = str(record.proof), record.proof._repr_markdown_()
    assert text.splitlines()[0] == str(record).splitlines()[0]
    labels = [f"{record.tag}-{line.address}" for line in record.lines]
    assert re.findall(r"\\label\{([^}]*)\}", markdown) == labels
    assert all(line in str(record) for line in text.splitlines())


def test_z_form_fits_a_page() -> None:
    """The whole of ZFRM is at most 5 kB of Markdown, its steps alone at most 2 kB."""
    assert len(get("ZFRM")._repr_markdown_().encode()) <= 5000
    assert len(get("ZFRM").proof._repr_markdown_().encode()) <= 2000


@pytest.mark.parametrize(
    ("e", "text"),
    [
        (product(ratio(1, c), Sum(x[i], (i, 1, n))), "1/c Σ_{i=1}^n x_i"),
        (product(1 / c, Sum(x[i], (i, 1, n))), "(1/c) Σ_{i=1}^n x_i"),
        (product(Sum(x[i], (i, 1, n)), c), "(Σ_{i=1}^n x_i) c"),
        (difference(x[i], total(c, 1)), "x_i - (c + 1)"),
        (difference(c, x[i]), "c - x_i"),
        (Sum(x[i], (i, 1, n)) ** 2, "(Σ_{i=1}^n x_i)²"),
        (ratio(c, total(c, 1)), "c/(c + 1)"),
        (total(c, 1) ** 3, "(c + 1)³"),
        (Sum(total(x[i], c), (i, 1, n), (j, 1, n)), "Σ_{j=1}^n Σ_{i=1}^n (x_i + c)"),
    ],
)
def test_plain_text_brackets_what_it_must(e: Expr, text: str) -> None:
    """A line of text means the expression it was made from."""
    assert plain(e) == text


@pytest.mark.parametrize("tag", ["ZFRM", "zfrm"])
def test_get_finds_a_tag_in_either_case(tag: str) -> None:
    """A tag leads to its record."""
    assert get(tag).tag == "ZFRM"


def test_derivations_import_sympy_and_nothing_numeric() -> None:
    """The proofs stand on the standard library and SymPy alone."""
    allowed = sys.stdlib_module_names | {"sympy"}
    for module in (Path(attnref.__file__).parent / "derivations").glob("*.py"):
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                own = name.startswith("attnref.derivations")
                assert own or name.partition(".")[0] in allowed, f"{module.name} imports {name}"
