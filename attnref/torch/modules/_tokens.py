"""What may enter a layer: tokens that its weights can be applied to, and masks for them."""

import torch
from torch import Tensor

from attnref import _checks, _integers, _shapes
from attnref.torch import _entry, masks


def positive(**sizes: int) -> None:
    """Require sizes of 1 or more."""
    for name, value in sizes.items():
        _integers.integer(name, value)
        if value < 1:
            raise ValueError(f"{name} must be positive: {value}")


def divides(**sizes: int) -> None:
    """Require the first of two sizes to divide the second."""
    (name, divisor), (whole_name, whole) = sizes.items()
    if whole % divisor:
        raise ValueError(f"{name} must divide {whole_name}: {name} {divisor}, {whole_name} {whole}")


def tokens(weight: Tensor, depth_name: str, **given: Tensor) -> None:
    """Require rows (…, L, depth) of the depth, dtype and device of a weight (out, depth)."""
    ((name, x),) = given.items()
    _checks.floating(Tensor, **given)
    _shapes.matrices(**given)
    found, depth = x.shape[-1], weight.shape[-1]
    if found != depth:
        raise ValueError(
            f"{name} must have the last axis {depth_name}: {found} ≠ {depth} "
            f"({name} {_checks.shape(x)}, {depth_name} {depth})"
        )
    _entry.one_device(**given, weights=weight)
    if x.dtype != weight.dtype and not _autocast_unites(x, weight):
        ours, theirs = _checks.dtype_name(x), _checks.dtype_name(weight)
        raise TypeError(f"{name} must have the dtype of the weights: {ours} ≠ {theirs}")


def front(query: Tensor, key: Tensor, value: Tensor) -> _checks.Shape:
    """Require a value for every key, and return the leading axes of all three."""
    if value.shape[-2] != key.shape[-2]:
        raise ValueError(
            f"key and value must share their second-last axis S: {key.shape[-2]} ≠ "
            f"{value.shape[-2]} (key {_checks.shape(key)}, value {_checks.shape(value)})"
        )
    return _shapes.leading(query=query, key=key, value=value)


def mask(given: Tensor | None, weight: Tensor, scores: _checks.Shape, axes: str) -> None:
    """Require a mask, where there is one, that fits the scores."""
    if given is not None:
        _checks.boolean(Tensor, given)
        _shapes.fits("mask", given, scores, f"scores {axes}")
        _entry.one_device(mask=given, weights=weight)


def allowed(
    given: Tensor | None, causal: bool, scores: _checks.Shape, new: int, weight: Tensor
) -> Tensor | None:
    """Require a mask and an order that fit the scores, and return both in one mask.

    The new keys are the last of all; query t is at the place of the t-th of them.
    """
    mask(given, weight, scores, "(…, H, L, S)")
    _checks.flags(causal=causal)
    if not causal:
        return given
    *_, L, S = scores
    if new != L:
        raise ValueError(
            f"causal must have a new key for every query, L = S: {L} ≠ {new}; "
            "for another order give mask=masks.causal(L, S, align=…)"
        )
    order = masks.causal(L, S, align="lower-right", device=weight.device)
    return order if given is None else given & order


def projected_dtype(weight: Tensor) -> torch.dtype:
    """Return the dtype of a projection: the weight's, unless autocast chooses."""
    chosen = _autocast(weight) and weight.dtype != torch.float64
    return torch.get_autocast_dtype(weight.device.type) if chosen else weight.dtype


def _autocast(weight: Tensor) -> bool:
    device = weight.device.type
    return torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device)


def _autocast_unites(x: Tensor, weight: Tensor) -> bool:
    """Say whether autocast takes both to one dtype: all but float64, which it leaves alone."""
    return _autocast(weight) and torch.float64 not in (x.dtype, weight.dtype)
