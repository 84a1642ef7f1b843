"""Who takes part in the measurements: each gives a function to call, or None where it can't."""

import math
import os
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import scaled_dot_product_attention

import attnref
import attnref.torch

Arrays = list[NDArray[np.floating]]
Call = Callable[[], object]
WHOLE = 2048  # the longest of which all scores are held at once


class Case(NamedTuple):
    """One thing to measure, at one size."""

    kind: str
    L: int
    S: int
    heads: int
    dtype: str
    causal: bool

    def arrays(self) -> Arrays:
        """Return query, key, value and the gradient of the output, of standard normal numbers."""
        rng = np.random.default_rng([self.L, self.S, self.heads])
        lengths = self.L, self.S, self.S, self.L
        return [rng.standard_normal((self.heads, n, 64)).astype(self.dtype) for n in lengths]


def blocks(case: Case, arrays: Arrays) -> Call | None:
    """attnref, NumPy."""
    q, k, v, g = arrays
    mask = attnref.masks.Rule.causal(case.L, case.S) if case.causal else None
    if case.kind == "forward":
        return lambda: attnref.streaming_attention(q, k, v, mask=mask)
    if case.kind == "both":
        return lambda: attnref.attention_gradients(q, k, v, g, mask=mask)
    if case.L > WHOLE:
        return None
    whole = attnref.masks.causal(case.L, case.S) if case.causal else None
    state = attnref.partial_attention(q, k, v, mask=whole)
    return lambda: attnref.attention_gradients(q, k, v, g, mask=mask, state=state)


def torch_blocks(case: Case, arrays: Arrays) -> Call | None:
    """attnref, Torch."""
    mask = attnref.masks.Rule.causal(case.L, case.S) if case.causal else None
    return _in_torch(case, arrays, partial(attnref.torch.streaming_attention, mask=mask))


def torch_fused(case: Case, arrays: Arrays) -> Call | None:
    """Torch SDPA."""

    def attend(*tensors: torch.Tensor) -> torch.Tensor:
        q, k, v = (tensor.unsqueeze(0) for tensor in tensors)
        return scaled_dot_product_attention(q, k, v, is_causal=case.causal)[0]

    return _in_torch(case, arrays, attend)


def torch_eager(case: Case, arrays: Arrays) -> Call | None:
    """Torch, eager."""
    if max(case.L, case.S) > WHOLE and case.L > 1:
        return None
    hidden = torch.ones(case.L, case.S, dtype=torch.bool).triu(1) if case.causal else None

    def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        a = q @ k.mT / math.sqrt(q.shape[-1])
        if hidden is not None:
            a = a.masked_fill(hidden, -torch.inf)
        return torch.softmax(a, dim=-1) @ v

    return _in_torch(case, arrays, attend)


def numpy_whole(case: Case, arrays: Arrays) -> Call | None:
    """NumPy, whole scores."""
    if case.kind != "forward" or (max(case.L, case.S) > WHOLE and case.L > 1):
        return None
    q, k, v, _ = arrays
    hidden = np.triu(np.ones((case.L, case.S), bool), 1) if case.causal else None

    def attend() -> object:
        a = q @ k.mT / math.sqrt(q.shape[-1])
        if hidden is not None:
            a = np.where(hidden, -np.inf, a)
        e = np.exp(a - a.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True) @ v

    return attend


def jax_attention(case: Case, arrays: Arrays) -> Call | None:
    """JAX."""
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")  # one thread
    try:
        import jax
    except ModuleNotFoundError:
        return None
    if case.kind != "forward" or case.dtype != "float32" or (case.L > WHOLE):
        return None
    q, k, v = (jax.numpy.asarray(x.swapaxes(0, 1)[np.newaxis]) for x in arrays[:3])
    attend = jax.jit(jax.nn.dot_product_attention, static_argnames="is_causal")
    return lambda: attend(q, k, v, is_causal=case.causal).block_until_ready()


def onnx_runtime(case: Case, arrays: Arrays) -> Call | None:
    """ONNX Runtime."""
    try:
        import onnxruntime
    except ModuleNotFoundError:
        return None
    if case.kind != "forward" or case.dtype != "float32":
        return None
    from onnx import TensorProto, helper

    names = ["q", "k", "v"]
    node = helper.make_node("Attention", names, ["y"], is_causal=int(case.causal))
    inputs, (output,) = (
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in some]
        for some in (names, ["y"])
    )
    graph = helper.make_graph([node], "attention", inputs, [output])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    fed = {name: x[np.newaxis] for name, x in zip(names, arrays, strict=False)}
    return lambda: session.run(None, fed)


def _in_torch(case: Case, arrays: Arrays, attend: Callable[..., torch.Tensor]) -> Call:
    """Return the forward pass, the backward pass of one that has been, or both."""
    wanted = case.kind != "forward"
    tensors = [torch.tensor(x, requires_grad=wanted) for x in arrays[:3]]
    gradient = torch.tensor(arrays[3])
    if case.kind == "forward":
        return lambda: attend(*tensors)
    if case.kind == "both":
        return lambda: torch.autograd.grad(attend(*tensors), tensors, gradient)
    output = attend(*tensors)
    return lambda: torch.autograd.grad(output, tensors, gradient, retain_graph=True)


CONTENDERS: list[Callable[[Case, Arrays], Call | None]] = [
    blocks,
    torch_blocks,
    torch_fused,
    torch_eager,
    numpy_whole,
    onnx_runtime,
    jax_attention,
]
