"""Attention as layers with weights of their own: one head, several heads, and their memory.

The layers project tokens, then call attention() and attention_weights(). Masks are as there:
boolean, True where a query may attend. What a masked token holds reaches no output but its own, NaN
included; the gradients of the weights are those of torch.nn.Linear, where 0·NaN = NaN.

>>> import torch
>>> layer = MultiHeadAttention(6, num_heads=3)
>>> output, weights = layer(torch.ones(2, 5, 6), causal=True)
>>> output.shape, weights.shape
(torch.Size([2, 5, 6]), torch.Size([2, 3, 5, 5]))
"""

from attnref.torch.modules._cache import KeyValueCache
from attnref.torch.modules._multi import MultiHeadAttention
from attnref.torch.modules._single import SingleHeadAttention

__all__ = ["KeyValueCache", "MultiHeadAttention", "SingleHeadAttention"]
