"""The rule that turns a printed numeral and an executed value into a verdict."""

from decimal import Decimal

HOLDS, ROUNDED, IMPRECISE = "holds", "holds after rounding", "imprecise"
INCONSISTENT, WRONG, UNKNOWN = "inconsistent", "wrong", "cannot be known"
VERDICTS = (WRONG, INCONSISTENT, IMPRECISE, UNKNOWN, ROUNDED, HOLDS)
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
    if verdict(numeral, value) == HOLDS:
        return numeral
    if unit(numeral) == 1 and float(value).is_integer():
        return f"{value:.0f}"
    places = max(0, -int(unit(numeral).log10())) + 3
    if value and abs(value) < 10.0 ** (2 - places):
        return f"{value:.3g}"
    digits = len(Decimal(numeral).as_tuple().digits)
    return f"{value:.{digits + 2}e}" if "e" in numeral else f"{value:.{places}f}"


def difference(numeral: str, value: float) -> str:
    """Return printed − executed, to three digits."""
    off = Decimal(numeral) - Decimal(float(value))
    return (
        "0"
        if abs(off) <= SLACK * abs(Decimal(float(value)))
        else f"{float(off):+.3g}".replace("-", "−")
    )
