"""The measuring room: its bound is the oracle's, and its check passes what is right, that only."""

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings

import oracle
from attnref import attention, expanded_attention, masks
from attnref.testing import assert_close, error_bound
from families import FAMILIES, family
from oracle import Floats
from samples import DTYPES, B, L, Problem, S, normal, problems, random_mask, triple

Attend: TypeAlias = Callable[..., Floats]

every_family = pytest.mark.parametrize("name", FAMILIES)
every_dtype = pytest.mark.parametrize("dtype", DTYPES)
drawn = settings(max_examples=100, deadline=None, derandomize=True)


@drawn
@given(problem=problems())
def test_error_bound_is_that_of_the_oracle(problem: Problem) -> None:
    """What float64 computes of the data and what mpmath does differ by a rounding or so."""
    truth = oracle.attention(*problem.arrays, **problem.options).output
    bound = error_bound(*problem.arrays, **problem.options, working="float64", result="float64")
    right = oracle.unit("float64") * truth.error
    assert bound.shape == right.shape
    # Both are sums of positive terms, of which m − a and v − y are differences that cancel.
    assert (bound >= right * (1 - 2**-20)).all()
    rounding = truth.bound("float64") * (4 + abs(problem_scores(problem))) * 2**-10
    assert (bound <= right * (1 + 2**-10) + rounding + 1e-290).all()


def problem_scores(problem: Problem) -> float:
    """Return the largest score, for what its rounding does to the bound."""
    truth = oracle.attention(*problem.arrays, **problem.options).scores
    finite = [abs(float(a)) for a in truth.exact.flat if math.isfinite(float(a))]
    return max(finite, default=0.0)


@drawn
@given(problem=problems())
def test_assert_close_passes_what_is_right(problem: Problem) -> None:
    """Both implementations of attention pass, for any sizes, dtype, layout and options."""
    for attend in (attention, expanded_attention):
        assert_close(attend(*problem.arrays, **problem.options), *problem.arrays, **problem.options)


def in_single_precision(
    query: Floats, key: Floats, value: Floats, dtype: str = "float32"
) -> Floats:
    """Return attention as one writes it in float32, with the maximum taken off: right."""
    q, k, v = (x.astype(dtype) for x in (query, key, value))
    a = q @ k.mT / np.sqrt(np.asarray(q.shape[-1], dtype))
    e = np.exp(a - a.max(axis=-1, keepdims=True))
    return np.asarray((e @ v) / e.sum(axis=-1, keepdims=True))


def by_blocks(query: Floats, key: Floats, value: Floats) -> Floats:
    """Return attention over blocks of keys, kept as (m, Z, N) in float32: right."""
    q, k, v = (x.astype("float32") for x in (query, key, value))
    m = np.full((q.shape[0], 1), -np.inf, "float32")
    z, n = np.zeros_like(m), np.zeros((q.shape[0], v.shape[1]), "float32")
    for start in range(0, len(k), 8):
        a = q @ k[start : start + 8].mT / np.float32(math.sqrt(q.shape[-1]))
        top = np.maximum(m, a.max(axis=-1, keepdims=True))
        e, old = np.exp(a - top), np.exp(m - top)
        z, n, m = z * old + e.sum(axis=-1, keepdims=True), n * old + e @ v[start : start + 8], top
    return np.asarray(n / z)


def by_log_partition(query: Floats, key: Floats, value: Floats) -> Floats:
    """Return attention with weights exp(a − log Z) in float32: the rounding of log Z stays in."""
    q, k, v = (x.astype("float32") for x in (query, key, value))
    a = q @ k.mT / np.float32(math.sqrt(q.shape[-1]))
    m = a.max(axis=-1, keepdims=True)
    return np.asarray(np.exp(a - (m + np.log(np.exp(a - m).sum(axis=-1, keepdims=True)))) @ v)


@every_family
@pytest.mark.parametrize("attend", [in_single_precision, by_blocks])
def test_assert_close_passes_every_right_path_in_single_precision(
    name: str, attend: Attend
) -> None:
    """Whatever the order of the sums and the family of inputs, float32 stays within its bound."""
    arrays = family(name, "float32")
    assert_close(attend(*arrays), *arrays)


@every_family
@every_dtype
def test_assert_close_passes_attention_on_every_family(name: str, dtype: str) -> None:
    """The reference is far within the bound of its own dtype, and within that of float64."""
    arrays = family(name, dtype)
    assert_close(attention(*arrays), *arrays, working="float64")


