"""The article on the Z form, Z01–Z16: its formulas, their shapes, and the library."""

import re

import attnref
import attnref.torch
import numpy as np
from numpy.typing import NDArray
import torch

from claims import holds, imprecise, wrong

Floats = NDArray[np.float64]


def softmax(scores: Floats, axis: int = -1) -> Floats:
    """Divide exponentials by their sum."""
    e = np.exp(scores)
    return np.asarray(e / e.sum(axis=axis, keepdims=True))


def matrix_form(q: Floats, k: Floats, v: Floats) -> Floats:
    """Return softmax(Q Kᵀ/√dₖ) V."""
    return np.asarray(softmax(q @ k.T / np.sqrt(k.shape[1])) @ v)


def refused(*arrays: Floats) -> bool:
    """Tell whether arrays do not fit together."""
    try:
        matrix_form(*arrays)
    except ValueError:
        return True
    return False


def under_root(tex: str) -> str:
    r"""Return what TeX puts under \sqrt: a group in braces, or else one token."""
    found = re.match(r"\\sqrt\s*(?:\{([^{}]*)\}|(.))", tex)
    assert found
    return found[1] or found[2]


def span(x: Floats, digits: int = 2) -> str:
    """Return the least and the largest number."""
    return f"{x.min():.{digits}f} to {x.max():.{digits}f}".replace("-", "−")


rng = np.random.default_rng(0)
Q, K, V = rng.random((4, 8)), rng.random((20, 8)), rng.random((20, 10))
A = np.array([[q @ k / np.sqrt(8) for k in K] for q in Q])
Z = np.array([sum(np.exp(a) for a in row) for row in A])
Y = np.array(
    [
        sum(np.exp(a) / z * v for a, v in zip(row, V, strict=True))
        for row, z in zip(A, Z, strict=True)
    ]
)
WEIGHTS, MATRIX = softmax(A), matrix_form(Q, K, V)
q, k, v = map(torch.from_numpy, (Q, K, V))
TORCHS = torch.nn.functional.scaled_dot_product_attention(q, k, v).numpy()
OTHER_AXIS = softmax(A, axis=0).sum(axis=1)
ONE_Z = (np.exp(A) / Z[0]).sum(axis=1)
BOUND = 20 * np.exp(np.sqrt(8))
OVERFLOW = np.log(np.finfo(np.float64).max)

normal = np.random.default_rng(1).standard_normal
NORMAL = normal((4, 8)) @ normal((20, 8)).T / np.sqrt(8)
draw = np.random.default_rng(2).random
LARGEST = softmax(
    np.einsum("nd,nmd->nm", draw((20_000, 8)), draw((20_000, 20, 8))) / np.sqrt(8)
).max(axis=1)

ROOT = under_root(r"\sqrt d_k")
ROW_Q, ROW_K = np.array([[1.0, 2, 3]]), np.array([[4.0, 5, 6]])
AS_ROWS, AS_COLUMNS = ROW_Q @ ROW_K.T, ROW_Q.T @ ROW_K

ASKED, TEXTS = np.array([1.0, 0.0]), np.array([[1.0, 0.0], [3.0, 3.0]])
DISTANCES = np.linalg.norm(TEXTS - ASKED, axis=1)
COSINES = TEXTS @ ASKED / np.linalg.norm(TEXTS, axis=1)
FOUND = softmax(TEXTS @ ASKED / np.sqrt(2))

