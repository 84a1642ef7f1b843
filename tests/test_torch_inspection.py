"""Tensors to look at, and what one call says of a tensor: Torch."""

import inspect
import math
import re
import warnings
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from attnref import make_array, print_matrix_info
from attnref.torch import make_tensor

FLOATS = "('float16', 'bfloat16', 'float32', 'float64')"
MODES = "('rand', 'randn', 'zeros', 'ones')"
HUGE = 10**400
DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
drawn = pytest.mark.parametrize("mode", ["rand", "randn"])
floating = pytest.mark.parametrize("dtype", DTYPES, ids=str)


def seeded(seed: int = 7) -> torch.Generator:
    """Return a generator that begins at a seed."""
    return torch.Generator().manual_seed(seed)


def next_up(low: float, dtype: torch.dtype) -> float:
    """Return the least number of a dtype that is greater."""
    step = abs(low) * torch.finfo(dtype).eps or torch.finfo(dtype).smallest_normal
    ups = low + step * torch.tensor([0.25, 0.5, 1.0], dtype=torch.float64)
    held: list[float] = ups.to(dtype).tolist()
    return min(up for up in held if up > low)


def printed(capsys: pytest.CaptureFixture[str], x: object, *options: Any, **named: Any) -> str:
    """Return what is printed of a tensor."""
    assert print_matrix_info(x, *options, **named) is True
    return capsys.readouterr().out


# Made tensors.


def test_make_tensor_has_the_signature_of_make_array() -> None:
    """The two differ in Torch's dtype, its device, and what the source of numbers is called."""
    ours, theirs = (inspect.signature(f).parameters for f in (make_tensor, make_array))
    names = [name for name in ours if name != "device"]
    assert [{"generator": "rng"}.get(name, name) for name in names] == list(theirs)
    for name in ("shape", "mode", "low", "high"):
        assert ours[name].kind is theirs[name].kind
        assert ours[name].default == theirs[name].default
    for name in ("dtype", "device", "generator"):
        assert ours[name].kind is inspect.Parameter.KEYWORD_ONLY


@pytest.mark.parametrize("mode", ["rand", "randn", "zeros", "ones"])
@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), torch.Size([2, 3]), [5], range(3)], ids=str)
@floating
def test_tensor_has_its_shape_and_dtype(mode: str, shape: Any, dtype: torch.dtype) -> None:
    """Every mode gives a tensor of the shape asked for, which asks for no gradient."""
    tensor = make_tensor(shape, mode, dtype=dtype)
    assert (tuple(tensor.shape), tensor.dtype) == (tuple(shape), dtype)
    assert tensor.device.type == "cpu"
    assert not tensor.requires_grad


def test_tensor_is_float32_and_uniform_unless_told() -> None:
    """With a shape alone, numbers in [0, 1) are drawn in float32."""
    tensor = make_tensor((3, 4), generator=seeded())
    assert tensor.dtype == torch.float32
    assert tensor.equal(make_tensor((3, 4), "rand", low=0, high=1, generator=seeded()))


@pytest.mark.parametrize(("mode", "number"), [("zeros", 0), ("ONES", 1)])
@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.int64, torch.bool, torch.complex64], ids=str
)
def test_tensor_of_a_constant_holds_it(mode: str, number: int, dtype: torch.dtype) -> None:
    """Zeros and ones are such in any dtype, whatever low and high are; case doesn't matter."""
    tensor = make_tensor((2, 3), mode, dtype=dtype, low=5, high=-math.inf)
    assert tensor.dtype == dtype
    assert (tensor == number).all()


@drawn
@floating
def test_tensor_is_that_of_its_seed(mode: str, dtype: torch.dtype) -> None:
    """The same seed gives the same tensor, the next draw and another seed give others."""
    source = seeded()
    first, second = (make_tensor((3, 5), mode, dtype=dtype, generator=source) for _ in range(2))
    assert first.equal(make_tensor((3, 5), mode, dtype=dtype, generator=seeded()))
    assert not first.equal(second)
    assert not first.equal(make_tensor((3, 5), mode, dtype=dtype, generator=seeded(8)))


@drawn
def test_tensor_without_a_generator_is_that_of_torch_manual_seed(mode: str) -> None:
    """Unless a generator is given, Torch's own is the source."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(7)
        tensor = make_tensor((9,), mode)
    assert tensor.equal(make_tensor((9,), mode, generator=seeded()))


@pytest.mark.parametrize("mode", ["rand", "randn", "zeros", "ones"])
def test_tensor_goes_where_it_is_told(mode: str) -> None:
    """To the device that is given, else to Torch's default; a generator may be elsewhere."""
    assert make_tensor((2,), mode, device="meta", generator=seeded()).device.type == "meta"
    with torch.device("meta"):
        assert make_tensor((2,), mode).device.type == "meta"
        assert make_tensor((2,), mode, device="cpu").device.type == "cpu"


