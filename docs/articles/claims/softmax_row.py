"""S51 to S68: nine scores on their way to nine weights, and five of them with and without ÷8."""

from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

from attnref import softmax
import numpy as np
from numpy.typing import NDArray

from claims import holds, imprecise, inconsistent, numbers, wrong

Floats = NDArray[np.floating[Any]]

SCORES = np.array([15.3, 22.7, 18.2, 2.1, 1.8, 3.2, 2.9, 5.6, 4.1])
SCALED = SCORES / 8
WEIGHTS = softmax(SCALED)
PRINTED = [0.16, 0.40, 0.23, 0.03, 0.03, 0.03, 0.03, 0.05, 0.04]
EXPONENTIALS = [6.77, 17.07, 9.73, 1.30, 1.25, 1.49, 1.44, 2.01, 1.67]
LISTED = ["我", "喜", "歡", "人", "工", "智", "能", "[CLS]", "[SEP]"]
FIRST_ID, OF_CLS = 101, 101  # printed at the article's opening; BERT's vocabulary
EVEN = [
    Decimal(x).quantize(Decimal("0.01"), ROUND_HALF_EVEN)
    for x in ("2.275", "0.225")
]


def jacobian(p: Floats) -> Floats:
    """Return ∂pᵢ/∂aⱼ, the slope of each weight in each score."""
    return np.diag(p) - np.outer(p, p)


def entropy(p: Floats) -> float:
    """Return how spread out weights are, in nats."""
    return float(-(p * np.log(p)).sum())


def at_once(x: Floats) -> Floats:
    """Shift by the largest entry, exponentiate, divide by the sum of all entries."""
    e = np.exp(x - x.max())
    shares: Floats = e / e.sum()
    return shares


SHARES = SCORES / SCORES.sum()
TOP = SHARES[1] - SHARES[2], WEIGHTS[1] - WEIGHTS[2]
BOTTOM = SHARES[3] - SHARES[4], WEIGHTS[3] - WEIGHTS[4]

HARD, SOFT = softmax(SCORES[:5]), softmax(SCALED[:5])
MILD = softmax(np.array([10.0, 11.0, 9.0]))
TIED = softmax(np.array([5.0, 5.0, 1.0]) / 0.01)
STEEP, GENTLE = jacobian(HARD).max(), jacobian(SOFT).max()
GRID = np.array([[1.0, 2.0], [3.0, 4.0]])

