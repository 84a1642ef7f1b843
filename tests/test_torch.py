"""The Torch side: its likeness to the NumPy side, what may not enter, and its masks."""

import ast
import inspect
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import attnref
import attnref.torch
from attnref.torch import (
    attention,
    attention_weights,
    expanded_attention,
    log_partition,
    masks,
    scores,
    softmax,
)
from samples import D_K, D_V, B, L, S, random_mask, triple

QUERY, KEY, VALUE = (torch.tensor(x) for x in triple())
MASK = torch.tensor(random_mask(L, S))


# The two sides.


def test_names_are_those_of_numpy() -> None:
    """What the NumPy side says of attention, Torch says too, and nothing else."""
    ours, theirs = set(attnref.torch.__all__), set(attnref.__all__)
    assert theirs - ours == {"make_array", "print_matrix_info", "show"}  # looking is not attention
    assert ours - theirs == {"make_tensor"}
    assert set(masks.__all__) == set(attnref.masks.__all__)


@pytest.mark.parametrize(
    ("numpy_side", "torch_side", "name"),
    [
        (attnref, attnref.torch, name)
        for name in attnref.torch.__all__
        if callable(getattr(attnref.torch, name)) and name != "make_tensor"
    ]
    + [(attnref.masks, masks, name) for name in masks.__all__],
    ids=str,
)
def test_signatures_are_those_of_numpy(
    numpy_side: ModuleType, torch_side: ModuleType, name: str
) -> None:
    """Names, order, kinds and defaults are the same; masks have one more keyword, device, last."""
    ours, theirs = (
        [(p.name, p.kind, p.default) for p in inspect.signature(function).parameters.values()]
        for function in (getattr(torch_side, name), getattr(numpy_side, name))
    )
    device = ("device", inspect.Parameter.KEYWORD_ONLY, None)
    assert ours == theirs + [device] * (torch_side is masks)


def test_torch_wing_imports_the_foundation_only() -> None:
    """The wing imports Torch, the rules of entry and itself: NumPy's algorithms are not its own."""
    package = Path(attnref.torch.__file__).parent
    imported = set()
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {name.name for name in node.names}
            if isinstance(node, ast.ImportFrom):
                imported |= {f"{node.module}.{name.name}" for name in node.names}
    foreign = {
        name
        for name in imported
        if name.partition(".")[0] not in (*sys.stdlib_module_names, "torch")
        and not name.startswith("attnref.torch.")
    }
    assert foreign == {"attnref._checks", "attnref._filling"}


def run_without(module: str) -> str:
    """Return the last line printed when attnref.torch is imported and one module isn't there."""
    code = f"import sys; sys.modules[{module!r}] = None; import attnref; import attnref.torch"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.count("Traceback") == 1
    return done.stderr.splitlines()[-1]


def test_import_without_torch_says_what_to_install() -> None:
    """Where Torch is not installed, one error names the command."""
    assert run_without("torch") == (
        "ImportError: attnref.torch needs PyTorch, which is not installed: "
        'pip install "attnref[torch]"'
    )


def test_import_does_not_blame_torch_for_another_module() -> None:
    """Where something else is missing, that is what the error says."""
    assert "import of attnref.torch._entry halted" in run_without("attnref.torch._entry")


# Masks.


@given(L=st.integers(0, 7), S=st.integers(0, 7), offset=st.integers(-9, 9))
def test_causal_mask_is_that_of_numpy(L: int, S: int, offset: int) -> None:
    """Every size and offset: j ≤ i + offset, place by place."""
    expected = [[j <= i + offset for j in range(S)] for i in range(L)]
    mask = masks.causal(L, S, offset=offset)
    assert mask.dtype == torch.bool
    assert (tuple(mask.shape), mask.tolist()) == ((L, S), expected)
    assert np.array_equal(mask.numpy(), attnref.masks.causal(L, S, offset=offset))


