"""The laws of the named masks."""

import math
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Literal

import numpy as np
import pytest

import oracle
from attnref import attention, masks
from samples import D_K, D_V, B, H, L, Mask, S, both_values, normal

# Fewer queries than keys, as many, more; none of either.
SIZES = [(L, S), (S, S), (S, L), (1, S), (S, 1), (1, 1), (0, S), (L, 0), (0, 0)]
sized = pytest.mark.parametrize(("rows", "columns"), SIZES)
both_corners = pytest.mark.parametrize("align", ["upper-left", "lower-right"])


def assert_is_causal(mask: Mask, rows: int, columns: int, offset: int) -> None:
    """Require True exactly where j ≤ i + offset, by a double loop."""
    assert mask.dtype == np.bool_
    assert mask.shape == (rows, columns)
    for i, j in product(range(rows), range(columns)):
        assert mask[i, j] == (j <= i + offset), (i, j)


def offsets() -> Iterator[int]:
    """Return offsets at which every row sees all, some or none of the keys."""
    yield from range(-S - 2, S + 3)


@sized
def test_causal_upper_left_lines_up_the_first_query_with_the_first_key(
    rows: int, columns: int
) -> None:
    """Anchored at the upper left, query i sees keys 0 to i."""
    assert_is_causal(masks.causal(rows, columns, align="upper-left"), rows, columns, 0)


@sized
def test_causal_lower_right_lines_up_the_last_query_with_the_last_key(
    rows: int, columns: int
) -> None:
    """Anchored at the lower right, the last query sees every key and the one before one less."""
    mask = masks.causal(rows, columns, align="lower-right")
    assert_is_causal(mask, rows, columns, columns - rows)
    assert mask[-1:].all()


@sized
def test_causal_with_an_offset_shows_keys_up_to_it(rows: int, columns: int) -> None:
    """Query i sees key j where j ≤ i + offset, for every offset from none to all."""
    for offset in offsets():
        assert_is_causal(masks.causal(rows, columns, offset=offset), rows, columns, offset)
    if rows and columns:
        both_values(np.stack([masks.causal(rows, columns, offset=o) for o in offsets()]))


@both_corners
def test_causal_in_a_square_needs_no_corner(align: Literal["upper-left", "lower-right"]) -> None:
    """Where L = S the corners agree, and neither needs to be named."""
    mask = both_values(masks.causal(S, S))
    np.testing.assert_array_equal(mask, masks.causal(S, S, align=align), strict=True)
    np.testing.assert_array_equal(mask, masks.causal(S, S, offset=0), strict=True)


@pytest.mark.parametrize("offset", [2**31, 2**63, 10**30])
def test_causal_takes_any_integer_offset(offset: int) -> None:
    """An offset too large for an array's integers lets every query see all keys, or none."""
    assert masks.causal(L, S, offset=offset).all()
    assert not masks.causal(L, S, offset=-offset).any()


@both_corners
@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.uint64, np.int64])
def test_causal_takes_numpy_integers(
    align: Literal["upper-left", "lower-right"], kind: type[np.integer]
) -> None:
    """Sizes and offsets may be NumPy's integers, whose differences would wrap around."""
    for rows, columns in SIZES:
        mask = masks.causal(kind(rows), kind(columns), align=align)  # type: ignore[arg-type]  # on purpose
        plain = masks.causal(rows, columns, align=align)
        np.testing.assert_array_equal(mask, plain, strict=True)
    far = masks.causal(kind(L), kind(S), offset=kind(127))  # type: ignore[arg-type]  # on purpose
    np.testing.assert_array_equal(far, masks.causal(L, S, offset=127), strict=True)


def test_causal_masks_of_a_split_of_the_queries_are_its_rows() -> None:
    """Decoding in steps sees what decoding at once sees: rows i… are a mask with offset i."""
    whole = both_values(masks.causal(S, S))
    for i in range(S + 1):
        np.testing.assert_array_equal(masks.causal(S - i, S, offset=i), whole[i:], strict=True)
        rest = masks.causal(S - i, S, align="lower-right")
        np.testing.assert_array_equal(rest, whole[i:], strict=True)


def window_by_hand(
    rows: int, columns: int, left: int | None, right: int | None, offset: int
) -> Mask:
    """Return True exactly where i + offset − left ≤ j ≤ i + offset + right, by a double loop."""
    mask = np.zeros((rows, columns), dtype=np.bool_)
    before, after = (math.inf if reach is None else reach for reach in (left, right))
    for i, j in product(range(rows), range(columns)):
        mask[i, j] = i + offset - before <= j <= i + offset + after
    return mask


