"""The gradients of attention in Torch, without autograd: what `attention_gradients` returns."""

from typing import NamedTuple

import torch
from torch import Tensor

from attnref import _shapes
from attnref._rules import Rule
from attnref.torch import _backward, _blocks, _entry
from attnref.torch._forward import State
from attnref.torch._forward import state as state_of
from attnref.torch._partial import Partial


class Gradients(NamedTuple):
    """The gradients of what went in, each of its shape and dtype.

    Those of bias and sink are None where none was given; that of a bias is 0 where it masks, and
    where a mask does.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    bias: Tensor | None = None
    sink: Tensor | None = None


@torch.no_grad()
def attention_gradients(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    grad_output: Tensor,
    *,
    block_size: int | None = None,
    mask: Tensor | Rule | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    sink: Tensor | float | None = None,
    grad_log_z: Tensor | None = None,
    state: Partial | None = None,
) -> Gradients:
    """Return the gradients of a loss by what attention takes, from those by what it gives.

    da_ts = p_ts (⟨g_t, v_s⟩ − ⟨g_t, y_t⟩ + γ_t),   dv_s = Σ_t p_ts g_t,
    dq_t = β Σ_s da_ts k_s,   dk_s = β Σ_t da_ts q_t

    It is the backward pass of `streaming_attention`, and no part of a graph itself. A masked key
    takes no gradient, an empty row gives none, and a gradient of 0 asks for nothing, whatever NaN
    it would meet. Memory grows with L and S, not with L·S.

    Arguments:
        query: q, (…, L, d_k), floating.
        key: k, (…, S, d_k), of the query's dtype; leading axes broadcast, and heads (axis −3) may
            be fewer: Hq/Hkv query heads in a row share one, and so for the value.
        value: v, (…, S, d_v), of the query's dtype.
        grad_output: g = ∂ℓ/∂y, (…, L, d_v), of the query's dtype; broadcasts.
        block_size: number of keys of a block, 1 or more; 512 unless given.
        mask: True where query t may attend to key s, broadcasts to (…, L, S); or a `masks.Rule`.
        bias: added to the scores, of the query's dtype; broadcasts to (…, L, S); −∞ masks.
        scale: β, any finite number; 1/√d_k unless given.
        softcap: c, positive and finite: c·tanh(a_ts/c) before the bias.
        sink: the score of one more key, without a value: a number, or a tensor of the query's dtype
            that broadcasts to the rows (…, L).
        grad_log_z: γ = ∂ℓ/∂log Z, (…, L), of the query's dtype; broadcasts; None for 0.
        state: that of all keys, sink included, if it is known, or if key and value are only some of
            the keys: then the gradients are those of these, and dq is their part of a sum.

    Returns:
        The gradients of query, key, value, bias and sink, the last two None if not given.

    Raises:
        TypeError: a tensor of another kind or dtype, or a number that is none.
        ValueError: shapes or devices that do not fit, or a number outside its range.

    Source: derivations BWDV, BWDS, BWDQ, BWDK and LZGR, `python -m attnref show BWDS`.

    >>> query, key = torch.zeros(1, 1), torch.tensor([[1.0], [-1.0]])
    >>> attention_gradients(query, key, torch.tensor([[2.0], [6.0]]), torch.ones(1, 1)).query
    tensor([[-2.]])
    """
    call = _blocks.checked(query, key, value, mask, bias, scale, softcap, sink, block_size)
    outputs = (*call.shape[:-1], value.shape[-1])
    _entry.gradients(query, outputs, grad_output=grad_output, grad_log_z=grad_log_z)
    _shapes.state_fits(Partial, state, outputs)
    if state is not None:
        _entry.one_device(query=query, state=state.n)
    known = state_of(call) if state is None else _known(state, call.work)
    gamma = query.new_zeros(()) if grad_log_z is None else grad_log_z
    asked = grad_output.expand(outputs), gamma.expand(outputs[:-1])
    found = _backward.gradients(call, known, *asked)
    return Gradients(**{name: x.to(query.dtype) for name, x in found.items()})


def _known(state: Partial, work: torch.dtype) -> State:
    """Return a state that was given; where its m is rounded, z and n make up for it."""
    none, m = state.z == 0, state.m.double()
    rounded = (m + state.z.double().log()).masked_fill(none, 0.0).to(work)
    share = (m - rounded.double()).exp().masked_fill(none, 0.0)
    return rounded, (share * state.z).to(work), (share.unsqueeze(-1) * state.n).to(work)
