"""BWDQ and BWDK: the backward pass from the scores to queries and keys."""

from sympy import Eq, Expr, IndexedBase, Sum

from attnref.derivations._means import p
from attnref.derivations._means import t as query
from attnref.derivations._operators import Partial, product
from attnref.derivations._record import Law, Quantity, Record, Step, Variant
from attnref.derivations.backward import (
    FLASH,
    FLASH_2,
    ONE_KEY,
    ONE_QUERY,
    SIZES,
    L,
    key,
    queries,
    r,
    u,
)
from attnref.derivations.log_partition import SCALE, SCORES, beta, c, i
from attnref.derivations.z_form import a, d_k, k, keys, m, n, q, s, t

D = IndexedBase("D")
SCORE_LOSS = Law(
    "loss",
    "linear in the scores, with the slopes of any other",
    (Eq(L, Sum(product(D[t, s], a[t, s]), keys, queries)),),
)
SYMBOLS = (
    *SIZES[:2],
    Quantity(d_k, "components of a key", r"\geq 1"),
    Quantity(i, "one of the components", r"= 1, \dots, d_k"),
    Quantity(q[t, c], "component of a query", r"\in \mathbb{R}"),
    Quantity(k[s, c], "component of a key", r"\in \mathbb{R}"),
    SCALE,
    Quantity(a[t, s], "score", r"\in \mathbb{R}"),
    Quantity(D[t, s], "gradient in the score, as BWDS gives it", r"\in \mathbb{R}"),
    Quantity(L, "loss", r"\in \mathbb{R}"),
)


def _chain(x: Expr) -> Step:
    """Return the first step of the gradients in queries and keys."""
    return Step(
        "chain",
        Sum(product(D[u, r], Partial(a[u, r], x)), (r, 1, m), (u, 1, n)),
        "Every score passes its gradient on.",
        ("loss",),
    )


to_query = product(beta, Sum(product(D[query, s], k[s, i]), keys))
to_key = product(beta, Sum(product(D[t, key], q[t, i]), queries))

BWDQ = Record(
    tag="BWDQ",
    title="The gradient in the queries",
    summary="A query collects the keys, by the gradients of its scores.",
    statement=Eq(Partial(L, q[query, i]), to_query),
    symbols=(ONE_QUERY, *SYMBOLS),
    definitions=(SCORE_LOSS, SCORES),
    assumptions=(),
    steps=(
        _chain(q[query, i]),
        Step(
            "key",
            to_query,
            "The scores of this query alone hold it, and the key is the factor.",
            ("score",),
        ),
    ),
    variants=(
        Variant(
            "not scaled",
            "key",
            "The scale belongs to the score and comes down with the key; a common slip.",
            to_query.args[1],
        ),
        Variant(
            "the weights alone",
            "key",
            "The weights for the gradients of the scores are right where $\\log Z_t$ is the "
            "loss (LZGQ), and nowhere else; a common slip.",
            product(beta, Sum(product(p[query, s], k[s, i]), keys)),
        ),
    ),
    sources=(FLASH, FLASH_2),
    date="2026-11-30",
    remark=(
        "The loss is linear in the scores here, as in BWDS it is linear in the outputs: its slopes "
        "are all that reaches a gradient. So with any softmax, mask, bias or sink it is the same."
    ),
    code=("attnref.attention_gradients",),
)

BWDK = Record(
    tag="BWDK",
    title="The gradient in the keys",
    summary="A key collects the queries, by the gradients of its scores.",
    statement=Eq(Partial(L, k[key, i]), to_key),
    symbols=(ONE_KEY, *SYMBOLS),
    definitions=(SCORE_LOSS, SCORES),
    assumptions=(),
    steps=(
        _chain(k[key, i]),
        Step(
            "query",
            to_key,
            "The scores with this key alone hold it, and the query is the factor.",
            ("score",),
        ),
    ),
    variants=(
        Variant(
            "not transposed",
            "query",
            "Printed with shapes that do not fit (Dao-AILab/flash-attention, issue 373): the sum "
            "is over the queries, along the columns of $D$.",
            product(beta, Sum(product(D[key, r], q[r, i]), (r, 1, m))),
        ),
        Variant(
            "not scaled",
            "query",
            "The scale belongs to the score and comes down with the query; a common slip.",
            to_key.args[1],
        ),
        Variant(
            "one query alone",
            "query",
            "Each key serves all queries: their parts add up; a common slip.",
            product(beta, D[query, key], q[query, i]),
        ),
    ),
    sources=(FLASH, FLASH_2),
    date="2026-11-30",
    remark=BWDQ.remark,
    code=("attnref.attention_gradients",),
)

RECORDS = (BWDQ, BWDK)
