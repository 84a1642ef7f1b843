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
    scale: float | None


@dataclass(frozen=True)
class Problem:
    """The arguments of one call."""

    query: Floats
    key: Floats
    value: Floats
    mask: Mask | None = None
    scale: float | None = None

    @property
    def arrays(self) -> tuple[Floats, Floats, Floats]:
        """Return query, key and value."""
        return self.query, self.key, self.value

    @property
    def options(self) -> Options:
        """Return what follows the arrays."""
        return {"mask": self.mask, "scale": self.scale}


@st.composite
def problems(draw: st.DrawFn, *, values: bool = True) -> Problem:
    """Draw sizes (0 among them), leading axes, a dtype, numbers, layouts, a mask and a scale.

    Without values the value has depth 0 and no leading axes.
    """
    L, S, d_k, d_v = (draw(st.integers(0, largest)) for largest in (4, 5, 4, 3))
    fronts = draw(
        hnp.mutually_broadcastable_shapes(num_shapes=3, max_dims=2, max_side=3, min_side=0)
    )
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    tails = (L, d_k), (S, d_k), (S, d_v)
    query, key, value = (
        draw(_arrays(dtype, (*front, *tail)))
        for front, tail in zip(fronts.input_shapes, tails, strict=True)
    )
    if not values:
        value = np.empty((S, 0), dtype)
    batch = np.broadcast_shapes(query.shape[:-2], key.shape[:-2], value.shape[:-2])
    mask = draw(st.none() | _masks((*batch, L, S)))
    scale = draw((st.none() if d_k else st.nothing()) | st.floats(-2, 2))
    return Problem(query, key, value, mask, scale)


@st.composite
def _arrays(draw: st.DrawFn, dtype: np.dtype[np.floating], shape: tuple[int, ...]) -> Floats:
    largest = draw(st.sampled_from((1.0, 30.0, 1000.0)))
    numbers = st.floats(-largest, largest, width=WIDTHS[dtype.name])
    array = draw(hnp.arrays(dtype, shape, elements=numbers))
    layout = draw(st.none() | st.sampled_from(list(LAYOUTS)))
    return array if layout is None else LAYOUTS[layout](array)


@st.composite
def _masks(draw: st.DrawFn, target: tuple[int, ...]) -> Mask:
    """Draw a mask that broadcasts to the target, with both values wherever it has two places."""
    cut = draw(st.integers(0, len(target)))
    shape = tuple(draw(st.sampled_from((1, size))) for size in target[cut:])
    mask: Mask = draw(hnp.arrays(np.bool_, shape))
    if mask.size > 1:
        place = draw(st.integers(0, mask.size - 1))
        mask.flat[place] = not mask.flat[place - 1]
        both_values(mask)
    return mask
