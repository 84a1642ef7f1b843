"""Attention of a sequence to itself with one head: the layer of the article on scaling."""

import torch
from torch import Tensor, nn

from attnref.torch._attention import attention, attention_weights
from attnref.torch.modules import _tokens


class SingleHeadAttention(nn.Module):
    """Let every token of a sequence take from all of them.

    q_t = W_Q x_t + b_Q,   k_s = W_K x_s + b_K,   v_s = W_V x_s + b_V,   β = 1/√d_k,
    y_t = Σ_s p_ts v_s,   p_ts = exp(β⟨q_t, k_s⟩) / Z_t

    The weights start as those of torch.nn.Linear do: uniform on (−1/√h, 1/√h), h = hidden_size.

    Arguments:
        hidden_size: h, numbers in a token, 1 or more.
        d_k: numbers in a query and in a key; hidden_size unless given.
        d_v: numbers in a value, and in an output; hidden_size unless given.
        bias: whether b_Q, b_K, b_V are there.
        device: where the weights are made; Torch's default device unless given.
        dtype: floating; Torch's default dtype unless given.

    Raises:
        TypeError: a size that is not an integer.
        ValueError: a size below 1.

    Source: the class of that name in the article on scaling.

    >>> layer = SingleHeadAttention()
    >>> sum(weight.numel() for weight in layer.parameters())
    1771776
    >>> output, weights = layer(torch.randn(1, 9, 768))
    >>> output.shape, weights.shape
    (torch.Size([1, 9, 768]), torch.Size([1, 9, 9]))
    """

    def __init__(
        self,
        hidden_size: int = 768,
        d_k: int | None = None,
        d_v: int | None = None,
        *,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.hidden_size = hidden_size
        self.d_k = hidden_size if d_k is None else d_k
        self.d_v = hidden_size if d_v is None else d_v
        _tokens.positive(hidden_size=hidden_size, d_k=self.d_k, d_v=self.d_v)
        self.W_Q = nn.Linear(hidden_size, self.d_k, bias, device, dtype)
        self.W_K = nn.Linear(hidden_size, self.d_k, bias, device, dtype)
        self.W_V = nn.Linear(hidden_size, self.d_v, bias, device, dtype)

    def forward(self, x: Tensor, *, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return the outputs and the weights.

        Arguments:
            x: tokens, (…, L, hidden_size), of the weights' dtype; under autocast of any that it
                casts.
            mask: True where token t may attend to token s; broadcasts to (…, L, L).

        Returns:
            y, (…, L, d_v), and p, (…, L, L), of the weights' dtype, or of the one that autocast
            chooses.

        Raises:
            TypeError: tokens of another kind or dtype, a mask that is not boolean.
            ValueError: a shape or device that does not fit.

        >>> layer = SingleHeadAttention(3)
        >>> _, weights = layer(torch.ones(2, 3), mask=torch.eye(2, dtype=torch.bool))
        >>> weights.tolist()
        [[1.0, 0.0], [0.0, 1.0]]
        """
        _tokens.tokens(self.W_Q.weight, "hidden_size", x=x)
        _tokens.mask(mask, self.W_Q.weight, (*x.shape[:-1], x.shape[-2]), "(…, L, L)")
        query, key, value = self.W_Q(x), self.W_K(x), self.W_V(x)
        weights = attention_weights(query, key, mask=mask)
        return attention(query, key, value, mask=mask), weights

    def extra_repr(self) -> str:
        """Return the sizes, for repr."""
        return f"hidden_size={self.hidden_size}, d_k={self.d_k}, d_v={self.d_v}"
