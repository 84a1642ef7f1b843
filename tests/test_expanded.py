"""The laws of the expanded form: what the plain loops and the matrix form owe each other."""

import math

import numpy as np
from hypothesis import given, settings

import oracle
from attnref import attention, expanded_attention
from samples import D_K, D_V, B, L, Problem, S, normal, problems, random_mask, triple


@settings(max_examples=150, deadline=None, derandomize=True)
@given(problem=problems())
def test_expanded_attention_is_the_matrix_form_within_the_bounds_of_both(problem: Problem) -> None:
    """The loops and the matrix form differ by no more than both may differ from the truth."""
    truth = oracle.attention(*problem.arrays, **problem.options)
    loops = expanded_attention(*problem.arrays, **problem.options)
    matrix = attention(*problem.arrays, **problem.options)
    assert loops.dtype == matrix.dtype
    oracle.assert_agree(loops, matrix, truth.output)


def test_expanded_attention_is_its_formula() -> None:
    """Q = 1, k = (0, log 3), v = (1, 3): Z = 1 + 3 and y = (1·1 + 3·3) / 4, to three roundings."""
    key, value = np.array([[0.0], [math.log(3)]]), np.array([[1.0], [3.0]])
    truth = oracle.attention(np.array([[1.0]]), key, value)
    output = expanded_attention(np.array([[1.0]]), key, value)
    oracle.assert_near(output, oracle.exactly(np.array([[2.5]])), 2 * truth.output.bound("f8"))


def test_expanded_attention_answers_each_query_alone() -> None:
    """The output for one query is bit for bit that of a call with no other query."""
    query, key, value = triple()
    mask = random_mask(L, S)
    together = expanded_attention(query, key, value, mask=mask)
    for t in range(L):
        row = slice(t, t + 1)
        alone = expanded_attention(query[row], key, value, mask=mask[row])
        np.testing.assert_array_equal(alone, together[row], strict=True)


def test_expanded_attention_leaves_out_masked_keys() -> None:
    """Masking a key is bit for bit the same as deleting it: the loop never meets it."""
    query, key, value = triple()
    keep = random_mask(S)
    masked = expanded_attention(query, key, value, mask=keep)
    deleted = expanded_attention(query, key[keep], value[keep])
    np.testing.assert_array_equal(masked, deleted, strict=True)


def test_expanded_attention_of_a_batch_is_the_stack_of_single_results() -> None:
    """A leading axis is bit for bit a loop, for the mask as well."""
    query, key, value = normal(B, L, D_K), normal(B, S, D_K), normal(B, S, D_V)
    mask = random_mask(B, L, S)
    batch = expanded_attention(query, key, value, mask=mask)
    for b in range(B):
        single = expanded_attention(query[b], key[b], value[b], mask=mask[b])
        np.testing.assert_array_equal(batch[b], single, strict=True)