JUDGEMENTS = [
    numbers("S51", SCALED),
    numbers("S52", np.exp(SCALED)),
    numbers(
        "S53",
        np.exp(SCALED).sum(),
        f"The nine rounded exponentials add up to {sum(EXPONENTIALS):.2f}; the "
        f"exact sum, {np.exp(SCALED).sum():.4f}, rounds to "
        f"{np.exp(SCALED).sum():.2f}. Sums are best taken first and rounded then.",
    ),
    numbers("S54", WEIGHTS),
    numbers(
        "S55",
        sum(PRINTED),
        "Rounded weights need not add up to 1; these do.",
    ),
    inconsistent(
        "S56",
        LISTED.index("[CLS]") != [FIRST_ID].index(OF_CLS),
        "BERT puts [CLS] first, and so do the ids at the article's opening, "
        f"where {FIRST_ID} is [CLS]. In that order every character stands one "
        "place later, and code that takes a row by its number takes another one.",
        f"[CLS] stands at place {LISTED.index('[CLS]')}, counted from 0; "
        f"{FIRST_ID} at place 0",
    ),
    numbers("S57", 100 * WEIGHTS[1], "No score of the row is larger than its own."),
    numbers("S58", 100 * WEIGHTS[[2, 0]]),
    numbers(
        "S59",
        SCALED,
        f"2.275 and 0.225 lie halfway; {EVEN[0]} and {EVEN[1]} are both the "
        "neighbour with an even last digit, which is one of the usual rules.",
    ),
    numbers("S60", 100 * WEIGHTS[[1, 2, 4]]),
    wrong(
        "S61",
        (SHARES < WEIGHTS).tolist() == [s in (22.7, 2.1, 1.8) for s in SCORES],
        "The strongest does gain. So do the two weakest, and the six between "
        "them lose. Only against the strongest does 1.8 fall back: 22.7 is "
        f"{SCORES[1] / SCORES[4]:.1f} times as large, and its weight "
        f"{WEIGHTS[1] / WEIGHTS[4]:.1f} times.",
        f"of the sum of the scores 22.7 has {SHARES[1]:.1%}, and then "
        f"{WEIGHTS[1]:.1%} of the weight; 1.8 has {SHARES[4]:.2%}, and then "
        f"{WEIGHTS[4]:.2%}",
    ),
    imprecise(
        "S62",
        TOP[1] > TOP[0] and BOTTOM[1] < BOTTOM[0],
        "Not linear, yes; but only gaps near the top are widened, and gaps "
        "between low scores shrink. Precisely: two weights have the ratio exp((a "
        "− b)/8), where a and b are the scores.",
        f"as shares, 22.7 and 18.2 are {TOP[0]:.2%} apart before and {TOP[1]:.2%} "
        f"after; 2.1 and 1.8 are {BOTTOM[0]:.2%} and {BOTTOM[1]:.2%}",
    ),
    holds(
        "S63",
        bool(
            np.allclose(at_once(SCALED), WEIGHTS, rtol=1e-12)
            and np.allclose(at_once(np.array([1e3, 1001])), at_once(np.arange(2.0)))
        ),
        "[Any shift leaves the weights](../d/SHFT.py), and this one prevents "
        "overflow. The function is for one row: it divides a matrix by the sum "
        "of all its entries. `attnref.softmax` takes the last axis, and gives "
        "weights of 0 to a row without keys.",
        f"[1000, 1001] gives {at_once(np.array([1e3, 1001])).round(4).tolist()}; "
        "the rows of [[1, 2], [3, 4]] get the sums "
        f"{at_once(GRID).sum(axis=1).round(4).tolist()}",
    ),
    numbers(
        "S64",
        HARD,
        "The second key gets less than printed, and the third "
        f"{HARD[2] / 0.002:.1f} times as much. One key does take nearly all; but "
        "whoever runs the script sees other numbers than its comment, and may "
        "look for the mistake on their own side.",
    ),
    numbers(
        "S65",
        SOFT,
        f"The third rounds to {SOFT[2]:.3f}; as printed, the five add up to "
        f"{0.187 + 0.473 + 0.270 + 0.036 + 0.035:.3f}.",
    ),
    imprecise(
        "S66",
        HARD.max() > 0.98 and MILD.max() < 0.7 and bool(np.allclose(TIED[:2], 0.5)),
        "True of this row, because its best score leads by "
        f"{SCORES[1] - SCORES[2]:.1f}. It is the lead that counts and not the "
        "missing division ([TGAP](../d/TGAP.py)), and scores that tie share the "
        "weight however large they are.",
        f"largest weight {HARD.max():.4f} here, {MILD.max():.4f} for [10, 11, 9], "
        f"also undivided; [5, 5, 1]/0.01 gives {TIED.round(4).tolist()}",
    ),
    imprecise(
        "S67",
        STEEP < GENTLE / 8 < 4 * STEEP,
        "It shrinks; it does not vanish here. Per unit of the undivided scores "
        f"the largest slope ∂pᵢ/∂aⱼ is {GENTLE / 8 / STEEP:.1f} times as large "
        "with the division as without. At [20, −10, 5] it all but vanishes: "
        "see [When softmax saturates](../guide/saturation.py).",
        f"largest slope {STEEP:.4f} without; with it {GENTLE:.4f} per unit of the "
        f"divided scores, {GENTLE / 8:.4f} of the undivided",
    ),
    holds(
        "S68",
        entropy(SOFT) > entropy(HARD),
        "Dividing all scores by a number above 1 [always raises the "
        "entropy](../d/ENTD.py), unless all scores are equal.",
        f"entropy {entropy(HARD):.3f} before and {entropy(SOFT):.3f} after, as of "
        f"{np.exp(entropy(HARD)):.2f} and {np.exp(entropy(SOFT)):.2f} equal keys",
    ),
]
