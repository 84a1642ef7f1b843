"""The laws of masks as rules: the same keys as the arrays, asked for a block at a time."""

import dataclasses
import itertools
from collections.abc import Iterator
from operator import and_
from typing import Any, Literal

import numpy as np
import pytest
import torch

from attnref import attention, masks, streaming_attention
from attnref.masks import Rule
from samples import L, Mask, S, both_values, random_mask, triple

SIZES = [*itertools.product(range(4), range(5))]  # rows, columns
REACHES = (None, 0, 1, 3)
OFFSETS = range(-6, 8)  # from one at which every query sees nothing to one at which it sees all
MASK = random_mask(L, S)

sized = pytest.mark.parametrize(("rows", "columns"), SIZES)


def places(rows: int, columns: int) -> tuple[Any, Any]:
    """Return the places of queries and keys, as a rule is asked for them."""
    return np.arange(rows)[:, np.newaxis], np.arange(columns)


def as_array(rule: Rule) -> Mask:
    """Return the whole mask."""
    mask: Mask = rule(*places(rule.L, rule.S))
    assert mask.dtype == np.bool_
    return mask


def seen_in_mask(i: Any, j: Any) -> Any:
    """Return which pairs a random mask allows."""
    return MASK[i, j]


def odd_keys(i: Any, j: Any) -> Any:
    """Allow every other key, in a row that broadcasts to the queries."""
    return j % 2 == 1


def later_queries(i: Any, j: Any) -> Any:
    """Allow all queries but the first, in a column that broadcasts to the keys."""
    return i > 0


# ------------------------------------------------------------------------------ the same keys


@sized
def test_rule_of_a_band_sees_what_its_definition_says(rows: int, columns: int) -> None:
    """Query i sees key j where i + first ≤ j ≤ i + last; None is no limit."""
    limits = [None, *OFFSETS]
    for first, last in itertools.product(limits, repeat=2):
        seen = as_array(Rule(rows, columns, first=first, last=last))
        assert seen.shape == (rows, columns)
        for i, j in itertools.product(range(rows), range(columns)):
            allowed = (first is None or i + first <= j) and (last is None or j <= i + last)
            assert seen[i, j] == allowed, (first, last, i, j)


@sized
def test_rule_causal_is_the_causal_mask(rows: int, columns: int) -> None:
    """With any offset, and with either corner, the rule sees what `masks.causal` sees."""
    options: list[dict[str, Any]] = [{"offset": offset} for offset in OFFSETS]
    options += [{"align": corner} for corner in ("upper-left", "lower-right")]
    options += [{}] if rows == columns else []
    for named in options:
        right = masks.causal(rows, columns, **named)
        seen = as_array(Rule.causal(rows, columns, **named))
        np.testing.assert_array_equal(seen, right, strict=True)


@sized
def test_rule_window_is_the_window(rows: int, columns: int) -> None:
    """With any reach to either side, and any offset, it sees what `masks.window` sees."""
    for left, right, offset in itertools.product(REACHES, REACHES, OFFSETS):
        reach = {"left": left, "right": right}
        mask = masks.window(rows, columns, **reach, offset=offset)
        seen = as_array(Rule.window(rows, columns, **reach, offset=offset))
        np.testing.assert_array_equal(seen, mask, strict=True)


def test_rule_window_has_the_places_of_the_first_keys_where_none_is_named() -> None:
    """The offset of a window is 0 unless it is given."""
    reach: dict[str, Any] = {"left": 1, "right": 0}
    seen = as_array(Rule.window(L, S, **reach))
    np.testing.assert_array_equal(both_values(seen), masks.window(L, S, **reach), strict=True)


@pytest.mark.parametrize("far", [2**31, 2**63, 10**30])
def test_rule_takes_any_integer_for_a_limit(far: int) -> None:
    """A limit too large for an array's integers lets every query see all keys, or none."""
    assert as_array(Rule.causal(L, S, offset=far)).all()
    assert not as_array(Rule.causal(L, S, offset=-far)).any()
    assert as_array(Rule(L, S, first=-far, last=far)).all()
    assert not as_array(Rule(L, S, first=far)).any()
    assert as_array(Rule.window(L, S, left=far, right=far)).all()
    assert as_array(Rule.window(L, S, left=2 * far, right=0, offset=far)).all()
    assert not as_array(Rule.window(L, S, left=0, right=0, offset=-far)).any()


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.uint64, np.int64])
def test_rule_holds_plain_integers(kind: Any) -> None:
    """Whatever integers a rule is made of, it holds Python's own, and no narrow one overflows."""
    rows, columns = kind(100), kind(120)
    made: list[Rule] = [
        Rule(rows, columns, first=kind(1), last=kind(120)),
        Rule.causal(rows, columns, align="lower-right"),
        Rule.causal(rows, columns, offset=kind(127)),
        Rule.window(rows, columns, left=kind(120), right=kind(100), offset=kind(100)),
    ]
    for rule in [*made, made[0] & made[1], made[0].part(kind(3), kind(100))]:
        numbers = [rule.L, rule.S, rule.first, rule.last]
        assert all(type(n) is int for n in numbers if n is not None)
    right = masks.window(100, 120, left=120, right=100, offset=100)
    np.testing.assert_array_equal(as_array(made[3]), right)
    assert made[1].last == 20


