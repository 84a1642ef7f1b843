"""Decoding: a text written token by token, over a cache in pieces, is the text read as a whole."""

from dataclasses import replace
from functools import cache as kept
from functools import reduce
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import attnref.torch
import oracle
from attnref import merge, partial_attention, streaming_attention
from attnref.masks import Rule, causal
from attnref.torch import KeyValueCache, MultiHeadAttention
from oracle import Floats
from samples import D_K, D_V, H, normal

T = 13  # tokens


def cuts(length: int) -> st.SearchStrategy[list[int]]:
    """Draw where a cache is cut: some places, in order, the same one twice among them."""
    return st.lists(st.integers(0, length), max_size=6).map(sorted)


def pieces(length: int, cut: list[int]) -> list[slice]:
    """Return the pieces of a cache, empty ones too."""
    ends = [0, *(min(place, length) for place in cut), length]
    return [slice(start, stop) for start, stop in pairwise(ends)]


def looser(quantity: oracle.Quantity, more: Floats | int) -> oracle.Quantity:
    """Return a quantity with an error for each merge on top."""
    return replace(quantity, error=quantity.error + more)


@kept
def text(dtype: str) -> tuple[tuple[Floats, Floats, Floats], oracle.Truth]:
    """Return query, key and value of a text, and its causal pass with a sink."""
    query, key, value = (normal(T, d, seed=2, dtype=dtype) for d in (D_K, D_K, D_V))
    return (query, key, value), oracle.attention(query, key, value, mask=causal(T, T), sink=0.25)


@kept
def step() -> tuple[tuple[Floats, Floats, Floats], oracle.Truth]:
    """Return one query in each of some heads, and what it gets of all keys."""
    arrays = normal(H, 1, D_K), normal(H, T, D_K), normal(H, T, D_V)
    return arrays, oracle.attention(*arrays)


@kept
def cache_of_a_layer() -> tuple[Tensor, Tensor, Tensor, oracle.Truth]:
    """Return a query of six heads, the cache of three that a layer has filled, and the output."""
    torch.manual_seed(0)
    layer, cache = MultiHeadAttention(24, 6, num_kv_heads=3).double(), KeyValueCache()
    with torch.no_grad():
        for token in torch.tensor(normal(T, 1, 24)):
            layer(token, causal=True, cache=cache)
    assert cache.key is not None
    assert cache.value is not None
    query = torch.tensor(normal(6, 1, 4))
    truth = oracle.attention(query.numpy(), cache.key.numpy(), cache.value.numpy())
    return query, cache.key, cache.value, truth


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@given(cut=cuts(T))
def test_decoding_over_a_split_cache_is_the_causal_pass(dtype: str, cut: list[int]) -> None:
    """However the cache is cut at each step, token t gets row t of the whole causal pass."""
    (query, key, value), truth = text(dtype)
    rows = []
    for t in range(T):
        parts = pieces(t + 1, cut)
        token = query[[t]]
        states = [partial_attention(token, key[part], value[part]) for part in parts]
        sink = partial_attention(token, key[:0], value[:0], sink=0.25)
        rows.append(reduce(merge, states, sink).output)
    merges = len(parts)
    whole = looser(truth.output, 6 * merges * truth.magnitude)
    oracle.assert_within(np.concatenate(rows), whole)


@given(cut=cuts(T))
def test_one_query_streams_over_any_blocks(cut: list[int]) -> None:
    """With blocks of any size a decoding step is that of all keys at once, within the bound."""
    (query, key, value), truth = step()
    for size in {place + 1 for place in cut}:
        output = streaming_attention(query, key, value, block_size=size)
        oracle.assert_within(output, looser(truth.output, 6 * T * truth.magnitude))


@given(cut=cuts(T))
def test_cache_of_a_layer_may_be_cut_anywhere(cut: list[int]) -> None:
    """Heads that share keys, read from a cache in pieces, merge to attention over the cache."""
    query, key, value, truth = cache_of_a_layer()
    states = [
        attnref.torch.partial_attention(query, key[..., part, :], value[..., part, :])
        for part in pieces(T, cut)
    ]
    state = reduce(attnref.torch.merge, states)
    oracle.assert_within(
        state.output.numpy(), looser(truth.output, 6 * len(states) * truth.magnitude)
    )


def test_rule_of_a_decoding_step_sees_the_whole_cache() -> None:
    """The lower right corner of a causal rule is the last token's row, which sees every key."""
    query, key, value = normal(1, D_K), normal(T, D_K), normal(T, D_V)
    rule = Rule.causal(1, T, align="lower-right")
    step = streaming_attention(query, key, value, mask=rule)
    assert np.array_equal(step, streaming_attention(query, key, value))
