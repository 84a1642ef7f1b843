"""What may enter the NumPy side: the shared rules, asked of NumPy arrays."""

import numpy as np

from attnref import _checks
from attnref._typing import Floats, Mask


def arrays(**given: Floats) -> None:
    """Require NumPy arrays of one floating dtype."""
    _checks.floating(np.ndarray, **given)


def mask_fits(mask: Mask | None, scores_shape: tuple[int, ...]) -> None:
    """Require a mask, where there is one, that is boolean and broadcasts to the scores."""
    if mask is not None:
        _checks.boolean(np.ndarray, mask)
        _checks.mask_shape(mask, scores_shape)


def rows(scores: Floats, mask: Mask | None) -> None:
    """Require scores with a last axis to normalise along, and a mask that fits them."""
    arrays(scores=scores)
    _checks.rows(scores=scores)
    mask_fits(mask, scores.shape)
