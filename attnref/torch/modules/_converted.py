"""The weights of Torch's own layer, under the names they have here."""

from torch import Tensor, nn


def weights_of_torch(module: nn.MultiheadAttention) -> dict[str, Tensor]:
    """Return copies of the weights and biases, of its projections in and of its one out."""
    _require_convertible(module)
    found = {f"W_{name}.weight": weight for name, weight in _projections(module).items()}
    if module.in_proj_bias is not None:
        biases = (*module.in_proj_bias.chunk(3), module.out_proj.bias)
        found |= {f"W_{name}.bias": bias for name, bias in zip("QKVO", biases, strict=True)}
    return {name: tensor.detach().clone() for name, tensor in found.items()}


def _require_convertible(module: nn.MultiheadAttention) -> None:
    if not isinstance(module, nn.MultiheadAttention):
        kind = type(module)
        raise TypeError(
            "module must be a torch.nn.MultiheadAttention, "
            f"not {kind.__module__}.{kind.__qualname__}"
        )
    if module.bias_k is not None or module.bias_v is not None:
        raise ValueError(
            "module must not have a key and a value of its own (add_bias_kv=True), "
            "for which there is no place in MultiHeadAttention"
        )


def _projections(module: nn.MultiheadAttention) -> dict[str, Tensor]:
    """Return the weights by name; Torch packs those of q, k, v where all tokens have one depth."""
    if module.in_proj_weight is None:
        three = (module.q_proj_weight, module.k_proj_weight, module.v_proj_weight)
    else:
        three = module.in_proj_weight.chunk(3)
    return dict(zip("QKVO", (*three, module.out_proj.weight), strict=True))
