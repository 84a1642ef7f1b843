"""Named boolean masks: True where a query may attend to a key. Rows are queries, columns keys."""

from typing import Literal

import torch

from attnref import _checks

__all__ = ["causal"]


def causal(
    L: int,
    S: int,
    *,
    align: Literal["upper-left", "lower-right"] | None = None,
    offset: int | None = None,
    device: torch.device | str | None = None,
) -> torch.Tensor:
    """Let query i see key j up to its own place: j ≤ i + offset.

    Where L ≠ S the diagonal has to be anchored, and libraries differ: name the corner. Upper left
    (offset 0) lines up the first query with the first key, lower right (offset S − L) the last with
    the last, as in decoding with a cache.

    Arguments:
        L: number of queries.
        S: number of keys.
        align: "upper-left" or "lower-right"; may be left out where L = S and no offset is given.
        offset: any integer, instead of align.
        device: where the mask is made; Torch's default device unless given.

    Returns:
        The mask, (L, S), boolean.

    Raises:
        TypeError: sizes or an offset that are not integers.
        ValueError: a negative size, an unknown corner, both or neither of align and offset.

    Source: faults 17 to 19 of the attention implementations compared for this package.

    >>> causal(2, 4, align="lower-right").int()
    tensor([[1, 1, 1, 0],
            [1, 1, 1, 1]], dtype=torch.int32)
    >>> causal(2, 4, align="upper-left").int()
    tensor([[1, 0, 0, 0],
            [1, 1, 0, 0]], dtype=torch.int32)
    """
    diagonal = _checks.diagonal(L, S, align, offset)
    return torch.ones(int(L), int(S), dtype=torch.bool, device=device).tril(diagonal)
