"""S93 to S104: the references, the summary, the quiz and its answers, the analogy of the team."""

import inspect
import math

import attnref
from attnref import softmax
from attnref.torch import MultiHeadAttention
import numpy as np

from claims import CLAIMS, holds, imprecise, numbers, unknown, wrong
from claims.single_head import PARAMETERS
from claims.softmax_row import WEIGHTS

BERT_WIDTH, BERT_HEADS = 768, 12
LOOKED_UP = {
    "S93": ("Vaswani", "Attention Is All You Need", "2017", "NeurIPS"),
    "S94": ("Jay Alammar", "The Illustrated Transformer", "2018"),
}
SCORES = np.array([20.0, -10.0, 5.0])
BY_SUM = SCORES / SCORES.sum()
FULL = sum(
    p.numel() for p in MultiHeadAttention(BERT_WIDTH, BERT_HEADS).parameters()
)
ARGUMENTS = set(inspect.signature(attnref.attention_weights).parameters)


def agrees(name: str) -> bool:
    """Say whether all that was looked up stands in what is printed."""
    return all(part in CLAIMS[name]["printed"] for part in LOOKED_UP[name])


N, KEYS, D = 20_000, 9, 64
rng = np.random.default_rng(0)
q, k = rng.standard_normal((N, 1, D)), rng.standard_normal((N, KEYS, D))
products = (q * k).sum(axis=-1)
variance = products[:, 0].var()
error = D * math.sqrt((2 + 6 / D) / N)
alike = (D * q[:, 0, 0] * k[:, 0, 0]).var()
largest, calmed = softmax(products).max(axis=-1), softmax(products / 8).max(axis=-1)
one_hot = (largest > 0.99).mean()

JUDGEMENTS = [
    holds(
        "S93",
        agrees("S93"),
        "Section 3.2.1 names scaled dot-product attention; its footnote has the "
        "argument for the root ([VDOT](../d/VDOT.py)).",
        "looked up: [arXiv:1706.03762](https://arxiv.org/abs/1706.03762), June "
        "2017",
    ),
    holds(
        "S94",
        agrees("S94"),
        "",
        "looked up: [The Illustrated Transformer]"
        "(https://jalammar.github.io/illustrated-transformer/), 27 June 2018",
    ),
    unknown(
        "S95",
        "A search for the title found no such question, and the word “Link” "
        "stands without an address. The argument itself is in [1].",
    ),
    numbers(
        "S96",
        [BERT_WIDTH / BERT_HEADS, math.sqrt(BERT_WIDTH / BERT_HEADS)],
        "The numbers hold for a head of BERT; the class divides by "
        f"{math.sqrt(BERT_WIDTH):.1f} ([S84](weighted-sum.py#S84)). What the "
        "division changes, [S98](weighted-sum.py#S98) measures.",
    ),
    imprecise(
        "S97",
        PARAMETERS < FULL,
        "It gives the formula of one head whole. Masks, several heads, the "
        "projection of what they return, and the Jacobian of softmax are not in "
        "it; [the guide](../guide/one-query.py) goes on there.",
        f"{PARAMETERS:,} numbers in the class, {FULL:,} in a layer as wide with "
        f"{BERT_HEADS} heads, as BERT has it",
    ),
    imprecise(
        "S98",
        abs(variance - D) < 5 * error
        and abs(alike / D**2 - 1) < 0.2
        and 0.2 < one_hot < 0.5,
        "Right where the entries are independent with means 0; entries that move "
        "together do worse. Near one-hot are then many rows and not all of them; "
        f"in those no slope ∂pᵢ/∂aⱼ is above {0.99 * 0.01:.4f}, and learning is "
        "slow. See [What the proof needs](../guide/assumptions.py).",
        f"at dₖ = {D} the variance is {variance:.1f} ± {error:.1f}, and dₖ² = "
        f"{D**2} if all entries of a vector are equal; among {KEYS} keys the "
        f"largest weight is above 0.99 in {one_hot:.0%} of the rows undivided, "
        f"and in {(calmed > 0.99).mean():.0%} divided",
    ),
    wrong(
        "S99",
        bool(np.isclose(BY_SUM.sum(), 1) and BY_SUM.min() < 0),
        "The two operations are right, and so is the sum of 1. That weights are "
        "positive is the work of exp: division alone keeps a minus. It matters "
        "to whoever tries to do without exp.",
        "[20, −10, 5] divided by its sum is ["
        + ", ".join(f"{x:.3f}" for x in BY_SUM).replace("-", "−")
        + "]",
    ),
    wrong(
        "S100",
        WEIGHTS[1] == WEIGHTS.max() and WEIGHTS[0] + WEIGHTS[2] < WEIGHTS[1],
        "The two shares are right ([S58](softmax.py#S58)), and 喜 itself is left "
        "out, though it has more than both together, as the article says above "
        "([S57](softmax.py#S57)). A full answer: first its own value, then those "
        "of 歡 and 我.",
        f"我 and 歡 have {WEIGHTS[0] + WEIGHTS[2]:.2%} of the weight, 喜 has "
        f"{WEIGHTS[1]:.2%}",
    ),
    unknown(
        "S101",
        "The weights are small because the scores are, between 1.8 and 3.2. Why "
        "a trained network would give these scores is another question; no "
        "network is given here, and no measure of how far meanings are apart.",
    ),
    unknown(
        "S102",
        "An announcement; the next article is no part of this audit. One reason "
        "for two of them: with W_Q = W_K and equal biases, the score of t with s "
        "would always be that of s with t.",
    ),
    unknown(
        "S103",
        "Q and K are not given, nor is a model that would give them. All that "
        "follows from the row can be recomputed, and has been here.",
    ),
    holds(
        "S104",
        {"query", "key"} <= ARGUMENTS and "value" not in ARGUMENTS,
        "A helpful picture: Q and K settle the weights, V is what is averaged "
        "with them. Where it stops: there is no common ballot. Each token has a "
        "vote of its own, one row, and gets a result of its own.",
        "`attnref.attention_weights` takes query and key, and no value",
    ),
]
