"""Both functions of the article on the Z form, in our words and with what it does in odd cases."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

STATISTICS = ("min", "max", "mean")
MAKERS: dict[str, Callable[..., Tensor]] = {
    "rand": torch.rand,
    "randn": torch.randn,
    "zeros": torch.zeros,
    "ones": torch.ones,
}


def made(
    shape: Any,
    mode: Any = "rand",
    *,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str | None = None,
    low: float = 0.0,
    high: float = 1.0,
) -> Tensor:
    """Make a tensor as the article does, unrepaired."""
    sizes, way = [int(n) for n in shape], mode.lower()
    if way not in MAKERS:
        raise ValueError(f"Unknown mode: {way}. Use {'/'.join(map(repr, MAKERS))}.")
    numbers = MAKERS[way](sizes, dtype=dtype, device=device)
    return (high - low) * numbers + low if way == "rand" else numbers


def error(
    function: Callable[..., object], *arguments: Any, **options: Any
) -> Exception:
    """Return the error that a call raises."""
    try:
        function(*arguments, **options)
    except Exception as caught:
        return caught
    raise AssertionError(f"{arguments} {options} raise nothing")


def kind(function: Callable[..., object], *arguments: Any, **options: Any) -> str:
    """Return what kind of error a call raises."""
    return type(error(function, *arguments, **options)).__name__


def inspected(x: Any, name: str = "x", max_items: int = 10) -> bool:
    """Print what the article's function prints; unrepaired."""
    is_tensor = isinstance(x, torch.Tensor)
    if not is_tensor and not isinstance(x, np.ndarray):
        print(f"{name}: not a tensor/ndarray (type={type(x)})")
        return False
    values = x.detach() if is_tensor else x
    facts = {"type": type(x), "dtype": x.dtype}
    facts |= {"device": x.device} if is_tensor else {}
    facts |= {"shape": tuple(x.shape), "ndim": x.ndim}
    facts |= {"requires_grad": x.requires_grad} if is_tensor else {}
    facts |= dict(zip(STATISTICS, statistics(values), strict=True))
    flat = values.reshape(-1)
    n = min(len(flat), max_items)
    facts[f"preview({n}/{len(flat)})"] = flat[:n].tolist()
    print(
        f"{name}:", *(f"{key}: {fact}" for key, fact in facts.items()), sep="\n  "
    )
    return True


def statistics(values: Any) -> list[float] | list[None]:
    """Return min, max and mean, after float32 if the dtype is not floating."""
    if 0 in values.shape:
        return [None, None, None]
    if isinstance(values, torch.Tensor):
        values = values if values.is_floating_point() else values.float()
    elif values.dtype.kind != "f":
        values = values.astype("float32")
    return [getattr(values, number)().item() for number in STATISTICS]
