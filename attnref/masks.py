"""Named boolean masks: True where a query may attend to a key. Rows are queries, columns keys."""

from typing import Literal

import numpy as np

from attnref import _checks
from attnref._typing import Mask

__all__ = ["causal"]


def causal(
    L: int,
    S: int,
    *,
    align: Literal["upper-left", "lower-right"] | None = None,
    offset: int | None = None,
) -> Mask:
    """Let query i see key j up to its own place: j ≤ i + offset.

    Where L ≠ S the diagonal has to be anchored, and libraries differ: name the corner. Upper left
    (offset 0) lines up the first query with the first key, lower right (offset S − L) the last with
    the last, as in decoding with a cache.

    Arguments:
        L: number of queries.
        S: number of keys.
        align: "upper-left" or "lower-right"; may be left out where L = S and no offset is given.
        offset: any integer, instead of align.

    Returns:
        The mask, (L, S), boolean.

    Raises:
        TypeError: sizes or an offset that are not integers.
        ValueError: a negative size, an unknown corner, both or neither of align and offset.

    Source: faults 17 to 19 of the attention implementations compared for this package.

    >>> causal(2, 4, align="lower-right").astype(int)
    array([[1, 1, 1, 0],
           [1, 1, 1, 1]])
    >>> causal(2, 4, align="upper-left").astype(int)
    array([[1, 0, 0, 0],
           [1, 1, 0, 0]])
    """
    diagonal = _checks.diagonal(L, S, align, offset)
    mask: Mask = np.arange(int(S)) <= np.arange(int(L))[:, np.newaxis] + diagonal
    return mask