def test_rule_is_a_value() -> None:
    """Rules of one band are equal, whatever made them, and no rule changes."""
    rule = Rule.causal(L, S, offset=1)
    assert rule == Rule(L, S, last=1) == Rule.window(L, S, left=None, right=0, offset=1)
    assert rule != Rule.causal(L, S, offset=2)
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'last'"):
        rule.last = 2  # type: ignore[misc]


# ------------------------------------------------------------------------------ visible


@pytest.mark.parametrize("visible", [seen_in_mask, odd_keys, later_queries, None])
def test_rule_allows_what_is_visible_within_its_band(visible: Any) -> None:
    """Both the band and the function have to allow a pair; a row or a column broadcasts."""
    i, j = places(L, S)
    own = np.broadcast_to(True if visible is None else visible(i, j), (L, S))
    for first, last in [(None, None), (-1, None), (None, 1), (-2, 1)]:
        band = as_array(Rule(L, S, first=first, last=last))
        seen = as_array(Rule(L, S, visible, first=first, last=last))
        np.testing.assert_array_equal(seen, band & own, strict=True)


def test_rule_says_of_any_places_what_it_says_of_all() -> None:
    """Asked for some queries and keys, in any order, it is that part of the whole mask."""
    i, j = np.array([[3], [0], [4]]), np.array([6, 2, 2, 0])
    for rule in (Rule(L, S), Rule(L, S, seen_in_mask, first=-2, last=3)):
        np.testing.assert_array_equal(rule(i, j), as_array(rule)[i, j], strict=True)


def test_rule_takes_the_places_of_another_library() -> None:
    """Asked with tensors it answers with a tensor, and the same."""
    i, j = torch.arange(L)[:, None], torch.arange(S)
    for rule in (Rule(L, S), Rule.causal(L, S, offset=1) & Rule(L, S, odd_keys)):
        seen = rule(i, j)
        assert seen.dtype == torch.bool
        np.testing.assert_array_equal(seen.numpy(), as_array(rule))


@pytest.mark.parametrize(
    ("answer", "error", "says"),
    [
        (True, TypeError, r"^visible\(i, j\) must return an array of booleans, not bool$"),
        ([[True]], TypeError, r"^visible\(i, j\) must return an array of booleans, not list$"),
        (None, TypeError, r"^visible\(i, j\) must return an array of booleans, not NoneType$"),
        (np.ones((L, S), "int8"), TypeError, r"array of booleans, not int8$"),
        (np.ones((L, S)), TypeError, r"array of booleans, not float64$"),
        (
            np.ones((S, L), bool),
            ValueError,
            rf"^visible\(i, j\) must broadcast to the block \(queries, keys\): "
            rf"visible\(i, j\) \({S}, {L}\), block \({L}, {S}\)$",
        ),
        (np.ones((1, L, S), bool), ValueError, rf"visible\(i, j\) \(1, {L}, {S}\), block "),
    ],
    ids=lambda x: type(x).__name__,
)
def test_rule_reads_what_visible_returns(answer: Any, error: type[Exception], says: str) -> None:
    """An answer that is no array of booleans, or of another block, is named, also under &."""
    query, key, value = triple()
    wrong = Rule(L, S, lambda i, j: answer)
    for rule in (wrong, wrong & Rule(L, S, last=S), wrong & Rule(L, S, odd_keys), wrong & wrong):
        with pytest.raises(error, match=says):
            rule(*places(L, S))
        with pytest.raises(error, match=says):
            streaming_attention(query, key, value, mask=rule)


def test_rule_does_not_hide_what_visible_raises() -> None:
    """An error of the function itself arrives as it is."""

    def broken(i: Any, j: Any) -> Any:
        raise LookupError("no such document")

    with pytest.raises(LookupError, match=r"^no such document$"):
        Rule(L, S, broken, last=0)(*places(L, S))


# ------------------------------------------------------------------------------ joined

RULES = {
    "all": Rule(L, S),
    "causal": Rule.causal(L, S, offset=1),
    "window": Rule.window(L, S, left=2, right=1),
    "from the own key on": Rule(L, S, first=0),
    "random": Rule(L, S, seen_in_mask),
    "odd in a band": Rule(L, S, odd_keys, first=-3, last=2),
    "later": Rule(L, S, later_queries, last=5),
}


@pytest.mark.parametrize("pair", [*itertools.product(RULES, repeat=2)], ids="-".join)
def test_rules_join_by_and(pair: tuple[str, str]) -> None:
    """A pair is allowed where both rules allow it, and a third rule joins them either way."""
    a, b = (RULES[name] for name in pair)
    seen = as_array(a & b)
    np.testing.assert_array_equal(seen, as_array(a) & as_array(b), strict=True)
    c = RULES["odd in a band"]
    for joined in ((a & b) & c, c & (a & b)):
        np.testing.assert_array_equal(as_array(joined), seen & as_array(c), strict=True)


