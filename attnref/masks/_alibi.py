"""ALiBi: attention with linear biases."""

import numpy as np
from numpy.typing import DTypeLike

from attnref import _checks, _integers
from attnref._typing import Floats


def alibi(
    num_heads: int, L: int, S: int, *, offset: int = 0, dtype: DTypeLike | None = None
) -> Floats:
    """Let each head lower the scores of distant keys, each at a slope of its own: a bias.

    b_hij = −slope_h |i + offset − j|,   slope_h = 2^(−8h/n), h = 1…n

    Where the number of heads n is no power of two, the greatest p below it gives the first p slopes
    and every other slope of 2p heads the rest. It masks nothing: add a causal mask where keys to
    come are not to be seen.

    Arguments:
        num_heads: number of heads, any.
        L: number of queries.
        S: number of keys.
        offset: the place among the keys of the first query's own; in decoding with a cache, the
            number of keys that came before.
        dtype: floating, that of the query; float64 unless given.

    Returns:
        The bias, (num_heads, L, S), 0 where a query meets its own key and negative elsewhere; never
        −∞, which would mask: beyond the lowest number of the dtype it stays there.

    Raises:
        TypeError: sizes or an offset that are not integers, or a dtype that is not floating.
        ValueError: a negative size, or an offset beyond every float.

    Source: Press, Smith and Lewis 2022, arXiv:2108.12409, section 3, and its footnote on heads that
    are no power of two; faults 46 to 48 of the attention implementations compared.

    >>> alibi(8, 1, 3, offset=2)[0]
    array([[-1. , -0.5,  0. ]])
    """
    for name, n in (("num_heads", num_heads), ("L", L), ("S", S)):
        _integers.size(name, n)
    _integers.integer("offset", offset)
    kind = np.dtype(np.float64 if dtype is None else dtype)
    _checks.floating(np.ndarray, dtype=np.empty(0, kind))
    first = _checks.finite("offset", offset)
    places = first + np.arange(int(L), dtype=np.float64)[:, np.newaxis]
    distance = abs(places - np.arange(int(S)))
    slopes = np.array(_slopes(int(num_heads)))[:, np.newaxis, np.newaxis]
    bias: Floats = np.maximum(slopes * (0 - distance), np.finfo(kind).min)
    return bias.astype(kind)


def _slopes(num_heads: int) -> list[float]:
    whole = 1 << num_heads.bit_length() >> 1  # the greatest power of two that is not greater
    return _geometric(whole) + _geometric(2 * whole)[::2][: num_heads - whole]


def _geometric(n: int) -> list[float]:
    return [2 ** (-8 * h / n) for h in range(1, n + 1)]
