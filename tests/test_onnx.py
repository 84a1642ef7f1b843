"""The 93 cases of ONNX's own suite for its Attention operator, opsets 23 to 25, run by attnref.

The expected outputs are computed by ONNX's evaluator in the dtype of the case, whose unit roundoff
is u. How far it may be from attnref's, to first order in u:

    |a_s − a_s*| ≤ u δ_s,            δ_s = (d_k + 10) A_s + |a_s|,   A_s = |β| Σ_i |q_i| |k_si|
    |p_s − p_s*| ≤ u p_s { ε_s + Σ_r p_r ε_r + S + 4 },              ε_s = δ_s + (m − a_s) + 8
    |y − y*|     ≤ u { Σ_s p_s ε_s |v_s − y| + (2S + 4) Σ_s p_s |v_s| }

It rounds √β, multiplies q and k by it, and adds up d_k products: d_k + 4. The cap divides, takes a
tanh of 2 units in the last place (4u) and multiplies: 6, of no more than A_s. The bias is one more
rounding. NumPy's exp in float32 is within 2.52 units in the last place, 5u and a bit; a quotient
and two casts make it 8. attnref's own rounding is the last of S + 4 and 2S + 4. Nothing is allowed
that ONNX's runner does not allow: the case's rtol and atol, an rtol of 2⁻⁶ for bfloat16.
"""

from collections import Counter
from functools import cache, partial
from typing import Any, TypeAlias

import numpy as np
import onnx.backend.test.case.node.attention
import pytest
from numpy.typing import NDArray
from onnx.backend.test.case import node as onnx_cases
from onnx.backend.test.case.test_case import TestCase

import onnx_attention
from attnref import attention, masks
from onnx_attention import Array, Node, evaluate, widened

Bounds: TypeAlias = NDArray[np.float64]

UNITS = {"bfloat16": 2**-8, "float16": 2**-11, "float32": 2**-24}


def is_one_node(case: TestCase) -> bool:
    """Say whether a case is an Attention node, and not what it expands to."""
    assert case.model is not None
    nodes = case.model.graph.node
    return len(nodes) == 1 and nodes[0].op_type == "Attention" and not nodes[0].domain


# Importing onnx.backend.test.case.node.attention has made them; each is seeded by itself.
CASES = {
    case.name.removeprefix("test_attention_"): case
    for case in onnx_cases._NodeTestCases
    if is_one_node(case)
}


def parts(case: TestCase) -> tuple[onnx.NodeProto, list[Array], list[Array]]:
    """Return the node of a case, its inputs and the outputs that it expects."""
    assert case.model is not None
    assert case.data_sets is not None
    ((inputs, outputs),) = case.data_sets
    return case.model.graph.node[0], list(inputs), list(outputs)


@cache
def bounds(name: str) -> dict[str, Any]:
    """Return how far the expected outputs of a case may lie from attnref's."""
    node, inputs, _ = parts(CASES[name])
    read = Node.read(node, inputs)
    u = UNITS[inputs[0].dtype.name]
    inspected = "p" if read.attributes.get("qk_matmul_output_mode") == 3 else "a"
    units = errors(in_double(read))
    return {
        "Y": u * read.laid_out(units["y"]),
        "present_key": 0,
        "present_value": 0,
        "qk_matmul_output": u * units[inspected],
    }


