"""The foundation once more: what an array that is made to be looked at may be filled with."""

from collections.abc import Sequence
from numbers import Integral, Real

MODES = ("rand", "randn", "zeros", "ones")


def sizes(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the shape as integers that are not negative."""
    wrong = f"shape must be a sequence of non-negative integers, not {shape!r}"
    if not isinstance(shape, Sequence) or isinstance(shape, str | bytes):
        raise TypeError(wrong)
    if any(isinstance(size, bool) or not isinstance(size, Integral) for size in shape):
        raise TypeError(wrong)
    if any(size < 0 for size in shape):
        raise ValueError(wrong)
    return tuple(map(int, shape))


def way(mode: str) -> str:
    """Return the mode, lower-cased, if it is one of the four."""
    lowered = mode.lower() if isinstance(mode, str) else mode
    if lowered not in MODES:
        raise ValueError(f"mode must be one of {MODES}, not {lowered!r}")
    return lowered


def ordered(low: float, high: float) -> None:
    """Require two real numbers, the first not greater than the second."""
    for name, end in (("low", low), ("high", high)):
        if isinstance(end, bool) or not isinstance(end, Real):
            raise TypeError(f"{name} must be a real number, not {type(end).__name__}")
    if low > high:
        raise ValueError(f"low must not be greater than high: {low} > {high}")
