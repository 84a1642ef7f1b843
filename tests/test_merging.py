"""Partial states: any split of the keys merges to the whole, in any order, with any exponent."""

import itertools
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from attnref import Partial, attention, log_partition, merge, partial_attention, scores
from oracle import Floats
from samples import DTYPES, Problem, problems, random_mask, triple

S = 7
NO_KEYS = slice(0, 0)
SPLITS = {
    "two": [slice(0, 3), slice(3, S)],
    "one by one": [slice(s, s + 1) for s in range(S)],
    "with empty ones": [NO_KEYS, slice(0, 5), NO_KEYS, slice(5, S), NO_KEYS],
    "every other": [slice(0, S, 2), slice(1, S, 2)],
}


def part(problem: Problem, keys: slice) -> Partial:
    """Return the state of some of the keys, without the sink."""
    options: dict[str, Any] = {**problem.options, "sink": None}
    for name in ("mask", "bias"):
        if options[name] is not None:
            rows = (*np.shape(options[name])[:-1], problem.key.shape[-2])
            options[name] = np.broadcast_to(options[name], rows)[..., keys]
    return partial_attention(
        problem.query, problem.key[..., keys, :], problem.value[..., keys, :], **options
    )


def sink_of(problem: Problem) -> Partial:
    """Return the state of the sink alone: no key, and one score that has no value."""
    key, value = problem.key[..., NO_KEYS, :], problem.value[..., NO_KEYS, :]
    return partial_attention(problem.query, key, value, scale=problem.scale, sink=problem.sink)


def assert_whole(problem: Problem, state: Partial, merges: int) -> None:
    """Require the oracle's output and log Z; a merge is three roundings more, in z and in n."""
    truth = oracle.attention(*problem.arrays, **problem.options)
    assert state.output.dtype == state.log_z.dtype == problem.query.dtype
    oracle.assert_within(state.output, _looser(truth.output, 6 * merges * truth.magnitude))
    log_z = Partial(state.m, state.z, state.n).log_z  # in float64: it may be beyond float16
    oracle.assert_within(log_z, _looser(truth.log_z, 3 * merges))


def _looser(quantity: oracle.Quantity, more: Floats | int) -> oracle.Quantity:
    return replace(quantity, error=quantity.error + more)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("split", SPLITS.values(), ids=SPLITS)
def test_parts_merge_to_the_whole(split: list[slice], dtype: str) -> None:
    """However the keys are split, the states of the parts make the output and log Z of all."""
    problem = Problem(*triple(dtype=dtype), mask=random_mask(5, S), softcap=1.5, scale=-0.75)
    state = reduce(merge, (part(problem, keys) for keys in split))
    assert_whole(problem, state, len(split) - 1)


@given(problem=problems(), place=st.floats(0, 1))
def test_two_parts_merge_to_the_whole_whatever_is_asked(problem: Problem, place: float) -> None:
    """With every option, size, layout and dtype; the sink is a part of its own, counted once."""
    cut = round(place * problem.key.shape[-2])
    states = [part(problem, slice(0, cut)), part(problem, slice(cut, None))]
    if problem.sink is not None:
        states.append(sink_of(problem))
    assert_whole(problem, reduce(merge, states), len(states) - 1)


@pytest.mark.parametrize("order", [*itertools.permutations(range(3))], ids=str)
def test_merging_asks_for_no_order(order: tuple[int, ...]) -> None:
    """Three parts give the whole in each order, grouped either way."""
    problem = Problem(*triple())
    a, b, c = (part(problem, [slice(0, 2), slice(2, 6), slice(6, 7)][i]) for i in order)
    assert_whole(problem, merge(merge(a, b), c), 2)
    assert_whole(problem, merge(a, merge(b, c)), 2)
    one, other = merge(a, b), merge(b, a)
    assert all(np.array_equal(getattr(one, x), getattr(other, x)) for x in "mzn")


def test_empty_state_changes_no_bit() -> None:
    """Merged from either side it leaves a state as it is, and so does one with another exponent."""
    state = part(Problem(*triple()), slice(0, 4))
    zero = np.zeros_like(state.z)
    for m in (-np.inf, 0.0, 700.0, -700.0):
        nothing = Partial(np.full_like(zero, m), zero, np.full_like(state.n, 7.0))
        assert (nothing.output == 0).all()  # where z is 0, m and n say nothing
        for merged in (merge(nothing, state), merge(state, nothing)):
            assert all(np.array_equal(getattr(merged, x), getattr(state, x)) for x in "mzn")
    both = merge(Partial.empty(state.n.shape), Partial.empty(state.n.shape))
    assert (both.output == 0).all()
    assert (both.log_z == -np.inf).all()


