"""ALiBi: attention with linear biases."""

import torch

from attnref import _checks, _integers
from attnref.torch import _entry
from attnref.torch._rounding import rounded


def alibi(
    num_heads: int,
    L: int,
    S: int,
    *,
    offset: int = 0,
    dtype: torch.dtype | None = None,
    device: torch.device | str | None = None,
) -> torch.Tensor:
    """Lower the scores by distance, in each head at its own slope: a bias, and no mask.

    b_hij = −slope_h · |i + offset − j|

    For n heads, a power of two, slope_h = 2^(−8h/n), h = 1…n. For other n, those of the power of
    two below, then the first, third, fifth … of those of the power of two above.

    Arguments:
        num_heads: number of heads H, any.
        L: number of queries.
        S: number of keys.
        offset: the place among the keys of the first query's own, any integer that a float can
            hold; in decoding with a cache, how many keys came before.
        dtype: floating, that of the query; Torch's default dtype unless given.
        device: where the bias is made; Torch's default device unless given.

    Returns:
        The bias, (H, L, S); 0 at a query's own key, negative elsewhere; never −∞, which would mask:
        beyond the lowest number of the dtype it stays there.

    Raises:
        TypeError: sizes or an offset that are not integers, a dtype that is not floating.
        ValueError: a negative size, or an offset beyond every float.

    Source: Press, Smith and Lewis 2022, arXiv:2108.12409, section 3; faults 46 to 48 of the
    attention implementations compared for this package.

    >>> alibi(2, 1, 3, offset=2)
    tensor([[[-0.1250, -0.0625,  0.0000]],
    <BLANKLINE>
            [[-0.0078, -0.0039,  0.0000]]])
    """
    for name, size in {"num_heads": num_heads, "L": L, "S": S}.items():
        _integers.size(name, size)
    _integers.integer("offset", offset)
    first = _checks.finite("offset", offset)
    narrow = _entry.floating_dtype(dtype)
    i, j = (torch.arange(int(n), dtype=torch.float64, device=device) for n in (L, S))
    slopes = torch.tensor(_slopes(int(num_heads)), dtype=torch.float64, device=device)
    bias = 0.0 - slopes[:, None, None] * (i[:, None] + first - j).abs()
    return rounded(bias.clamp_min(torch.finfo(narrow).min), narrow)


def _slopes(heads: int) -> list[float]:
    p = 1 << max(heads.bit_length() - 1, 0)
    below = [2 ** (-8 * h / p) for h in range(1, p + 1)]
    between = [2 ** (-4 * h / p) for h in range(1, 2 * p, 2)]
    return (below + between)[:heads]
