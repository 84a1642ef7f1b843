"""The rule that turns a printed numeral and an executed value into a verdict."""

from decimal import Decimal

HOLDS, ROUNDED, IMPRECISE = "holds", "holds after rounding", "imprecise"
INCONSISTENT, WRONG, UNKNOWN = "inconsistent", "wrong", "cannot be known"
VERDICTS = (WRONG, INCONSISTENT, IMPRECISE, UNKNOWN, ROUNDED, HOLDS)
MEANING = {
    WRONG: "False as it stands.",
    INCONSISTENT: "At odds with another statement of the article.",
    IMPRECISE: "True under a reading or a condition that is not stated, or a number off by more than "
    "half a unit in its last place and by one at most.",
    UNKNOWN: "The article does not give what one would need to tell.",
    ROUNDED: "Right in every digit that is printed.",
    HOLDS: "Right as it stands.",
}
RULE = (HOLDS, ROUNDED, IMPRECISE, WRONG)  # from the best to the worst
SLACK = Decimal(
    "1e-12"
)  # of the value: what is left of rounding in float64, and of ties


def unit(numeral: str) -> Decimal:
    """Return one in the last place that is printed: 0.01 of 0.24, 1e15 of 2.35e17."""
    exponent = Decimal(numeral).as_tuple().exponent
    assert isinstance(exponent, int), numeral
    return Decimal(1).scaleb(exponent)


def verdict(numeral: str, value: float) -> str:
    """Say what becomes of a numeral, by how many units in its last place it is off.

    Not at all: it holds. Half a unit at most: after rounding. One at most: it is imprecise.
    """
    printed, executed = Decimal(numeral), Decimal(float(value))
    off = abs(printed - executed) - SLACK * abs(executed)
    limits = zip(RULE, (Decimal(0), unit(numeral) / 2, unit(numeral)), strict=False)
    return next((name for name, limit in limits if off <= limit), WRONG)


def executed(numeral: str, value: float) -> str:
    """Return the value with three digits more than are printed; three of a very small one.

    A numeral that holds is its own executed value; a whole number is shown as one.
    """
    places = max(0, -int(unit(numeral).log10())) + 3
    if verdict(numeral, value) == HOLDS:
        shown = numeral
    elif unit(numeral) == 1 and float(value).is_integer():
        shown = f"{value:.0f}"
    elif "e" in numeral:
        shown = f"{value:.{len(Decimal(numeral).as_tuple().digits) + 2}e}"
    elif abs(value) < 10.0 ** (2 - places):
        shown = f"{value:.3g}"
    else:
        shown = f"{value:.{places}f}"
    return shown.replace("-", "−")


def difference(numeral: str, value: float) -> str:
    """Return printed − executed, to three digits."""
    off = float(Decimal(numeral) - Decimal(float(value)))
    if verdict(numeral, value) == HOLDS:
        return "0"
    return (f"{off:+.0f}" if 1000 <= abs(off) < 1e6 else f"{off:+.3g}").replace(
        "-", "−"
    )
