"""The Torch side: its likeness to the NumPy side, what may not enter, and its masks."""

import ast
import inspect
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
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
    scaled_dot_product_attention,
    scores,
    softmax,
)
from samples import D_K, D_V, B, L, S, random_mask, triple

QUERY, KEY, VALUE = (torch.tensor(x) for x in triple())
MASK = torch.tensor(random_mask(L, S))


unhurried = settings(deadline=None)  # a laden machine is no error

# The two sides.

MODULES = {"KeyValueCache", "MultiHeadAttention", "SingleHeadAttention"}  # Torch has them alone


def test_names_are_those_of_numpy() -> None:
    """What the NumPy side says of attention, Torch says too, and nothing else."""
    ours, theirs = set(attnref.torch.__all__), set(attnref.__all__)
    assert theirs - ours == {"make_array", "print_matrix_info", "show"}  # looking is not attention
    assert ours - theirs == {"make_tensor", *MODULES}
    assert set(masks.__all__) == set(attnref.masks.__all__)


@pytest.mark.parametrize(
    ("numpy_side", "torch_side", "name"),
    [
        (attnref, attnref.torch, name)
        for name in attnref.torch.__all__
        if callable(getattr(attnref.torch, name)) and name not in {"make_tensor", *MODULES}
    ]
    + [(attnref.masks, masks, name) for name in masks.__all__],
    ids=str,
)
def test_signatures_are_those_of_numpy(
    numpy_side: ModuleType, torch_side: ModuleType, name: str
) -> None:
    """Names, order, kinds and defaults are the same; masks add device, a generator is an rng."""
    ours, theirs = (
        [(p.name, p.kind, p.default) for p in inspect.signature(function).parameters.values()]
        for function in (getattr(torch_side, name), getattr(numpy_side, name))
    )
    device, generator = (
        (name, inspect.Parameter.KEYWORD_ONLY, None) for name in ("device", "generator")
    )
    if name == "scaled_dot_product_attention":
        assert theirs.pop() == ("rng", *generator[1:])
        assert ours.pop() == generator
    made = torch_side is masks and name != "Rule"  # which is no mask yet, and nowhere
    assert ours == theirs + [device] * made


def test_rules_are_of_one_class_on_both_sides() -> None:
    """A rule is not made of an array, so either side takes what the other names."""
    assert masks.Rule is attnref.masks.Rule


FOUNDATION = ("_checks", "_filling", "_integers", "_rules", "_shapes")


def test_torch_wing_imports_the_foundation_only() -> None:
    """The wing imports Torch, the rules of entry and itself: NumPy's algorithms are not its own."""
    package = Path(attnref.torch.__file__).parent
    imported = set()
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {name.name for name in node.names}
            if isinstance(node, ast.ImportFrom):
                names = {f"{node.module}.{name.name}" for name in node.names}
                of_a_rule = (node.module or "").startswith("attnref._")
                imported |= {str(node.module)} if of_a_rule else names
    foreign = {
        name
        for name in imported
        if name.partition(".")[0] not in (*sys.stdlib_module_names, "torch")
        and not name.startswith("attnref.torch.")
    }
    assert foreign == {f"attnref.{rules}" for rules in FOUNDATION}


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


@unhurried
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


@unhurried
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


@unhurried
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


@unhurried
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


SLOPES = {  # those of Press, Smith and Lewis, where n is a power of two; every n else, interleaved
    1: [2**-8],
    2: [2**-4, 2**-8],
    3: [2**-4, 2**-8, 2**-2],
    6: [2**-2, 2**-4, 2**-6, 2**-8, 2**-1, 2**-3],  # fault 46
    8: [2.0**-h for h in range(1, 9)],
    12: [2.0**-h for h in range(1, 9)] + [2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5],
}


@pytest.mark.parametrize("heads", SLOPES)
def test_alibi_slopes_are_the_published_ones(heads: int) -> None:
    """A query's neighbour loses the slope, and of other numbers of heads none is skipped."""
    bias = masks.alibi(heads, 1, 2, dtype=torch.float64)
    assert bias[:, 0, 1].neg().tolist() == SLOPES[heads]


@unhurried
@given(
    heads=st.integers(0, 20), L=st.integers(0, 5), S=st.integers(0, 5), offset=st.integers(-9, 9)
)
def test_alibi_is_the_distance_at_the_slope_of_the_head(
    heads: int, L: int, S: int, offset: int
) -> None:
    """Every size and offset: −slope · |i + offset − j|, place by place, and it is NumPy's bias."""
    slopes = masks.alibi(heads, 1, 1, offset=1, dtype=torch.float64)[:, 0, 0].neg().tolist()
    expected = [
        [[-slope * abs(i + offset - j) for j in range(S)] for i in range(L)] for slope in slopes
    ]
    bias = masks.alibi(heads, L, S, offset=offset, dtype=torch.float64)
    assert (tuple(bias.shape), bias.tolist()) == ((heads, L, S), expected)
    assert not (bias.signbit() & (bias == 0)).any(), "0 of a query's own key is no −0"
    assert np.array_equal(bias.numpy(), attnref.masks.alibi(heads, L, S, offset=offset))
    assert len(set(slopes)) == heads
    assert all(0 < slope < 1 for slope in slopes)


