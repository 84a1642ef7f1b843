"""Rounded once. Torch narrows float64 by way of float32, so that 16-bit results round twice."""

import torch
from torch import Tensor


def rounded(x: Tensor, dtype: torch.dtype) -> Tensor:
    """Round float64 to the nearest number of the dtype, ties to even."""
    if dtype in (torch.float16, torch.bfloat16):
        x = x + _towards_odd(x.detach())
    return x.to(dtype)


def _towards_odd(x: Tensor) -> Tensor:
    """Return what leads from x to its odd float32 neighbour, 0 where x is a float32 number.

    A tie between two 16-bit numbers is an even float32 number. Rounding to odd never makes one, so
    the second rounding decides as it would have on x (Boldo and Melquiond 2008).
    """
    nearest = x.to(torch.float32)
    exact = nearest.to(torch.float64)
    other = torch.nextafter(nearest, torch.where(x > exact, torch.inf, -torch.inf).to(nearest))
    even = nearest.view(torch.int32) % 2 == 0
    return torch.where((exact != x) & even & exact.isfinite(), other.to(torch.float64) - x, 0.0)
