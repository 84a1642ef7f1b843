"""S46 to S50: the formula of softmax, what exp does and what dividing by the sum does."""

from attnref import softmax
import numpy as np

from claims import holds, imprecise
from claims.softmax_row import SCALED, SCORES, WEIGHTS, jacobian

RAW = np.array([20.0, -10.0, 5.0])
BELOW_ZERO = np.array([-1.0, -2.0, -4.0])


def ratios(a: float, b: float) -> tuple[float, float]:
    """Return how many times b goes into a, and exp(b) into exp(a)."""
    return a / b, float(np.exp(a - b))


LARGE, SMALL = ratios(15.3 / 8, 2.1 / 8), ratios(0.1, 0.01)
SLOPES = jacobian(WEIGHTS)
BY_LARGEST = BELOW_ZERO / BELOW_ZERO.max()
RATIOS = ", ".join(f"{x}" for x in RAW / RAW.max()).replace("-", "−")
ROUNDED = softmax(np.array([0.0, -200.0], dtype="float32"))
MASKED = softmax(np.array([1.0, 2.0]), mask=np.array([True, False]))

JUDGEMENTS = [
    holds(
        "S46",
        np.allclose(np.exp(SCALED) / np.exp(SCALED).sum(), WEIGHTS, rtol=1e-12),
        "The weight belongs to the whole row and not to one score, so "
        "softmax(x)ᵢ is the safer way to write it: beside one other score of 0, "
        f"{SCALED[1]} would have the weight "
        f"{softmax(np.array([SCALED[1], 0.0]))[0]:.4f}.",
        f"the score {SCALED[1]} has the weight {WEIGHTS[1]:.4f} in its row",
    ),
    imprecise(
        "S47",
        LARGE[1] < LARGE[0] and SMALL[1] < SMALL[0],
        "As ratios, which is how weights compare, both pairs come closer. What "
        "exp does in every case: a difference becomes a factor, exp(a)/exp(b) = "
        "exp(a − b). Without the division by 8, the first factor would be "
        f"{np.exp(15.3 - 2.1):.0f}.",
        f"15.3 is {LARGE[0]:.2f} times 2.1, exp(15.3/8) is {LARGE[1]:.2f} times "
        f"exp(2.1/8); 0.1 is {SMALL[0]:.0f} times 0.01, exp(0.1) is {SMALL[1]:.2f} "
        "times exp(0.01)",
    ),
    holds(
        "S48",
        bool(
            np.isclose(WEIGHTS.sum(), 1, rtol=1e-12)
            and (SLOPES[~np.eye(9, dtype=bool)] < 0).all()
            and np.allclose(SLOPES.sum(axis=0), 0, atol=1e-15)
        ),
        "Raise one score, and every other weight falls; together they lose what "
        "the one gains. See [the Jacobian](../d/SJAC.py) and "
        "[PSUM](../d/PSUM.py).",
        f"of {SLOPES.size} slopes ∂pᵢ/∂aⱼ, the {(SLOPES < 0).sum()} with i ≠ j are "
        "negative, and those of one score add up to 0",
    ),
    holds(
        "S49",
        bool((RAW / RAW.max()).min() < 0 and (SCORES / SCORES.max()).sum() > 1),
        "There is more to the answer: where all scores are negative, the worst "
        f"comes first ([−1, −2, −4] becomes {BY_LARGEST.astype(int).tolist()}), "
        "and a largest score of 0 can't divide.",
        f"[20, −10, 5] becomes [{RATIOS}]; the nine scores become "
        f"numbers with the sum {(SCORES / SCORES.max()).sum():.2f}",
    ),
    imprecise(
        "S50",
        bool(ROUNDED[1] == 0 and MASKED[1] == 0 and (WEIGHTS > 0).all()),
        "On paper, for finite scores, yes. A score of −∞, which is how a key is "
        "masked, has the weight 0, and a computer rounds small weights to 0. "
        "Code can rely on weights that are not negative and add up to 1 within "
        "rounding.",
        f"softmax([0, −200]) in float32 is [{ROUNDED[0]:.0f}, {ROUNDED[1]:.0f}]",
    ),
]
