"""Torch's own function of that name, exact: its arguments, their order and their conventions."""

import torch
from torch import Tensor

from attnref import _checks, _shapes
from attnref.torch import _attention, _entry, _softmax, masks
from attnref.torch._rounding import rounded


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Attend as torch.nn.functional.scaled_dot_product_attention does, to stand in its place.

    y_t = Σ_s p_ts v_s,   p = softmax(β⟨q_t, k_s⟩ + b_ts)

    It differs on purpose. A NaN query gives a row of NaN (Torch's kernel for CPUs gives 0). What a
    masked key or value holds, NaN included, reaches no output and no gradient. Keys and values of
    different number are an error, and so is d_k = 0 without a scale. Errors are TypeError and
    ValueError.

    Arguments:
        query: q, (…, L, d_k), floating.
        key: k, (…, S, d_k), of the query's dtype; leading axes broadcast.
        value: v, (…, S, d_v), of the query's dtype.
        attn_mask: boolean, True where query t may attend to key s; or floating, of the query's
            dtype or float32, and added to the scores. Broadcasts to (…, L, S).
        dropout_p: the chance that a weight is dropped, 0 to 1; the others are divided by 1 − p. It
            is applied whenever it is above 0: pass 0 where you don't train.
        is_causal: whether query i sees keys j ≤ i only, upper left also where L ≠ S.
        scale: β, any finite number; 1/√d_k unless given.
        enable_gqa: whether key and value may have fewer heads (axis −3), each for Hq/Hkv query
            heads in a row.
        generator: the source of the random numbers of dropout; Torch's own unless given.

    Returns:
        y, (…, L, d_v), of the query's dtype.

    Raises:
        TypeError: a tensor, a number or a flag of another kind or dtype.
        ValueError: shapes or devices that do not fit, dropout_p outside 0 to 1, a scale that is not
            finite, attn_mask and is_causal together.

    Source: the documentation of torch.nn.functional.scaled_dot_product_attention, Torch 2.13.

    >>> query, key = torch.tensor([[1.0], [1.0]]), torch.tensor([[0.0], [0.0]])
    >>> scaled_dot_product_attention(query, key, torch.tensor([[10.0], [30.0]]), is_causal=True)
    tensor([[10.],
            [20.]])
    """
    _entry.tensors(None, query=query, key=key, value=value)
    _checks.flags(is_causal=is_causal, enable_gqa=enable_gqa)
    if not enable_gqa:
        _shapes.leading(query=query, key=key, value=value)
    shape = _shapes.attention_shape(query, key, value)
    chance, source = _checks.probability("dropout_p", dropout_p), _entry.source(generator)
    mask, bias = _mask_and_bias(attn_mask, is_causal, query, shape)
    a = _attention.scored(query, key, scale, None, bias).expand(shape)
    allowed = _softmax.allowed(a, mask)
    p = _thinned(_softmax.weights(a, allowed, None), chance, source)
    each = _attention.for_each_head(query, value)
    return rounded(_attention.averaged(p, each, allowed), query.dtype)


def _mask_and_bias(
    attn_mask: Tensor | None, is_causal: bool, query: Tensor, shape: _checks.Shape
) -> tuple[Tensor | None, Tensor | None]:
    """Tell the two kinds of attn_mask apart, by dtype alone."""
    if attn_mask is None and is_causal:
        return masks.causal(*shape[-2:], align="upper-left", device=query.device), None
    if attn_mask is None:
        return None, None
    _checks.attn_mask(Tensor, attn_mask, query, is_causal)
    _entry.one_device(query=query, attn_mask=attn_mask)
    _shapes.fits("attn_mask", attn_mask, shape, "scores (…, L, S)")
    return (attn_mask, None) if attn_mask.dtype == torch.bool else (None, attn_mask)


def _thinned(weights: Tensor, chance: float, source: torch.Generator | None) -> Tensor:
    """Drop each weight with the chance p, and divide the others by 1 − p: the mean stays."""
    if chance == 0:
        return weights
    place = weights.device if source is None else source.device
    # As Torch's own composed form draws it: from one seed both drop the same weights.
    kept = torch.empty_like(weights, device=place, requires_grad=False)
    thinned = weights * kept.bernoulli_(1 - chance, generator=source).to(weights.device)
    return thinned / (1 - chance) if chance < 1 else thinned
