"""The laws of the named masks."""

from collections.abc import Iterator
from itertools import product
from typing import Literal

import numpy as np
import pytest

from attnref import masks
from samples import L, Mask, S, both_values

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
        mask = masks.causal(kind(rows), kind(columns), align=align)  # type: ignore[arg-type]
        plain = masks.causal(rows, columns, align=align)
        np.testing.assert_array_equal(mask, plain, strict=True)
    far = masks.causal(kind(L), kind(S), offset=kind(127))  # type: ignore[arg-type]
    np.testing.assert_array_equal(far, masks.causal(L, S, offset=127), strict=True)


def test_causal_masks_of_a_split_of_the_queries_are_its_rows() -> None:
    """Decoding in steps sees what decoding at once sees: rows i… are a mask with offset i."""
    whole = both_values(masks.causal(S, S))
    for i in range(S + 1):
        np.testing.assert_array_equal(masks.causal(S - i, S, offset=i), whole[i:], strict=True)
        rest = masks.causal(S - i, S, align="lower-right")
        np.testing.assert_array_equal(rest, whole[i:], strict=True)
