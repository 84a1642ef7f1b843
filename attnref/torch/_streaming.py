"""Attention in blocks in Torch: linear memory forward and backward.

    m' = max(m, max_s a_ts),   share = exp(m − m'),
    z' = share z + Σ_s exp(a_ts − m'),   n' = share n + Σ_s exp(a_ts − m') v_s

No more of the scores is there at a time than one block of each head; the backward pass computes
them again.
"""

from typing import Any

import torch
from torch import Tensor

from attnref._rules import Rule
from attnref.torch import _blocks, _saving
from attnref.torch._backward import gradients
from attnref.torch._blocks import Call
from attnref.torch._forward import average, state


def streaming_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    block_size: int | None = None,
    mask: Tensor | Rule | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    sink: Tensor | float | None = None,
) -> Tensor:
    """Average the values, each by its weight, with one block of the scores at a time.

    y_t = n_t / z_t,   z_t = Σ_s exp(a_ts − m_t),   n_t = Σ_s exp(a_ts − m_t) v_s

    What `attention` does, in memory that does not grow with L·S, forward and backward, so that long
    sequences train. The work is done in the dtype of the query, in float32 for 16 bits, and errors
    stay within `attnref.testing.error_bound` for that dtype, as long as no βq_t, score or n
    overflows or vanishes. It is differentiable once, backward; autocast does not reach it.

    Arguments:
        query: q, (…, L, d_k), floating.
        key: k, (…, S, d_k), of the query's dtype; leading axes broadcast, and heads (axis −3) may
            be fewer: Hq/Hkv query heads in a row share one, and so for the value.
        value: v, (…, S, d_v), of the query's dtype.
        block_size: number of keys of a block, 1 or more; 512 unless given.
        mask: True where query t may attend to key s, broadcasts to (…, L, S); or a `masks.Rule`.
        bias: added to the scores, of the query's dtype; broadcasts to (…, L, S); −∞ masks.
        scale: β, any finite number; 1/√d_k unless given.
        softcap: c, positive and finite: c·tanh(a_ts/c) before the bias.
        sink: the score of one more key, without a value: a number, or a tensor of the query's dtype
            that broadcasts to the rows (…, L).

    Returns:
        y, (…, L, d_v), of the query's dtype.

    Raises:
        TypeError: a tensor of another kind or dtype, or a number that is none.
        ValueError: shapes or devices that do not fit, or a number outside its range.

    Source: derivations ONLN and MBLK, `python -m attnref show ONLN`.

    >>> query, key = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0], [0.0, -1.0]])
    >>> streaming_attention(query, key, torch.tensor([[10.0], [30.0]]), block_size=1)
    tensor([[20.]])
    """
    call = _blocks.checked(query, key, value, mask, bias, scale, softcap, sink, block_size)
    output: Tensor = _Streamed.apply(call, *call.arrays())  # type: ignore[no-untyped-call]  # Torch leaves it untyped
    return output


class _Streamed(torch.autograd.Function):
    """The output; backward computes the scores again, a block at a time."""

    @staticmethod
    def forward(ctx: Any, call: Call, *arrays: Tensor | None) -> Tensor:
        m, z, n = state(call)
        _saving.keep(ctx, call, (m, z, n))
        return average(n, z).to(call.query.dtype)

    @staticmethod
    @_saving.once
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:
        call, known = _saving.kept(ctx)
        found = gradients(call, known, g, names=_saving.wanted(ctx))
        return None, *_saving.as_given(call, found)
