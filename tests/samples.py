"""Inputs for the tests: sizes, numbers, masks, layouts, and a strategy that draws them all.

The sizes are pairwise different primes, so that no two axes can be mistaken for each other. Every
mask that is made here holds both values, or it would test nothing.
"""

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, TypedDict, TypeVar

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import DTypeLike, NDArray

B, H, L, S, D_K, D_V = 2, 3, 5, 7, 11, 13
DTYPES = ("float16", "float32", "float64")
WIDTHS: dict[str, Literal[16, 32, 64]] = {"float16": 16, "float32": 32, "float64": 64}

Floats: TypeAlias = NDArray[np.floating]
Mask: TypeAlias = NDArray[np.bool_]
Kind = TypeVar("Kind", bound=np.generic)


def normal(*shape: int, seed: int = 0, dtype: DTypeLike = "float64") -> Floats:
    """Return independent standard normal numbers; sizes and seed decide them."""
    numbers: Floats = np.random.default_rng([seed, *shape]).standard_normal(shape).astype(dtype)
    return numbers


def triple(
    *, dtype: DTypeLike = "float64", batch: tuple[int, ...] = (), seed: int = 0
) -> tuple[Floats, Floats, Floats]:
    """Return query, key and value of the sizes above, of standard normal numbers."""
    shapes = (L, D_K), (S, D_K), (S, D_V)
    query, key, value = (normal(*batch, *shape, seed=seed, dtype=dtype) for shape in shapes)
    return query, key, value


def eighths(*shape: int, seed: int = 0, dtype: DTypeLike = "float64") -> Floats:
    """Return multiples of 1/8 in [−16, 16]: sums and small multiples of them are exact."""
    rng = np.random.default_rng([seed, *shape])
    return np.asarray(rng.integers(-128, 129, shape) / 8).astype(dtype)


def random_mask(*shape: int, seed: int = 0) -> Mask:
    """Return a mask with both values in it, more than half of them True."""
    mask: Mask = np.random.default_rng([seed, *shape]).random(shape) < 0.6
    return both_values(mask)


def both_values(mask: Mask) -> Mask:
    """Require a mask with both values in it."""
    assert mask.any(), "a mask that allows nothing tests nothing here"
    assert not mask.all(), "a mask that allows everything tests nothing here"
    return mask


def _strided(x: NDArray[Kind]) -> NDArray[Kind]:
    wide = np.repeat(x, 2, axis=-1)
    return wide[..., ::2]


def _permuted(x: NDArray[Kind]) -> NDArray[Kind]:
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(x, -2, 0)), 0, -2)


def _unaligned(x: NDArray[Kind]) -> NDArray[Kind]:
    raw = np.zeros(x.nbytes + 1, dtype=np.uint8)[1:]
    moved = raw.view(x.dtype).reshape(x.shape)
    moved[...] = x
    return moved


def _read_only(x: NDArray[Kind]) -> NDArray[Kind]:
    closed = x.copy()
    closed.flags.writeable = False
    return closed


def _reversed(x: NDArray[Kind]) -> NDArray[Kind]:
    return x[..., ::-1, :].copy()[..., ::-1, :]


def _big_endian(x: NDArray[Kind]) -> NDArray[Kind]:
    return x.astype(x.dtype.newbyteorder(">"))


class Layout(Protocol):
    """A way to hold the same numbers in memory otherwise."""

    def __call__(self, x: NDArray[Kind], /) -> NDArray[Kind]:
        """Return the same numbers."""


LAYOUTS: dict[str, Layout] = {
    "fortran": np.asfortranarray,
    "strided": _strided,
    "reversed": _reversed,
    "permuted": _permuted,
    "unaligned": _unaligned,
    "read-only": _read_only,
    "big-endian": _big_endian,
}


class Options(TypedDict):
    """The keyword arguments of attention."""

    mask: Mask | None
    bias: Floats | None
    scale: float | None
    softcap: float | None
    sink: Floats | float | None


@dataclass(frozen=True)
class Problem:
    """The arguments of one call."""

    query: Floats
    key: Floats
    value: Floats
    mask: Mask | None = None
    scale: float | None = None
    bias: Floats | None = None
    softcap: float | None = None
    sink: Floats | float | None = None

    @property
    def arrays(self) -> tuple[Floats, Floats, Floats]:
        """Return query, key and value."""
        return self.query, self.key, self.value

    @property
    def options(self) -> Options:
        """Return what follows the arrays."""
        return {
            "mask": self.mask,
            "bias": self.bias,
            "scale": self.scale,
            "softcap": self.softcap,
            "sink": self.sink,
        }


