"""One ONNX Attention node, opset 23 to 25, evaluated by attnref. Nothing here computes attention.

What is translated: (B, L, H·d) and (B, H, L, d); a cache of keys that is put in front; the
diagonal, which stands at the cache's length or where the padding ends; masks that are numbers or
booleans, short ones padded; windows of −1 for no bound; bfloat16, which NumPy has not, as float32.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import onnx
from numpy.typing import NDArray

from attnref import attention, attention_weights, masks, scores

Array: TypeAlias = NDArray[Any]
Mask: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True)
class Node:
    """A node with its inputs, none of them missing but those that may be, and no bfloat16."""

    attributes: dict[str, Any]
    inputs: dict[str, Array]

    @classmethod
    def read(cls, node: onnx.NodeProto, inputs: Sequence[Array]) -> "Node":
        """Return what a node and the arrays of its inputs say, by the operator's own names."""
        values = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        arrays = iter(inputs)
        names = [i.name for i in onnx.defs.get_schema("Attention").inputs]
        given = {n: widened(next(arrays)) for n, i in zip(names, node.input, strict=False) if i}
        return cls(values, given)

    @cached_property
    def query(self) -> Array:
        """Return q, (B, Hq, L, d_k)."""
        return heads(self.inputs["Q"], self.attributes.get("q_num_heads"))

    @cached_property
    def key(self) -> Array:
        """Return the keys of the past and the new ones, (B, Hkv, S, d_k)."""
        return self._continued("past_key", "K")

    @cached_property
    def value(self) -> Array:
        """Return the values of the past and the new ones, (B, Hkv, S, d_v)."""
        return self._continued("past_value", "V")

    def _continued(self, past: str, new: str) -> Array:
        block = heads(self.inputs[new], self.attributes.get("kv_num_heads"))
        return np.concatenate([self.inputs[past], block], axis=2) if past in self.inputs else block

    @property
    def sizes(self) -> tuple[int, int]:
        """Return L and S."""
        return self.query.shape[2], self.key.shape[2]

    @property
    def offsets(self) -> list[int]:
        """Return how many keys stand before the first query's own, one number or one a sequence."""
        if "past_key" in self.inputs:
            return [self.inputs["past_key"].shape[2]]
        lengths = self.inputs.get("nonpad_kv_seqlen")
        return [0] if lengths is None else [int(n) - self.sizes[0] for n in lengths]

    @property
    def written(self) -> Array | None:
        """Return the mask that is given, with as many columns as there are keys."""
        mask = self.inputs.get("attn_mask")
        if mask is None:
            return None
        missing = [(0, 0)] * (mask.ndim - 1) + [(0, self.sizes[1] - mask.shape[-1])]
        return np.pad(mask, missing, constant_values=False if mask.dtype == bool else -np.inf)

    @property
    def mask(self) -> Mask:
        """Return which keys a query may see: what is written, causal, in the window, and there."""
        L, S = self.sizes
        mask = np.ones((1, 1, L, S), dtype=bool)
        if self.written is not None and self.written.dtype == bool:
            mask = mask & self.written
        if self.attributes.get("is_causal"):
            mask = mask & each(masks.causal(L, S, offset=n) for n in self.offsets)
        left, right = (self._reach(side) for side in ("left", "right"))
        mask = mask & each(
            masks.window(L, S, left=left, right=right, offset=n) for n in self.offsets
        )
        lengths = self.inputs.get("nonpad_kv_seqlen")
        return mask if lengths is None else mask & masks.padding(lengths, S)

    def _reach(self, side: str) -> int | None:
        reach: int = self.attributes.get(f"{side}_window_size", -1)
        return None if reach == -1 else reach

    @property
    def bias(self) -> Array | None:
        """Return what is added to the scores."""
        if self.written is None or self.written.dtype == bool:
            return None
        return self.written.astype(self.query.dtype)

    @property
    def scale(self) -> float | None:
        """Return β, or None for 1/√d_k."""
        return self.attributes.get("scale")

    @property
    def softcap(self) -> float | None:
        """Return c of c·tanh(x/c), or None; an ONNX node says 0 for none."""
        return self.attributes.get("softcap") or None

    def weights(self) -> Array:
        """Return p, (B, Hq, L, S)."""
        return attention_weights(
            self.query,
            self.key,
            mask=self.mask,
            bias=self.bias,
            scale=self.scale,
            softcap=self.softcap,
        )

    def output(self) -> Array:
        """Return y, (B, Hq, L, d_v)."""
        return attention(
            self.query,
            self.key,
            self.value,
            mask=self.mask,
            bias=self.bias,
            scale=self.scale,
            softcap=self.softcap,
        )

    def laid_out(self, y: Array) -> Array:
        """Return (B, H, L, d) in the layout of the query."""
        shape = self.inputs["Q"].shape
        return y if len(shape) == 4 else y.swapaxes(1, 2).reshape(*shape[:2], -1)

    def inspected(self) -> Array:
        """Return the scores after the product (0), the cap (1) or the mask (2), or weights (3)."""
        match self.attributes.get("qk_matmul_output_mode", 0):
            case 0:
                return scores(self.query, self.key, scale=self.scale)
            case 1:
                return scores(self.query, self.key, scale=self.scale, softcap=self.softcap)
            case 2:
                a = scores(
                    self.query, self.key, scale=self.scale, softcap=self.softcap, bias=self.bias
                )
                return np.where(self.mask, a, -np.inf).astype(a.dtype)
            case _:
                return self.weights()

    def outputs(self) -> dict[str, Array]:
        """Return everything that a node can put out, in the operator's order."""
        return {
            "Y": self.laid_out(self.output()),
            "present_key": self.key,
            "present_value": self.value,
            "qk_matmul_output": self.inspected(),
        }


def evaluate(node: onnx.NodeProto, inputs: Sequence[Array]) -> list[Array]:
    """Return the outputs that a node asks for."""
    outputs = Node.read(node, inputs).outputs().values()
    return [array for array, name in zip(outputs, node.output, strict=False) if name]


def widened(array: Array) -> Array:
    """Return bfloat16 as float32, which holds the same numbers, and the rest as it is."""
    return array.astype(np.float32) if array.dtype.name == "bfloat16" else array


def heads(array: Array, number: int | None) -> Array:
    """Return (B, L, H·d) as (B, H, L, d), and (B, H, L, d) as it is."""
    if array.ndim == 4:
        return array
    assert number is not None, "an array of 3 axes needs the number of its heads"
    return array.reshape(*array.shape[:2], number, -1).swapaxes(1, 2)


def each(found: Iterable[Mask]) -> Mask:
    """Return masks (L, S), one for all or one a sequence, as (B, 1, L, S)."""
    return np.stack(list(found))[:, np.newaxis]
