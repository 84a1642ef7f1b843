"""The article on scaling, S01–S19: on the way to the scores, and how far they spread."""

import attnref
import numpy as np
from numpy.typing import NDArray

from claims import holds, imprecise, numbers, unknown

Floats = NDArray[np.float64]

TOKENS = ["[CLS]", *"我喜歡人工智能", "[SEP]"]
VOCABULARY = {
    "[CLS]": 101,
    "我": 2769,
    "喜": 1599,
    "爱": 4263,
}  # as public code prints them
HIDDEN, HEADS = 768, 12  # BERT base
WIDTH = HIDDEN // HEADS
ROWS = 10_000


def raw_scores(order: list[int], step: float) -> Floats:
    """Take the tokens in this order from ids to scores; a step of 0 leaves positions out."""
    rng = np.random.default_rng(0)
    table, positions = rng.standard_normal((2, len(TOKENS), HIDDEN))
    w_q, w_k = rng.standard_normal((2, HIDDEN, WIDTH)) / np.sqrt(HIDDEN)
    x = table[order] + step * positions
    return np.asarray(attnref.scores(x @ w_q, x @ w_k, scale=1.0))


def swap_shows(step: float) -> bool:
    """Tell whether swapping two tokens does more than swap rows and columns of the scores."""
    order = list(range(len(TOKENS)))
    order[1], order[2] = order[2], order[1]
    moved = raw_scores(sorted(order), step)[np.ix_(order, order)]
    return not np.allclose(raw_scores(order, step), moved)


def products(d: int) -> Floats:
    """Return inner products of pairs of vectors with standard normal entries."""
    q, k = np.random.default_rng(1).standard_normal((2, ROWS, d))
    return np.asarray((q * k).sum(axis=-1))


def same(d: int) -> float:
    """Return the inner product of two vectors of d entries, all 0.5."""
    return float(np.full(d, 0.5) @ np.full(d, 0.5))


DRAWN = {d: products(d) for d in (16, 64, 256)}
VARIANCES = {d: float(x.var()) for d, x in DRAWN.items()}
ERRORS = {d: d * np.sqrt((2 + 6 / d) / ROWS) for d in DRAWN}
MEANS = {d: float(x.mean()) for d, x in DRAWN.items()}
CENTRED = all(abs(MEANS[d]) < 3 * np.sqrt(d / ROWS) for d in DRAWN)
PROPORTIONAL = all(abs(VARIANCES[d] - d) < 3 * ERRORS[d] for d in DRAWN)

SIGNS = np.where(np.arange(64) % 2, -0.5, 0.5)
ORTHOGONAL = float(SIGNS @ np.full(64, 0.5))
RATIOS = [same(d) / np.sqrt(d) for d in (2, 4, 64, 768)]

WEIGHTS, VALUES = np.array([20.0, -10.0, 5.0]), np.array([1.0, 2.0, 3.0])
MIXED = float(WEIGHTS @ VALUES)

FIVE = np.arange(1.0, 6.0)
FAR, NEAR = np.array([1.0, 100.0]), np.array([49.0, 50.0, 51.0])
BY_HAND = float(sum((x - sum(FIVE) / 5) ** 2 for x in FIVE) / 5)
IN_UNIT = (100 * FIVE).std() / FIVE.std(), (100 * FIVE).var() / FIVE.var()

G, H = np.random.default_rng(2).standard_normal((2, ROWS))
# A product of two normal numbers has E[x⁴] = 9 E[x²]², so its x² has variance 8 E[x²]².
HALF = float((8 * G * H).var())  # 64 independent normal numbers add up to 8 G
HALF_ERROR = 64 * np.sqrt(8 / ROWS)
TIED = float((64 * G * H).var())
TIED_ERROR = 64**2 * np.sqrt(8 / ROWS)