def test_alibi_favours_what_is_near() -> None:
    """The third query of the first of 8 heads: −1, −1/2, 0, nearest best (fault 47)."""
    assert masks.alibi(8, 3, 3)[0, 2].tolist() == [-1, -0.5, 0]


def test_alibi_counts_the_keys_that_came_before() -> None:
    """One query after two cached keys: the offset sets it at its place (fault 48)."""
    assert masks.alibi(8, 1, 3, offset=2)[0].tolist() == [[-1, -0.5, 0]]
    assert torch.equal(masks.alibi(5, 1, 7, offset=6), masks.alibi(5, 7, 7)[:, 6:])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_alibi_has_its_dtype_and_is_rounded_once(dtype: torch.dtype) -> None:
    """The bias is that of float64, rounded; unless given, the dtype is Torch's default."""
    many = 40009  # Torch alone rounds twice, and a few of so many float16 numbers are then others
    bias, exact = (masks.alibi(12, 1, many, dtype=d) for d in (dtype, torch.float64))
    assert bias.dtype == dtype
    if dtype != torch.bfloat16:
        once = torch.tensor(exact.numpy().astype(str(dtype).removeprefix("torch.")))
        assert torch.equal(bias, once)
        assert dtype != torch.float16 or (exact.half() != once).any(), (
            "here rounding twice would do"
        )
    torch.testing.assert_close(bias.double(), exact, rtol=torch.finfo(dtype).eps / 2, atol=0)
    assert masks.alibi(2, 2, 2).dtype == torch.get_default_dtype()


def test_alibi_offset_may_be_any_integer_that_a_float_holds() -> None:
    """What no tensor's integer could hold is the distance of every key."""
    assert masks.alibi(1, 1, 2, offset=2**100, dtype=torch.float64).tolist() == [[[-(2.0**92)] * 2]]


DEVICED: dict[str, Callable[..., Tensor]] = {
    "window": lambda _, **device: masks.window(2, 2, left=1, right=0, **device),
    "padding": lambda row, **device: masks.padding(row, 2, **device),
    "documents": lambda row, **device: masks.documents(row, **device),
    "alibi": lambda _, **device: masks.alibi(3, 2, 2, **device),
}


SIZED = ("alibi", "window")  # made of sizes alone, which are nowhere


@pytest.mark.parametrize("name", DEVICED)
def test_masks_are_made_on_their_device(name: str) -> None:
    """The last keyword says where, or else the tensor that is given, or else Torch's default."""
    call, tensor = DEVICED[name], torch.tensor([1, 2])
    assert call([1, 2], device="meta").device == torch.device("meta")
    assert call(tensor, device="meta").device == torch.device("meta")
    assert call([1, 2]).device == torch.tensor(0).device
    with torch.device("meta"):
        assert call([1, 2]).device == torch.device("meta")
        assert call(tensor).device == torch.device("meta" if name in SIZED else "cpu")


# What may not enter.

