"""The article on scaling, S20–S33: what scores that lie far apart do to softmax."""

from attnref import softmax
import attnref.torch
import numpy as np
from numpy.typing import NDArray
import torch

from claims import imprecise, inconsistent, numbers
from claims.softmax_row import jacobian

Floats = NDArray[np.float64]

SMALL = np.array([10.0, 11.0, 9.0])
LARGE = np.array([40.0, 44.0, 36.0])
WIDE = np.array([20.0, -10.0, 5.0])


def loss_gradient(scores: Floats, target: int) -> Floats:
    """Return p − y, the gradient in the scores of −log p at the target, counted from 1."""
    return np.asarray(softmax(scores) - np.eye(len(scores))[target - 1])


def row(numbers: NDArray[np.floating], digits: int) -> str:
    """Write a few numbers."""
    return f"[{', '.join(f'{x:.{digits}f}' for x in numbers)}]".replace("-", "−")


# Announced with and without scaling
SCALED = softmax(SMALL / 8)
PRINTED = [0.245, 0.665, 0.090], [0.018, 0.982, 0.0003]
UNSCALED = softmax(SMALL), softmax(LARGE)
BOTH_UNSCALED = np.allclose(UNSCALED, PRINTED, rtol=0, atol=0.0005)
SAME_SCALED = np.array_equal(SMALL / 8, LARGE / 32)

# What scores of that width look like
FARTHEST = max(np.abs(SMALL).max() / 8, np.abs(LARGE).max() / 32)
NARROW = SMALL.std() / 8, LARGE.std() / 32
# 3 · variance / dₖ of three normal scores has the distribution χ² with 2 degrees of freedom.
CHANCE = 1 - np.exp(-3 * NARROW[0] ** 2 / 2)
DRAWN = np.random.default_rng(3).standard_normal((20_000, 3)) * 8
EXPECTED = DRAWN.std(axis=-1).mean() / 8
TYPICAL = softmax(DRAWN).max(axis=-1)
TYPICAL_ERROR = TYPICAL.std() / np.sqrt(len(TYPICAL))

# Where the gradient goes
STEEP, MILD = jacobian(softmax(LARGE)), jacobian(softmax(SMALL))
AT_GREATEST = (
    STEEP[1, 1] == np.abs(STEEP).max() and MILD[1, 1] == np.abs(MILD).max()
)
FIRST_RIGHT = loss_gradient(LARGE, 1)

A = torch.tensor(WIDE, requires_grad=True)
V = torch.tensor(
    [[1.0, 2.0], [3.0, -1.0], [0.0, 4.0]], dtype=A.dtype
).requires_grad_()
(attnref.torch.softmax(A) @ V).sum().backward()  # type: ignore[no-untyped-call]
assert A.grad is not None
assert V.grad is not None
OF_SCORES, OF_VALUES = float(A.grad.abs().max()), float(V.grad.abs().max())

SHIFTED = softmax(SMALL + 30)

JUDGEMENTS = [
    inconsistent(
        "S20",
        BOTH_UNSCALED and SAME_SCALED,
        "The scaled rows would have made the point at its best: [10, 11, 9]/8 and "
        "[40, 44, 36]/32 are the same three numbers. A pair with and without scaling does "
        "come further on, at [S39](scaling.py#S39) and [S43](scaling.py#S43).",
        f"softmax of either row, divided by 8 or 32: {row(SCALED, 3)}",
    ),
    numbers("S21", np.exp(SMALL)),
    numbers(
        "S22",
        np.exp(SMALL).sum(),
        "The rounded terms add up to the printed sum, the terms themselves to one that "
        f"rounds to {np.exp(SMALL).sum():.0f}.",
    ),
    numbers("S23", softmax(SMALL)),
    imprecise(
        "S24",
        FARTHEST < 2 and np.allclose(NARROW, NARROW[0]) and CHANCE < 0.05,
        "Each score alone is well within reach, and the rows grow as √dₖ does. But softmax "
        "sees only how far the scores of a row lie apart, and independent entries of "
        f"variance 1 spread three scores by {EXPECTED:.2f} √dₖ on average.",
        f"at most {FARTHEST:.1f} times √dₖ from 0; spread within each row "
        f"{NARROW[0]:.2f} √dₖ, so narrow in {100 * CHANCE:.1f} of 100 rows",
    ),
    inconsistent(
        "S25",
        UNSCALED[0].max() < 0.7
        and softmax(WIDE).max() > 0.9999
        and TYPICAL.mean() > 0.85,
        "Both rows stand for dₖ = 64. The second, [20, −10, 5], is nearer to what unscaled "
        "scores do there: of three normal scores with standard deviation 8, the greatest "
        "takes most, as a rule.",
        f"greatest weight {UNSCALED[0].max():.3f} and {softmax(WIDE).max():.7f}; for "
        f"normal scores on average "
        f"{TYPICAL.mean():.3f} ± {np.ceil(1000 * TYPICAL_ERROR) / 1000}",
    ),
    numbers("S26", np.exp(LARGE)),
    numbers("S27", np.exp(LARGE).sum()),
    numbers("S28", softmax(LARGE)),
    numbers("S29", softmax(LARGE).max()),
    imprecise(
        "S30",
        AT_GREATEST
        and STEEP.max() < 0.02 < 0.2 < MILD.max()
        and FIRST_RIGHT[0] < -0.98,
        "Of the Jacobian, diag(p) − p pᵀ, the entry of the greatest score vanishes with the "
        "rest, and is the largest of them ([SJAC](../d/SJAC.py)). The gradient p − y, of a "
        "cross-entropy taken at the weights, is another thing: large wherever a suppressed "
        "key is the right one.",
        f"largest entry {MILD.max():.3f} for [10, 11, 9], {STEEP.max():.3f} for "
        f"[40, 44, 36], at the greatest score both times; there p − y is "
        f"{row(FIRST_RIGHT, 3)} if the first key is right",
    ),
    imprecise(
        "S31",
        OF_SCORES < 1e-6 and OF_VALUES > 0.99,
        "The scores do stop learning, the winner's too, and with them what this query "
        "gives `W_Q` and `W_K`. But the winner's value receives the gradient in full, so "
        "`W_V` and all that comes before it go on learning.",
        f"largest gradient of a score {OF_SCORES:.2g}, of a value {OF_VALUES:.7f}",
    ),
    imprecise(
        "S32",
        np.allclose(SHIFTED, softmax(SMALL), rtol=1e-12),
        "Large gaps, not large inputs: the exponential turns a difference of scores into a "
        "ratio of weights, and a number added to all of them cancels "
        "([SHFT](../d/SHFT.py)). The article's own example, e⁴⁴/e³⁶ = e⁸, is one of a gap.",
        f"softmax of [40, 41, 39], as of [10, 11, 9]: {row(SHIFTED, 3)}",
    ),
    numbers(
        "S33",
        np.exp(8),
        f"The digits are cut off; rounded, it is {np.exp(8):.0f}.",
    ),
]