def far_away() -> tuple[Floats, Floats, Floats]:
    """Return two keys of the score 10⁴, exactly, with equal values: any weights of sum 1 do."""
    query, key, value = np.full((1, 1), 1e4), np.ones((2, 1)), np.full((2, 3), 0.75)
    return query.astype("float32"), key.astype("float32"), value.astype("float32")


FAR = far_away()
PLAIN = triple(dtype="float32", batch=(B,))
WRONG: dict[str, tuple[tuple[Floats, Floats, Floats], Attend]] = {
    "through log Z": (FAR, by_log_partition),
    "no scale": (PLAIN, lambda q, k, v: attention(q, k, v, scale=1.0)),
    "one key masked": (PLAIN, lambda q, k, v: attention(q, k, v, mask=np.arange(S) != 3)),
    "causal": (PLAIN, lambda q, k, v: attention(q, k, v, mask=masks.causal(L, S, offset=0))),
    "off by one": (PLAIN, lambda q, k, v: attention(q, k, v, sink=0.0)),
    "half precision": (PLAIN, lambda q, k, v: in_single_precision(q, k, v, "float16")),
    "keys shifted by one": (PLAIN, lambda q, k, v: attention(q, np.roll(k, 1, axis=-2), v)),
    "rows exchanged": (PLAIN, lambda q, k, v: attention(q, k, v)[..., ::-1, :]),
    "one NaN": (PLAIN, lambda q, k, v: attention(q, k, v) + np.where(v[:, :L] > 2.2, math.nan, 0)),
    "one infinity": (PLAIN, lambda q, k, v: attention(q, k, v) / np.where(v[:, :L] > 2.2, 0, 1)),
}


@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
@pytest.mark.parametrize(("arrays", "attend"), WRONG.values(), ids=WRONG)
def test_assert_close_refuses_what_is_wrong(
    arrays: tuple[Floats, Floats, Floats], attend: Attend
) -> None:
    """The check has teeth: each wrong path fails, where the right one on the same data passes."""
    assert_close(attention(*arrays), *arrays)
    with pytest.raises(AssertionError, match="outputs beyond the bound; the worst"):
        assert_close(attend(*arrays), *arrays)


def test_assert_close_says_where_by_how_much_and_how_many() -> None:
    """One wrong output of many is found, with its value, the right one, its error and its bound."""
    output = attention(*PLAIN)
    right = output[1, 3, 2]
    output[1, 3, 2] += np.float32(0.5)
    says = (
        rf"^1 of {output.size} outputs beyond the bound; the worst, \[1, 3, 2\], "
        rf"is {float(output[1, 3, 2])} and should be .*{str(right)[:6]}.*: "
        r"error 0\.5, bound \d\.?\d*e-0\d$"
    )
    with pytest.raises(AssertionError, match=says):
        assert_close(output, *PLAIN)


def test_assert_close_wants_nan_where_nan_is_right() -> None:
    """A NaN that is seen must show, a masked one must not, and ∞ must have its sign."""
    query, key, value = triple()
    value[2, 0], value[3, 1] = math.nan, math.inf
    right = attention(query, key, value)
    assert_close(right, query, key, value)
    assert np.isnan(error_bound(query, key, value)[:, :2]).all()
    for hidden in (0.0, -math.inf):
        with pytest.raises(AssertionError, match=rf"{2 * L} of {right.size} outputs"):
            assert_close(np.where(np.isfinite(right), right, hidden), query, key, value)
    mask = np.arange(S) != 2
    assert_close(attention(query, key, value, mask=mask), query, key, value, mask=mask)


def test_assert_close_says_which_shape_is_right() -> None:
    """A missing axis is named before anything is compared."""
    with pytest.raises(AssertionError, match=r"has shape \(5, 13\) and should have \(2, 5, 13\)"):
        assert_close(attention(*PLAIN)[0], *PLAIN)


def test_error_bound_grows_with_the_roundoff_of_the_work() -> None:
    """Work in a coarser dtype has a larger bound in proportion; a last rounding adds its own."""
    bounds = [
        error_bound(*PLAIN, working=working, result="float64")
        for working in ("float64", "float32", "float16", "bfloat16")
    ]
    for finer, coarser, factor in zip(bounds[:-1], bounds[1:], (2**29, 2**13, 2**3), strict=True):
        np.testing.assert_allclose(coarser, factor * finer, rtol=1e-3)
    y = abs(attention(*(x.astype("float64") for x in PLAIN)))
    rounded = error_bound(*PLAIN, result="bfloat16") - bounds[1]
    np.testing.assert_allclose(rounded, 2**-8 * (y + bounds[1]), rtol=1e-9)


