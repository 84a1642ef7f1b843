"""What may enter the Torch side: the shared rules, and one that only Torch needs, one device."""

import torch
from torch import Tensor

from attnref import _checks, _shapes


def tensors(
    mask: Tensor | None, sink: Tensor | float | None = None, **floats: Tensor | None
) -> None:
    """Require floating tensors of one dtype and a boolean mask, all on one device.

    A sink may be a number instead. What is None is not given.
    """
    given = {name: tensor for name, tensor in floats.items() if tensor is not None}
    if sink is not None:
        _checks.number_or_array(Tensor, "sink", sink)
    if isinstance(sink, Tensor):
        given["sink"] = sink
    _checks.floating(Tensor, **given)
    if mask is not None:
        _checks.boolean(Tensor, mask)
        given["mask"] = mask
    one_device(**given)


def rows(scores: Tensor, mask: Tensor | None, sink: Tensor | float | None) -> None:
    """Require scores with an axis to normalise along, and a mask and a sink that fit them."""
    tensors(mask, sink, scores=scores)
    _shapes.rows(scores=scores)
    fit(scores.shape, mask=mask, sink=sink)


def fit(
    scores_shape: tuple[int, ...],
    *,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    sink: Tensor | float | None = None,
) -> None:
    """Require what is given to broadcast to the scores, a sink to their rows."""
    for name, tensor in {"mask": mask, "bias": bias}.items():
        if tensor is not None:
            _shapes.fits(name, tensor, tuple(scores_shape), "scores (…, L, S)")
    if isinstance(sink, Tensor):
        _shapes.fits("sink", sink, tuple(scores_shape[:-1]), "rows (…, L)")


def gradients(
    query: Tensor, outputs: tuple[int, ...], *, grad_output: Tensor, grad_log_z: Tensor | None
) -> None:
    """Require gradients of the query's dtype that broadcast to the output and its rows."""
    tensors(None, query=query, grad_output=grad_output)
    _shapes.fits("grad_output", grad_output, outputs, "output (…, L, d_v)")
    if grad_log_z is not None:
        tensors(None, query=query, grad_log_z=grad_log_z)
        _shapes.fits("grad_log_z", grad_log_z, outputs[:-1], "rows (…, L)")


def tensor_of(sink: Tensor | float, like: Tensor) -> Tensor:
    """Return a sink in float64, a number as a tensor without axes."""
    if isinstance(sink, Tensor):
        return sink.double()
    number = _checks.real("sink", sink)
    return like.new_full((), number, dtype=torch.float64)


def one_device(**given: Tensor) -> None:
    """Require tensors that are all in one place."""
    devices = {name: str(tensor.device) for name, tensor in given.items()}
    if len(set(devices.values())) > 1:
        found = ", ".join(f"{name} {device}" for name, device in devices.items())
        raise ValueError(f"{', '.join(given)} must share one device: {found}")


def floating_dtype(dtype: torch.dtype | None) -> torch.dtype:
    """Return a floating dtype, Torch's default unless one is given."""
    if dtype is None:
        return torch.get_default_dtype()
    if not isinstance(dtype, torch.dtype):
        raise TypeError(f"dtype must be a torch.dtype or None, not {type(dtype).__name__}")
    name = str(dtype).removeprefix("torch.")
    if name not in _checks.FLOATS:
        raise TypeError(f"dtype must be floating {_checks.FLOATS}, not {name}")
    return dtype


def source(generator: torch.Generator | None) -> torch.Generator | None:
    """Require a source of random numbers, or None for Torch's own."""
    if generator is not None and not isinstance(generator, torch.Generator):
        found = type(generator).__name__
        raise TypeError(f"generator must be a torch.Generator or None, not {found}")
    return generator
