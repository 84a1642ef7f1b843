"""What may enter the NumPy side: the shared rules, asked of NumPy arrays."""

import numpy as np

from attnref import _checks, _shapes
from attnref._typing import Floats, Mask, Sink


def arrays(*, bias: Floats | None = None, sink: Sink | None = None, **required: Floats) -> None:
    """Require NumPy arrays of one floating dtype; a sink may also be a number."""
    options: dict[str, Floats] = {} if bias is None else {"bias": bias}
    if isinstance(sink, np.ndarray):
        options["sink"] = sink
    elif sink is not None:
        _checks.number_or_array(np.ndarray, "sink", sink)
    _checks.floating(np.ndarray, **required, **options)
    for name, array in (required | options).items():
        if array.dtype.kind != "f":  # of another package: astype would round to it twice
            raise TypeError(f"{name} is {array.dtype}, in which NumPy can't compute: give float32")


def options_fit(
    scores_shape: tuple[int, ...],
    *,
    mask: Mask | None = None,
    bias: Floats | None = None,
    sink: Sink | None = None,
) -> None:
    """Require a boolean mask, and options that broadcast to the scores or to their rows."""
    if mask is not None:
        _checks.boolean(np.ndarray, mask)
        _shapes.fits("mask", mask, scores_shape, "scores (…, L, S)")
    if bias is not None:
        _shapes.fits("bias", bias, scores_shape, "scores (…, L, S)")
    if isinstance(sink, np.ndarray):
        _shapes.fits("sink", sink, scores_shape[:-1], "rows (…, L)")


def rows(scores: Floats, mask: Mask | None, sink: Sink | None) -> None:
    """Require scores with a last axis to normalise along, and options that fit them."""
    arrays(scores=scores, sink=sink)
    _shapes.rows(scores=scores)
    options_fit(scores.shape, mask=mask, sink=sink)


def gradients(
    query: Floats, outputs: tuple[int, ...], *, grad_output: Floats, grad_log_z: Floats | None
) -> None:
    """Require gradients of the query's dtype that broadcast to the output and its rows."""
    arrays(query=query, grad_output=grad_output)
    _shapes.fits("grad_output", grad_output, outputs, "output (…, L, d_v)")
    if grad_log_z is not None:
        arrays(query=query, grad_log_z=grad_log_z)
        _shapes.fits("grad_log_z", grad_log_z, outputs[:-1], "rows (…, L)")


def wide(array: Floats | float) -> Floats:
    """Return the same numbers in float64, in which all work is done."""
    numbers = array if isinstance(array, np.ndarray) else _checks.real("sink", array)
    return np.asarray(numbers, dtype=np.float64)


def source(rng: np.random.Generator | None) -> np.random.Generator:
    """Return the source of random numbers; unless given, a new one that nobody can repeat."""
    if rng is not None and not isinstance(rng, np.random.Generator):
        raise TypeError(f"rng must be a numpy.random.Generator or None, not {type(rng).__name__}")
    return rng or np.random.default_rng()
