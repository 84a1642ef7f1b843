"""The foundation: masks as rules, worked out a block at a time, so that no whole mask is built."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import Any, Literal, Self

from attnref import _checks, _integers, _shapes

Visible = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class Rule:
    """A mask that is worked out where it is needed: query i may attend to key j.

    i + first ≤ j ≤ i + last, and visible(i, j)

    What `streaming_attention` and `attention_gradients` take in place of a mask of L·S places. A
    block outside the band costs nothing. Rules combine by &; called with arrays of places, a rule
    says which pairs it allows. It is the same for all leading axes: for lengths that differ in a
    batch, give a bias of −∞ beside it.

    Arguments:
        L: number of queries.
        S: number of keys.
        visible: takes the places of queries, (rows, 1), and of keys, (keys,), integers in an array
            of your library, and returns booleans that broadcast to (rows, keys), always the same
            for the same places, in any thread; None where the band says all.
        first: the first key that query 0 sees, any integer; None for no limit.
        last: the last key that query 0 sees, any integer; None for no limit.

    Raises:
        TypeError: sizes or limits that are not integers, or what can't be called.
        ValueError: a negative size.

    Source: fault 32 of the attention implementations compared for this package.

    >>> import numpy as np
    >>> even = Rule(3, 4, lambda i, j: j % 2 == 0)
    >>> rule = Rule.causal(3, 4, offset=0) & even
    >>> rule(np.arange(3)[:, np.newaxis], np.arange(4)).astype(int)
    array([[1, 0, 0, 0],
           [1, 0, 0, 0],
           [1, 0, 1, 0]])
    """

    L: int
    S: int
    visible: Visible | None = None
    first: int | None = None
    last: int | None = None

    def __post_init__(self) -> None:
        _checks.function("visible", self.visible)
        for name in ("first", "last"):
            limit = getattr(self, name)
            if limit is not None:
                _integers.integer(name, limit)
                limit = _integers.diagonal(self.L, self.S, None, limit)
            object.__setattr__(self, name, limit)
        for name in ("L", "S"):
            _integers.size(name, getattr(self, name))
            object.__setattr__(self, name, int(getattr(self, name)))

    @classmethod
    def causal(
        cls,
        L: int,
        S: int,
        *,
        align: Literal["upper-left", "lower-right"] | None = None,
        offset: int | None = None,
    ) -> Self:
        """Let query i see key j up to its own place, j ≤ i + offset, as `masks.causal` does.

        Arguments:
            L: number of queries.
            S: number of keys.
            align: "upper-left" or "lower-right"; may be left out where L = S, or with an offset.
            offset: any integer, instead of align.

        Returns:
            The rule.

        Raises:
            TypeError: sizes or an offset that are not integers.
            ValueError: a negative size, an unknown corner, both or neither of align and offset.

        Source: faults 17 to 19 of the attention implementations compared for this package.

        >>> Rule.causal(2, 4, align="lower-right").last
        2
        """
        return cls(L, S, last=_integers.diagonal(L, S, align, offset))

    @classmethod
    def window(
        cls, L: int, S: int, *, left: int | None, right: int | None, offset: int = 0
    ) -> Self:
        """Let query i see keys around its own place, as `masks.window` does.

        Arguments:
            L: number of queries.
            S: number of keys.
            left: how many keys before its own a query sees, 0 or more; None for all of them.
            right: how many keys after its own a query sees, 0 or more; None for all of them.
            offset: any integer: the place among the keys of the first query's own.

        Returns:
            The rule.

        Raises:
            TypeError: sizes, reaches or an offset that are not integers.
            ValueError: a negative size or reach.

        Source: fault 54 of the attention implementations compared for this package.

        >>> Rule.window(3, 4, left=1, right=0).first
        -1
        """
        _integers.integer("offset", offset)
        for name, reach in (("left", left), ("right", right)):
            if reach is not None:
                _integers.size(name, reach)
        first = None if left is None else int(offset) - int(left)
        return cls(L, S, first=first, last=None if right is None else int(offset) + int(right))

    def part(self, start: int, stop: int) -> Self:
        """Return the rule for some of the keys, for where they are attended to apart.

        Arguments:
            start: the first of the keys, from 0 to S.
            stop: the end of them, from start to S.

        Returns:
            The rule for the L queries and stop − start keys, of which key 0 is key start of this.

        Raises:
            TypeError: a start or a stop that is not an integer.
            ValueError: a start or a stop out of order.

        Source: derivation MBLK, `python -m attnref show MBLK`.

        >>> import numpy as np
        >>> rule = Rule.causal(2, 4, align="lower-right").part(2, 4)
        >>> rule(np.arange(2)[:, np.newaxis], np.arange(2)).astype(int)
        array([[1, 0],
               [1, 1]])
        """
        _integers.part(start, stop, self.S)
        visible = self.visible
        return type(self)(
            self.L,
            int(stop) - int(start),
            None if visible is None else lambda i, j: visible(i, j + int(start)),
            first=None if self.first is None else self.first - int(start),
            last=None if self.last is None else self.last - int(start),
        )

    def __and__(self, other: Self) -> Self:
        """Return the rule that allows what both allow."""
        if not isinstance(other, Rule):
            return NotImplemented
        _shapes.same(self, other)
        rules = self, other
        asked = [rule._asked for rule in rules if rule.visible is not None]
        return type(self)(
            self.L,
            self.S,
            (lambda i, j: reduce(and_, [seen(i, j) for seen in asked])) if asked else None,
            first=max((r.first for r in rules if r.first is not None), default=None),
            last=min((r.last for r in rules if r.last is not None), default=None),
        )

    def __call__(self, i: Any, j: Any) -> Any:
        """Return which of these queries see which of these keys."""
        seen = [] if self.first is None else [i + self.first <= j]
        if self.last is not None:
            seen.append(j <= i + self.last)
        if self.visible is not None or not seen:
            seen.append((i >= 0) & (j >= 0))
        if self.visible is not None:
            seen.append(self._asked(i, j))
        return reduce(and_, seen)

    def spans(self, rows: range) -> list[tuple[range, bool]]:
        """Return the keys that some of these queries see, and where all see all of them."""
        first, last = self._band()
        start = min(max(rows.start + first, 0), self.S)
        stop = min(max(rows.stop + last, start), self.S)
        whole = min(max(rows.stop - 1 + first, start), stop)
        end = min(max(rows.start + 1 + last, whole), stop)
        inside = range(whole, end), self.visible is None
        spans = [(range(start, whole), False), inside, (range(end, stop), False)]
        return [(keys, all_see) for keys, all_see in spans if keys]

    def _asked(self, i: Any, j: Any) -> Any:
        assert self.visible is not None
        asked = self.visible(i, j)
        _shapes.answer(asked, tuple((i + j).shape))
        return asked

    def _band(self) -> tuple[int, int]:
        first = -self.L if self.first is None else self.first
        return first, self.S if self.last is None else self.last
