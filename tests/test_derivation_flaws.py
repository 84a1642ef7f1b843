"""Records that are wrong: each flaw is reported, with the place it is in."""

import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from sympy import Eq, Integer, Symbol

from attnref.derivations import Law, NotProvedError, Quantity, Source, check, get, verify
from small_record import c, j, small_record

GOOD = small_record()
FIRST, SECOND = GOOD.steps
(ONCE,) = GOOD.variants
REAL = Symbol("c", real=True)
FLAWS: dict[str, dict[str, Any]] = {
    "the tag 'mean' is not four capital": {"tag": "mean"},
    "two steps are called sum": {"steps": (FIRST, *GOOD.steps)},
    "two laws are called mean": {"definitions": GOOD.definitions * 2},
    "two variants are called once": {"variants": GOOD.variants * 2},
    "step 'statement' needs a name": {"steps": (replace(FIRST, name="statement"), SECOND)},
    "step 'Step 2' needs a name": {"steps": (FIRST, replace(SECOND, name="Step 2"))},
    "variant 'a_b' is not called by words": {"variants": (replace(ONCE, name="a_b"),)},
    "law spare is used in no step": {"assumptions": (Law("spare", "", (Eq(c, 0),)),)},
    "law mean has a variable that its left side lacks": {
        "definitions": (replace(GOOD.definitions[0], variables=(j,)),)
    },
    "the last step is not the right side": {"steps": GOOD.steps[:1]},
    "there is no wrong variant": {"variants": ()},
    "variant once changes nothing": {"variants": (replace(ONCE, expression=None),)},
    "c is not declared": {"symbols": GOOD.symbols[:2] + GOOD.symbols[3:]},
    "two symbols are called c": {
        "assumptions": (Law("shift", "", (Eq(c, REAL),)),),
    },
    "the code 'numpy.mean' is no public name": {"code": ("numpy.mean",)},
    "no locator for A textbook": {"sources": (Source("A textbook", "", False),)},
    "step shift is not proved: outside the language: it uses luck": {
        "steps": (FIRST, replace(SECOND, using=("luck",)))
    },
    "step sum is not proved: not shown to be equal: the two sides differ by": {
        "steps": (replace(FIRST, using=()), SECOND)
    },
    "variant once is not refused: proved": {
        "variants": (replace(ONCE, expression=SECOND.expression),)
    },
    "variant once is not refused: outside the language: there is no step gone": {
        "variants": (replace(ONCE, step="gone"),)
    },
    "variant once is not refused: outside the language: sqrt(c)": {
        "variants": (replace(ONCE, expression=c ** Fraction(1, 2)),)
    },
}


def test_small_record_is_proved() -> None:
    """The record that the flaws are put into has none."""
    assert verify(GOOD).failures == ()


@pytest.mark.parametrize(("message", "changes"), FLAWS.items(), ids=lambda flaw: str(flaw)[:30])
def test_flaw_is_reported(message: str, changes: dict[str, Any]) -> None:
    """A record with one flaw is not proved, and the message says where."""
    record = replace(GOOD, **changes)
    assert not verify(record).proved
    with pytest.raises(NotProvedError, match=re.escape(message)):
        check(record)


def test_law_may_not_declare_positive_what_is_not() -> None:
    """A symbol that is declared positive may not be defined as something that need not be."""
    z = Symbol("z", positive=True)
    record = replace(
        GOOD,
        assumptions=(Law("claim", "", (Eq(z, c),)),),
        symbols=(*GOOD.symbols, Quantity(z, "", "")),
    )
    assert "law claim makes positive what need not be" in verify(record).failures


def test_record_fails_with_the_record_it_uses() -> None:
    """What rests on a record that is not proved is not proved."""
    broken = replace(get("VDOT"), variants=())
    record = replace(get("VSCL"), uses=(broken,))
    assert "VDOT is not proved" in verify(record).failures


def test_status_tells_fixed_sizes_from_all_sizes() -> None:
    """A proof for one length does not claim to hold for all."""
    assert "✓ proved for all n" in str(GOOD)
    assert "✓ proved at the sizes written" in str(small_record(Integer(3)))
    assert "✗ not proved" in str(replace(GOOD, variants=()))
