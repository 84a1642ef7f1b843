"""What the tests of attention in blocks share: sizes of blocks and heads, and the dtype of work."""

from typing import Any

import numpy as np
import pytest

from samples import DTYPES, S

BLOCKS = (1, 2, 3, S, S + 9, None)
HQ, HKV = 6, 2  # each head of key and value is read by three of the query
ROWS = 263  # more than one block of queries

every_block = pytest.mark.parametrize("block_size", BLOCKS, ids=str)
every_dtype = pytest.mark.parametrize("dtype", DTYPES)


def working(dtype: Any) -> str:
    """Return the dtype of the work: float32 for float16, and else its own."""
    return "float64" if np.dtype(dtype).itemsize == 8 else "float32"