META = torch.zeros(L, D_K, dtype=torch.float64, device="meta")
HEADS = torch.zeros(6, L, D_K, dtype=torch.float64)
BIAS = MASK.double()
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
    "a bias of another kind": (
        lambda: attention(QUERY, KEY, VALUE, bias=1.0),  # type: ignore[arg-type]  # on purpose
        TypeError,
        r"bias must be a torch\.Tensor, not builtins\.float",
    ),
    "a bias that is a mask": (
        lambda: attention_weights(QUERY, KEY, bias=MASK),
        TypeError,
        "bias must have a floating dtype .* not bool",
    ),
    "a bias of another dtype": (
        lambda: scores(QUERY, KEY, bias=BIAS.float()),
        TypeError,
        "query, key, bias must share one dtype: query float64, key float64, bias float32",
    ),
    "a bias that enlarges": (
        lambda: attention(QUERY, KEY, VALUE, bias=BIAS.expand(B, L, S)),
        ValueError,
        r"bias must broadcast to the scores \(…, L, S\): "
        rf"bias \({B}, {L}, {S}\), scores \({L}, {S}\)",
    ),
    "a bias that enlarges scores": (
        lambda: scores(QUERY, KEY, bias=BIAS.mT),
        ValueError,
        rf"bias \({S}, {L}\), scores \({L}, {S}\)",
    ),
    "a bias that enlarges weights": (
        lambda: attention_weights(QUERY, KEY, bias=BIAS.mT),
        ValueError,
        rf"bias \({S}, {L}\), scores \({L}, {S}\)",
    ),
    "device of the bias": (
        lambda: scores(QUERY, KEY, bias=BIAS.to("meta")),
        ValueError,
        "query, key, bias must share one device: query cpu, key cpu, bias meta",
    ),
    "softcap of another kind": (
        lambda: scores(QUERY, KEY, softcap=True),
        TypeError,
        "softcap must be a real number or None, not bool",
    ),
    "softcap of zero": (
        lambda: attention(QUERY, KEY, VALUE, softcap=0),
        ValueError,
        "softcap must be positive, or None for no cap: 0",
    ),
    "softcap not finite": (
        lambda: attention_weights(QUERY, KEY, softcap=math.inf),
        ValueError,
        "softcap must be finite, not inf",
    ),
    "a sink of another kind": (
        lambda: softmax(QUERY, sink=[0.0]),  # type: ignore[arg-type]  # on purpose
        TypeError,
        r"sink must be a torch\.Tensor or a real number, not list",
    ),
    "a sink of another dtype": (
        lambda: log_partition(QUERY, sink=torch.zeros(L)),
        TypeError,
        "scores, sink must share one dtype: scores float64, sink float32",
    ),
    "a sink of integers": (
        lambda: attention(QUERY, KEY, VALUE, sink=torch.tensor(0)),
        TypeError,
        "sink must have a floating dtype .* not int64",
    ),
    "a sink that enlarges the rows": (
        lambda: attention(QUERY, KEY, VALUE, sink=BIAS),
        ValueError,
        rf"sink must broadcast to the rows \(…, L\): sink \({L}, {S}\), rows \({L},\)",
    ),
    "a sink that enlarges the rows of weights": (
        lambda: attention_weights(QUERY, KEY, sink=BIAS[0]),
        ValueError,
        rf"sink \({S},\), rows \({L},\)",
    ),
    "a sink for one row": (
        lambda: log_partition(BIAS[0], sink=BIAS[0]),
        ValueError,
        rf"sink \({S},\), rows \(\)",
    ),
    "device of the sink": (
        lambda: softmax(BIAS, sink=BIAS[:, 0].to("meta")),
        ValueError,
        "scores, sink must share one device: scores cpu, sink meta",
    ),
    "heads not shared evenly": (
        lambda: attention(HEADS, KEY.expand(4, S, D_K), VALUE),
        ValueError,
        r"the heads of the query \(axis −3\) be a multiple of theirs: "
        rf"query \(6, {L}, {D_K}\), key \(4, {S}, {D_K}\)",
    ),
    "number of heads": (
        lambda: masks.alibi(-1, 2, 3),
        ValueError,
        "num_heads must not be negative: -1",
    ),
    "number of heads of another kind": (
        lambda: masks.alibi(2.0, 2, 3),  # type: ignore[arg-type]  # on purpose
        TypeError,
        "num_heads must be an integer, not float",
    ),
    "sizes of a bias": (
        lambda: masks.alibi(2, -2, 3),
        ValueError,
        "L must not be negative: -2",
    ),
    "offset of a bias": (
        lambda: masks.alibi(2, 2, 3, offset=0.5),  # type: ignore[arg-type]  # on purpose
        TypeError,
        "offset must be an integer, not float",
    ),
    "offset beyond every float": (
        lambda: masks.alibi(2, 2, 3, offset=10**400),
        ValueError,
        "offset must be finite, not inf",
    ),
    "dtype of a bias": (
        lambda: masks.alibi(2, 2, 3, dtype=torch.int64),
        TypeError,
        "dtype must be floating .*, not int64",
    ),
    "no dtype of Torch": (
        lambda: masks.alibi(2, 2, 3, dtype=float),  # type: ignore[arg-type]  # on purpose
        TypeError,
        r"dtype must be a torch\.dtype or None, not type",
    ),
    "attn_mask of another kind": (
        lambda: scaled_dot_product_attention(QUERY, KEY, VALUE, MASK.numpy()),  # type: ignore[arg-type]  # on purpose
        TypeError,
        r"attn_mask must be a torch\.Tensor, not numpy\.ndarray",
    ),
    "25 attn_mask of integers": (
        lambda: scaled_dot_product_attention(QUERY, KEY, VALUE, MASK.long()),
        TypeError,
        "attn_mask must be boolean, .* dtype float64 or float32, to be added: int64",
    ),
    "attn_mask of another dtype": (
        lambda: scaled_dot_product_attention(QUERY, KEY, VALUE, MASK.half()),
        TypeError,
        "attn_mask must be boolean, .* dtype float64 or float32, to be added: float16",
    ),
    "attn_mask that enlarges": (
        lambda: scaled_dot_product_attention(QUERY, KEY, VALUE, MASK.mT),
        ValueError,
        r"attn_mask must broadcast to the scores \(…, L, S\): "
        rf"attn_mask \({S}, {L}\), scores \({L}, {S}\)",
    ),
    "device of attn_mask": (
        lambda: scaled_dot_product_attention(QUERY, KEY, VALUE, MASK.to("meta")),
        ValueError,
        "query, attn_mask must share one device: query cpu, attn_mask meta",
    ),
    "22 attn_mask and is_causal": (
        lambda: scaled_dot_product_attention(QUERY, KEY, VALUE, MASK, is_causal=True),
        ValueError,
        "give attn_mask or is_causal, not both",
    ),
    "is_causal of another kind": (
        lambda: scaled_dot_product_attention(QUERY, KEY, VALUE, is_causal=1),  # type: ignore[arg-type]  # on purpose
        TypeError,
        "is_causal must be True or False, not int",
    ),
    "enable_gqa of another kind": (
        lambda: scaled_dot_product_attention(QUERY, KEY, VALUE, enable_gqa=None),  # type: ignore[arg-type]  # on purpose
        TypeError,
        "enable_gqa must be True or False, not NoneType",
    ),
    "dropout_p above 1": (
        lambda: scaled_dot_product_attention(QUERY, KEY, VALUE, dropout_p=1.5),
        ValueError,
        "dropout_p must be from 0 to 1: 1.5",
    ),
    "dropout_p of another kind": (
        lambda: scaled_dot_product_attention(QUERY, KEY, VALUE, dropout_p=True),
        TypeError,
        "dropout_p must be a real number, not bool",
    ),
    "scale of the drop-in": (
        lambda: scaled_dot_product_attention(QUERY, KEY, VALUE, scale=math.inf),
        ValueError,
        "scale must be finite, not inf",
    ),
    "generator of another kind": (
        lambda: scaled_dot_product_attention(QUERY, KEY, VALUE, generator=0),  # type: ignore[arg-type]  # on purpose
        TypeError,
        r"generator must be a torch\.Generator or None, not int",
    ),
    "heads not shared unless asked": (
        lambda: scaled_dot_product_attention(HEADS, KEY.expand(2, S, D_K), VALUE),
        ValueError,
        "the leading axes of query, key, value must broadcast: query",
    ),
    "heads not shared evenly though asked": (
        lambda: scaled_dot_product_attention(HEADS, KEY.expand(4, S, D_K), VALUE, enable_gqa=True),
        ValueError,
        r"the heads of the query \(axis −3\) be a multiple of theirs",
    ),
    "58 key and value of the drop-in": (
        lambda: scaled_dot_product_attention(QUERY, KEY, VALUE[1:]),
        ValueError,
        rf"share their second-last axis S: {S} ≠ {S - 1}",
    ),
    "mixed dtypes of the drop-in": (
        lambda: scaled_dot_product_attention(QUERY, KEY, VALUE.float()),
        TypeError,
        "must share one dtype: query float64, key float64, value float32",
    ),
    "no depth of the drop-in": (
        lambda: scaled_dot_product_attention(QUERY[:, :0], KEY[:, :0], VALUE),
        ValueError,
        "query has d_k = 0, .* give scale",
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
    """The loops ask for one device too, those of the options included."""
    for option, tensor in {"mask": MASK, "bias": BIAS, "sink": BIAS[:, 0]}.items():
        with pytest.raises(ValueError, match=f"query cpu, key cpu, value cpu, {option} meta"):
            attend(QUERY, KEY, VALUE, **{option: tensor.to("meta")})


@pytest.mark.parametrize("attend", [attention, expanded_attention], ids=["matrix", "loops"])
def test_both_refuse_options_that_do_not_fit(attend: Callable[..., Tensor]) -> None:
    """The loops ask the options for their kinds, values and shapes too."""
    cases: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"bias": BIAS.half()}, TypeError, "query, key, value, bias must share one dtype"),
        ({"sink": BIAS.half()[0]}, TypeError, "query, key, value, sink must share one dtype"),
        ({"bias": BIAS.mT}, ValueError, "bias must broadcast to the scores"),
        ({"sink": BIAS[0]}, ValueError, "sink must broadcast to the rows"),
        ({"sink": "0"}, TypeError, "sink must be a torch.Tensor or a real number, not str"),
        ({"softcap": -1.0}, ValueError, "softcap must be positive, or None for no cap: -1.0"),
    ]
    for options, kind, message in cases:
        with pytest.raises(kind, match=message):
            attend(QUERY, KEY, VALUE, **options)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_alibi_never_masks(dtype: torch.dtype) -> None:
    """However far a key is, its bias is finite: the lowest number where the true one is beyond."""
    bias = masks.alibi(2, 1, 2, offset=10**45, dtype=dtype)
    assert (bias == torch.finfo(dtype).min).all()