reaches = pytest.mark.parametrize(
    ("left", "right"), list(product([None, 0, 1, 3, S], repeat=2)), ids=str
)


@sized
@reaches
def test_window_shows_the_keys_within_reach(
    rows: int, columns: int, left: int | None, right: int | None
) -> None:
    """Query i sees key j where i + offset − left ≤ j ≤ i + offset + right, both ends included."""
    found = []
    for offset in offsets():
        mask = masks.window(rows, columns, left=left, right=right, offset=offset)
        by_hand = window_by_hand(rows, columns, left, right, offset)
        np.testing.assert_array_equal(mask, by_hand, strict=True)
        found.append(mask)
    if rows and columns and (left, right) != (None, None):
        both_values(np.stack(found))
    plain = masks.window(rows, columns, left=left, right=right)
    np.testing.assert_array_equal(plain, found[S + 2], strict=True)  # the offset 0


@sized
def test_window_without_a_left_end_and_nothing_to_the_right_is_causal(
    rows: int, columns: int
) -> None:
    """All keys up to one's own, left = None and right = 0, are the causal mask of that offset."""
    for offset in offsets():
        mask = masks.window(rows, columns, left=None, right=0, offset=offset)
        np.testing.assert_array_equal(mask, masks.causal(rows, columns, offset=offset), strict=True)


@pytest.mark.parametrize("huge", [2**31, 2**63, 10**30])
def test_window_takes_any_integer(huge: int) -> None:
    """Reaches and offsets too large for an array's integers are kept apart, not cut off."""
    everything = masks.window(L, S, left=huge, right=huge)
    assert everything.all()
    assert not masks.window(L, S, left=1, right=1, offset=huge).any()
    assert not masks.window(L, S, left=1, right=1, offset=-huge).any()
    for sign in (1, -1):
        left, right = (huge, 2) if sign > 0 else (1, huge)
        mask = both_values(masks.window(L, S, left=left, right=right, offset=sign * huge - sign))
        by_hand = window_by_hand(L, S, left, right, sign * huge - sign)
        np.testing.assert_array_equal(mask, by_hand, strict=True)
    open_ended = masks.window(L, S, left=None, right=0, offset=huge)
    np.testing.assert_array_equal(open_ended, everything, strict=True)


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.uint64, np.int64])
def test_window_takes_numpy_integers(kind: type[np.integer]) -> None:
    """Sizes, reaches and offsets may be NumPy's integers, whose differences would wrap around."""
    for left, right, offset in [(3, 0, 1), (127, 127, 127), (2, 127, 0), (127, 2, 3)]:
        numbers = {"left": kind(left), "right": kind(right), "offset": kind(offset)}
        mask = masks.window(kind(L), kind(S), **numbers)  # type: ignore[arg-type]  # on purpose
        by_hand = window_by_hand(L, S, left, right, offset)
        np.testing.assert_array_equal(mask, by_hand, strict=True)


@pytest.mark.parametrize(
    ("left", "right_value"), [(1, 6.0), (2, 14 / 3)], ids=["54-HF#39408-W-2", "54-HF#39408-left-2"]
)
def test_window_does_not_count_the_own_key(left: int, right_value: float) -> None:
    """Among values 1, 2, 4, 8 the last query averages those of its own key and of left others."""
    zeros, value = np.zeros((4, 1)), np.array([[1.0], [2.0], [4.0], [8.0]])
    mask = both_values(masks.window(4, 4, left=left, right=0))
    assert mask[3].sum() == left + 1
    output = attention(zeros[3:], zeros, value, mask=mask[3:])
    truth = oracle.attention(zeros[3:], zeros, value, mask=mask[3:]).output
    oracle.assert_agree(output, np.array([[right_value]]), truth)


LENGTHS = [(3, S), (S - 1, 0), (0, 0), (S, S), (1, 1, 4), (2,), ()]


@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
def test_padding_shows_the_keys_before_each_length(lengths: tuple[int, ...]) -> None:
    """In sequence b every head's every query sees key j where j < lengths[b]."""
    mask = masks.padding(lengths, S)
    assert mask.dtype == np.bool_
    assert mask.shape == (len(lengths), 1, 1, S)
    for b, j in product(range(len(lengths)), range(S)):
        assert mask[b, 0, 0, j] == (j < lengths[b]), (b, j)
    for kind in (np.uint8, np.int8, np.uint64, np.dtype(">i4")):
        same = masks.padding(np.array(lengths, dtype=kind), S)
        np.testing.assert_array_equal(same, mask, strict=True)
    scalars = masks.padding([np.uint8(n) for n in lengths], np.uint8(S))  # type: ignore[misc, arg-type]  # on purpose
    np.testing.assert_array_equal(scalars, mask, strict=True)


