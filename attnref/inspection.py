"""Looking at things: arrays to look at, what one call says of an array, and what a page shows."""

import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from attnref import _checks, _entry, _filling, _integers


def make_array(
    shape: Sequence[int],
    mode: str = "rand",
    *,
    dtype: DTypeLike = np.float32,
    low: float = 0.0,
    high: float = 1.0,
    rng: np.random.Generator | None = None,
) -> NDArray[Any]:
    """Make an array to try things with.

    Numbers are drawn in float64 and rounded to the dtype. Where "rand" rounds up to high, that
    number is drawn again, so that high never occurs; only low = high gives the constant.

    Arguments:
        shape: a sequence of non-negative integers; an empty one makes an array without axes.
        mode: "rand" is uniform on [low, high), "randn" standard normal; "zeros"; "ones".
        dtype: floating where numbers are drawn.
        low: where "rand" begins, as the dtype holds it; the other modes ignore it.
        high: where "rand" ends, as the dtype holds it; the other modes ignore it.
        rng: the source of random numbers; unless given, a new one that nobody can repeat.

    Returns:
        The array, of that shape and dtype.

    Raises:
        TypeError: an argument of the wrong kind, or numbers to be drawn in a dtype without them.
        ValueError: a negative size, an unknown mode, low > high, or ends that are not finite.

    Source: `make_tensor` of the article on the Z form, for NumPy and with a seed.

    >>> make_array((1, 3), "ones")
    array([[1., 1., 1.]], dtype=float32)
    """
    sizes, way, kind, source = (
        _filling.sizes(shape),
        _filling.way(mode),
        _dtype(dtype),
        _entry.source(rng),
    )
    if way in ("zeros", "ones"):
        return np.zeros(sizes, kind) if way == "zeros" else np.ones(sizes, kind)
    if kind.name not in _checks.FLOATS:
        raise TypeError(f"dtype must be floating {_checks.FLOATS} for mode {way!r}, not {kind}")
    if way == "randn":
        return np.asarray(source.standard_normal(sizes), kind)
    return _uniform(source, sizes, kind, *_ends(low, high, kind))


def print_matrix_info(x: Any, name: str = "x", max_items: int = 10) -> bool:
    """Print what an array or a tensor is and holds, or say that it is neither.

    min and max are elements as they are, the mean is taken in float64, and NaN shows in all three;
    of an empty array they are None. Of strings, complex numbers, sparse tensors … a line says why.

    Arguments:
        x: a NumPy array or a Torch tensor; anything else is named by its type.
        name: what to call it.
        max_items: how many of its first elements to preview, row by row.

    Returns:
        Whether it is an array or a tensor.

    Raises:
        TypeError: max_items that is not an integer.
        ValueError: max_items that is negative.

    Source: the function of that name in the article on the Z form.

    >>> print_matrix_info(np.array([[1, 2], [4, 2**62]]), "counts", max_items=3)
    counts:
      type: <class 'numpy.ndarray'>
      dtype: int64
      shape: (2, 2)
      ndim: 2
      min: 1
      max: 4611686018427387904
      mean: 1.152921504606847e+18
      preview(3/4): [1, 2, 4]
    True
    """
    _integers.size("max_items", max_items)
    is_tensor = isinstance(x, getattr(sys.modules.get("torch"), "Tensor", ()))
    if not is_tensor and not isinstance(x, np.ndarray):
        print(f"{name}: not a tensor/ndarray (type={type(x)})")
        return False
    values = _values(x)
    facts = _description(x, is_tensor) | _statistics(x, values)
    items = [] if isinstance(values, str) else values.flat[: int(max_items)].tolist()
    facts[f"preview({len(items)}/{math.prod(x.shape)})"] = items
    print(f"{name}:", *(f"{key}: {fact}" for key, fact in facts.items()), sep="\n  ")
    return True


def show(item: object) -> None:
    """Show an object to the reader, the same thing in each place that can show it.

    On a page and in a notebook the object's own rich form is shown (Markdown, HTML, SVG); in a
    terminal, what print would write.

    Arguments:
        item: any object; derivations and figures have a rich form.

    Source: IPython's display protocol.

    >>> show("plain text in a terminal")
    plain text in a terminal
    """
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell is None:
        print(item)
    else:
        forms, metadata = shell.display_formatter.format(item)
        shell.display_pub.publish({**forms, "text/plain": str(item)}, metadata)


def _dtype(dtype: DTypeLike) -> np.dtype[Any]:
    try:
        return np.dtype("" if dtype is None else dtype)
    except TypeError:
        raise TypeError(f"dtype must be a NumPy dtype, not {dtype!r}") from None


def _ends(low: float, high: float, dtype: np.dtype[Any]) -> tuple[float, float]:
    _filling.ordered(low, high)
    try:
        with np.errstate(over="ignore"):
            start, stop = np.array([low, high], np.float64).astype(dtype).tolist()
    except OverflowError:  # an integer or a fraction beyond every float
        start, stop = -math.inf, math.inf
    if not math.isfinite(stop - start):
        raise ValueError(f"low, high, high − low must be finite in {dtype}: low {low}, high {high}")
    return start, stop


def _uniform(
    rng: np.random.Generator, sizes: tuple[int, ...], dtype: np.dtype[Any], low: float, high: float
) -> NDArray[Any]:
    def draw(sizes: int | tuple[int, ...]) -> NDArray[Any]:
        return np.asarray(low + rng.random(sizes) * (high - low), dtype)

    numbers = draw(sizes)
    while low < high and (rounded_up := numbers >= high).any():
        numbers[rounded_up] = draw(int(rounded_up.sum()))
    return numbers


def _values(x: Any) -> NDArray[Any] | str:
    if isinstance(x, np.ndarray):
        return "a masked array" if isinstance(x, np.ma.MaskedArray) else np.asarray(x)
    if x.is_meta or str(x.layout) != "torch.strided":
        return "a meta tensor" if x.is_meta else f"a {x.layout} tensor"
    try:
        here = x.detach().cpu()
        return np.asarray((here.double() if here.is_floating_point() else here).numpy(force=True))
    except (RuntimeError, TypeError):
        return str(x.dtype)


def _description(x: Any, is_tensor: bool) -> dict[str, object]:
    facts = {"type": type(x), "dtype": x.dtype} | ({"device": x.device} if is_tensor else {})
    facts |= {"shape": tuple(x.shape), "ndim": x.ndim}
    return facts | ({"requires_grad": x.requires_grad} if is_tensor else {})


def _statistics(x: Any, values: NDArray[Any] | str) -> dict[str, object]:
    if 0 in x.shape:
        return {"min": None, "max": None, "mean": None}
    if isinstance(values, str) or values.dtype.kind not in "biuf":
        what = values if isinstance(values, str) else x.dtype
        return {"min/max/mean": f"not defined for {what}"}
    with np.errstate(all="ignore"):
        return {"min": values.min().item(), "max": values.max().item(), "mean": _mean(values)}


def _mean(values: NDArray[Any]) -> float:
    mean = float(values.mean(dtype=np.float64))
    if math.isfinite(mean):
        return mean
    return float((values / values.size).sum())  # a sum may be too large, a mean isn't
