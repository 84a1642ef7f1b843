"""Masks: True where a query may attend to a key."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from attnref import _integers
from attnref._typing import Mask


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
    diagonal = _integers.diagonal(L, S, align, offset)
    mask: Mask = np.arange(int(S)) <= np.arange(int(L))[:, np.newaxis] + diagonal
    return mask


def window(L: int, S: int, *, left: int | None, right: int | None, offset: int = 0) -> Mask:
    """Let query i see the keys around its own place: i + offset − left ≤ j ≤ i + offset + right.

    Both ends are inclusive, and a query's own key counts for neither side: left = 2, right = 0 is 3
    keys. A width W that counts the own key, as some libraries have it, is left = W − 1.

    Arguments:
        L: number of queries.
        S: number of keys.
        left: how many keys before its own a query sees, 0 or more; None for all of them.
        right: how many keys after its own a query sees, 0 or more; None for all of them.
        offset: any integer: the place among the keys of the first query's own.

    Returns:
        The mask, (L, S), boolean.

    Raises:
        TypeError: sizes, reaches or an offset that are not integers.
        ValueError: a negative size or reach.

    Source: fault 54 of the attention implementations compared for this package.

    >>> window(3, 4, left=1, right=1).astype(int)
    array([[1, 1, 0, 0],
           [1, 1, 1, 0],
           [0, 1, 1, 1]])
    >>> window(2, 4, left=1, right=0, offset=2).astype(int)
    array([[0, 1, 1, 0],
           [0, 0, 1, 1]])
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
    i, j = np.arange(int(L))[:, np.newaxis], np.arange(int(S))
    mask: Mask = (i + first <= j) & (j <= i + last)
    return mask


def padding(lengths: NDArray[np.integer] | Sequence[int], S: int) -> Mask:
    """Let every query see the keys that are there, and none of the padding: j < lengths[b].

    Arguments:
        lengths: number of keys of each sequence of a batch, (B,), each from 0 to S.
        S: number of keys, padding included.

    Returns:
        The mask, (B, 1, 1, S), boolean: it broadcasts to the scores (B, H, L, S).

    Raises:
        TypeError: a size that is not an integer, lengths that are not integers.
        ValueError: a negative size, lengths not of 1 axis, a length below 0 or above S.

    Source: faults 24, 32 and 34 of the attention implementations compared for this package.

    >>> padding([3, 1], 4)[:, 0, 0].astype(int)
    array([[1, 1, 1, 0],
           [1, 0, 0, 0]])
    """
    _integers.size("S", S)
    present = np.array(_integers.integers("lengths", lengths, S), dtype=np.int64)
    mask: Mask = np.arange(int(S)) < present[:, np.newaxis, np.newaxis, np.newaxis]
    return mask


def documents(ids: NDArray[np.integer] | Sequence[int]) -> Mask:
    """Let tokens see the tokens of their own document: ids[i] = ids[j].

    Several documents packed into one sequence then attend as if each were alone. For a causal mask
    in each of them: documents(ids) & causal(T, T).

    Arguments:
        ids: which document each of the T tokens is of, (T,), any integers, in any order.

    Returns:
        The mask, (T, T), boolean; block-diagonal where every document is in one piece.

    Raises:
        TypeError: ids that are not integers.
        ValueError: ids not of 1 axis.

    Source: fault 32 of the attention implementations compared for this package.

    >>> documents([7, 7, 9]).astype(int)
    array([[1, 1, 0],
           [1, 1, 0],
           [0, 0, 1]])
    """
    row = _integers.integers("ids", ids)
    place = {n: i for i, n in enumerate(row)}  # one place a document: an id may exceed every dtype
    labels = np.array([place[n] for n in row], dtype=np.int64)
    mask: Mask = labels[:, np.newaxis] == labels
    return mask