@pytest.mark.parametrize(
    ("mode", "options", "mean", "variance"),
    [("rand", {"low": -3, "high": 5}, 1, 64 / 12), ("randn", {"low": -3, "high": 5}, 0, 1)],
)
def test_tensor_has_the_moments_of_its_law(
    mode: str, options: dict[str, Any], mean: float, variance: float
) -> None:
    """Mean and variance are within five standard errors (at most √(2/n) of the variance)."""
    count = 100_000
    tensor = make_tensor((count,), mode, dtype=torch.float64, generator=seeded(), **options)
    assert abs(tensor.mean() - mean) < 5 * math.sqrt(variance / count)
    assert abs(tensor.var() - variance) < 5 * variance * math.sqrt(2 / count)


@floating
def test_tensor_never_reaches_high(dtype: torch.dtype) -> None:
    """Between neighbours of a dtype, where many draws round up to high, all of it is low."""
    for low in (-3, -1, 1, 100):
        high = next_up(low, dtype)
        tensor = make_tensor((40, 5), dtype=dtype, low=low, high=high, generator=seeded())
        assert (tensor == low).all()
    assert make_tensor((), dtype=dtype, low=1, high=next_up(1, dtype)) == 1


@given(st.floats(-1e4, 1e4), st.floats(-1e4, 1e4), st.sampled_from(DTYPES))
def test_tensor_lies_between_its_ends(a: float, b: float, dtype: torch.dtype) -> None:
    """Every number is at least low and less than high, as the dtype holds both."""
    low, high = torch.tensor([min(a, b), max(a, b)], dtype=torch.float64).to(dtype)
    tensor = make_tensor((50,), dtype=dtype, low=min(a, b), high=max(a, b), generator=seeded())
    assert ((low <= tensor) & ((tensor < high) | (low == high) & (tensor == low))).all()


