"""The article on the Z form, Z35–Z43: the demo, rebuilt."""

from contextlib import redirect_stdout
from fractions import Fraction
import io

import attnref
import attnref.torch
import numpy as np
import torch
from torch import Tensor

from claims import holds, inconsistent

N, M, DIM_WORD, DIM_V, SEQUENCE_MAX_LEN, BATCH_SIZE = 4, 20, 8, 10, 15, 1


def draw(*sizes: int) -> Tensor:
    """Draw a batch from [0, 1)."""
    return torch.rand(BATCH_SIZE, *sizes, generator=source, dtype=torch.float64)


def headings(*tensors: Tensor) -> list[str]:
    """Return the first lines of what is printed of them, without a name given."""
    text = io.StringIO()
    with redirect_stdout(text):
        for tensor in tensors:
            attnref.print_matrix_info(tensor)
    return [line for line in text.getvalue().splitlines() if line[0] != " "]


source = torch.Generator().manual_seed(0)
Q, K, V = draw(N, DIM_WORD), draw(M, DIM_WORD), draw(M, DIM_V)
SCORE = torch.einsum("bnd,bmd->bnm", Q, K) / DIM_WORD**0.5
WEIGHT = SCORE.softmax(dim=-1)
ANSWER = torch.einsum("bnm,bme->bne", WEIGHT, V)
SHAPES = [tuple(x.shape) for x in (Q, K, V, SCORE, WEIGHT, ANSWER)]
STATED = [(1, 4, 8), (1, 20, 8), (1, 20, 10), (1, 4, 20), (1, 4, 20), (1, 4, 10)]
SUMS, OTHER_SUMS = WEIGHT.sum(-1), SCORE.softmax(dim=-2).sum(-1)

torchs = torch.nn.functional.scaled_dot_product_attention
LAST_HIDDEN = torch.arange(M).expand(N, M) < M - 1
MASKED = torchs(Q, K, V, attn_mask=LAST_HIDDEN)

PAIRS = 20_000
vectors = np.random.default_rng(3).random((2, PAIRS, DIM_WORD))
SCORES = vectors.prod(axis=0).sum(axis=-1) / np.sqrt(DIM_WORD)
SQUARES = (SCORES - SCORES.mean()) ** 2
ERROR = SQUARES.std() / np.sqrt(PAIRS)
EXACT = Fraction(1, 3) ** 2 - Fraction(1, 4) ** 2

JUDGEMENTS = [
    holds(
        "Z35",
        SHAPES[3] == (BATCH_SIZE, N, M)
        and SHAPES[5] == (BATCH_SIZE, N, DIM_V)
        and len({N, M, DIM_WORD, DIM_V}) == 4,
        "The four sizes differ, which is well chosen: a product of the wrong axes is "
        "an error, and does not pass.",
        "every product fits",
    ),
    inconsistent(
        "Z36",
        SEQUENCE_MAX_LEN < M
        and all(SEQUENCE_MAX_LEN not in shape for shape in SHAPES),
        "As a limit on sequences it would forbid the 20 keys of the demo. Nothing uses "
        "it, so nothing goes wrong; but a reader may look for the place where it "
        "counts.",
        f"no axis has {SEQUENCE_MAX_LEN} places, and the keys have {M}",
    ),
    holds(
        "Z37",
        SHAPES == STATED,
        "The first axis is the batch, which the formulas do without.",
        "the same six",
    ),
    holds(
        "Z38",
        np.isclose(np.sqrt(DIM_WORD), DIM_WORD**0.5)
        and torch.allclose(SCORE, attnref.torch.scores(Q, K)),
        "It is √dₖ, and DIM_WORD is the length of the keys, as it must be.",
        f"{DIM_WORD**0.5:.4f}",
    ),
    holds(
        "Z39",
        torch.allclose(SUMS, torch.ones_like(SUMS))
        and (OTHER_SUMS - 1).abs().min().item() > 0.01,
        "The last axis is the keys, so it is the sum over j of "
        "[Z10](z-form.py#Z10).",
        "the weights of each query add up to 1; over the queries instead, "
        f"{OTHER_SUMS.min():.2f} to {OTHER_SUMS.max():.2f}",
    ),
    holds(
        "Z40",
        abs(SQUARES.mean() - EXACT) < 4 * ERROR and float(EXACT) < 0.05,
        f"It runs, and shows less than it could: the variance is {EXACT}, and not 1, "
        "so the weights are nearly equal ([VUNI](../d/VUNI.py)). With mode `randn` "
        "it is 1 ([VSCL](../d/VSCL.py)).",
        f"variance of the scores {SQUARES.mean():.4f} ± {ERROR:.4f}",
    ),
    holds(
        "Z41",
        headings(SCORE, WEIGHT, ANSWER) == ["x:"] * 3,
        'No call passes a name, so three blocks begin alike. `"score"` as second '
        "argument tells them apart.",
        "three blocks, each headed `x:`",
    ),
    holds(
        "Z42",
        torch.allclose(ANSWER, attnref.torch.attention(Q, K, V))
        and bool((V.amax(dim=1, keepdim=True) > ANSWER).all())
        and bool((V.amin(dim=1, keepdim=True) < ANSWER).all()),
        "It is the sum of [Z15](z-form.py#Z15), for all queries at once.",
        "as `attnref.torch.attention`; each entry lies between the least and the "
        "largest of its column of V",
    ),
    holds(
        "Z43",
        torch.allclose(ANSWER, torchs(Q, K, V))
        and not torch.allclose(ANSWER, MASKED, atol=1e-4),
        "Down to single terms. It leaves out the optional mask of the paper's figure "
        "2: see [Masks](../contract.py#masks-and-biases).",
        "as Torch's own function without a mask, and not as with one",
    ),
]
