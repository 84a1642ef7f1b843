"""Arrays to look at, and what one call says of an array: NumPy."""

import math
import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnref import make_array, print_matrix_info

FLOATS = "('float16', 'bfloat16', 'float32', 'float64')"
MODES = "('rand', 'randn', 'zeros', 'ones')"
HUGE = 10**400
drawn = pytest.mark.parametrize("mode", ["rand", "randn"])
floating = pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])


def seeded(seed: int = 7) -> np.random.Generator:
    """Return a generator that begins at a seed."""
    return np.random.default_rng(seed)


def printed(capsys: pytest.CaptureFixture[str], x: object, *options: Any, **named: Any) -> str:
    """Return what is printed of an array."""
    assert print_matrix_info(x, *options, **named) is True
    return capsys.readouterr().out


# Made arrays.


@pytest.mark.parametrize("mode", ["rand", "randn", "zeros", "ones"])
@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (2, 3), [5], range(3), (np.int64(2), 1)])
@floating
def test_array_has_its_shape_and_dtype(mode: str, shape: Any, dtype: type) -> None:
    """Every mode gives an array of the shape asked for, axes without elements and none included."""
    array = make_array(shape, mode, dtype=dtype)
    assert type(array) is np.ndarray
    assert array.shape == tuple(shape)
    assert array.dtype == np.dtype(dtype)


def test_array_is_float32_and_uniform_unless_told() -> None:
    """With a shape alone, numbers in [0, 1) are drawn in float32."""
    array = make_array((3, 4), rng=seeded())
    assert array.dtype == np.float32
    assert np.array_equal(array, make_array((3, 4), "rand", low=0, high=1, rng=seeded()))


@pytest.mark.parametrize(("mode", "number"), [("zeros", 0), ("ONES", 1)])
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.bool_, np.complex64, "<U1"])
def test_array_of_a_constant_holds_it(mode: str, number: int, dtype: Any) -> None:
    """Zeros and ones are such in any dtype, whatever low and high are; case doesn't matter."""
    array = make_array((2, 3), mode, dtype=dtype, low=5, high=-math.inf)
    text = {0: "", 1: "1"}[number] if isinstance(dtype, str) else number
    assert array.dtype == dtype
    assert (array == text).all()


@drawn
@floating
def test_array_is_that_of_its_seed(mode: str, dtype: type) -> None:
    """The same seed gives the same array, the next draw and another seed give others."""
    rng = seeded()
    first, second = (make_array((3, 5), mode, dtype=dtype, rng=rng) for _ in range(2))
    assert np.array_equal(first, make_array((3, 5), mode, dtype=dtype, rng=seeded()))
    assert not np.array_equal(first, second)
    assert not np.array_equal(first, make_array((3, 5), mode, dtype=dtype, rng=seeded(8)))


@drawn
def test_array_without_a_seed_is_another_each_time(mode: str) -> None:
    """Nobody can repeat a draw that has no generator."""
    assert not np.array_equal(make_array((9,), mode), make_array((9,), mode))


@pytest.mark.parametrize(
    ("mode", "options", "mean", "variance"),
    [("rand", {"low": -3, "high": 5}, 1, 64 / 12), ("randn", {"low": -3, "high": 5}, 0, 1)],
)
def test_array_has_the_moments_of_its_law(
    mode: str, options: dict[str, float], mean: float, variance: float
) -> None:
    """Mean and variance are within five standard errors (at most √(2/n) of the variance)."""
    count = 100_000
    array = make_array((count,), mode, dtype=np.float64, rng=seeded(), **options)
    assert abs(array.mean() - mean) < 5 * math.sqrt(variance / count)
    assert abs(array.var() - variance) < 5 * variance * math.sqrt(2 / count)


@floating
def test_array_never_reaches_high(dtype: Any) -> None:
    """Between neighbours of a dtype, where half the draws round up to high, all of it is low."""
    for low in (-3, -1, 0, 1, 1000):
        high = float(np.nextafter(dtype(low), dtype(np.inf)))
        array = make_array((40, 5), dtype=dtype, low=low, high=high, rng=seeded())
        assert (array == low).all()
    assert make_array((), dtype=dtype, low=1, high=np.nextafter(dtype(1), dtype(2))) == 1


@given(st.floats(-1e4, 1e4), st.floats(-1e4, 1e4), st.sampled_from(["f2", "f4", "f8", ">f4"]))
def test_array_lies_between_its_ends(a: float, b: float, dtype: str) -> None:
    """Every number is at least low and less than high, as the dtype holds both."""
    low, high = np.array([min(a, b), max(a, b)], np.float64).astype(dtype)
    array = make_array((50,), dtype=dtype, low=min(a, b), high=max(a, b), rng=seeded())
    assert array.dtype == np.dtype(dtype)
    assert ((low <= array) & ((array < high) | (low == high) & (array == low))).all()


