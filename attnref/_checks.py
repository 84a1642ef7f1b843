"""The foundation: which kinds of arrays and numbers may enter, read from .dtype alone.

No array library is imported here: the NumPy and the Torch side share these rules and nothing else.
A wrong kind is a TypeError, a wrong value a ValueError. Every message names the argument, the rule,
and what came instead.
"""

import math
from functools import cache
from numbers import Real
from typing import Protocol

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


def attn_mask(kind: type, mask: Array, query: Array, is_causal: bool) -> None:
    """Require what Torch calls a mask: booleans, or numbers of a dtype that it takes."""
    _require_kind(kind, "attn_mask", mask)
    if dtype_name(mask) not in ("bool", "float32", dtype_name(query)):
        raise TypeError(
            "attn_mask must be boolean, True where a query may attend, or floating, of the query's "
            f"dtype {dtype_name(query)} or float32, to be added: {dtype_name(mask)}"
        )
    if is_causal:
        raise ValueError(
            "give attn_mask or is_causal, not both: a boolean attn_mask joins a causal mask by &"
        )


def scale(value: float | None, query: Array) -> float:
    """Return the scale: 1/√d_k unless one is given."""
    return _default_scale(query) if value is None else finite("scale", value, " or None")


def softcap(value: float | None) -> float | None:
    """Return the cap of the scores, which is positive, or None where they have none."""
    if value is None:
        return None
    cap = finite("softcap", value, " or None")
    if cap <= 0:
        raise ValueError(f"softcap must be positive, or None for no cap: {cap}")
    return cap


def probability(name: str, value: float) -> float:
    """Return a number from 0 to 1."""
    chance = finite(name, value)
    if not 0 <= chance <= 1:
        raise ValueError(f"{name} must be from 0 to 1: {chance}")
    return chance


def flags(**given: bool) -> None:
    """Require True or False."""
    for name, flag in given.items():
        if not isinstance(flag, bool):
            raise TypeError(f"{name} must be True or False, not {type(flag).__name__}")


def function(name: str, value: object) -> None:
    """Require what can be called, or None."""
    if value is not None and not callable(value):
        raise TypeError(f"{name} must be a function or None, not {type(value).__name__}")


def number_or_array(kind: type, name: str, value: object) -> None:
    """Require a real number, or an array of the class."""
    if not isinstance(value, kind) and not _is_real(value):
        array = f"{kind.__module__}.{kind.__name__}"
        raise TypeError(f"{name} must be a {array} or a real number, not {type(value).__name__}")


def finite(name: str, value: float, otherwise: str = "") -> float:
    """Return a finite real number as a float."""
    number = real(name, value, otherwise)
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite, not {number}")
    return number


def real(name: str, value: float, otherwise: str = "") -> float:
    """Return a real number as a float, ±∞ where it is an integer or fraction beyond every float."""
    if not _is_real(value):
        raise TypeError(f"{name} must be a real number{otherwise}, not {type(value).__name__}")
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def shape(array: Array) -> Shape:
    """Return the shape as a plain tuple, for messages."""
    return tuple(array.shape)


def dtype_name(array: Array) -> str:
    """Return the dtype's bare name, the same for every array library."""
    return _bare(array.dtype)


@cache
def _bare(dtype: object) -> str:
    return str(getattr(dtype, "name", dtype)).removeprefix("torch.")


def _is_real(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


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
