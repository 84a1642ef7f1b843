"""attnref: the reference on scaled dot-product attention.

The letters, everywhere in this package:

    t = 1…L  queries, rows of the scores          q_t, k_s ∈ ℝ^{d_k}  query, key
    s = 1…S  keys, columns of the scores          v_s ∈ ℝ^{d_v}       value
    a_ts = β⟨q_t, k_s⟩, β = 1/√d_k                score, scale        (scores, scale)
    c tanh(a_ts/c), + b_ts                        cap, bias           (softcap, bias)
    Z_t = Σ_s exp(a_ts) (+ exp(sink_t))           normaliser          (z with m, log_partition)
    p_ts = exp(a_ts)/Z_t                          weight              (weights)
    y_t = Σ_s p_ts v_s                            output              (output)

This is the NumPy side. `attnref.torch` has the same names in Torch, `attnref.derivations` the
proofs.
"""

from attnref import masks
from attnref._attention import attention, attention_weights, scores
from attnref._drop_in import scaled_dot_product_attention
from attnref._expanded import expanded_attention
from attnref._gradients import Gradients, attention_gradients
from attnref._partial import Partial, merge, partial_attention
from attnref._softmax import log_partition, softmax
from attnref._streaming import streaming_attention
from attnref.inspection import make_array, print_matrix_info, show

__all__ = [
    "Gradients",
    "Partial",
    "attention",
    "attention_gradients",
    "attention_weights",
    "expanded_attention",
    "log_partition",
    "make_array",
    "masks",
    "merge",
    "partial_attention",
    "print_matrix_info",
    "scaled_dot_product_attention",
    "scores",
    "show",
    "softmax",
    "streaming_attention",
]
__version__ = "0.2.0"
__date__ = "2026-11-30"