WRONG: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "size alone": ({"shape": 3}, TypeError, "non-negative integers, not 3"),
    "array": ({"shape": np.ones(1)}, TypeError, "non-negative integers, not array([1.])"),
    "fraction": ({"shape": (2.9, 3)}, TypeError, "non-negative integers, not (2.9, 3)"),
    "text": ({"shape": "23"}, TypeError, "non-negative integers, not '23'"),
    "no text": ({"shape": ""}, TypeError, "non-negative integers, not ''"),
    "digit": ({"shape": ["2"]}, TypeError, "non-negative integers, not ['2']"),
    "boolean": ({"shape": (True,)}, TypeError, "non-negative integers, not (True,)"),
    "negative": ({"shape": (2, -1)}, ValueError, "non-negative integers, not (2, -1)"),
    "mode": ({"mode": "Normal"}, ValueError, f"mode must be one of {MODES}, not 'normal'"),
    "spaces": ({"mode": " rand"}, ValueError, f"mode must be one of {MODES}, not ' rand'"),
    "no mode": ({"mode": None}, ValueError, f"mode must be one of {MODES}, not None"),
    "no dtype": ({"dtype": None}, TypeError, "dtype must be a NumPy dtype, not None"),
    "dtype": ({"dtype": "real"}, TypeError, "dtype must be a NumPy dtype, not 'real'"),
    "integers": (
        {"dtype": np.int64},
        TypeError,
        f"dtype must be floating {FLOATS} for mode 'rand', not int64",
    ),
    "normal complex": (
        {"mode": "randn", "dtype": complex},
        TypeError,
        f"dtype must be floating {FLOATS} for mode 'randn', not complex128",
    ),
    "low text": ({"low": "0"}, TypeError, "low must be a real number, not str"),
    "high boolean": ({"high": True}, TypeError, "high must be a real number, not bool"),
    "low over high": ({"low": 2}, ValueError, "low must not be greater than high: 2 > 1.0"),
    "low NaN": ({"low": math.nan}, ValueError, "finite in float32: low nan, high 1.0"),
    "high infinite": ({"high": math.inf}, ValueError, "finite in float32: low 0.0, high inf"),
    "low infinite": ({"low": -math.inf}, ValueError, "finite in float32: low -inf, high 1.0"),
    "high too large": (
        {"high": 1e5, "dtype": np.float16},
        ValueError,
        "low, high, high − low must be finite in float16: low 0.0, high 100000.0",
    ),
    "high beyond floats": ({"high": HUGE}, ValueError, f"in float32: low 0.0, high {HUGE}"),
    "too far apart": (
        {"low": -1e308, "high": 1e308, "dtype": np.float64},
        ValueError,
        "low, high, high − low must be finite in float64: low -1e+308, high 1e+308",
    ),
    "seed": ({"rng": 7}, TypeError, "rng must be a numpy.random.Generator or None, not int"),
}


@pytest.mark.parametrize("case", WRONG)
def test_make_array_error_says_what_is_wrong(case: str) -> None:
    """Each error is of its type and names the argument, the rule and what came instead."""
    given, error, words = WRONG[case]
    with pytest.raises(error, match=f"{re.escape(words)}$") as caught:
        make_array(**({"shape": (2, 3)} | given))
    assert next(iter(given)) in str(caught.value)


# What is said of an array.


def test_info_of_an_array_has_the_layout_of_the_article(capsys: pytest.CaptureFixture[str]) -> None:
    """One line a fact, indented by two, and the first elements in a list."""
    x = np.array([[0.5, -1.5, 2.0], [4.0, 0.0, 1.0]], np.float32)
    assert printed(capsys, x, "score", 2) == (
        "score:\n"
        "  type: <class 'numpy.ndarray'>\n"
        "  dtype: float32\n"
        "  shape: (2, 3)\n"
        "  ndim: 2\n"
        "  min: -1.5\n"
        "  max: 4.0\n"
        "  mean: 1.0\n"
        "  preview(2/6): [0.5, -1.5]\n"
    )


@pytest.mark.parametrize("x", [[1.0], 1.0, None, np.float32(1), "x"], ids=repr)
def test_info_of_anything_else_is_its_type(capsys: pytest.CaptureFixture[str], x: object) -> None:
    """Of what is no array, NumPy's numbers included, one line tells the type."""
    assert print_matrix_info(x, "it") is False
    assert capsys.readouterr().out == f"it: not a tensor/ndarray (type={type(x)})\n"


