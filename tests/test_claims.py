"""The audit of the articles: the rule for numerals, and that every claim has one judgement."""

import pytest
from claims import VERDICTS, Counts, _verdict, numbers, wrong
from claims._judgement import CLAIMS
from claims.everything import JUDGEMENTS


@pytest.mark.parametrize(
    ("numeral", "value", "verdict"),
    [
        ("2", 2, "holds"),
        ("0.5", 0.1 + 0.4, "holds"),
        ("2.000", 2 + 1e-13, "holds"),
        ("0.245", 0.244728, "holds after rounding"),
        ("0.25", 0.255, "holds after rounding"),
        ("0.26", 0.255, "holds after rounding"),
        ("2.35e17", 2.354e17, "holds after rounding"),
        ("90003", 90003.69, "imprecise"),
        ("0.997", 0.988416, "wrong"),
        ("2.35e17", 2.37e17, "wrong"),
        ("-20", 20, "wrong"),
    ],
)
def test_verdict_counts_units_in_the_last_printed_place(
    numeral: str, value: float, verdict: str
) -> None:
    """None off: it holds; half a unit: after rounding; one: imprecise; more: wrong."""
    assert _verdict.verdict(numeral, value) == verdict


def test_verdict_of_several_numerals_is_the_worst(monkeypatch: pytest.MonkeyPatch) -> None:
    """One wrong share makes the row wrong, wherever it stands, and each has its difference."""
    claim = {"id": "X", "numerals": ["0.5", "0.2", "0.25"]}
    monkeypatch.setitem(CLAIMS, "X", claim)
    assert numbers("X", [0.5, 0.4, 0.25]).verdict == "wrong"
    assert numbers("X", [0.5, 0.2, 0.2549]).verdict == "holds after rounding"
    assert numbers("X", [0.5, 0.2, 0.26]).difference == "0, 0, −0.01"
    with pytest.raises(ValueError, match="zip"):
        numbers("X", [0.5, 0.2])


def test_sentence_is_judged_on_a_condition() -> None:
    """A verdict that the computation does not show is an error that names the claim."""
    with pytest.raises(AssertionError, match="Z08 is judged 'wrong'"):
        wrong("Z08", 1 > 2, "")
    with pytest.raises(AssertionError, match="S23 prints numbers"):
        wrong("S23", 2 > 1, "")


def test_executed_value_has_more_digits_than_the_printed_one() -> None:
    """Three more, so that a reader sees in which direction a rounded number was rounded."""
    assert _verdict.executed("0.24", 0.244728) == "0.24473"
    assert _verdict.executed("4263", 1599) == "1599"
    assert _verdict.executed("0.0000", 9.36e-14) == "9.36e−14"
    assert _verdict.executed("2.35e17", 2.3538e17) == "2.35380e+17"


def test_verdicts_are_those_of_the_rule_and_two_more() -> None:
    """Numerals get the verdicts of the rule; sentences may disagree or stay open too."""
    assert {*VERDICTS} == {*_verdict.RULE, "inconsistent", "cannot be known"}


def test_every_claim_has_one_judgement() -> None:
    """None is left out, none is judged twice."""
    judged = [judgement.name for judgement in JUDGEMENTS]
    assert sorted(judged) == sorted(CLAIMS)


def test_every_verdict_rests_on_something_that_is_said() -> None:
    """A numeral that is not exact, and a sentence that does not hold, come with what is right."""
    for judgement in JUDGEMENTS:
        if judgement.verdict not in ("holds", "holds after rounding"):
            assert judgement.remark, judgement.name


def test_counts_are_of_all_claims() -> None:
    """The table adds up, by article and in all, and the data hold every claim with its verdict."""
    counts = Counts(JUDGEMENTS)
    last = [cell.strip() for cell in str(counts).splitlines()[-1].strip("|").split("|")]
    assert last == ["all", "44", "104", str(len(CLAIMS))]
    data = {entry["id"]: entry for entry in counts._repr_json_()}
    assert list(data) == [f"{letter}{n:02}" for letter, n in _names()]
    assert all(entry["verdict"] in VERDICTS for entry in data.values())


def _names() -> list[tuple[str, int]]:
    return [("Z", n) for n in range(1, 45)] + [("S", n) for n in range(1, 105)]
