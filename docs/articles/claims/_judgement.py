"""One claim, its verdict, and what that rests on: numbers by the rule, sentences by a condition."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
import tomllib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from claims import _verdict

CLAIMS: Mapping[str, dict[str, Any]] = {
    claim["id"]: claim
    for claim in tomllib.loads(
        Path(__file__).with_name("claims.toml").read_text(encoding="utf-8")
    )["claim"]
}


@dataclass(frozen=True)
class Judgement:
    """What becomes of a claim: the verdict, the executed value, how far off, and what is true."""

    name: str
    verdict: str
    remark: str
    executed: str = ""
    difference: str = ""

    @property
    def claim(self) -> dict[str, Any]:
        """The claim as the article makes it, in our words."""
        return CLAIMS[self.name]


def numbers(name: str, values: ArrayLike, remark: str = "") -> Judgement:
    """Judge the numerals of a claim by the rule; the worst of them decides."""
    numerals = CLAIMS[name]["numerals"]
    pairs = list(zip(numerals, np.ravel(values).tolist(), strict=True))
    found = [_verdict.verdict(*pair) for pair in pairs]
    return Judgement(
        name,
        max(found, key=_verdict.RULE.index),
        remark,
        ", ".join(_verdict.executed(*pair) for pair in pairs),
        ", ".join(_verdict.difference(*pair) for pair in pairs),
    )


def holds(
    name: str, shown: bool, remark: str = "", executed: str = ""
) -> Judgement:
    """Judge a sentence to hold, on a condition that has been computed."""
    return _sentence(name, _verdict.HOLDS, shown, remark, executed)


def wrong(name: str, shown: bool, remark: str, executed: str = "") -> Judgement:
    """Judge a sentence to be wrong, on a condition that has been computed."""
    return _sentence(name, _verdict.WRONG, shown, remark, executed)


def imprecise(name: str, shown: bool, remark: str, executed: str = "") -> Judgement:
    """Judge a sentence to need a more precise one, on a condition that has been computed."""
    return _sentence(name, _verdict.IMPRECISE, shown, remark, executed)


def inconsistent(
    name: str, shown: bool, remark: str, executed: str = ""
) -> Judgement:
    """Judge a sentence to disagree with another one, on a condition that has been computed."""
    return _sentence(name, _verdict.INCONSISTENT, shown, remark, executed)


def unknown(name: str, remark: str) -> Judgement:
    """Judge that the article does not hold what is needed to tell."""
    return Judgement(name, _verdict.UNKNOWN, remark)


def _sentence(
    name: str, verdict: str, shown: bool, remark: str, executed: str
) -> Judgement:
    assert "numerals" not in CLAIMS[name], (
        f"{name} prints numbers, which have a rule"
    )
    assert shown, (
        f"{name} is judged {verdict!r}, and the computation does not show it"
    )
    return Judgement(name, verdict, remark, executed)
