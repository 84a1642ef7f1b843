"""The article on the Z form, Z25–Z34: the function that prints what a matrix holds."""

from collections.abc import Callable
from contextlib import redirect_stdout
import inspect
import io
from typing import Any
import warnings

import attnref
import attnref.torch
import numpy as np
import torch

from claims import holds, imprecise
from claims.z_form_rebuilt import STATISTICS, inspected, kind, statistics


def run(
    function: Callable[..., bool], *arguments: Any, **options: Any
) -> tuple[bool, list[str]]:
    """Return what the function returns, and the lines that it prints."""
    text = io.StringIO()
    with redirect_stdout(text), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = function(*arguments, **options)
    return result, text.getvalue().splitlines()


def lines(*arguments: Any, **options: Any) -> list[str]:
    """Return what is printed, by the function rebuilt."""
    return run(inspected, *arguments, **options)[1]


def keys(x: Any) -> list[str]:
    """Return what is told, in order; of the preview also the counts."""
    return [line.split(":")[0].strip() for line in lines(x)[1:]]


def same(x: Any) -> bool:
    """Tell whether attnref prints and returns the same."""
    return run(inspected, x) == run(attnref.print_matrix_info, x)


def preview(max_items: int) -> str:
    """Return the preview of five numbers."""
    return lines(torch.arange(5), max_items=max_items)[-1].strip()


def least(function: Callable[..., bool], x: Any) -> list[str]:
    """Return the lines of min and max."""
    told = run(function, x)[1]
    return [
        line.strip() for line in told if line.strip().startswith(("min", "max"))
    ]


SIGNATURE = {
    name: parameter.default
    for name, parameter in inspect.signature(
        attnref.print_matrix_info
    ).parameters.items()
}
TENSOR = torch.ones(2, 2, requires_grad=True)
ARRAY = np.arange(12.0).reshape(3, 4)
NEITHER = ([1, 2], None, np.float64(1))
OF_TENSOR = [
    "type",
    "dtype",
    "device",
    "shape",
    "ndim",
    "requires_grad",
    *STATISTICS,
]
OF_ARRAY = ["type", "dtype", "shape", "ndim", *STATISTICS]

LARGE = np.array([2**24 + 1, 1])
ROUNDED, KEPT = (
    least(f, torch.from_numpy(LARGE))[1]
    for f in (inspected, attnref.print_matrix_info)
)
UNFLOATING = torch.tensor([True, False]), torch.tensor([1, 2]), torch.zeros(0, 3)
COMPLEX = torch.tensor([1 + 2j, 3 - 4j])
SPARSE = kind(statistics, torch.eye(2, dtype=torch.int64).to_sparse())
STRINGS = kind(statistics, np.array(["a"]))
TURNED = np.array([[0, 1, 2], [3, 4, 5]]).T

JUDGEMENTS = [
    holds(
        "Z25",
        {"x": inspect.Parameter.empty, "name": "x", "max_items": 10} == SIGNATURE
        and run(inspected, TENSOR)[0]
        and run(inspected, ARRAY)[0]
        and not any(run(inspected, x)[0] for x in NEITHER)
        and all(map(same, NEITHER)),
        "NumPy's single numbers are no arrays.",
        "False for a list, None and np.float64(1); attnref's function has the same "
        "signature",
    ),
    holds(
        "Z26",
        lines(None, "abc")
        == ["abc: not a tensor/ndarray (type=<class 'NoneType'>)"]
        and len(lines([1, 2])) == 1,
        "",
        f"`{lines(None, 'abc')[0]}`",
    ),
    holds(
        "Z27",
        keys(TENSOR) == [*OF_TENSOR, "preview(4/4)"] and same(TENSOR),
        "The values are detached first; requires_grad, which the docstring leaves "
        "out, is told of the original.",
        "as attnref's, line by line",
    ),
    holds(
        "Z28",
        keys(ARRAY) == [*OF_ARRAY, "preview(10/12)"] and same(ARRAY),
        "",
        "as attnref's, line by line",
    ),
    holds(
        "Z29",
        run(inspected, torch.tensor(1.0))[0]
        and run(inspected, np.zeros(3))[0]
        and not run(inspected, [[1, 2], [3, 4]])[0],
        "The type decides, and not the number of axes: a matrix in the usual sense has "
        "two.",
        "True for a tensor without axes, False for a list of two lists",
    ),
    holds(
        "Z30",
        ROUNDED == "max: 16777216.0"
        and least(inspected, LARGE)[1] == ROUNDED
        and f"max: {LARGE.max()}" == KEPT,
        "float32 has gaps above 2²⁴. attnref takes min and max as they are, and the "
        "mean in float64.",
        f"of {LARGE.max()} it prints `{ROUNDED}`, attnref `{KEPT}`",
    ),
    imprecise(
        "Z31",
        all(run(inspected, x)[0] for x in UNFLOATING)
        and least(inspected, COMPLEX) == ["min: 1.0", "max: 3.0"]
        and (SPARSE, STRINGS) == ("NotImplementedError", "ValueError"),
        "True of bool, integers and empty input. Complex numbers lose their imaginary "
        "part, and sparse tensors and strings raise errors; there attnref prints why "
        "there are no statistics.",
        f"[1+2i, 3−4i] gets `{'`, `'.join(least(inspected, COMPLEX))}`; a sparse "
        f"tensor of int64 is a {SPARSE}, an array of strings a {STRINGS}",
    ),
    holds(
        "Z32",
        all(
            lines(x)[-4:]
            == ["  min: None", "  max: None", "  mean: None", "  preview(0/0): []"]
            and same(x)
            for x in (torch.zeros(0, 3), np.zeros((0, 3)))
        ),
        "The honest answer: no elements have no least one.",
        "as said, for Torch and NumPy",
    ),
    imprecise(
        "Z33",
        [preview(n)[:12] for n in (10, 3, 0)]
        == ["preview(5/5)", "preview(3/5)", "preview(0/5)"]
        and preview(-1) == "preview(-1/5): [0, 1, 2, 3]",
        "True for `max_items` of 0 and above. A negative one counts from the end, as "
        "slices do; attnref refuses it.",
        f"of five elements, −1 gives `{preview(-1)}`",
    ),
    holds(
        "Z34",
        all(
            lines(x)[-1].endswith("[0, 3, 1, 4, 2, 5]")
            for x in (TURNED, torch.from_numpy(TURNED))
        ),
        "The order is that of the matrix, and not of the memory.",
        f"`{lines(TURNED)[-1].strip()}` of [[0, 3], [1, 4], [2, 5]]",
    ),
]
