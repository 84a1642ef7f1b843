"""Softmax over the keys that are there, and its normaliser.

    p_ts = exp(a_ts) / Z_t,   Z_t = exp(sink_t) + Σ_s exp(a_ts)

A sink is one more key that has no value: it takes its weight, and the weight goes nowhere.
"""

import torch
from torch import Tensor

from attnref.torch import _entry, _guarded
from attnref.torch._rounding import rounded


def softmax(
    scores: Tensor, *, mask: Tensor | None = None, sink: Tensor | float | None = None
) -> Tensor:
    """Turn scores into weights, along the last axis.

    p_ts = exp(a_ts) / Z_t over the allowed keys; 0 elsewhere, and 0 in a row that allows nothing.

    Arguments:
        scores: a, (…, S), floating; a score of −∞ counts as masked.
        mask: True where query t may attend to key s; broadcasts to the scores.
        sink: the score of one more key, without a value: a number, or a tensor of the scores' dtype
            that broadcasts to the rows (…). −∞ is no sink.

    Returns:
        p, the shape and dtype of the scores; each row sums to 1, or to 0 where it allows nothing.
        With a sink it sums to 1 − exp(sink_t)/Z_t.

    Raises:
        TypeError: scores or a sink of another kind or dtype, or a mask that is not boolean.
        ValueError: a mask or a sink that does not broadcast, or is on another device.

    Source: derivation ZFRM, `python -m attnref show ZFRM`.

    >>> softmax(torch.tensor([0.0, 0.0, 9.0]), mask=torch.tensor([True, True, False]))
    tensor([0.5000, 0.5000, 0.0000])
    >>> softmax(torch.tensor([0.0, 0.0, 0.0]), sink=0.0)
    tensor([0.2500, 0.2500, 0.2500])
    """
    _entry.rows(scores, mask, sink)
    return rounded(weights(scores, allowed(scores, mask), sink), scores.dtype)


def log_partition(
    scores: Tensor, *, mask: Tensor | None = None, sink: Tensor | float | None = None
) -> Tensor:
    """Return the logarithm of the normaliser of each row.

    log Z_t = log(exp(sink_t) + Σ_s exp(a_ts)) over the allowed keys; −∞ where a row allows nothing
    and has no sink. Its gradient flows: ∂ log Z_t / ∂a_ts = p_ts, and 0 where a row allows nothing;
    ∂ log Z_t / ∂sink_t = exp(sink_t)/Z_t.

    Arguments:
        scores: a, (…, S), floating; a score of −∞ counts as masked.
        mask: True where query t may attend to key s; broadcasts to the scores.
        sink: the score of one more key, without a value: a number, or a tensor of the scores' dtype
            that broadcasts to the rows (…). −∞ is no sink.

    Returns:
        log Z, (…), natural logarithm, of the scores' dtype.

    Raises:
        TypeError: scores or a sink of another kind or dtype, or a mask that is not boolean.
        ValueError: a mask or a sink that does not broadcast, or is on another device.

    Source: derivation ZFRM, `python -m attnref show ZFRM`.

    >>> log_partition(torch.tensor([2.0, 3.0, 5.0]).log()).exp()
    tensor(10.)
    """
    _entry.rows(scores, mask, sink)
    a, present = _with_sink(scores.double(), allowed(scores, mask), sink)
    log_z = _guarded.logsumexp(_present(a, present))
    return rounded(log_z.masked_fill(empty(present).squeeze(-1), -torch.inf), scores.dtype)


def allowed(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Say which keys are there: a score of −∞ is none, whatever the mask says."""
    present = scores != -torch.inf
    return present if mask is None else present & mask


def empty(allowed: Tensor) -> Tensor:
    """Say which rows allow nothing: asked of what is allowed and of no maximum, which NaN eats."""
    return ~allowed.any(dim=-1, keepdim=True)


def weights(scores: Tensor, allowed: Tensor, sink: Tensor | float | None) -> Tensor:
    """Return the weights of the keys in float64; what the sink takes is dropped."""
    a, present = _with_sink(scores.double(), allowed, sink)
    p = _guarded.softmax(_present(a, present))[..., : scores.shape[-1]]
    return p.masked_fill(~allowed, 0.0)


def exponentials(
    scores: Tensor, allowed: Tensor, sink: Tensor | float | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Return m, exp(a − m) of the keys, and z = exp(sink − m) + Σ exp(a − m), each row its own m.

    m is the largest score that is there, −∞ where there is none. It cancels: no gradient takes it.
    """
    a, present = _with_sink(scores.double(), allowed, sink)
    a = a.masked_fill(~present, -torch.inf)
    rest = a.new_full((*a.shape[:-1], 1), -torch.inf)
    m = torch.cat([a.detach(), rest], dim=-1).amax(dim=-1)
    e = (a - m.masked_fill(m == -torch.inf, 0.0).unsqueeze(-1)).exp()
    return m, e[..., : scores.shape[-1]], e.sum(dim=-1)


def _with_sink(a: Tensor, allowed: Tensor, sink: Tensor | float | None) -> tuple[Tensor, Tensor]:
    """Append the sink to the keys."""
    if sink is None:
        return a, allowed
    column = _entry.tensor_of(sink, like=a).expand(a.shape[:-1]).unsqueeze(-1)
    return torch.cat([a, column], dim=-1), torch.cat([allowed, column != -torch.inf], dim=-1)


def _present(a: Tensor, allowed: Tensor) -> Tensor:
    """Take masked scores out before exp; an empty row gets some that do no harm and aren't used."""
    return a.masked_fill(~allowed, -torch.inf).masked_fill(empty(allowed), 0.0)
