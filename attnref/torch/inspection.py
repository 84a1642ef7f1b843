"""Tensors to look at: what the article makes its queries, keys and values with."""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from attnref import _checks, _filling


def make_tensor(
    shape: Sequence[int],
    mode: str = "rand",
    *,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str | None = None,
    low: float = 0.0,
    high: float = 1.0,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Make a tensor to try things with.

    Numbers are drawn in float64, where the generator is, and rounded to the dtype. Where "rand"
    rounds up to high, that number is drawn again, so that high never occurs; only low = high gives
    the constant.

    Arguments:
        shape: a sequence of non-negative integers; an empty one makes a tensor without axes.
        mode: "rand" is uniform on [low, high), "randn" standard normal; "zeros"; "ones".
        dtype: floating where numbers are drawn.
        device: where the tensor goes; Torch's default device unless given.
        low: where "rand" begins, as the dtype holds it; the other modes ignore it.
        high: where "rand" ends, as the dtype holds it; the other modes ignore it.
        generator: the source of random numbers; Torch's own, on the CPU, unless given.

    Returns:
        The tensor, of that shape and dtype, on that device.

    Raises:
        TypeError: an argument of the wrong kind, or numbers to be drawn in a dtype without them.
        ValueError: a negative size, an unknown mode, low > high, or ends that are not finite.

    Source: the function of that name in the article on the Z form.

    >>> make_tensor((1, 3), "ones", dtype=torch.float64)
    tensor([[1., 1., 1.]], dtype=torch.float64)
    """
    sizes, way, source = _filling.sizes(shape), _filling.way(mode), _source(generator)
    _require_dtype(dtype, way)
    if way in ("zeros", "ones"):
        make = torch.zeros if way == "zeros" else torch.ones
        return make(sizes, dtype=dtype, device=device)
    if way == "randn":
        numbers = _draw(torch.randn, sizes, source).to(dtype)
    else:
        numbers = _uniform(source, sizes, dtype, *_ends(low, high, dtype))
    return numbers.to(device=torch.get_default_device() if device is None else device)


def _source(generator: torch.Generator | None) -> torch.Generator | None:
    if generator is not None and not isinstance(generator, torch.Generator):
        found = type(generator).__name__
        raise TypeError(f"generator must be a torch.Generator or None, not {found}")
    return generator


def _require_dtype(dtype: torch.dtype, way: str) -> None:
    if not isinstance(dtype, torch.dtype):
        raise TypeError(f"dtype must be a torch.dtype, not {dtype!r}")
    name = str(dtype).removeprefix("torch.")
    if way in ("rand", "randn") and name not in _checks.FLOATS:
        raise TypeError(f"dtype must be floating {_checks.FLOATS} for mode {way!r}, not {name}")


def _ends(low: float, high: float, dtype: torch.dtype) -> tuple[float, float]:
    _filling.ordered(low, high)
    start, stop = _held(low, dtype), _held(high, dtype)
    if not math.isfinite(stop - start):
        name = str(dtype).removeprefix("torch.")
        raise ValueError(f"low, high, high − low must be finite in {name}: low {low}, high {high}")
    return start, stop


def _held(end: float, dtype: torch.dtype) -> float:
    try:
        return torch.tensor(float(end), dtype=torch.float64, device="cpu").to(dtype).item()
    except OverflowError:  # an integer or a fraction beyond every float
        return math.inf


def _draw(
    random: Callable[..., Tensor], sizes: tuple[int, ...], generator: torch.Generator | None
) -> Tensor:
    place = "cpu" if generator is None else generator.device
    return random(sizes, generator=generator, dtype=torch.float64, device=place)


def _uniform(
    generator: torch.Generator | None,
    sizes: tuple[int, ...],
    dtype: torch.dtype,
    low: float,
    high: float,
) -> Tensor:
    def draw(*sizes: int) -> Tensor:
        return (low + _draw(torch.rand, sizes, generator) * (high - low)).to(dtype)

    numbers = draw(*sizes)
    while low < high and (rounded_up := numbers >= high).any():
        numbers[rounded_up] = draw(int(rounded_up.sum()))
    return numbers