@pytest.mark.parametrize("batch", [0, 1, B])
def test_padding_of_no_keys_is_empty(batch: int) -> None:
    """Where S = 0 every length is 0, and the mask has no column."""
    assert masks.padding([0] * batch, 0).shape == (batch, 1, 1, 0)


@pytest.mark.parametrize("lengths", [(3, S), (S - 1, 0)], ids=str)
def test_padding_is_as_if_deleted(lengths: tuple[int, ...]) -> None:
    """Each sequence of a batch attends as over its own keys alone, whatever stands behind them."""
    query, key, value = normal(B, H, L, D_K), normal(B, H, S, D_K), normal(B, H, S, D_V)
    for b, n in enumerate(lengths):
        key[b, :, n:] = value[b, :, n:] = math.nan
    output = attention(query, key, value, mask=both_values(masks.padding(lengths, S)))
    for b, n in enumerate(lengths):
        alone = query[b], key[b, :, :n], value[b, :, :n]
        truth = oracle.attention(*alone).output
        oracle.assert_agree(output[b], attention(*alone), truth)


@pytest.mark.parametrize(
    ("lengths", "right"),
    [([1], [1]), ([1, 2], [1, 2]), ([2, 1], [2, 1])],
    ids=["24-detr#96", "34-pytorch#184180", "34-pytorch#184180-turned"],
)
def test_padding_says_what_to_attend_in_each_sequence(
    lengths: Sequence[int], right: list[float]
) -> None:
    """True is attend, and each sequence has its own row: values 1 and 3 give 1 or their mean."""
    zeros = np.zeros((len(lengths), 1, 2, 1))
    value = np.zeros_like(zeros) + np.array([[1.0], [3.0]])
    output = attention(zeros[:, :, :1], zeros, value, mask=masks.padding(lengths, 2))
    np.testing.assert_array_equal(output.ravel(), right)


PACKED = {
    "in pieces": [4] * L + [-9] * S,
    "shuffled": [4, -9, -9, 4, 4, -9, 4, -9, -9, 4, -9, -9],
    "huge": [2**64, *[-(10**30)] * 2, *[2**64] * 3, *[2**64 + 1] * 2],
    "near": [2**53, 2**53 + 1, 2**53, 2**63],
    "one": [5],
    "one document": [2, 2, 2],
    "none": [],
}


@pytest.mark.parametrize("what", PACKED)
def test_documents_are_seen_by_their_own_tokens(what: str) -> None:
    """Token i sees token j where both are of one document, whatever the order and the ids."""
    ids = PACKED[what]
    mask = masks.documents(ids)
    assert mask.dtype == np.bool_
    assert mask.shape == (len(ids), len(ids))
    for i, j in product(range(len(ids)), repeat=2):
        assert mask[i, j] == (ids[i] == ids[j]), (i, j)
    np.testing.assert_array_equal(masks.documents(tuple(ids)), mask, strict=True)


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.uint64, np.int64, ">i4"])
def test_documents_take_numpy_integers(kind: str | type[np.integer]) -> None:
    """Ids may be an array or a sequence of NumPy's integers."""
    ids = [0, 100, 100, 27, 0]
    array = np.array(ids, dtype=kind)
    for given in (array, list(array)):
        np.testing.assert_array_equal(masks.documents(given), masks.documents(ids), strict=True)


@pytest.mark.parametrize("what", ["in pieces", "shuffled"])
@pytest.mark.parametrize("causal", [False, True], ids=["whole", "causal"])
def test_documents_attend_as_if_computed_separately(what: str, causal: bool) -> None:
    """Packed into one sequence, each document has the outputs that it has alone, causal too."""
    ids = np.array(PACKED[what])
    T = ids.size
    query, key, value = normal(H, T, D_K), normal(H, T, D_K), normal(H, T, D_V)
    mask = both_values(masks.documents(ids))
    if causal:
        mask = both_values(mask & masks.causal(T, T))
    packed = attention(query, key, value, mask=mask)
    for name, size in ((4, L), (-9, S)):
        own = np.flatnonzero(ids == name)
        assert own.size == size
        alone = query[:, own], key[:, own], value[:, own]
        within = masks.causal(size, size) if causal else None
        truth = oracle.attention(*alone, mask=within).output
        oracle.assert_agree(packed[:, own], attention(*alone, mask=within), truth)


