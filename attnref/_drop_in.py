"""The same attention under the name, the order and the conventions of Torch's own function."""

import numpy as np

from attnref import _checks, _entry, _shapes, masks
from attnref._attention import for_heads_of, weigh, weighted_sum
from attnref._softmax import decided
from attnref._typing import Floats, Mask


@decided
def scaled_dot_product_attention(
    query: Floats,
    key: Floats,
    value: Floats,
    attn_mask: Mask | Floats | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
    rng: np.random.Generator | None = None,
) -> Floats:
    """Attend as torch.nn.functional.scaled_dot_product_attention does, to put in its place.

    y_t = Σ_s p_ts v_s,   p = softmax(β⟨q_t, k_s⟩ + b_ts)

    Where attnref differs from Torch it does so on purpose: a query that is NaN gives NaN (Torch's
    kernel for the CPU gives 0), NaN and ∞ in a masked key or value reach nothing, a key and a value
    of different lengths are an error, and so are d_k = 0 without a scale and every unfitting
    argument, by name.

    Arguments:
        query: q, (…, L, d_k), floating.
        key: k, (…, S, d_k), of the query's dtype; leading axes broadcast.
        value: v, (…, S, d_v), of the query's dtype.
        attn_mask: boolean, True where query t may attend to key s; or floating, of the query's
            dtype or float32, and added to the scores; broadcasts to (…, L, S).
        dropout_p: the chance that a weight is dropped, 0 to 1; the others are divided by 1 − p.
            Nothing here knows whether you train: give 0 where you don't.
        is_causal: whether query i sees keys j ≤ i only, aligned upper left also where L ≠ S.
        scale: β, any finite number; 1/√d_k unless given.
        enable_gqa: whether query head h may read head h // (Hq/Hkv) of key and value.
        rng: the source of chance for dropout; unless given, a new one that nobody can repeat.

    Returns:
        y, (…, L, d_v), of the query's dtype.

    Raises:
        TypeError: an array, a mask or a number of another kind or dtype.
        ValueError: shapes that do not fit, a number outside its range, or attn_mask and is_causal
            together.

    Source: torch.nn.functional.scaled_dot_product_attention, documentation of Torch 2.13.

    >>> query, key = np.array([[1.0], [1.0]]), np.array([[0.0], [0.0]])
    >>> scaled_dot_product_attention(query, key, np.array([[10.0], [30.0]]), is_causal=True)
    array([[10.],
           [20.]])
    """
    _entry.arrays(query=query, key=key, value=value)
    _checks.flags(is_causal=is_causal, enable_gqa=enable_gqa)
    shape = _shapes.attention_shape(query, key, value)
    if not enable_gqa:
        _shapes.leading(query=query, key=key, value=value)
    mask, bias = _mask_or_bias(attn_mask, is_causal, query, shape)
    chance, source = _checks.probability("dropout_p", dropout_p), _entry.source(rng)
    weights, here = weigh(query, key, shape, mask, bias, scale)
    if chance > 0:
        weights = weights * _kept(weights.shape, chance, source)
    return weighted_sum(weights, for_heads_of(query, value), here).astype(query.dtype)


def _mask_or_bias(
    attn_mask: Mask | Floats | None, is_causal: bool, query: Floats, shape: tuple[int, ...]
) -> tuple[Mask | None, Floats | None]:
    if attn_mask is None:
        *_, L, S = shape
        return masks.causal(L, S, align="upper-left") if is_causal else None, None
    _checks.attn_mask(np.ndarray, attn_mask, query, is_causal)
    _shapes.fits("attn_mask", attn_mask, shape, "scores (…, L, S)")
    if attn_mask.dtype == bool:
        return attn_mask.astype(bool), None
    return None, attn_mask.astype(np.float64)


def _kept(shape: tuple[int, ...], chance: float, source: np.random.Generator) -> Floats:
    """Return 1/(1 − p) for a weight that is kept, and 0 for one that is dropped."""
    kept = source.random(shape) >= chance
    return np.divide(1, 1 - chance, out=np.zeros(shape), where=kept)
