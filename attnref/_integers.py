"""The foundation: sizes, offsets and rows of integers, of which masks are made."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any

from attnref._checks import dtype_name, shape


def diagonal(L: int, S: int, align: str | None, offset: int | None) -> int:
    """Return the offset of a causal diagonal: key j is visible to query i where j ≤ i + offset."""
    size("L", L)
    size("S", S)
    if align is not None and offset is not None:
        raise ValueError(f"give align or offset, not both: align {align!r}, offset {offset}")
    if offset is None:
        return _corner(int(L), int(S), align)
    integer("offset", offset)
    # Beyond the corners a row sees all or nothing, and no integer is too large for an array.
    return min(max(int(offset), -int(L)), int(S))


def _corner(L: int, S: int, align: str | None) -> int:
    if align not in (None, "upper-left", "lower-right"):
        raise ValueError(f"align must be 'upper-left' or 'lower-right', not {align!r}")
    if align is None and L != S:
        raise ValueError(
            f"align must be 'upper-left' or 'lower-right' (or give offset) where L ≠ S: {L} ≠ {S}"
        )
    return S - L if align == "lower-right" else 0


def size(name: str, value: int) -> None:
    """Require a number of rows: an integer that is not negative."""
    integer(name, value)
    if value < 0:
        raise ValueError(f"{name} must not be negative: {value}")


def part(start: int, stop: int, S: int) -> None:
    """Require a part of S keys: 0 ≤ start ≤ stop ≤ S."""
    integer("start", start)
    integer("stop", stop)
    if not 0 <= start <= stop <= S:
        raise ValueError(f"start and stop must be in order, from 0 to S: {start}, {stop}, S {S}")


def count(name: str, value: int) -> int:
    """Return a number of things of which there is one at least."""
    integer(name, value)
    if value < 1:
        raise ValueError(f"{name} must be at least 1: {value}")
    return int(value)


def integer(name: str, value: int) -> None:
    """Require an integer, and not a boolean."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be an integer, not {type(value).__name__}")


def integers(name: str, values: Any, S: int | None = None) -> list[int]:
    """Return a row of integers as Python's own, each from 0 to S where S is given."""
    if hasattr(values, "dtype"):
        if not dtype_name(values).startswith(("int", "uint")):
            raise TypeError(f"{name} must have an integer dtype, not {dtype_name(values)}")
        if values.ndim != 1:
            raise ValueError(f"{name} must have 1 axis, not {values.ndim}: {shape(values)}")
        values = values.tolist()
    if not isinstance(values, Sequence):
        raise TypeError(f"{name} must be an array or a sequence, not {type(values).__name__}")
    for i, n in enumerate(values):
        if isinstance(n, list | tuple):
            raise ValueError(f"{name} must have 1 axis, but {name}[{i}] is a {type(n).__name__}")
        integer(f"{name}[{i}]", n)
        if S is not None and not 0 <= n <= S:
            raise ValueError(f"{name}[{i}] must be from 0 to S: {n}, S {S}")
    return [int(n) for n in values]