WRONG: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "size alone": ({"shape": 3}, TypeError, "non-negative integers, not 3"),
    "tensor": ({"shape": torch.ones(1)}, TypeError, "non-negative integers, not tensor([1.])"),
    "fraction": ({"shape": (2.9, 3)}, TypeError, "non-negative integers, not (2.9, 3)"),
    "text": ({"shape": "23"}, TypeError, "non-negative integers, not '23'"),
    "no text": ({"shape": ""}, TypeError, "non-negative integers, not ''"),
    "digit": ({"shape": ["2"]}, TypeError, "non-negative integers, not ['2']"),
    "boolean": ({"shape": (True,)}, TypeError, "non-negative integers, not (True,)"),
    "negative": ({"shape": (2, -1)}, ValueError, "non-negative integers, not (2, -1)"),
    "mode": ({"mode": "Normal"}, ValueError, f"mode must be one of {MODES}, not 'normal'"),
    "spaces": ({"mode": " rand"}, ValueError, f"mode must be one of {MODES}, not ' rand'"),
    "no mode": ({"mode": None}, ValueError, f"mode must be one of {MODES}, not None"),
    "no dtype": ({"dtype": None}, TypeError, "dtype must be a torch.dtype, not None"),
    "dtype": ({"dtype": float}, TypeError, "dtype must be a torch.dtype, not <class 'float'>"),
    "integers": (
        {"dtype": torch.int64},
        TypeError,
        f"dtype must be floating {FLOATS} for mode 'rand', not int64",
    ),
    "normal complex": (
        {"mode": "randn", "dtype": torch.complex64},
        TypeError,
        f"dtype must be floating {FLOATS} for mode 'randn', not complex64",
    ),
    "low text": ({"low": "0"}, TypeError, "low must be a real number, not str"),
    "high boolean": ({"high": True}, TypeError, "high must be a real number, not bool"),
    "low over high": ({"low": 2}, ValueError, "low must not be greater than high: 2 > 1.0"),
    "low NaN": ({"low": math.nan}, ValueError, "finite in float32: low nan, high 1.0"),
    "high infinite": ({"high": math.inf}, ValueError, "finite in float32: low 0.0, high inf"),
    "low infinite": ({"low": -math.inf}, ValueError, "finite in float32: low -inf, high 1.0"),
    "high too large": (
        {"high": 1e5, "dtype": torch.float16},
        ValueError,
        "low, high, high − low must be finite in float16: low 0.0, high 100000.0",
    ),
    "high beyond floats": ({"high": HUGE}, ValueError, f"in float32: low 0.0, high {HUGE}"),
    "too far apart": (
        {"low": -1e308, "high": 1e308, "dtype": torch.float64},
        ValueError,
        "low, high, high − low must be finite in float64: low -1e+308, high 1e+308",
    ),
    "seed": (
        {"generator": 7},
        TypeError,
        "generator must be a torch.Generator or None, not int",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_make_tensor_error_says_what_is_wrong(case: str) -> None:
    """Each error is of its type and names the argument, the rule and what came instead."""
    given, error, words = WRONG[case]
    with pytest.raises(error, match=f"{re.escape(words)}$") as caught:
        make_tensor(**({"shape": (2, 3)} | given))
    assert next(iter(given)) in str(caught.value)


# What is said of a tensor.


def test_info_of_a_tensor_has_the_layout_of_the_article(capsys: pytest.CaptureFixture[str]) -> None:
    """One line a fact, device and gradient among them, and the first elements in a list."""
    x = torch.tensor([[0.5, -1.5, 2.0], [4.0, 0.0, 1.0]], requires_grad=True)
    assert printed(capsys, x, "score", 2) == (
        "score:\n"
        "  type: <class 'torch.Tensor'>\n"
        "  dtype: torch.float32\n"
        "  device: cpu\n"
        "  shape: (2, 3)\n"
        "  ndim: 2\n"
        "  requires_grad: True\n"
        "  min: -1.5\n"
        "  max: 4.0\n"
        "  mean: 1.0\n"
        "  preview(2/6): [0.5, -1.5]\n"
    )


def test_info_of_a_parameter_tells_its_own_type(capsys: pytest.CaptureFixture[str]) -> None:
    """The type is that of what was given, not of a detached copy."""
    said = printed(capsys, torch.nn.Parameter(torch.ones(2)))
    assert "  type: <class 'torch.nn.parameter.Parameter'>\n" in said
    assert "  requires_grad: True\n" in said


@pytest.mark.parametrize(
    ("x", "least", "greatest", "mean"),
    [
        (torch.tensor([2**24 + 1, 2**62 + 1]), 2**24 + 1, 2**62 + 1, 2.0**61 + 2**23),
        (torch.tensor([2**64 - 1], dtype=torch.uint64), 2**64 - 1, 2**64 - 1, 2.0**64),
        (torch.tensor([True, False]), False, True, 0.5),
        (torch.tensor(3), 3, 3, 3.0),
        (torch.full((100,), 60000, dtype=torch.float16), 60000.0, 60000.0, 60000.0),
        (torch.tensor([1.0, 2.0], dtype=torch.bfloat16), 1.0, 2.0, 1.5),
        (torch.tensor([1.0, 2.0]).to(torch.float8_e4m3fn), 1.0, 2.0, 1.5),
        (torch.tensor([-math.inf, math.inf]), -math.inf, math.inf, math.nan),
        (torch.tensor([1.0, math.nan]), math.nan, math.nan, math.nan),
        (torch.zeros(0, 3), None, None, None),
    ],
)
def test_info_statistics_are_right(
    capsys: pytest.CaptureFixture[str], x: Tensor, least: object, greatest: object, mean: object
) -> None:
    """The ends are elements, to the last digit, the mean a float64; NaN and infinity show."""
    said = printed(capsys, x)
    assert f"  min: {least}\n  max: {greatest}\n  mean: {mean}\n" in said


def test_info_says_where_statistics_are_not_defined(capsys: pytest.CaptureFixture[str]) -> None:
    """Complex, half complex, sparse and meta tensors have a line of their own."""
    with warnings.catch_warnings(action="ignore"):  # Torch's own, where such tensors are made
        cases = [
            (torch.tensor([1j]), "torch.complex64", "(1/1): [1j]"),
            (torch.zeros(2, dtype=torch.complex32), "torch.complex32", "(0/2): []"),
            (torch.zeros(2, 3, device="meta"), "a meta tensor", "(0/6): []"),
            (torch.eye(3).to_sparse(), "a torch.sparse_coo tensor", "(0/9): []"),
            (torch.eye(3).to_sparse_csr(), "a torch.sparse_csr tensor", "(0/9): []"),
        ]
    for x, what, preview in cases:
        said = printed(capsys, x)
        assert said.endswith(f"  min/max/mean: not defined for {what}\n  preview{preview}\n")


def test_info_previews_row_by_row(capsys: pytest.CaptureFixture[str]) -> None:
    """As many elements as asked for, in the order of reading, not of memory."""
    x = torch.arange(6).view(2, 3).T
    assert printed(capsys, x, max_items=4).endswith("\n  preview(4/6): [0, 3, 1, 4]\n")
    assert printed(capsys, x.conj(), max_items=0).endswith("\n  preview(0/6): []\n")
    assert printed(capsys, (1j * x).conj(), max_items=2).endswith(": [-0j, -3j]\n")


def test_info_leaves_the_graph_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """Looking at a tensor inside a graph changes no gradient."""
    x = torch.tensor([1.0, 3.0], requires_grad=True)
    y = x * x
    assert "mean: 5.0" in printed(capsys, y)
    y.sum().backward()  # type: ignore[no-untyped-call]  # Torch leaves it untyped
    assert x.grad is not None
    assert x.grad.tolist() == [2.0, 6.0]