@st.composite
def problems(draw: st.DrawFn, *, values: bool = True) -> Problem:
    """Draw sizes (0 among them), leading axes, heads, a dtype, numbers, layouts and all options.

    Without values the value has depth 0 and no leading axes.
    """
    L, S, d_k, d_v = (draw(_sizes(largest)) for largest in (4, 5, 4, 3))
    least = draw(st.sampled_from((1, 1, 1, 1, 0)))
    drawn = draw(
        hnp.mutually_broadcastable_shapes(num_shapes=3, max_dims=2, max_side=3, min_side=least)
    )
    fronts, group = drawn.input_shapes, draw(st.sampled_from((1, 1, 2, 3)))
    if fronts[0] and group > 1:  # that many heads of the query read each head of key and value
        fronts = ((*fronts[0][:-1], drawn.result_shape[-1] * group), *fronts[1:])
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    tails = (L, d_k), (S, d_k), (S, d_v)
    query, key, value = (
        draw(_arrays(dtype, (*front, *tail))) for front, tail in zip(fronts, tails, strict=True)
    )
    if not values:
        value = np.empty((S, 0), dtype)
    shape = attention_shape(query, key, value)
    return Problem(query, key, value, **draw(_options(dtype, shape, bool(d_k))))


def _sizes(largest: int) -> st.SearchStrategy[int]:
    """Draw a size, 0 seldom: whatever is empty tests little of all else."""
    return st.sampled_from([*range(2, largest + 1)] * 4 + [1, 1, 0])


def attention_shape(query: Floats, *sources: Floats) -> tuple[int, ...]:
    """Return (…, L, S), the leading axes broadcast once heads are shared out."""
    fronts = [query.shape[:-2]]
    for source in sources:
        *front, _, _ = source.shape
        if front and query.ndim > 2 and front[-1] > 1 and query.shape[-3] != 1:
            front[-1] = query.shape[-3]
        fronts.append(tuple(front))
    return (*np.broadcast_shapes(*fronts), query.shape[-2], sources[0].shape[-2])


@st.composite
def _options(
    draw: st.DrawFn, dtype: np.dtype[np.floating], shape: tuple[int, ...], deep: bool
) -> Options:
    """Draw the options, each there or not, so that every pair of them occurs."""
    bias = draw(st.none() | _broadcastable(shape).flatmap(lambda own: _arrays(dtype, own, -np.inf)))
    rows = _broadcastable(shape[:-1])
    sinks = st.floats(-5, 5) | rows.flatmap(lambda own: _arrays(dtype, own, -np.inf))
    return {
        "mask": draw(st.none() | _masks(shape)),
        "bias": bias,
        "scale": draw((st.none() if deep else st.nothing()) | st.floats(-2, 2)),
        "softcap": draw(st.none() | st.floats(2**-10, 100)),
        "sink": draw(st.none() | sinks),
    }


@st.composite
def _broadcastable(draw: st.DrawFn, target: tuple[int, ...]) -> tuple[int, ...]:
    cut = draw(st.integers(0, len(target)))
    return tuple(draw(st.sampled_from((1, size))) for size in target[cut:])


@st.composite
def _arrays(
    draw: st.DrawFn, dtype: np.dtype[np.floating], shape: tuple[int, ...], *also: float
) -> Floats:
    largest = draw(st.sampled_from((1.0, 30.0, 1000.0)))
    numbers = st.floats(-largest, largest, width=WIDTHS[dtype.name])
    numbers = numbers | st.sampled_from(also) if also else numbers
    array = draw(hnp.arrays(dtype, shape, elements=numbers, fill=st.nothing()))
    layout = draw(st.none() | st.sampled_from(list(LAYOUTS))) if array.ndim > 1 else None
    return array if layout is None else LAYOUTS[layout](array)


@st.composite
def _masks(draw: st.DrawFn, target: tuple[int, ...]) -> Mask:
    """Draw a mask that broadcasts to the target, with both values wherever it has two places."""
    mask: Mask = draw(hnp.arrays(np.bool_, draw(_broadcastable(target))))
    if mask.size > 1:
        place = draw(st.integers(0, mask.size - 1))
        mask.flat[place] = not mask.flat[place - 1]
        both_values(mask)
    return mask
