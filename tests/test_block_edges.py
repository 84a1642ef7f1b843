"""Attention in blocks at the ends of its dtype, in NumPy and in Torch: the hall is right."""

import tracemalloc
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import attnref.torch
from attnref import _workers, attention, attention_gradients, streaming_attention
from attnref.masks import Rule
from attnref.testing import assert_close
from oracle import Floats
from samples import D_K, D_V, S, normal


def in_torch(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of Torch that takes and gives NumPy's arrays."""

    def call(*arrays: Floats, **options: Any) -> Any:
        given = {k: torch.tensor(x) if isinstance(x, np.ndarray) else x for k, x in options.items()}
        found = function(*map(torch.tensor, arrays), **given)
        return [x.numpy() for x in found[:3]] if isinstance(found, tuple) else found.numpy()

    return call


FORWARD = [streaming_attention, in_torch(attnref.torch.streaming_attention)]
BACKWARD = [attention_gradients, in_torch(attnref.torch.attention_gradients)]
each_forward = pytest.mark.parametrize("attend", FORWARD, ids=["NumPy", "Torch"])
each_backward = pytest.mark.parametrize("backward", BACKWARD, ids=["NumPy", "Torch"])


@each_forward
def test_scale_beyond_the_dtype_of_the_work_is_a_scale(attend: Callable[..., Floats]) -> None:
    """A query times a scale that float32 does not hold is rounded once, where float32 holds it."""
    query = np.full((1, 1), 1e30, "float32")
    key = np.array([[1e31], [0.0]], "float32")
    value = np.array([[1.0], [3.0]], "float32")
    found = attend(query, key, value, scale=1e-60)  # scores of 10 and 0
    np.testing.assert_allclose(found, attention(query, key, value, scale=1e-60), rtol=1e-5)


@each_forward
@pytest.mark.parametrize("sink", [1e10 + 400, 3e9 + 127, 1e39, -1e39])
def test_sink_between_two_numbers_of_the_work_is_rounded(
    attend: Callable[..., Floats], sink: float
) -> None:
    """A sink far from every number of float32 makes neither NaN nor ∞ of what is far above it."""
    query, value = np.ones((1, 1), "float32"), np.full((1, 1), 3.0, "float32")
    key = np.full((1, 1), 2e10, "float32")
    expected = attention(query, key, value, sink=sink)
    assert np.array_equal(attend(query, key, value, sink=sink), expected)


@each_backward
def test_values_at_the_end_of_the_dtype_stay_behind_their_mask(
    backward: Callable[..., Any],
) -> None:
    """⟨g_t, v_s⟩ − δ_t overflows at a masked key, and no gradient takes notice."""
    one, value = np.ones((2, 1), "float32"), np.array([[3e38], [-1e38]], "float32")
    found = backward(one, one, value, one, mask=np.eye(2, dtype=bool), block_size=1)
    assert all((x == 0).all() for x in found[:2])  # one key a query: its weight is 1, whatever
    assert (found[2] == 1).all()


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_one_query_of_many_keys_needs_little_memory(dtype: str) -> None:
    """Blocks of one query are long, but not so long that copies of keys or gradients are large."""
    query, key, value = (normal(n, 64).astype(dtype) for n in (1, 60_013, 60_013))
    heights = []
    calls: tuple[Any, ...] = streaming_attention, lambda q, k, v: attention_gradients(q, k, v, q)
    for call in calls:
        tracemalloc.start()
        try:
            result = call(query, key, value)
            heights.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    own = sum(x.nbytes for x in result[:3])
    work = np.dtype("float32").itemsize / np.dtype(dtype).itemsize  # float16: sums in float32
    assert heights[0] <= 2 * 2**20
    assert heights[1] - own * (work + (work > 1)) <= 4 * 2**20


def test_rule_and_lengths_of_a_batch_go_together_by_a_bias() -> None:
    """A rule has no batch: −∞ in a bias of (B, 1, 1, S) is the padding beside it."""
    query, key, value = normal(2, 1, S, D_K), normal(2, 1, S, D_K), normal(2, 1, S, D_V)
    padding = attnref.masks.padding([S, 3], S)
    bias = np.where(padding, 0.0, -np.inf)
    found = streaming_attention(query, key, value, mask=Rule.causal(S, S), bias=bias)
    mask = attnref.masks.causal(S, S) & padding
    assert_close(found, query, key, value, mask=mask)


@pytest.mark.parametrize(("own", "expected"), [((2, 1, 3), 1), ((3, 2), 2), ((), 1)])
def test_threads_are_those_of_the_most_limited_algebra(
    own: tuple[int, ...], expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a process has several libraries, one that was loaded later and unlimited counts not."""
    libraries = [SimpleNamespace(num_threads=n) for n in own]
    monkeypatch.setattr(_workers, "_blas", lambda: SimpleNamespace(lib_controllers=libraries))
    assert _workers._threads() == expected
