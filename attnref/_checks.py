"""The foundation: which kinds and shapes may enter, read from .shape, .ndim and .dtype.

No array library is imported here: the NumPy and the Torch side share these rules and nothing else.
A wrong kind is a TypeError, a wrong value a ValueError. Every message names the argument, the rule,
and what came instead.
"""

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, Protocol

FLOATS = ("float16", "bfloat16", "float32", "float64")

Shape = tuple[int, ...]


class Array(Protocol):
    """What every array library agrees on."""

    @property
    def shape(self) -> Shape: ...
    @property
    def ndim(self) -> int: ...
    @property
    def dtype(self) -> object: ...


def floating(kind: type, **arrays: Array) -> None:
    """Require arrays of one class, all of one floating dtype."""
    for name, array in arrays.items():
        _require_kind(kind, name, array)
        if dtype_name(array) not in FLOATS:
            raise TypeError(f"{name} must have a floating dtype {FLOATS}, not {dtype_name(array)}")
    dtypes = {name: dtype_name(array) for name, array in arrays.items()}
    if len(set(dtypes.values())) > 1:
        found = ", ".join(f"{name} {dtype}" for name, dtype in dtypes.items())
        raise TypeError(f"{', '.join(arrays)} must share one dtype: {found}")


def boolean(kind: type, mask: Array) -> None:
    """Require a boolean mask; numbers are added to scores, and that is another argument's work."""
    _require_kind(kind, "mask", mask)
    if dtype_name(mask) != "bool":
        raise TypeError(
            f"mask must be boolean, True where a query may attend, not {dtype_name(mask)}; "
            "numbers to add to the scores are a bias, not a mask"
        )


def scale(value: float | None, query: Array) -> float:
    """Return the scale: 1/√d_k unless one is given."""
    if value is None:
        return _default_scale(query)
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"scale must be a real number or None, not {type(value).__name__}")
    try:
        beta = float(value)
    except OverflowError:  # an integer or a fraction beyond every float
        beta = math.inf if value > 0 else -math.inf
    if not math.isfinite(beta):
        raise ValueError(f"scale must be finite, not {beta}")
    return beta


def scores_shape(query: Array, key: Array) -> Shape:
    """Return (…, L, S), the shape of the scores of query (…, L, d_k) and key (…, S, d_k)."""
    matrices(query=query, key=key)
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(
            "query and key must share their last axis d_k: "
            f"{query.shape[-1]} ≠ {key.shape[-1]} (query {shape(query)}, key {shape(key)})"
        )
    return (*leading(query=query, key=key), query.shape[-2], key.shape[-2])


def attention_shape(query: Array, key: Array, value: Array) -> Shape:
    """Return (…, L, S) with the leading axes of query, key and value broadcast together."""
    *_, targets, sources = scores_shape(query, key)
    matrices(value=value)
    if value.shape[-2] != sources:
        raise ValueError(
            "key and value must share their second-last axis S: "
            f"{sources} ≠ {value.shape[-2]} (key {shape(key)}, value {shape(value)})"
        )
    return (*leading(query=query, key=key, value=value), targets, sources)


def mask_shape(mask: Array, target: Shape) -> None:
    """Require a mask that broadcasts to the scores without enlarging them."""
    fits = len(mask.shape) <= len(target) and all(
        size in (1, wanted) for size, wanted in zip(mask.shape[::-1], target[::-1], strict=False)
    )
    if not fits:
        raise ValueError(
            f"mask must broadcast to the scores (…, L, S): mask {shape(mask)}, scores {target}"
        )


def matrices(**arrays: Array) -> None:
    """Require at least two axes: rows of vectors."""
    for name, array in arrays.items():
        if array.ndim < 2:
            raise ValueError(
                f"{name} must have at least 2 axes (…, rows, depth), "
                f"not {array.ndim}: {shape(array)}"
            )


def rows(**arrays: Array) -> None:
    """Require at least one axis: a row to normalise along."""
    for name, array in arrays.items():
        if array.ndim < 1:
            raise ValueError(f"{name} must have at least 1 axis (…, S), not 0: {shape(array)}")


def leading(**arrays: Array) -> Shape:
    """Return the broadcast leading axes, all but the last two."""
    fronts = {name: tuple(array.shape[:-2]) for name, array in arrays.items()}
    length = max(map(len, fronts.values()))
    aligned = [(1,) * (length - len(front)) + front for front in fronts.values()]
    sizes = [set(column) - {1} for column in zip(*aligned, strict=True)]
    if any(len(different) > 1 for different in sizes):
        found = ", ".join(f"{name} {shape(array)}" for name, array in arrays.items())
        raise ValueError(f"the leading axes of {', '.join(arrays)} must broadcast: {found}")
    return tuple(different.pop() if different else 1 for different in sizes)


def shape(array: Array) -> Shape:
    """Return the shape as a plain tuple, for messages."""
    return tuple(array.shape)


def dtype_name(array: Array) -> str:
    """Return the dtype's bare name, the same for every array library."""
    return str(getattr(array.dtype, "name", array.dtype)).removeprefix("torch.")


def _require_kind(kind: type, name: str, array: object) -> None:
    if not isinstance(array, kind):
        raise TypeError(
            f"{name} must be a {kind.__module__}.{kind.__name__}, "
            f"not {type(array).__module__}.{type(array).__name__}"
        )
    if hasattr(array, "mask"):
        raise TypeError(
            f"{name} carries a mask of its own ({type(array).__name__}), which would be lost: "
            "pass its data, and its mask as mask, True where a query may attend"
        )


def _default_scale(query: Array) -> float:
    d_k = query.shape[-1]
    if d_k == 0:
        raise ValueError(
            f"query has d_k = 0, where 1/√d_k is undefined: give scale (query {shape(query)})"
        )
    return 1 / math.sqrt(d_k)


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