def test_documents_of_one_token_each_see_themselves() -> None:
    """Of two packed documents with values 1 and 3, the second has 3: 32-maxtext#878."""
    zeros, value = np.zeros((2, 1)), np.array([[1.0], [3.0]])
    output = attention(zeros, zeros, value, mask=masks.documents([0, 1]))
    np.testing.assert_array_equal(output, value)


def test_masks_compose_by_and() -> None:
    """What two masks both allow is their &: padding with causal, a left window with causal."""
    lengths = (3, S - 1)
    mask = both_values(masks.padding(lengths, S) & masks.causal(L, S, offset=1))
    assert mask.shape == (B, 1, L, S)
    for b, i, j in product(range(B), range(L), range(S)):
        assert mask[b, 0, i, j] == (j < lengths[b] and j <= i + 1), (b, i, j)
    one_sided = masks.window(L, S, left=2, right=None, offset=1) & masks.causal(L, S, offset=1)
    np.testing.assert_array_equal(
        both_values(one_sided), masks.window(L, S, left=2, right=0, offset=1), strict=True
    )


# ------------------------------------------------------------------------------ ALiBi

# The slopes as the paper and its code have them, from 1 to 12 heads; 6 is fault 46's.
SLOPES: dict[int, list[float]] = {
    1: [2**-8],
    2: [2**-4, 2**-8],
    3: [2**-4, 2**-8, 2**-2],
    4: [2**-2, 2**-4, 2**-6, 2**-8],
    6: [0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125],
    8: [2**-1, 2**-2, 2**-3, 2**-4, 2**-5, 2**-6, 2**-7, 2**-8],
    12: [2**-n for n in range(1, 9)] + [2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5],
}


@pytest.mark.parametrize("num_heads", SLOPES)
def test_alibi_has_the_slopes_of_any_number_of_heads(num_heads: int) -> None:
    """Row 46: the first p are those of p heads, p a power of two, the rest those between."""
    bias = masks.alibi(num_heads, 1, 2)
    assert bias.shape == (num_heads, 1, 2)
    np.testing.assert_array_equal(bias[:, 0, 0], 0.0)
    # 2^(−8h/p) of a quotient that is exact: a power of the C library, right to a unit or so.
    np.testing.assert_allclose(bias[:, 0, 1], np.negative(SLOPES[num_heads]), rtol=2**-51, atol=0)


@sized
@pytest.mark.parametrize("offset", [0, 2, S, -3])
def test_alibi_is_the_slope_times_the_distance(rows: int, columns: int, offset: int) -> None:
    """Rows 47 and 48: −slope |i + offset − j|, place by place, with the sign of a penalty."""
    bias = masks.alibi(2, rows, columns, offset=offset)
    assert bias.shape == (2, rows, columns)
    for i, j in product(range(rows), range(columns)):
        distance = abs(i + offset - j)
        assert bias[:, i, j].tolist() == [-(2**-4) * distance, -(2**-8) * distance]


def test_alibi_of_no_heads_is_empty() -> None:
    """Zero heads have zero slopes."""
    assert masks.alibi(0, L, S).shape == (0, L, S)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_alibi_has_the_dtype_that_is_asked_for(dtype: str) -> None:
    """float64 unless given, so that it goes with a query of the same dtype."""
    bias = masks.alibi(H, L, S, dtype=dtype)
    assert bias.dtype == dtype
    assert masks.alibi(H, L, S).dtype == np.float64
    query, key, value = (normal(H, n, 3, dtype=dtype) for n in (L, S, S))
    truth = oracle.attention(query, key, value, bias=bias).output
    oracle.assert_within(attention(query, key, value, bias=bias), truth)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_alibi_never_masks(dtype: str) -> None:
    """However far a key is, its bias is finite: the lowest number where the true one is beyond."""
    bias = masks.alibi(2, 1, 2, offset=10**45, dtype=dtype)
    assert (bias == np.finfo(dtype).min).all()


def test_alibi_under_a_cache_is_the_last_row_of_the_whole() -> None:
    """Row 48: decoding one query over S keys has the bias of the last row, not zeros."""
    whole = masks.alibi(H, S, S)
    np.testing.assert_array_equal(masks.alibi(H, 1, S, offset=S - 1), whole[:, -1:])
