"""The article on the Z form, Z01–Z06 and Z09–Z15: its formulas and their shapes."""

import re
from typing import Any

import attnref
import attnref.torch
import numpy as np
from numpy.typing import NDArray
import torch

from claims import holds, imprecise

Floats = NDArray[np.floating[Any]]


def softmax(scores: Floats, axis: int = -1) -> Floats:
    """Divide exponentials by their sum."""
    e = np.exp(scores)
    return np.asarray(e / e.sum(axis=axis, keepdims=True))


def matrix_form(q: Floats, k: Floats, v: Floats) -> Floats:
    """Return softmax(Q Kᵀ/√dₖ) V."""
    return np.asarray(softmax(q @ k.T / np.sqrt(k.shape[1])) @ v)


def alike(x: Floats, y: Floats) -> bool:
    """Tell whether only rounding keeps two arrays apart."""
    return bool(abs(x - y).max() < 1e-13)


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

ROOT = under_root(r"\sqrt d_k")
ROW_Q, ROW_K = np.array([[1.0, 2, 3]]), np.array([[4.0, 5, 6]])
AS_ROWS, AS_COLUMNS = ROW_Q @ ROW_K.T, ROW_Q.T @ ROW_K

JUDGEMENTS = [
    holds(
        "Z01",
        alike(Y, MATRIX),
        "Row t of the matrix formula is this sum, as [ZFRM](../d/ZFRM.py) proves. "
        "Z belongs to the query: see [Z14](z-form.py#Z14).",
        "term by term and by matrices, less than 10⁻¹³ apart",
    ),
    holds(
        "Z02",
        alike(MATRIX, TORCHS) and not alike(softmax(A, axis=0) @ V, TORCHS),
        "It is equation 1 of *Attention Is All You Need*. Softmax is meant row by "
        "row, as the article says later: [Z09](z-form.py#Z09).",
        "as Torch's own function; with softmax column by column, not",
    ),
    imprecise(
        "Z03",
        ROOT == "d" and under_root(r"\sqrt{d_k}") == "d_k",
        r"Without braces the root ends before the index. `\sqrt{d_k}` is what is "
        "meant, and the code takes the root of `DIM_WORD`.",
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
        f"{Q.shape}, {K.shape} and {V.shape} give {MATRIX.shape}; with one row "
        "of V or one column of K too few, an error",
    ),
    holds(
        "Z05",
        Q[0].shape == K[0].shape == (8,) and np.ndim(Q[0] @ K[0]) == 0,
        executed=f"rows of {len(Q[0])} numbers in Q and in K",
    ),
    imprecise(
        "Z06",
        AS_ROWS.item() == ROW_Q[0] @ ROW_K[0] and AS_COLUMNS.shape == (3, 3),
        "True if both are rows, as in Q and K; for columns, which vectors usually "
        "are on paper, q kᵀ is a whole matrix. ⟨q, k⟩ needs no such reading, and "
        "takes neither dot nor transpose.",
        f"rows of 3 numbers give one number, {AS_ROWS.item():.0f}; columns an array "
        f"of shape {AS_COLUMNS.shape}",
    ),
    holds(
        "Z09",
        alike(WEIGHTS, attnref.softmax(A))
        and alike(WEIGHTS.sum(axis=1), np.ones(4)),
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
        alike((WEIGHTS[0, :, np.newaxis] * V).sum(axis=0), Y[0]),
        "For the one query at hand; with several, it is yₜₛ.",
        "the 20 contributions add up to the output",
    ),
    imprecise(
        "Z12",
        alike(WEIGHTS[0] @ V, MATRIX[0]) and Y[0].size < MATRIX.size,
        "It is whole over the keys, for one query: yₜ. Each query has such a sum, "
        "and Q as a whole has n of them.",
        f"{Y[0].size} of the {MATRIX.size} numbers of the output",
    ),
    holds(
        "Z13",
        alike(np.log(Z), attnref.log_partition(A))
        and 20 < Z.min() <= Z.max() < BOUND,
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
        alike(Y, attnref.expanded_attention(Q, K, V)),
        f"So it is on paper. Computed as written, a score above {OVERFLOW:.0f} "
        "overflows; attnref [shifts the scores](../d/SHFT.py) first.",
        "as `attnref.expanded_attention`",
    ),
]
