"""The article on the Z form, Z07, Z08 and Z16: what weights are for, and the library."""

import numpy as np

from claims import imprecise, wrong
from claims.z_form_formulas import WEIGHTS, A, softmax, span

normal = np.random.default_rng(1).standard_normal
NORMAL = normal((4, 8)) @ normal((20, 8)).T / np.sqrt(8)
draw = np.random.default_rng(2).random
LARGEST = softmax(
    np.einsum("nd,nmd->nm", draw((20_000, 8)), draw((20_000, 20, 8))) / np.sqrt(8)
).max(axis=1)
MEAN, ERROR = LARGEST.mean(), LARGEST.std() / np.sqrt(20_000)

ASKED, TEXTS = np.array([1.0, 0.0]), np.array([[1.0, 0.0], [3.0, 3.0]])
DISTANCES = np.linalg.norm(TEXTS - ASKED, axis=1)
COSINES = TEXTS @ ASKED / np.linalg.norm(TEXTS, axis=1)
FOUND = softmax(TEXTS @ ASKED / np.sqrt(2))

JUDGEMENTS = [
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
        f"with numbers as in the demo, the largest of 20 weights is {MEAN:.5f} ± "
        f"{ERROR:.5f} on average; an equal share is {1 / 20}",
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
