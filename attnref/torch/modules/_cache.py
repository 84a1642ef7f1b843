"""What a layer has seen, so that decoding projects every token once."""

import torch
from torch import Tensor

from attnref._checks import Shape


class KeyValueCache:
    """Hold the projected keys and values of the tokens that one layer has seen.

    A new cache is empty. MultiHeadAttention puts new keys and values behind those it finds, once
    nothing can go wrong any more, and attends over all. One cache serves one layer, and one batch.

    Tensors in a cache are never written to, only replaced. So copy.copy(cache) costs nothing and
    goes its own way from there: two continuations of one prompt share its keys. Gradients flow
    through what is held; decode under torch.no_grad() where none are wanted.

    Source: Shazeer 2019, arXiv:1911.02150.

    >>> from attnref.torch.modules import MultiHeadAttention
    >>> layer, cache = MultiHeadAttention(6, 3), KeyValueCache()
    >>> for token in torch.ones(5, 1, 6):
    ...     output, weights = layer(token, causal=True, cache=cache)
    >>> cache.length, cache.key.shape, weights.shape
    (5, torch.Size([3, 5, 2]), torch.Size([3, 1, 5]))
    """

    def __init__(self) -> None:
        self._held: tuple[Tensor, Tensor] | None = None

    @property
    def length(self) -> int:
        """How many keys are held, S."""
        return 0 if self._held is None else self._held[0].shape[-2]

    @property
    def key(self) -> Tensor | None:
        """The keys, (…, Hkv, S, d); None in a new cache."""
        return None if self._held is None else self._held[0]

    @property
    def value(self) -> Tensor | None:
        """The values, (…, Hkv, S, d); None in a new cache."""
        return None if self._held is None else self._held[1]

    def __repr__(self) -> str:
        """Say how much is held."""
        return f"KeyValueCache(length={self.length})"

    def _require_fit(self, dtype: torch.dtype, device: torch.device, **shapes: Shape) -> None:
        """Require what new keys and values will be to go behind those held."""
        if self._held is not None:
            for (name, shape), held in zip(shapes.items(), self._held, strict=True):
                _continues(name, shape, held)
                _same("dtype", name, dtype, held.dtype)
                _same("device", name, device, held.device)

    def _followed_by(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Return what is held with new keys and values behind it."""
        if self._held is None:
            return key, value
        return torch.cat([self._held[0], key], dim=-2), torch.cat([self._held[1], value], dim=-2)

    def _hold(self, key: Tensor, value: Tensor) -> None:
        self._held = key, value


def _continues(name: str, shape: Shape, held: Tensor) -> None:
    """Require one shape (…, Hkv, S, d) but for S."""
    if (*shape[:-2], shape[-1]) != (*held.shape[:-2], held.shape[-1]):
        raise ValueError(
            f"the cache must share all axes of the projected {name} (…, Hkv, S, d) but S: "
            f"cache {tuple(held.shape)}, {name} {shape}"
        )


def _same(rule: str, name: str, new: object, held: object) -> None:
    if new != held:
        kind = TypeError if rule == "dtype" else ValueError
        ours, theirs = (str(x).removeprefix("torch.") for x in (held, new))
        raise kind(
            f"the cache must share the {rule} of the projected {name}: "
            f"cache {ours}, {name} {theirs}"
        )