@pytest.mark.parametrize(("offset", "filled"), [(10**30, True), (-(10**30), False)])
def test_causal_offset_may_be_any_integer(offset: int, filled: bool) -> None:
    """An offset beyond both corners shows everything, or nothing."""
    assert (masks.causal(2, 3, offset=offset) == filled).all()


def test_causal_sizes_may_be_numpy_integers() -> None:
    """Whatever is an integer is a size."""
    assert masks.causal(np.int64(2), np.int32(2)).tolist() == [[True, False], [True, True]]  # type: ignore[arg-type]  # on purpose


def test_causal_mask_is_made_on_its_device() -> None:
    """The last keyword says where."""
    assert masks.causal(2, 2, device="meta").device == torch.device("meta")
    assert masks.causal(2, 2).device == torch.tensor(0).device


reaches = st.none() | st.integers(0, 9) | st.just(10**30)


@given(
    L=st.integers(0, 7), S=st.integers(0, 7), left=reaches, right=reaches, offset=st.integers(-9, 9)
)
def test_window_mask_is_that_of_numpy(
    L: int, S: int, left: int | None, right: int | None, offset: int
) -> None:
    """Every size, reach and offset: i + offset − left ≤ j ≤ i + offset + right, place by place."""
    first, last = (math.inf if reach is None else reach for reach in (left, right))
    expected = [[i + offset - first <= j <= i + offset + last for j in range(S)] for i in range(L)]
    mask = masks.window(L, S, left=left, right=right, offset=offset)
    assert mask.dtype == torch.bool
    assert (tuple(mask.shape), mask.tolist()) == ((L, S), expected)
    theirs = attnref.masks.window(L, S, left=left, right=right, offset=offset)
    assert np.array_equal(mask.numpy(), theirs)


def test_window_offset_and_reach_may_be_any_integers() -> None:
    """What no tensor's integer could hold is added up before it is cut off."""
    far = 10**30
    mask = masks.window(2, 3, left=far, right=0, offset=far + 1)
    assert mask.tolist() == [[False, True, True], [False, False, True]]
    small = masks.window(2, 3, left=np.uint8(1), right=np.uint8(0), offset=np.uint8(0))  # type: ignore[arg-type]  # on purpose
    assert small.tolist() == [[True, False, False], [True, True, False]]


@given(S=st.integers(0, 7), data=st.data())
def test_padding_mask_is_that_of_numpy(S: int, data: st.DataObject) -> None:
    """Every length from 0 to S: j < lengths[b], place by place, from a list or a tensor."""
    lengths = data.draw(st.lists(st.integers(0, S), max_size=5))
    expected = [[[[j < n for j in range(S)]]] for n in lengths]
    for given_as in (lengths, torch.tensor(lengths, dtype=torch.uint8)):
        mask = masks.padding(given_as, S)
        assert mask.dtype == torch.bool
        assert (tuple(mask.shape), mask.tolist()) == ((len(lengths), 1, 1, S), expected)
        assert np.array_equal(mask.numpy(), attnref.masks.padding(lengths, S))


@given(ids=st.lists(st.sampled_from([-3, 0, 1, 2**53, 2**53 + 1, 2**63 - 1]), max_size=7))
def test_documents_mask_is_that_of_numpy(ids: list[int]) -> None:
    """Every row of ids: ids[i] = ids[j], place by place, from a list or a tensor."""
    expected = [[one == other for other in ids] for one in ids]
    for given_as in (ids, torch.tensor(ids, dtype=torch.int64)):
        mask = masks.documents(given_as)
        assert mask.dtype == torch.bool
        assert (tuple(mask.shape), mask.tolist()) == ((len(ids), len(ids)), expected)
        assert np.array_equal(mask.numpy(), attnref.masks.documents(ids))


