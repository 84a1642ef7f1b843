"""Masks: True where a query may attend to a key."""

from collections.abc import Sequence
from typing import Literal

import torch

from attnref import _integers


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
    diagonal = _integers.diagonal(L, S, align, offset)
    return torch.ones(int(L), int(S), dtype=torch.bool, device=device).tril(diagonal)


def window(
    L: int,
    S: int,
    *,
    left: int | None,
    right: int | None,
    offset: int = 0,
    device: torch.device | str | None = None,
) -> torch.Tensor:
    """Let query i see the keys around its own place: i + offset − left ≤ j ≤ i + offset + right.

    Both ends are inclusive, and a query's own key counts for neither side: left = 2, right = 0 is 3
    keys. A width W that counts the own key, as some libraries have it, is left = W − 1.

    Arguments:
        L: number of queries.
        S: number of keys.
        left: how many keys before its own a query sees, 0 or more; None for all of them.
        right: how many keys after its own a query sees, 0 or more; None for all of them.
        offset: any integer: the place among the keys of the first query's own.
        device: where the mask is made; Torch's default device unless given.

    Returns:
        The mask, (L, S), boolean.

    Raises:
        TypeError: sizes, reaches or an offset that are not integers.
        ValueError: a negative size or reach.

    Source: fault 54 of the attention implementations compared for this package.

    >>> window(3, 4, left=1, right=1).int()
    tensor([[1, 1, 0, 0],
            [1, 1, 1, 0],
            [0, 1, 1, 1]], dtype=torch.int32)
    >>> window(2, 4, left=1, right=0, offset=2).int()
    tensor([[0, 1, 1, 0],
            [0, 0, 1, 1]], dtype=torch.int32)
    """
    _integers.size("L", L)
    _integers.size("S", S)
    _integers.integer("offset", offset)
    far = int(L) + int(S) + abs(int(offset))  # from any query beyond every key
    left, right = (far if reach is None else reach for reach in (left, right))
    _integers.size("left", left)
    _integers.size("right", right)
    first = _integers.diagonal(L, S, None, int(offset) - int(left))
    last = _integers.diagonal(L, S, None, int(offset) + int(right))
    square = torch.ones(int(L), int(S), dtype=torch.bool, device=device)
    return square.triu(first).tril(last)


def padding(
    lengths: torch.Tensor | Sequence[int], S: int, *, device: torch.device | str | None = None
) -> torch.Tensor:
    """Let every query see the keys that are there, and none of the padding: j < lengths[b].

    Arguments:
        lengths: number of keys of each sequence of a batch, (B,), each from 0 to S.
        S: number of keys, padding included.
        device: where the mask is made; the lengths' own, or Torch's default device, unless given.

    Returns:
        The mask, (B, 1, 1, S), boolean: it broadcasts to the scores (B, H, L, S).

    Raises:
        TypeError: a size that is not an integer, lengths that are not integers.
        ValueError: a negative size, lengths not of 1 axis, a length below 0 or above S.

    Source: faults 24, 32 and 34 of the attention implementations compared for this package.

    >>> padding([3, 1], 4)[:, 0, 0].int()
    tensor([[1, 1, 1, 0],
            [1, 0, 0, 0]], dtype=torch.int32)
    """
    _integers.size("S", S)
    present = _row(_integers.integers("lengths", lengths, S), lengths, device)
    return torch.arange(int(S), device=present.device) < present[:, None, None, None]


def documents(
    ids: torch.Tensor | Sequence[int], *, device: torch.device | str | None = None
) -> torch.Tensor:
    """Let tokens see the tokens of their own document: ids[i] = ids[j].

    Several documents packed into one sequence then attend as if each were alone. For a causal mask
    in each of them: documents(ids) & causal(T, T).

    Arguments:
        ids: which document each of the T tokens is of, (T,), any integers, in any order.
        device: where the mask is made; the ids' own, or Torch's default device, unless given.

    Returns:
        The mask, (T, T), boolean; block-diagonal where every document is in one piece.

    Raises:
        TypeError: ids that are not integers.
        ValueError: ids not of 1 axis.

    Source: fault 32 of the attention implementations compared for this package.

    >>> documents([7, 7, 9]).int()
    tensor([[1, 1, 0],
            [1, 1, 0],
            [0, 0, 1]], dtype=torch.int32)
    """
    row = _integers.integers("ids", ids)
    place = {n: i for i, n in enumerate(row)}  # one place a document: an id may exceed every dtype
    labels = _row([place[n] for n in row], ids, device)
    return labels[:, None] == labels


def _row(numbers: list[int], given: object, device: torch.device | str | None) -> torch.Tensor:
    if device is None and isinstance(given, torch.Tensor):
        device = given.device
    return torch.tensor(numbers, dtype=torch.int64, device=device)
