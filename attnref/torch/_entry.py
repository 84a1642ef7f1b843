"""What may enter the Torch side: the shared rules, and one that only Torch needs, one device."""

from torch import Tensor

from attnref import _checks


def tensors(mask: Tensor | None, **floats: Tensor) -> None:
    """Require floating tensors of one dtype and a boolean mask, all on one device."""
    _checks.floating(Tensor, **floats)
    if mask is not None:
        _checks.boolean(Tensor, mask)
    _one_device(**floats, **({} if mask is None else {"mask": mask}))


def rows(scores: Tensor, mask: Tensor | None) -> None:
    """Require scores with an axis to normalise along, and a mask that fits them."""
    tensors(mask, scores=scores)
    _checks.rows(scores=scores)
    mask_fits(mask, scores.shape)


def mask_fits(mask: Tensor | None, scores_shape: tuple[int, ...]) -> None:
    """Require a mask, where there is one, that broadcasts to the scores."""
    if mask is not None:
        _checks.mask_shape(mask, tuple(scores_shape))


def _one_device(**given: Tensor) -> None:
    devices = {name: str(tensor.device) for name, tensor in given.items()}
    if len(set(devices.values())) > 1:
        found = ", ".join(f"{name} {device}" for name, device in devices.items())
        raise ValueError(f"{', '.join(given)} must share one device: {found}")