def test_documents_ids_may_be_any_integers() -> None:
    """Ids that no tensor could hold are told apart."""
    mask = masks.documents([2**64, 2**64 + 1, 2**64])
    assert mask.tolist() == [[True, False, True], [False, True, False], [True, False, True]]


DEVICED: dict[str, Callable[..., Tensor]] = {
    "window": lambda _, **device: masks.window(2, 2, left=1, right=0, **device),
    "padding": lambda row, **device: masks.padding(row, 2, **device),
    "documents": lambda row, **device: masks.documents(row, **device),
}


@pytest.mark.parametrize("name", DEVICED)
def test_masks_are_made_on_their_device(name: str) -> None:
    """The last keyword says where, or else the tensor that is given, or else Torch's default."""
    call, tensor = DEVICED[name], torch.tensor([1, 2])
    assert call([1, 2], device="meta").device == torch.device("meta")
    assert call(tensor, device="meta").device == torch.device("meta")
    assert call([1, 2]).device == torch.tensor(0).device
    with torch.device("meta"):
        assert call([1, 2]).device == torch.device("meta")
        assert call(tensor).device == torch.device("meta" if name == "window" else "cpu")


# What may not enter.

META = torch.zeros(L, D_K, dtype=torch.float64, device="meta")
REFUSED: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "kind": (
        lambda: scores(QUERY.numpy(), KEY),  # type: ignore[arg-type]  # on purpose
        TypeError,
        r"query must be a torch\.Tensor, not numpy\.ndarray",
    ),
    "integers": (
        lambda: attention(QUERY, KEY, VALUE.long()),
        TypeError,
        "value must have a floating dtype .* not int64",
    ),
    "complex": (
        lambda: softmax(QUERY.to(torch.complex128)),
        TypeError,
        "scores must have a floating dtype .* not complex128",
    ),
    "mixed": (
        lambda: attention(QUERY, KEY, VALUE.float()),
        TypeError,
        "must share one dtype: query float64, key float64, value float32",
    ),
    "a mask of another kind": (
        lambda: softmax(QUERY, mask=[True] * D_K),  # type: ignore[arg-type]  # on purpose
        TypeError,
        r"mask must be a torch\.Tensor, not builtins\.list",
    ),
    "a mask of numbers": (
        lambda: attention(QUERY, KEY, VALUE, mask=MASK.double()),
        TypeError,
        "mask must be boolean, .* not float64; numbers to add to the scores are a bias",
    ),
    "a mask that enlarges": (
        lambda: attention_weights(QUERY, KEY, mask=MASK.expand(B, L, S)),
        ValueError,
        rf"mask \({B}, {L}, {S}\), scores \({L}, {S}\)",
    ),
    "a mask that enlarges given scores": (
        lambda: log_partition(MASK.double(), mask=MASK.mT),
        ValueError,
        rf"mask \({S}, {L}\), scores \({L}, {S}\)",
    ),
    "scale of another kind": (
        lambda: scores(QUERY, KEY, scale="1"),  # type: ignore[arg-type]  # on purpose
        TypeError,
        "scale must be a real number or None, not str",
    ),
    "scale not finite": (
        lambda: scores(QUERY, KEY, scale=math.nan),
        ValueError,
        "scale must be finite, not nan",
    ),
    "no depth": (
        lambda: attention(QUERY[:, :0], KEY[:, :0], VALUE),
        ValueError,
        "query has d_k = 0, .* give scale",
    ),
    "depths": (
        lambda: scores(QUERY, VALUE),
        ValueError,
        rf"share their last axis d_k: {D_K} ≠ {D_V}",
    ),
    "58 key and value": (
        lambda: expanded_attention(QUERY, KEY, VALUE[1:]),
        ValueError,
        rf"share their second-last axis S: {S} ≠ {S - 1}",
    ),
    "leading axes": (
        lambda: attention(QUERY.expand(2, L, D_K), KEY.expand(3, S, D_K), VALUE),
        ValueError,
        "the leading axes of query, key.* must broadcast",
    ),
    "axes": (
        lambda: scores(QUERY[0], KEY),
        ValueError,
        "query must have at least 2 axes",
    ),
    "no axis": (
        lambda: softmax(torch.tensor(1.0)),
        ValueError,
        "scores must have at least 1 axis",
    ),
    "device of the query": (
        lambda: attention(META, KEY, VALUE),
        ValueError,
        "query, key, value must share one device: query meta, key cpu, value cpu",
    ),
    "device of the mask": (
        lambda: softmax(MASK.double(), mask=MASK.to("meta")),
        ValueError,
        "scores, mask must share one device: scores cpu, mask meta",
    ),
    "no corner": (
        lambda: masks.causal(2, 3),
        ValueError,
        "align must be 'upper-left' or 'lower-right' .* 2 ≠ 3",
    ),
    "unknown corner": (
        lambda: masks.causal(2, 3, align="left"),  # type: ignore[arg-type]  # on purpose
        ValueError,
        "align must be 'upper-left' or 'lower-right', not 'left'",
    ),
    "corner and offset": (
        lambda: masks.causal(2, 3, align="upper-left", offset=1),
        ValueError,
        "give align or offset, not both",
    ),
    "negative size": (lambda: masks.causal(-1, 3), ValueError, "L must not be negative: -1"),
    "size of another kind": (
        lambda: masks.causal(2, 3.0),  # type: ignore[arg-type]  # on purpose
        TypeError,
        "S must be an integer, not float",
    ),
    "negative reach": (
        lambda: masks.window(2, 3, left=-1, right=0),
        ValueError,
        "left must not be negative: -1",
    ),
    "reach of another kind": (
        lambda: masks.window(2, 3, left=None, right=0.5),  # type: ignore[arg-type]  # on purpose
        TypeError,
        "right must be an integer, not float",
    ),
    "offset of another kind": (
        lambda: masks.window(2, 3, left=1, right=0, offset=None),  # type: ignore[arg-type]  # on purpose
        TypeError,
        "offset must be an integer, not NoneType",
    ),
    "negative size of a window": (
        lambda: masks.window(2, -3, left=1, right=0),
        ValueError,
        "S must not be negative: -3",
    ),
    "kind of size of a window": (
        lambda: masks.window(None, 3, left=1, right=0),  # type: ignore[arg-type]  # on purpose
        TypeError,
        "L must be an integer, not NoneType",
    ),
    "length above S": (
        lambda: masks.padding(torch.tensor([1, 4]), 3),
        ValueError,
        r"lengths\[1\] must be from 0 to S: 4, S 3",
    ),
    "size of a padding": (
        lambda: masks.padding([0], -1),
        ValueError,
        "S must not be negative: -1",
    ),
    "lengths of floats": (
        lambda: masks.padding(torch.ones(2), 3),
        TypeError,
        "lengths must have an integer dtype, not float32",
    ),
    "ids of booleans": (
        lambda: masks.documents(torch.tensor([True, False])),
        TypeError,
        "ids must have an integer dtype, not bool",
    ),
    "ids of two axes": (
        lambda: masks.documents(torch.ones(1, 2, dtype=torch.int64)),
        ValueError,
        r"ids must have 1 axis, not 2: \(1, 2\)",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_error_says_what_is_wrong(case: str) -> None:
    """Each refusal names the argument, the rule, and what came instead."""
    call, kind, message = REFUSED[case]
    with pytest.raises(kind, match=message):
        call()


@pytest.mark.parametrize("attend", [attention, expanded_attention], ids=["matrix", "loops"])
def test_both_refuse_devices_that_differ(attend: Callable[..., Tensor]) -> None:
    """The loops ask for one device too, the mask's included."""
    with pytest.raises(ValueError, match="query cpu, key cpu, value cpu, mask meta"):
        attend(QUERY, KEY, VALUE, mask=MASK.to("meta"))