def test_rules_join_without_asking() -> None:
    """The band of two bands is known at once, and a rule without a function joins without one."""
    joined = Rule(L, S, first=-2, last=3) & Rule(L, S, first=-1, last=4)
    assert joined == Rule(L, S, first=-1, last=3)
    assert Rule(L, S) & Rule.causal(L, S, offset=0) == Rule.causal(L, S, offset=0)


@pytest.mark.parametrize("other", [MASK, True, None, 1], ids=lambda x: type(x).__name__)
def test_rules_join_with_rules_only(other: Any) -> None:
    """An array is no rule: what is joined by & is of one kind."""
    for pair in ((Rule(L, S), other), (other, Rule(L, S))):
        with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for &: .*'Rule'"):
            and_(*pair)


def test_rule_is_no_mask_of_the_hall() -> None:
    """`attention`, which has all scores, takes arrays."""
    query, key, value = triple()
    with pytest.raises(TypeError, match=r"^mask must be a numpy\.ndarray, not attnref\._rules\."):
        attention(query, key, value, mask=Rule(L, S))  # type: ignore[arg-type]


# ------------------------------------------------------------------------------ parts


@pytest.mark.parametrize("name", RULES)
def test_rule_of_a_part_is_that_part_of_the_mask(name: str) -> None:
    """For any keys from start to stop, none of them too, and for a part of a part."""
    rule = RULES[name]
    mask = as_array(rule)
    for start, stop in itertools.combinations_with_replacement(range(S + 1), 2):
        part = rule.part(start, stop)
        np.testing.assert_array_equal(as_array(part), mask[:, start:stop], strict=True)
        assert_tiles(part)
        for middle in range(stop - start + 1):
            rest = as_array(part.part(middle, stop - start))
            np.testing.assert_array_equal(rest, mask[:, start + middle : stop], strict=True)


# ------------------------------------------------------------------------------ spans


def blocks_of_rows(rows: int) -> Iterator[range]:
    """Return every block of consecutive queries."""
    for start in range(rows):
        for stop in range(start + 1, rows + 1):
            yield range(start, stop)


def assert_tiles(rule: Rule) -> None:
    """Require spans in order that hold all keys that are seen, and are whole where they say so."""
    mask = as_array(rule)
    for rows in blocks_of_rows(rule.L):
        spans = rule.spans(rows)
        keys = [s for span, _ in spans for s in span]
        assert all(len(span) for span, _ in spans)
        assert keys == sorted({*keys})
        assert {*keys} <= {*range(rule.S)}
        seen = mask[rows.start : rows.stop]
        assert not np.delete(seen, keys, axis=1).any()
        assert all(seen[:, span.start : span.stop].all() for span, whole in spans if whole)
        if rule.visible is not None:
            assert not any(whole for _, whole in spans)
        elif rule.first is None or rule.last is None or rule.first <= rule.last:
            assert seen[:, keys].any(axis=0).all()  # no key that nobody sees
            inside = {s for span, whole in spans if whole for s in span}
            assert inside == {*np.flatnonzero(seen.all(axis=0))}


@sized
def test_rule_spans_are_the_keys_that_are_seen(rows: int, columns: int) -> None:
    """For any band and queries: no other key is seen, each of them is, the whole ones by all."""
    limits = [None, *OFFSETS]
    for first, last in itertools.product(limits, repeat=2):
        assert_tiles(Rule(rows, columns, first=first, last=last))


@pytest.mark.parametrize("name", RULES)
def test_rule_spans_promise_nothing_of_what_a_function_decides(name: str) -> None:
    """With a function the spans are the band's, and none is said to be whole."""
    rule = RULES[name]
    assert_tiles(rule)
    band = dataclasses.replace(rule, visible=None)
    for rows in blocks_of_rows(L):
        keys = [s for span, _ in rule.spans(rows) for s in span]
        assert keys == [s for span, _ in band.spans(rows) for s in span]


@pytest.mark.parametrize("corner", ["upper-left", "lower-right"])
def test_rule_is_asked_for_no_block_outside_its_band(
    corner: Literal["upper-left", "lower-right"],
) -> None:
    """Under a causal rule no later key is asked for, and a block holds no more keys than said."""
    asked: list[tuple[int, int]] = []

    def noted(i: Any, j: Any) -> Any:
        assert i.shape[1:] == (1,)
        assert j.ndim == 1
        assert len(j) <= 2
        asked.extend(itertools.product(i[:, 0].tolist(), j.tolist()))
        return np.ones((len(i), len(j)), bool)

    query, key, value = triple()
    rule = Rule.causal(L, S, align=corner) & Rule(L, S, noted)
    streaming_attention(query, key, value, mask=rule, block_size=2)
    last = (S - L if corner == "lower-right" else 0) + L - 1
    assert sorted(asked) == [*itertools.product(range(L), range(last + 1))]