JUDGEMENTS = [
    holds(
        "S01",
        raw_scores(list(range(9)), 1.0).shape == (9, 9)
        and swap_shows(1.0)
        and not swap_shows(0.0),
        "The position has its place before `Q`, `K` and `V`: without it, two tokens that "
        "change places only swap their rows and columns of the scores. BERT also adds a "
        "vector for the segment and normalises.",
        "two tokens swapped: the same 81 scores without positions, others with them",
    ),
    numbers(
        "S02",
        [VOCABULARY[token] for token in ("[CLS]", "我", "喜")],
        f"Public code with BERT's Chinese vocabulary prints {VOCABULARY['喜']} for 喜. The printed "
        f"{VOCABULARY['爱']} is its 爱, to love; what is printed begins 我爱, “I love”. "
        "Nothing further on depends on it.",
    ),
    numbers(
        "S03",
        raw_scores(list(range(len(TOKENS))), 1.0).shape,
        "Seven characters, `[CLS]` before them and `[SEP]` after.",
    ),
    unknown(
        "S04",
        "The article names neither the model nor the token, and every trained model has "
        "numbers of its own. They serve as an illustration.",
    ),
    imprecise(
        "S05",
        CENTRED and PROPORTIONAL and ORTHOGONAL == 0,
        "What grows is how far they spread: for independent entries with mean 0 and "
        "variance 1 the mean stays 0, and the standard deviation is √dₖ. Two orthogonal "
        "vectors have the product 0 at any width.",
        "standard deviation "
        + ", ".join(f"{np.sqrt(v):.1f}" for v in VARIANCES.values())
        + " at dₖ = 16, 64, 256",
    ),
    imprecise(
        "S06",
        WEIGHTS.min() < 0 and WEIGHTS.sum() != 1 and VALUES.max() < MIXED,
        "They are no probabilities, that is right. A sum can have any weights; what "
        "probabilities add is that the output is an average of the values and stays "
        "among them. See [Softmax](../guide/softmax.py).",
        f"[20, −10, 5] as weights of the values 1, 2, 3 give {MIXED:.0f}",
    ),
    numbers("S07", same(2)),
    numbers("S08", same(4)),
    numbers(
        "S09",
        same(64),
        "It is dₖ/4, in [S07](scaling.py#S07) and [S08](scaling.py#S08) too.",
    ),
    imprecise(
        "S10",
        sorted(RATIOS) == RATIOS and RATIOS[-1] > 1 and ORTHOGONAL == 0,
        "True of vectors that agree in every entry; then even a division by √dₖ leaves "
        "growth. Where entries have either sign they cancel, and what grows is the spread. "
        "The article says so itself, a little further on.",
        "over √dₖ the examples give "
        + ", ".join(f"{x:.2f}" for x in RATIOS)
        + f" at dₖ = 2, 4, 64, 768; with every second sign changed, {ORTHOGONAL:.0f}",
    ),
    holds(
        "S11",
        np.isclose(BY_HAND, FIVE.var()),
        "This is the variance of the numbers themselves. An estimate from a sample divides "
        f"by n − 1, as `torch.var` does by default: {FIVE.var(ddof=1)}.",
        f"variance of 1 to 5: {BY_HAND}",
    ),
    numbers("S12", [FIVE.mean(), FIVE.var()]),
    numbers("S13", FIVE.std()),
    holds(
        "S14",
        FAR.var() > 1000 * NEAR.var(),
        "Large beside [S15](scaling.py#S15), that is. The means are nearly the same, "
        f"{FAR.mean()} and {NEAR.mean():.0f}.",
        f"variance {FAR.var()}",
    ),
    holds("S15", NEAR.var() < FAR.var() / 1000, "", f"variance {NEAR.var():.4f}"),
    holds(
        "S16",
        np.allclose(IN_UNIT, (100, 100**2)),
        "In centimetres instead of metres it is 100 times as large. The variance is in the "
        "square of the unit.",
        f"100 times the data: standard deviation times {IN_UNIT[0]:.0f}, variance times "
        f"{IN_UNIT[1]:.0f}",
    ),
    imprecise(
        "S17",
        CENTRED
        and PROPORTIONAL
        and abs(HALF - 64) < 3 * HALF_ERROR
        and abs(TIED - 64**2) < 3 * TIED_ERROR,
        "Besides q and k independent of each other, it takes uncorrelated entries within q "
        "or within k. If all entries of q are one number, and all of k another, the variance "
        "is dₖ². [VDOT](../d/VDOT.py) proves the case of independent entries.",
        f"at dₖ = 64, variance {VARIANCES[64]:.1f} ± {ERRORS[64]:.1f} for independent "
        f"entries, {HALF:.0f} ± {HALF_ERROR:.0f} if those of k are tied, {TIED:.0f} ± "
        f"{TIED_ERROR:.0f} if those of both are",
    ),
    numbers("S18", WIDTH),
    holds(
        "S19",
        PROPORTIONAL,
        "Under the conditions of [S17](scaling.py#S17), made precise; it is said of the raw scores. "
        "In statistics “variance inflation” usually names something else, in regression.",
        ", ".join(
            f"{VARIANCES[d]:.1f} ± {ERRORS[d]:.1f} at dₖ = {d}" for d in DRAWN
        ),
    ),
]
