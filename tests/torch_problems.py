"""Problems of the samples as Torch takes them."""

from dataclasses import fields, replace
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from samples import Problem

Given: TypeAlias = dict[str, Any]  # the arguments of a call, by name


def tensor(x: Any) -> Any:
    """Return a NumPy array of any layout as a tensor, and anything else as it is."""
    if not isinstance(x, np.ndarray):
        return x
    return torch.tensor(np.array(x, dtype=x.dtype.newbyteorder("="), order="C"))


def floating(x: object) -> bool:
    """Say whether something is a tensor of floats."""
    return isinstance(x, Tensor) and x.is_floating_point()


def cast(given: Given, dtype: torch.dtype) -> Given:
    """Return the same arguments, with floats of a dtype."""
    return {name: x.to(dtype) if floating(x) else x for name, x in given.items()}


def in_torch(problem: Problem, dtype: torch.dtype | None = None) -> Given:
    """Return what is given of the arguments of a call; in a dtype, if one is said."""
    given = {field.name: tensor(getattr(problem, field.name)) for field in fields(problem)}
    given = {name: x for name, x in given.items() if x is not None}
    return given if dtype is None else cast(given, dtype)


def held(problem: Problem, dtype: torch.dtype) -> Problem:
    """Return the problem of the numbers that a dtype holds; NumPy keeps bfloat16 as float32."""
    kept: Given = {
        name: (x.float() if dtype == torch.bfloat16 else x).numpy()
        for name, x in in_torch(problem, dtype).items()
        if floating(x)
    }
    return replace(problem, **kept)


def clipped(problem: Problem, largest: float) -> Problem:
    """Return the problem with no number beyond the largest but −∞."""
    small: Given = {}
    for field in fields(problem):
        x = getattr(problem, field.name)
        if isinstance(x, np.ndarray) and x.dtype.kind == "f":
            near = np.where(x == -np.inf, x, np.clip(x, -largest, largest))
            small[field.name] = near.astype(x.dtype)
    return replace(problem, **small)


WRONG_SIZES: dict[str, tuple[Given, type[Exception], str]] = {
    "no keys in a block": ({"block_size": 0}, ValueError, "block_size must be at least 1: 0"),
    "negative block": ({"block_size": -1}, ValueError, "block_size must be at least 1: -1"),
    "a flag for a block": (
        {"block_size": True},
        TypeError,
        "block_size must be an integer, not bo",
    ),
    "half a key": ({"block_size": 1.5}, TypeError, "block_size must be an integer, not float"),
}
