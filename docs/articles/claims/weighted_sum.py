"""S69 to S82: the values and their weighted sum, what it means, and the whole formula."""

import attnref
from attnref.torch import MultiHeadAttention
import numpy as np
import torch

from claims import CLAIMS, holds, imprecise, inconsistent, numbers, unknown
from claims.single_head import FIRST_VARIANCE, SIZES
from claims.softmax_row import (
    FIRST_ID,
    LISTED,
    OF_CLS,
    PRINTED,
    SCALED,
    WEIGHTS,
    Floats,
)

OF_WO, OF_XI, OF_HUAN = np.array(
    [[0.31, -0.12, 0.45], [0.42, 0.15, -0.08], [0.05, 0.28, -0.18]]
)
NEW = np.array([0.215, 0.142, -0.018])
KNOWN = 0.16 * OF_WO + 0.40 * OF_XI + 0.23 * OF_HUAN
LENGTHS = [np.linalg.norm(0.16 * OF_WO), np.linalg.norm(0.23 * OF_HUAN)]


def fits(left: tuple[int, int], right: tuple[int, int]) -> bool:
    """Say whether two matrices of these shapes have a product."""
    try:
        np.zeros(left) @ np.zeros(right)
    except ValueError:
        return False
    return True


def listed(row: Floats) -> str:
    """Return numbers in brackets, with four places and a true minus."""
    return "[" + ", ".join(f"{x:.4f}" for x in row).replace("-", "−") + "]"


values = np.random.default_rng(0).standard_normal((9, 768))
by_hand = sum(p * v for p, v in zip(WEIGHTS, values, strict=True))
by_attention = attnref.attention(
    np.ones((1, 1)), SCALED[:, None], values, scale=1.0
)
MOVED = np.abs(np.array(PRINTED) - WEIGHTS).sum()
PRODUCT = torch.matmul(torch.full((1, 9, 9), 1 / 9), torch.zeros(1, 9, 768))
OF_IDS = LISTED[-2:-1] + LISTED[:-2] + LISTED[-1:]
HEAD = MultiHeadAttention(768, num_heads=12).head_dim
LAYERS = torch.nn.TransformerEncoder(
    torch.nn.TransformerEncoderLayer(24, nhead=12, batch_first=True), num_layers=12
)
ATTENTIONS = [
    m for m in LAYERS.modules() if isinstance(m, torch.nn.MultiheadAttention)
]

JUDGEMENTS = [
    holds(
        "S69",
        np.allclose(by_hand, by_attention[0], rtol=1e-12, atol=1e-14),
        "It is the sum that `attnref.attention` computes. The printed weights "
        "are rounded, which moves no entry by more than "
        f"{np.ceil(1e3 * MOVED) / 1e3} times the largest entry of the values.",
        "the same as attention for nine values of 768 random numbers",
    ),
    numbers("S70", 0.16 * OF_WO),
    numbers("S71", 0.40 * OF_XI),
    numbers("S72", 0.23 * OF_HUAN),
    unknown(
        "S73",
        f"The three values that are printed add up to {listed(KNOWN)}. The other "
        f"six are not, and would have to add {listed(NEW - KNOWN)}. With them, a "
        "reader could check the sum.",
    ),
    inconsistent(
        "S74",
        HEAD**0.5 == 8 and HEAD != 768,
        f"The article divides by √64 = 8, so it looks at one head of {HEAD} "
        "numbers; in BERT its values have as many. 768 is the width of all 12 "
        "heads side by side. The formula itself lets values be of any width: see "
        "[Several heads](../guide/multi-head.py).",
        f"a head of a layer with 768 numbers and 12 heads has values of {HEAD}",
    ),
    holds(
        "S75",
        str(PRODUCT.shape) == CLAIMS["S75"]["printed"],
        "",
        f"{PRODUCT.shape}",
    ),
    inconsistent(
        "S76",
        [FIRST_ID].index(OF_CLS) == OF_IDS.index("[CLS]") and OF_IDS[1] != "喜",
        "True of the order in which the scores are listed "
        "([S56](softmax.py#S56)). With the ids of the opening, [CLS] first, row "
        f"1 belongs to {OF_IDS[1]}, and 喜 has row {OF_IDS.index('喜')}.",
        f"with [CLS] first the rows 0, 1, 2 are {', '.join(OF_IDS[:3])}",
    ),
    unknown(
        "S77",
        "The two vectors can't be compared entry by entry: the first is an "
        "embedding, the second an average of values, and W_V lies between. What "
        "喜 itself puts into the sum is its value, [0.42, 0.15, −0.08] "
        "([S71](weighted-sum.py#S71)). W_V is not given, and "
        "[S73](weighted-sum.py#S73) stays open.",
    ),
    numbers("S78", 100 * WEIGHTS[3:7]),
    imprecise(
        "S79",
        LENGTHS[1] < LENGTHS[0],
        "A weight says how much of a value goes into the sum, and not what is in "
        "that value: key s adds pₛvₛ, large or small. What the new vector "
        "*encodes* has to be measured, on a trained network; this article gives "
        "none.",
        "in the three printed entries 歡, with 23%, adds a vector of length "
        f"{LENGTHS[1]:.4f}; 我, with 16%, one of {LENGTHS[0]:.4f}",
    ),
    inconsistent(
        "S80",
        not fits((9, 64), (9, 64)) and fits((9, 64), (64, 9)),
        "Everywhere else the article transposes K, as one must: query t meets "
        "key s in the inner product ⟨q, k⟩ of two rows. Each row of QKᵀ then "
        "gets a softmax of its own.",
        "(9, 64) times (9, 64) has no product; (9, 64) times (64, 9) is (9, 9)",
    ),
    holds(
        "S81",
        len(ATTENTIONS) == len(LAYERS.layers)
        and len({id(attention.in_proj_weight) for attention in ATTENTIONS}) == 12,
        "Each layer has matrices of its own, and in BERT it does this in 12 "
        "heads at once. The rest of a layer, feed-forward network, residual "
        "sums, normalisation, are not in the article.",
        f"Torch's encoder of {len(LAYERS.layers)} layers holds {len(ATTENTIONS)} "
        "attentions",
    ),
    imprecise(
        "S82",
        SIZES == ((9, 9), (9, 768)) and FIRST_VARIANCE < 0.2,
        "The shapes hold, and rows add up to 1. The variance is 1 where the "
        "entries of q and k are independent, with means 0 and variances 1 "
        "([VSCL](../d/VSCL.py)). With means 0 and other variances, the division "
        "leaves their product.",
        f"shapes {SIZES[0]} and {SIZES[1]}; variance about {FIRST_VARIANCE:.1f} "
        "in the article's own class as it starts, on normal tokens",
    ),
]