JUDGEMENTS = [
    holds(
        "Z01",
        np.allclose(Y, MATRIX, rtol=1e-13),
        "Row t of the matrix formula is this sum, as [ZFRM](../d/ZFRM.py) proves; "
        "Z belongs to the query and could carry its index, Zₜ.",
        "term by term and by matrices, less than 10⁻¹³ apart",
    ),
    holds(
        "Z02",
        np.allclose(MATRIX, TORCHS, rtol=1e-13) and np.ptp(OTHER_AXIS) > 0.1,
        "It is equation 1 of *Attention Is All You Need*. Softmax is meant row by "
        "row, as the article says later.",
        "as Torch's own function",
    ),
    imprecise(
        "Z03",
        ROOT == "d" and under_root(r"\sqrt{d_k}") == "d_k",
        r"Without braces the root ends before the index. `\sqrt{d_k}` is what is "
        "meant, and the code takes the root of it.",
        f"the root takes `{ROOT}`",
    ),
    holds(
        "Z04",
        MATRIX.shape == (4, 10)
        and len({4, 20, 8, 10}) == 4
        and refused(Q, K, V[1:])
        and refused(Q, K[:, 1:], V),
        "What comes out can be added: scores and weights are n × m, the output "
        "n × d_v.",
        f"{Q.shape}, {K.shape} and {V.shape} give {MATRIX.shape}; with a value less "
        "than keys, an error",
    ),
    holds("Z05", Q[0].shape == K[0].shape == (8,)),
    imprecise(
        "Z06",
        AS_ROWS.item() == ROW_Q[0] @ ROW_K[0] and AS_COLUMNS.shape == (3, 3),
        "True if both are rows, as in Q and K; for columns, which vectors usually "
        "are on paper, q kᵀ is a whole matrix. ⟨q, k⟩ needs no such reading.",
        f"rows of 3 numbers give one number, {AS_ROWS.item():.0f}; columns an array "
        f"of shape {AS_COLUMNS.shape}",
    ),
    imprecise(
        "Z07",
        NORMAL.min() < 0 < A.min() and A.sum(axis=1).min() > 2,
        "The signs are one reason. But positive scores, like all of the demo's, are "
        "no weights either: to average values, weights must also add up to 1.",
        f"scores {span(A)} in the demo, where rows add up to {span(A.sum(axis=1), 1)};"
        f" {span(NORMAL)} with normal numbers",
    ),
    wrong(
        "Z08",
        (A.argmax(axis=1) == WEIGHTS.argmax(axis=1)).all()
        and WEIGHTS.min() > 0
        and LARGEST.max() < 0.5,
        "To find one key, the largest score is enough. Weights let every key take "
        "part, and the output is an average: it matters to whoever reads a weight as "
        "a choice. See [Retrieval](../guide/retrieval.py#it-never-picks-one).",
        f"with numbers as in the demo, the largest of 20 weights is "
        f"{LARGEST.mean():.4f} ± {LARGEST.std() / np.sqrt(20_000):.4f} on average; an equal share is {1 / 20}",
    ),
    holds(
        "Z09",
        np.allclose(WEIGHTS, attnref.softmax(A), rtol=1e-13)
        and np.allclose(WEIGHTS.sum(axis=1), 1),
        "The index s at softmax says over what: a good habit.",
        "as `attnref.softmax`; every row adds up to 1",
    ),
    holds(
        "Z10",
        A.shape[1] == len(K) and abs(OTHER_AXIS - 1).min() > 0.01,
        "Summing over the queries is a mistake that no error message tells.",
        f"over the 4 queries instead, rows add up to {span(OTHER_AXIS)}",
    ),
    holds(
        "Z11",
        np.allclose((WEIGHTS[0, :, np.newaxis] * V).sum(axis=0), Y[0]),
        "For the one query at hand; with several, it is yₜₛ.",
        "the 20 contributions add up to the output",
    ),
    imprecise(
        "Z12",
        np.allclose(WEIGHTS[0] @ V, MATRIX[0]) and Y[0].size < MATRIX.size,
        "It is whole over the keys, for one query: yₜ. Each query has such a sum, "
        "and Q as a whole has n of them.",
        f"{Y[0].size} of the {MATRIX.size} numbers of the output",
    ),
    holds(
        "Z13",
        np.allclose(np.log(Z), attnref.log_partition(A)) and 20 < Z.min() < BOUND,
        f"Numbers from [0, 1) keep it between 20 and 20·exp(√8) = {BOUND:.0f}.",
        f"{span(Z, 1)} for the four queries",
    ),
    imprecise(
        "Z14",
        np.ptp(Z) > 1 and abs(ONE_Z[1:] - 1).max() > 0.01,
        "Well seen: it is the same for every key, and so 1/Z may leave the sum. It "
        "differs from query to query, hence Zₜ.",
        f"Z is {', '.join(f'{z:.1f}' for z in Z)}; with the first for all, rows add "
        f"up to {span(ONE_Z)}",
    ),
    holds(
        "Z15",
        np.allclose(Y, attnref.expanded_attention(Q, K, V), rtol=1e-13),
        f"So it is on paper. Computed as written, a score above {OVERFLOW:.0f} overflows; "
        "attnref [shifts the scores](../d/SHFT.py) first.",
        "as `attnref.expanded_attention`",
    ),
    wrong(
        "Z16",
        DISTANCES[0] == 0 and COSINES[0] == 1 and FOUND[1] > FOUND[0] > 0,
        "The roles of Q, K and V are well told. But the largest inner product need "
        "not be the nearest key's, and all values make up the answer; it matters "
        "where attention is used to search. See "
        "[Retrieval](../guide/retrieval.py#it-is-not-the-nearest).",
        f"the first key equals the query and gets {FOUND[0]:.0%}, the second, at the "
        f"distance {DISTANCES[1]:.1f}, {FOUND[1]:.0%}",
    ),
]
