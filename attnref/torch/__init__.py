"""The Torch side of attnref: the same names, parameters, order and defaults, differentiable.

It shares with the NumPy side the rules of entry and nothing else, so that each can witness against
the other. Inside, everything is float64 and is rounded once, to the dtype of the query; gradients
of 16 bits are rounded as Torch converts them, in two steps. Derivatives are taken backward, any
number of times; forward mode (torch.func.jvp) works where all operands are finite. What works in
blocks, `streaming_attention` and `distributed`, does so in the dtype of the query, and has a first
derivative only.

>>> import torch
>>> query = torch.tensor([[1.0, 0.0]], requires_grad=True)
>>> key = value = torch.tensor([[1.0, 0.0], [-1.0, 0.0]])
>>> attention(query, key, value, scale=0.0).sum().backward()
>>> query.grad
tensor([[0., 0.]])
"""

try:
    from attnref.torch import masks
    from attnref.torch._attention import (
        attention,
        attention_weights,
        scores,
    )
    from attnref.torch._drop_in import scaled_dot_product_attention
    from attnref.torch._expanded import expanded_attention
    from attnref.torch._gradients import Gradients, attention_gradients
    from attnref.torch._partial import Partial, merge, partial_attention
    from attnref.torch._softmax import log_partition, softmax
    from attnref.torch._streaming import streaming_attention
    from attnref.torch.inspection import make_tensor
    from attnref.torch.modules import KeyValueCache, MultiHeadAttention, SingleHeadAttention
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    raise ImportError(
        'attnref.torch needs PyTorch, which is not installed: pip install "attnref[torch]"',
        name="torch",
    ) from None

__all__ = [
    "Gradients",
    "KeyValueCache",
    "MultiHeadAttention",
    "Partial",
    "SingleHeadAttention",
    "attention",
    "attention_gradients",
    "attention_weights",
    "expanded_attention",
    "log_partition",
    "make_tensor",
    "masks",
    "merge",
    "partial_attention",
    "scaled_dot_product_attention",
    "scores",
    "softmax",
    "streaming_attention",
]