@pytest.mark.parametrize("shift", [-300.0, -1.0, 0.0, 0.5, 300.0])
def test_any_finite_exponent_gives_the_same(shift: float) -> None:
    """A state with another m, and z and n to match, merges to the same output and log Z."""
    problem = Problem(*triple())
    a, b = part(problem, slice(0, 4)), part(problem, slice(4, S))
    factor = np.exp(-shift)
    moved = Partial(a.m + shift, a.z * factor, a.n * factor)
    merges = 2 + abs(shift)  # the factor's exponent is rounded as it is
    assert_whole(problem, merge(moved, b), int(np.ceil(merges)))
    assert_whole(problem, merge(b, moved), int(np.ceil(merges)))


def test_state_of_all_keys_is_that_of_attention() -> None:
    """One part alone has the output of attention, and the log Z of its scores."""
    query, key, value = triple(dtype="float32")
    problem = Problem(query, key, value)
    state = part(problem, slice(None))
    truth = oracle.attention(query, key, value)
    oracle.assert_agree(state.output, attention(query, key, value), truth.output)
    a = scores(query, key)
    off = abs(state.log_z.astype("float64") - log_partition(a))
    # The scores are rounded, and log Z is, twice: once here and once there.
    assert (off <= oracle.unit("float32") * (abs(a).max(axis=-1) + 2 * abs(state.log_z))).all()


def test_masked_key_reaches_no_state() -> None:
    """NaN and ∞ in a masked key or value stay out of z and n, and show where they are allowed."""
    query, key, value = triple()
    mask = np.ones((5, S), bool)
    mask[:, 2] = False
    clean = partial_attention(query, key, value, mask=mask)
    key[2], value[2] = np.nan, np.inf
    dirty = partial_attention(query, key, value, mask=mask)
    assert all(np.array_equal(getattr(clean, x), getattr(dirty, x)) for x in "mzn")
    mask[0, 2] = True
    shown = merge(partial_attention(query, key, value, mask=mask), Partial.empty(clean.n.shape))
    assert np.isnan(shown.output).all(axis=-1).tolist() == [True] + [False] * 4


def test_a_state_is_not_changed_by_merging() -> None:
    """Merging makes a new state; read-only arrays do."""
    state = part(Problem(*triple()), slice(0, 4))
    for x in "mzn":
        getattr(state, x).flags.writeable = False
    before = state.n.copy()
    merge(state, state)
    assert np.array_equal(state.n, before)


def test_what_is_no_state_is_refused() -> None:
    """Kinds, dtypes and shapes are named, with both sides of what does not fit."""
    m, z, n = np.zeros(5), np.ones(5), np.ones((5, 3))
    state = Partial(m, z, n)
    with pytest.raises(TypeError, match=r"b must be a Partial, not ndarray"):
        merge(state, n)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"a must be a Partial, not NoneType"):
        merge(None, state)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a, b must share one dtype: a float64, b float32"):
        merge(state, Partial(m, z, n, "float32"))
    with pytest.raises(ValueError, match=r"one shape \(…, L, d_v\): a \(5, 3\), b \(5, 2\)"):
        merge(state, Partial(m, z, n[:, :2]))
    with pytest.raises(ValueError, match=r"m \(5,\), z \(4,\), n \(5, 3\)"):
        Partial(m, z[:4], n)
    with pytest.raises(ValueError, match=r"n must have at least 2 axes .* not 1: \(5,\)"):
        Partial(m, z, m)
    with pytest.raises(TypeError, match="m, z, n must share one dtype: m float64, z float32"):
        Partial(m, z.astype("float32"), n)
    with pytest.raises(TypeError, match=r"dtype must have a floating dtype .*, not int64"):
        Partial(m, z, n, "int64")
    with pytest.raises(ValueError, match=r"n must have at least 2 axes"):
        Partial.empty((5,))
    with pytest.raises(ValueError, match="shape must be a sequence of non-negative integers"):
        Partial.empty((5, -1))


def test_partial_attention_refuses_what_attention_refuses() -> None:
    """The rules of entry are the hall's."""
    query, key, value = triple()
    with pytest.raises(ValueError, match="key and value must share their second-last axis S"):
        partial_attention(query, key, value[1:])
    with pytest.raises(TypeError, match="mask must be boolean"):
        partial_attention(query, key, value, mask=np.ones((5, S)))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="query, key, value must share one dtype"):
        partial_attention(query, key.astype("float32"), value)