@pytest.mark.parametrize(
    ("x", "least", "greatest", "mean"),
    [
        (np.array([2**24 + 1, 2**62 + 1]), 2**24 + 1, 2**62 + 1, 2.0**61 + 2**23),
        (np.array([0, 2**64 - 1], np.uint64), 0, 2**64 - 1, 2.0**63),
        (np.array([100, 100, 100], np.int8), 100, 100, 100.0),
        (np.array([True, False]), False, True, 0.5),
        (np.array(3), 3, 3, 3.0),
        (np.array([2**24 + 1]), 2**24 + 1, 2**24 + 1, 2.0**24 + 1),
        (np.array([2.0**-40, 1], np.float32), 2.0**-40, 1.0, 0.5 + 2.0**-41),
        (np.full(100, 60000, np.float16), 60000.0, 60000.0, 60000.0),
        (np.full(3, 0.1, np.float32), *[float(np.float32(0.1))] * 3),
        (np.array([1.5e308, 1.7e308]), 1.5e308, 1.7e308, 1.6e308),
        (np.array([-math.inf, 2.0]), -math.inf, 2.0, -math.inf),
        (np.array([-math.inf, math.inf]), -math.inf, math.inf, math.nan),
        (np.array([1.0, math.nan, math.inf]), math.nan, math.nan, math.nan),
        (np.zeros((0, 3)), None, None, None),
        (np.zeros(0, complex), None, None, None),
        (np.zeros((1, 2)).view(np.matrix), 0.0, 0.0, 0.0),
    ],
)
def test_info_statistics_are_right(
    capsys: pytest.CaptureFixture[str], x: Any, least: object, greatest: object, mean: object
) -> None:
    """The ends are elements, to the last digit, the mean a float64; NaN and infinity show."""
    said = printed(capsys, x)
    assert f"\n  min: {least}\n  max: {greatest}\n  mean: " in said
    if mean is not None and math.isfinite(float(str(mean))):
        found = float(re.findall("mean: (.*)", said)[0])
        assert math.isclose(found, float(str(mean)), rel_tol=1e-15)
    else:
        assert f"mean: {mean}\n" in said


@pytest.mark.parametrize(
    ("x", "what", "preview"),
    [
        (np.array([1j, 2]), "complex128", "(2/2): [1j, (2+0j)]"),
        (np.array(["a", "bc"]), "<U2", "(2/2): ['a', 'bc']"),
        (np.array([None, 1]), "object", "(2/2): [None, 1]"),
        (np.zeros(1, "i4,f4"), "[('f0', '<i4'), ('f1', '<f4')]", "(1/1): [(0, 0.0)]"),
        (np.array([1], "m8[s]"), "timedelta64[s]", "(1/1): [datetime.timedelta(seconds=1)]"),
        (np.ma.array([1, 2], mask=[True, False]), "a masked array", "(0/2): []"),
    ],
    ids=str,
)
def test_info_says_where_statistics_are_not_defined(
    capsys: pytest.CaptureFixture[str], x: object, what: str, preview: str
) -> None:
    """Where there is no least, no greatest or no mean, one line says of what; no warning."""
    said = printed(capsys, x)
    assert said.endswith(f"  min/max/mean: not defined for {what}\n  preview{preview}\n")


@pytest.mark.parametrize(
    ("max_items", "preview"),
    [
        (0, "(0/6): []"),
        (4, "(4/6): [0, 3, 1, 4]"),
        (np.int8(2), "(2/6): [0, 3]"),
        (10**30, "(6/6): [0, 3, 1, 4, 2, 5]"),
    ],
)
def test_info_previews_row_by_row(
    capsys: pytest.CaptureFixture[str], max_items: int, preview: str
) -> None:
    """As many elements as asked for and there are, in the order of reading, not of memory."""
    x = np.arange(6).reshape(2, 3).T
    assert printed(capsys, x, max_items=max_items).endswith(f"\n  preview{preview}\n")


def test_info_previews_ten_unless_told(capsys: pytest.CaptureFixture[str]) -> None:
    """The article's default, and its default name."""
    said = printed(capsys, np.arange(12))
    assert said.startswith("x:\n")
    assert said.endswith("  preview(10/12): [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]\n")


def test_info_leaves_the_array_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """A read-only array is looked at like any other."""
    x = np.arange(3.0)
    x.flags.writeable = False
    assert "mean: 1.0" in printed(capsys, x)
    assert x.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("max_items", "error", "words"),
    [
        (-1, ValueError, "max_items must not be negative: -1"),
        (2.0, TypeError, "max_items must be an integer, not float"),
        (True, TypeError, "max_items must be an integer, not bool"),
        (None, TypeError, "max_items must be an integer, not NoneType"),
    ],
)
@pytest.mark.parametrize("x", [np.arange(3), "no array"], ids=["array", "other"])
def test_info_error_says_what_is_wrong(
    capsys: pytest.CaptureFixture[str], x: Any, max_items: Any, error: type[Exception], words: str
) -> None:
    """Before anything is printed, the error names max_items, the rule and what came instead."""
    with pytest.raises(error, match=f"^{words}$"):
        print_matrix_info(x, max_items=max_items)
    assert capsys.readouterr().out == ""


def test_info_needs_no_torch() -> None:
    """Where Torch is absent, or a name only, arrays are arrays and Torch is not imported."""
    code = (
        "import sys, types; from attnref import make_array, print_matrix_info as info\n"
        "info(make_array((1,), 'ones')); assert 'torch' not in sys.modules\n"
        "for torch in (None, types.ModuleType('torch')):\n"
        "    sys.modules['torch'] = torch; assert not info(1) and info(make_array((1,)))\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, capture_output=True)