def errors(node: Node) -> dict[str, Bounds]:
    """Return the errors of scores, weights and output in units of u, by the formulas above."""
    q, k, v = node.query, node.key, node.value
    k, v = (array.repeat(q.shape[1] // array.shape[1], axis=1) for array in (k, v))
    S, d_k = k.shape[-2:]
    beta = d_k**-0.5 if node.scale is None else node.scale
    a, p, y = node.inspected(), node.weights(), node.output()
    present = np.isfinite(a)
    a = np.where(present, a, 0)
    m = np.max(a, axis=-1, keepdims=True, where=present, initial=0)
    delta = (d_k + 10) * abs(beta) * (abs(q) @ abs(k).mT) + abs(a)
    spread = p * np.where(present, delta + m - a + 8, 0)
    away = abs(v[..., np.newaxis, :, :] - y[..., np.newaxis, :])
    return {
        "a": delta,
        "p": spread + p * (np.sum(spread, axis=-1, keepdims=True) + S + 4),
        "y": np.einsum("bhls,bhlsd->bhld", spread, away) + (2 * S + 4) * (p @ abs(v)),
    }


def in_double(node: Node) -> Node:
    """Return a node in float64 that shows its scores with the mask in them."""
    wide = {n: x.astype(np.float64) if x.dtype.kind == "f" else x for n, x in node.inputs.items()}
    return Node({**node.attributes, "qk_matmul_output_mode": 2}, wide)


def misses(name: str) -> list[str]:
    """Return the outputs of a case that attnref does not give."""
    node, inputs, expected = parts(CASES[name])
    wanted = [output for output in node.output if output]
    ours = evaluate(node, inputs)
    return [
        output
        for output, x, y in zip(wanted, ours, expected, strict=True)
        if not within(x, widened(y), np.minimum(bounds(name)[output], published(name, y)))
    ]


def published(name: str, y: Array) -> Bounds:
    """Return how far ONNX's own runner lets an output lie from y."""
    rtol = 2**-6 if y.dtype.name == "bfloat16" else CASES[name].rtol
    return np.asarray(CASES[name].atol + rtol * abs(y.astype(np.float64)))


def within(x: Array, y: Array, bound: Bounds) -> bool:
    """Say whether x has the shape and dtype of y, its infinities, and the rest within the bound."""
    if (x.shape, x.dtype) != (y.shape, y.dtype):
        return False
    finite = np.isfinite(y)
    near = abs(np.where(finite, x, 0).astype(np.float64) - np.where(finite, y, 0)) <= bound
    return bool(np.where(finite, near, x == y).all())


def test_onnx_has_the_cases_that_it_had() -> None:
    """93 cases, and how many of each dtype and opset: none is lost without anybody noticing."""
    dtypes = Counter(parts(case)[1][0].dtype.name for case in CASES.values())
    opsets = Counter(case.model.opset_import[0].version for case in CASES.values() if case.model)
    assert len(CASES) == 93
    assert dtypes == {"float32": 82, "float16": 6, "bfloat16": 5}
    assert opsets == {23: 69, 24: 13, 25: 11}


@pytest.mark.parametrize("name", CASES)
def test_onnx_case_is_met(name: str) -> None:
    """Every output that the case asks for is attnref's, within what ONNX's own rounding allows."""
    assert misses(name) == []


# The conventions that another reading of the operator would have, and how many cases notice.


def tiled(node: Node, past: str, new: str) -> Array:
    """Return heads in the order 0, 1, 2, 0, 1, 2, as many as the query has."""
    array = CONTINUED(node, past, new)
    return np.tile(array, (1, node.query.shape[1] // array.shape[1], 1, 1))


def new_first(node: Node, past: str, new: str) -> Array:
    """Return the new keys or values, and after them those of the past."""
    array = CONTINUED(node, past, new)
    return np.roll(array, -node.inputs[past].shape[2], axis=2) if past in node.inputs else array


def as_it_lies(array: Array, number: int | None) -> Array:
    """Return (B, L, H·d) cut into (B, H, L, d) without moving an axis."""
    B, L = array.shape[:2]
    return array if number is None else array.reshape(B, number, L, -1)


def turned(node: Node) -> Array | None:
    """Return a boolean mask that is True where a query may not attend."""
    mask: Array | None = WRITTEN(node)
    return ~mask if mask is not None and mask.dtype == bool else mask


def as_booleans(node: Node) -> Array | None:
    """Return numbers as if any but 0 were True."""
    mask = WRITTEN(node)
    return None if mask is None else mask.astype(bool)


def one_by_d(node: Node) -> float:
    """Return 1/d_k for a scale that is not given."""
    scale: float = node.attributes.get("scale", 1 / node.query.shape[-1])
    return scale


WRITTEN, OFFSETS = Node.written.fget, Node.offsets.fget  # type: ignore[attr-defined]
CONTINUED, CAUSAL = Node._continued, masks.causal

WRONG: dict[str, tuple[object, str, object, int]] = {
    "scale ignored": (Node, "scale", None, 6),
    "scale 1/d": (Node, "scale", property(one_by_d), 83),
    "softcap ignored": (Node, "softcap", None, 11),
    "mask ignored": (Node, "written", None, 48),
    "mask True for hidden": (Node, "written", property(turned), 10),
    "numbers as booleans": (Node, "written", property(as_booleans), 42),
    "causal ignored": (masks, "causal", lambda L, S, offset: np.ones((L, S), dtype=bool), 28),
    "causal strictly": (masks, "causal", lambda L, S, offset: CAUSAL(L, S, offset=offset - 1), 31),
    "offset always 0": (Node, "offsets", [0], 14),
    "offset never below 0": (
        Node,
        "offsets",
        property(lambda node: [max(0, offset) for offset in OFFSETS(node)]),
        2,
    ),
    "windows ignored": (Node, "_reach", lambda node, side: None, 9),
    "padding seen": (masks, "padding", lambda lengths, S: np.ones(S, dtype=bool), 2),
    "heads tiled": (Node, "_continued", tiled, 16),
    "heads not moved": (onnx_attention, "heads", as_it_lies, 24),
    "new keys before the past": (Node, "_continued", new_first, 21),
    "a sink of 0": (onnx_attention, "attention", partial(attention, sink=0.0), 93),
}


@pytest.mark.parametrize("convention", WRONG)
def test_onnx_cases_notice_another_convention(
    convention: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The suite tells right from wrong: so many of its cases miss when a convention is another."""
    assert [name for name in CASES if misses(name)] == []
    owner, name, wrong, noticed = WRONG[convention]
    monkeypatch.setattr(owner, name, wrong)
    assert len([name for name in CASES if misses(name)]) == noticed