def test_error_bound_of_half_inputs_is_that_of_single_work() -> None:
    """float16 in means work in float32 at least, and one rounding to float16."""
    arrays = triple(dtype="float16")
    said = error_bound(*arrays, working="float32", result="float16")
    np.testing.assert_array_equal(error_bound(*arrays), said)


def test_error_bound_is_nothing_in_a_row_that_allows_nothing() -> None:
    """An empty row is 0 exactly, but for what may underflow."""
    query, key, value = triple()
    mask = random_mask(L, S)
    mask[1] = False
    assert (error_bound(query, key, value, mask=mask)[1] < 1e-300).all()


@every_dtype
def test_error_bound_is_not_loosened_by_what_is_masked(dtype: str) -> None:
    """However large a masked value is, the row's bound is bit for bit that of a small one."""
    query, key, value = triple(dtype=dtype)
    mask = random_mask(L, S)
    mask[:, 4] = False
    small = error_bound(query, key, value, mask=mask)
    value[4] = np.finfo(dtype).max
    np.testing.assert_array_equal(error_bound(query, key, value, mask=mask), small)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("wild", [math.inf, 1e200])
def test_error_bound_is_there_where_the_output_is_finite(dtype: str, wild: float) -> None:
    """A score beyond every float is ±c under a cap, exactly; one of weight 0 has no error."""
    wild = wild if wild < float(np.finfo(dtype).max) else math.inf
    query = np.array([[wild]], dtype)
    key, value = np.array([[1], [-1]], dtype) * query[0], normal(2, 3).astype(dtype)
    assert_close(attention(query, key, value, softcap=0.1), query, key, value, softcap=0.1)
    far = np.array([[1e154, 0]]), np.array([[1e154, 1], [1e154, 2], [-1e154, 1]]), normal(3, 2)
    assert not np.isnan(error_bound(*far, scale=1.0)).any()
    assert_close(attention(*far, scale=1.0), *far, scale=1.0)


def test_error_bound_knows_the_coarse_subnormals_of_half() -> None:
    """Work in bfloat16 with a result in float16: what is tiny is rounded to multiples of 2⁻²⁴."""
    tiny = np.full((1, 1), 2.0**-26, "float32")
    bound = error_bound(tiny, tiny, tiny, working="bfloat16", result="float16")
    assert 2**-24 <= bound <= 2**-23


REFUSED: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "working": ({"working": "int8"}, ValueError, r"^working must be one of \('float16', .*'int8'$"),
    "result": ({"result": "double"}, ValueError, r"^result must be one of .*, not 'double'$"),
    "working no name": (
        {"working": np.float32},
        TypeError,
        r"^working must be the name of a dtype, not type$",
    ),
    "working empty": ({"working": ""}, ValueError, r"^working must be one of .*, not ''$"),
    "mask": ({"mask": random_mask(S, L)}, ValueError, r"^mask must broadcast to the scores"),
    "bias": ({"bias": normal(L, S)}, TypeError, r"^query, key, value, bias must share one dtype"),
    "softcap": ({"softcap": -1.0}, ValueError, r"^softcap must be positive"),
}


@pytest.mark.parametrize(("options", "error", "says"), REFUSED.values(), ids=REFUSED)
def test_testing_names_what_is_wrong_with_its_arguments(
    options: dict[str, Any], error: type[Exception], says: str
) -> None:
    """A wrong argument is an error of its own and no failure of the output."""
    with pytest.raises(error, match=says):
        error_bound(*PLAIN, **options)
    with pytest.raises(error, match=says):
        assert_close(attention(*PLAIN), *PLAIN, **options)


def test_testing_refuses_outputs_that_are_no_floating_arrays() -> None:
    """A list or an array of integers is a TypeError that names it."""
    with pytest.raises(TypeError, match=r"^actual must be a numpy\.ndarray, not builtins\.list$"):
        assert_close([[1.0]], *PLAIN)  # type: ignore[arg-type]  # on purpose
    with pytest.raises(TypeError, match=r"^actual must have a floating dtype .* not int64$"):
        assert_close(np.zeros((B, L, 13), "int64"), *PLAIN)
