"""GQAG: the gradient of a head of keys that a group of query heads reads."""

from sympy import Eq, Sum, Symbol, symbols

from attnref.derivations._operators import Partial, product, ratio
from attnref.derivations._record import Law, Quantity, Record, Source, Step, Variant
from attnref.derivations.backward import FLASH_2, ONE_KEY, SIZES, L, key, queries, r, u
from attnref.derivations.backward_projections import D
from attnref.derivations.log_partition import SCALE, beta, c, i
from attnref.derivations.z_form import a, d_k, k, keys, m, n, q, s, t

G, h = symbols("G", integer=True, positive=True), Symbol("h", integer=True)
heads = (h, 1, G)
grouped = Sum(product(beta, Sum(product(D[h, t, key], q[h, t, i]), queries)), heads)

GQAG = Record(
    tag="GQAG",
    title="The gradient of a shared key",
    summary="A head of keys that a group of query heads reads collects the gradients of them all.",
    statement=Eq(Partial(L, k[key, i]), grouped),
    symbols=(
        ONE_KEY,
        Quantity(G, "query heads in the group", r"\geq 1"),
        *SIZES[:2],
        Quantity(d_k, "components of a key", r"\geq 1"),
        Quantity(i, "one of the components", r"= 1, \dots, d_k"),
        Quantity(q[h, t, c], "component of a query of a head", r"\in \mathbb{R}"),
        Quantity(k[s, c], "component of a key that all of them read", r"\in \mathbb{R}"),
        SCALE,
        Quantity(a[h, t, s], "score in a head", r"\in \mathbb{R}"),
        Quantity(D[h, t, s], "gradient in this score, as BWDS gives it", r"\in \mathbb{R}"),
        Quantity(L, "loss", r"\in \mathbb{R}"),
    ),
    definitions=(
        Law(
            "loss",
            "linear in the scores of all heads, with the slopes of any other",
            (Eq(L, Sum(product(D[h, t, s], a[h, t, s]), keys, queries, heads)),),
        ),
        Law(
            "score",
            "the key is the same in every head of the group",
            (Eq(a[h, t, s], product(beta, Sum(product(q[h, t, c], k[s, c]), (c, 1, d_k)))),),
            (h, t, s),
        ),
    ),
    assumptions=(),
    steps=(
        Step(
            "chain",
            Sum(product(D[h, u, r], Partial(a[h, u, r], k[key, i])), (r, 1, m), (u, 1, n), heads),
            "Every score of every head passes its gradient on.",
            ("loss",),
        ),
        Step(
            "heads",
            grouped,
            "Each head of the group adds what BWDK gives for it alone.",
            ("score",),
        ),
    ),
    variants=(
        Variant(
            "the mean of the group",
            "heads",
            "The heads share the key and not its gradient: a sum, no mean; a common slip.",
            product(ratio(1, G), grouped),
        ),
        Variant(
            "one head of the group",
            "heads",
            "As if the key were read once; a common slip.",
            product(beta, Sum(product(D[1, t, key], q[1, t, i]), queries)),
        ),
        Variant(
            "gradients without their queries",
            "heads",
            "Summed over the group before they meet the queries, which differ from head to head; a "
            "common slip.",
            Sum(
                product(
                    beta,
                    Sum(product(D[h, t, key], Sum(q[u, t, i], (u, 1, G))), queries),
                ),
                heads,
            ),
        ),
    ),
    sources=(
        Source("Ainslie et al. 2023, GQA, arXiv:2305.13245", "section 2.2", False),
        FLASH_2,
    ),
    date="2026-11-30",
    remark=(
        "The values follow the same rule with BWDV. Query head h reads head h // G of the keys, "
        "counted from 0: a group is $G$ heads in a row."
    ),
    code=("attnref.attention_gradients",),
)

RECORDS = (GQAG,)
