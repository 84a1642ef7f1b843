"""A check that an output of attention is right, with what is wrong in its message."""

from typing import Any

import numpy as np

from attnref import _checks
from attnref._attention import attention
from attnref._entry import wide
from attnref._softmax import decided
from attnref._typing import Floats, Mask, Sink
from attnref.testing._bound import error_bound


@decided
def assert_close(
    actual: Floats,
    query: Floats,
    key: Floats,
    value: Floats,
    *,
    mask: Mask | None = None,
    bias: Floats | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    sink: Sink | None = None,
    working: str | None = None,
    result: str | None = None,
) -> None:
    """Require an output of attention to be right, in every place and within its bound.

    |actual − y| ≤ B + B₆₄

    y is what `attention` gives in float64, B the `error_bound` of the work that is judged, and B₆₄
    that of y itself. NaN and ∞ must stand where they stand in y. Tensors come as
    x.numpy(force=True); bfloat16, which NumPy does not have, as x.float().numpy(force=True) with
    working and result said.

    Arguments:
        actual: the output to judge, (…, L, d_v), of any floating dtype.
        query: q, (…, L, d_k), floating: the very numbers that gave the output.
        key: k, (…, S, d_k), of the query's dtype.
        value: v, (…, S, d_v), of the query's dtype.
        mask: as in `attention`, and so are the next four.
        bias: b, added to the scores.
        scale: β; 1/√d_k unless given.
        softcap: c, the cap of the scores.
        sink: the score of one more key that has no value.
        working: the dtype in which the implementation multiplies and adds, as in `error_bound`.
        result: the dtype to which it rounds at last; unless given, that of the query.

    Returns:
        Nothing.

    Raises:
        AssertionError: another shape, or an output beyond its bound: where, by how much, how many.
        TypeError: an array, a mask or a number of another kind or dtype.
        ValueError: shapes that do not fit, a number outside its range, or an unknown dtype.

    Source: as `error_bound`.

    >>> query, key, value = np.ones((1, 1)), np.zeros((2, 1)), np.array([[1.0], [3.0]])
    >>> assert_close(np.array([[2.0]]), query, key, value)
    >>> assert_close(np.array([[2.5]]), query, key, value)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    AssertionError: 1 of 1 outputs beyond the bound; the worst, [0, 0], is 2.5 and should be 2.0...
    """
    _checks.floating(np.ndarray, actual=actual)
    options: dict[str, Any] = {"mask": mask, "scale": scale, "softcap": softcap}
    floats = {"bias": bias, "sink": sink}
    named = {"working": working, "result": result}
    bound = error_bound(query, key, value, **options, **floats, **named)  # type: ignore[arg-type]  # each is of its own kind
    options |= {name: None if x is None else wide(x) for name, x in floats.items()}
    arrays = wide(query), wide(key), wide(value)
    y = attention(*arrays, **options)
    if actual.shape != y.shape:
        raise AssertionError(f"the output has shape {actual.shape} and should have {y.shape}")
    _judge(wide(actual), y, bound + error_bound(*arrays, **options))


def _judge(actual: Floats, right: Floats, bound: Floats) -> None:
    ratio = _ratio(actual, right, bound)
    beyond = ratio > 1
    if beyond.any():
        worst = np.unravel_index(np.argmax(ratio), ratio.shape)
        raise AssertionError(
            f"{beyond.sum()} of {beyond.size} outputs beyond the bound; the worst, "
            f"[{', '.join(map(str, worst))}], is {actual[worst]} and should be {right[worst]}: "
            f"error {abs(actual[worst] - right[worst]):.2g}, bound {bound[worst]:.2g}"
        )


def _ratio(actual: Floats, right: Floats, bound: Floats) -> Floats:
    """Return error / bound, 0 where there is no error, ∞ where what is not finite differs."""
    same = (actual == right) | (np.isnan(actual) & np.isnan(right))
    ratio = abs(actual - right) / bound
    ratio[~np.isfinite(ratio)] = np.inf
    ratio[same] = 0
    return ratio
