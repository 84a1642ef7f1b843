"""Attention with several heads, each with projections of its own, over other tokens or a cache."""

from typing import Self

import torch
from torch import Tensor, nn

from attnref import _checks
from attnref._checks import Shape
from attnref.torch._attention import attention, attention_weights
from attnref.torch.modules import _tokens
from attnref.torch.modules._cache import KeyValueCache
from attnref.torch.modules._converted import weights_of_torch


class MultiHeadAttention(nn.Module):
    """Attend with H heads side by side, and mix what they return.

    y_t = W_O (y_t1, …, y_tH) + b_O,   y_th = Σ_s p_ths v_sg,   p_ths = exp(β⟨q_th, k_sg⟩) / Z_th,
    g = h // (H / Hkv),   β = 1/√d,   d = embed_dim / H

    q_th are d of the numbers of W_Q x_t + b_Q, head by head; likewise k_sg, v_sg, of Hkv heads.
    The weights start as torch.nn.Linear has them: uniform on (−1/√n, 1/√n), n numbers going in.

    Arguments:
        embed_dim: numbers in a query token and in an output.
        num_heads: H, a divisor of embed_dim.
        num_kv_heads: Hkv, a divisor of H; H unless given. 1 is multi-query attention.
        kdim: numbers in a key token; embed_dim unless given.
        vdim: numbers in a value token; embed_dim unless given.
        bias: whether b_Q, b_K, b_V, b_O are there.
        sink: the score, in every head, of one more key that has no value; None for none.
        device: where the weights are made; Torch's default device unless given.
        dtype: floating; Torch's default dtype unless given.

    Raises:
        TypeError: a size that is not an integer, a sink that is no number.
        ValueError: a size below 1, heads that do not divide, a sink that is not finite.

    Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.2.2; for Hkv < H Ainslie et al. 2023,
    arXiv:2305.13245.

    >>> layer = MultiHeadAttention(12, num_heads=6, num_kv_heads=2)
    >>> output, weights = layer(torch.ones(5, 12), torch.ones(7, 12))
    >>> output.shape, weights.shape
    (torch.Size([5, 12]), torch.Size([6, 5, 7]))
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        num_kv_heads: int | None = None,
        *,
        kdim: int | None = None,
        vdim: int | None = None,
        bias: bool = True,
        sink: float | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self.sink = None if sink is None else _checks.finite("sink", sink, " or None")
        _tokens.positive(**self._sizes())
        _tokens.divides(num_heads=num_heads, embed_dim=embed_dim)
        _tokens.divides(num_kv_heads=self.num_kv_heads, num_heads=num_heads)
        self.head_dim = embed_dim // num_heads
        narrow = self.num_kv_heads * self.head_dim
        self.W_Q = nn.Linear(embed_dim, embed_dim, bias, device, dtype)
        self.W_K = nn.Linear(self.kdim, narrow, bias, device, dtype)
        self.W_V = nn.Linear(self.vdim, narrow, bias, device, dtype)
        self.W_O = nn.Linear(embed_dim, embed_dim, bias, device, dtype)

    @classmethod
    def from_torch(cls, module: nn.MultiheadAttention) -> Self:
        """Return the layer with a copy of the weights of Torch's own.

        Same tokens, same outputs and, head by head, same weights. What is otherwise: batch first,
        whatever batch_first says there; masks are True where a query may attend, there where it may
        not; dropout is not taken over; a query that may attend to nothing gets weights 0, there
        NaN. The zero key of add_zero_attn becomes a sink of score 0, which has no column in the
        weights. All weights take gradients.

        Arguments:
            module: a torch.nn.MultiheadAttention, without add_bias_kv.

        Returns:
            The layer, of the weights' dtype and device.

        Raises:
            TypeError: a module of another kind.
            ValueError: a module with a key and a value of its own (add_bias_kv).

        >>> theirs = nn.MultiheadAttention(6, 3, batch_first=True)
        >>> ours, x = MultiHeadAttention.from_torch(theirs), torch.ones(2, 5, 6)
        >>> torch.allclose(ours(x)[0], theirs(x, x, x)[0], atol=1e-6)
        True
        """
        weights = weights_of_torch(module)
        sizes = {name: getattr(module, name) for name in ("embed_dim", "num_heads", "kdim", "vdim")}
        sink = 0.0 if module.add_zero_attn else None
        # On meta no numbers are drawn, which the copies would only replace.
        layer = cls(**sizes, bias="W_Q.bias" in weights, sink=sink, device="meta")
        layer.load_state_dict(weights, assign=True)
        return layer.train(module.training)

    def forward(
        self,
        query: Tensor,
        key: Tensor | None = None,
        value: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        causal: bool = False,
        cache: KeyValueCache | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Return the outputs, and the weights of every head.

        With a cache, S counts the keys in it too, and they come first.

        Arguments:
            query: tokens, (…, L, embed_dim), of the weights' dtype; under autocast of any that it
                casts.
            key: tokens, (…, S, kdim); the query unless given. Leading axes broadcast.
            value: tokens, (…, S, vdim); the key unless given.
            mask: True where query t may attend to key s; broadcasts to (…, H, L, S). One for each
                sequence of a batch is (B, 1, L, S).
            causal: whether query t sees no new key beyond the t-th, and all of the cache. Queries
                and new keys are then the same places: as many of each.
            cache: what has been seen; the new keys and values are put behind it, unless there is
                an error.

        Returns:
            y, (…, L, embed_dim), and p, (…, H, L, S), of the weights' dtype, or of the one that
            autocast chooses.

        Raises:
            TypeError: an argument of another kind or dtype.
            ValueError: shapes or devices that do not fit, or causal where L ≠ S.

        >>> layer = MultiHeadAttention(6, num_heads=2)
        >>> _, weights = layer(torch.ones(3, 6), causal=True)
        >>> weights[0].detach().mul(6).round()
        tensor([[6., 0., 0.],
                [3., 3., 0.],
                [2., 2., 2.]])
        """
        key = query if key is None else key
        value = key if value is None else value
        shape = self._scores_shape(query, key, value, cache)
        mask = _tokens.allowed(mask, causal, shape, key.shape[-2], self.W_Q.weight)
        q, k, v = map(self._heads, (self.W_Q(query), self.W_K(key), self.W_V(value)))
        q = q.expand(*shape[:-2], *q.shape[-2:])
        k, v = (k, v) if cache is None else cache._followed_by(k, v)
        weights = attention_weights(q, k, mask=mask, sink=self.sink)
        y = attention(q, k, v, mask=mask, sink=self.sink)
        output: Tensor = self.W_O(y.transpose(-3, -2).flatten(-2))
        if cache is not None:
            cache._hold(k, v)
        return output, weights

    def extra_repr(self) -> str:
        """Return the sizes, for repr."""
        sink = {} if self.sink is None else {"sink": self.sink}
        return ", ".join(f"{name}={value}" for name, value in (self._sizes() | sink).items())

    def _sizes(self) -> dict[str, int]:
        names = ("embed_dim", "num_heads", "num_kv_heads", "kdim", "vdim")
        return {name: getattr(self, name) for name in names}

    def _scores_shape(
        self, query: Tensor, key: Tensor, value: Tensor, cache: KeyValueCache | None
    ) -> Shape:
        """Require tokens and a cache that fit, and return the shape of the scores."""
        _tokens.tokens(self.W_Q.weight, "embed_dim", query=query)
        _tokens.tokens(self.W_K.weight, "kdim", key=key)
        _tokens.tokens(self.W_V.weight, "vdim", value=value)
        front = _tokens.front(query, key, value)
        S = key.shape[-2] if cache is None else self._past(key, value, cache) + key.shape[-2]
        return (*front, self.num_heads, query.shape[-2], S)

    def _past(self, key: Tensor, value: Tensor, cache: KeyValueCache) -> int:
        """Require a cache that these tokens go on with, and return how many it holds."""
        if not isinstance(cache, KeyValueCache):
            raise TypeError(f"cache must be a KeyValueCache or None, not {type(cache).__name__}")
        keys, values = (
            (*x.shape[:-2], self.num_kv_heads, x.shape[-2], self.head_dim) for x in (key, value)
        )
        weight = self.W_K.weight
        dtype = _tokens.projected_dtype(weight)
        cache._require_fit(dtype, weight.device, key=keys, value=values)
        return cache.length

    def _heads(self, x: Tensor) -> Tensor:
        """Split (…, L, heads·d) into (…, heads, L, d)."""
        return torch.unflatten(x, -1, (-1, self.head_dim)).transpose(-3, -2)
