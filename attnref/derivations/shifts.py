"""SHFT and KSHF: what adds the same to all scores of a row changes no weight."""

from sympy import Eq, IndexedBase, Sum, Symbol, exp

from attnref.derivations._operators import product, ratio, total
from attnref.derivations._record import Law, Quantity, Record, Source, Step, Variant
from attnref.derivations.z_form import a, d_k, i, j, k, keys, m, other_keys, q, s, t, v, y

c, u = IndexedBase("c"), IndexedBase("u")
beta = Symbol("beta", real=True)
numerator, normaliser = Sum(product(exp(a[t, s]), v[s]), keys), Sum(exp(a[t, j]), other_keys)
shifted, other_shifted = exp(total(a[t, s], c[t])), exp(total(a[t, j], c[t]))
row = (
    Quantity(t, "one of the queries", r"\geq 1"),
    Quantity(m, "number of keys", r"\geq 1"),
    Quantity(v[s], "value", r"\in \mathbb{R}^{d_v}"),
    Quantity(y[t], "output", r"\in \mathbb{R}^{d_v}"),
)

SHFT = Record(
    tag="SHFT",
    title="A shift of the scores",
    summary="Added to all scores of a row, $c_t$ multiplies $Z_t$ by $\\exp(c_t)$, and cancels.",
    statement=Eq(
        ratio(Sum(product(shifted, v[s]), keys), Sum(other_shifted, other_keys)),
        y[t],
    ),
    symbols=(
        *row,
        Quantity(a[t, s], "score", r"\in \mathbb{R}"),
        Quantity(c[t], "shift, one for each query", r"\in \mathbb{R}"),
    ),
    definitions=(Law("output", "the Z form", (Eq(y[t], ratio(numerator, normaliser)),), (t,)),),
    assumptions=(),
    steps=(
        Step(
            "outside",
            ratio(product(exp(c[t]), numerator), product(exp(c[t]), normaliser)),
            "The factor $\\exp(c_t)$ has no $s$ and leaves both sums: $Z_t$ is multiplied by it.",
        ),
        Step("cancel", ratio(numerator, normaliser), "It stands above and below."),
        Step("output", y[t], "What the output is.", ("output",)),
    ),
    variants=(
        Variant(
            "above only",
            "outside",
            "The normaliser is shifted as well; a common slip.",
            ratio(product(exp(c[t]), numerator), normaliser),
        ),
        Variant(
            "exp of a sum",
            "outside",
            "exp turns a sum into a product, and not into a sum; a common slip.",
            ratio(
                Sum(product(total(exp(a[t, s]), exp(c[t])), v[s]), keys),
                Sum(total(exp(a[t, j]), exp(c[t])), other_keys),
            ),
        ),
        Variant(
            "the output moves",
            "output",
            "A shift of the scores is no shift of the values; a common slip.",
            total(y[t], c[t]),
        ),
    ),
    sources=(
        Source("Boyd and Vandenberghe 2004, Convex Optimization", "section 3.1.5", False),
        Source("Milakov and Gimelshein 2018, arXiv:1805.02867", "section 2", False),
    ),
    date="2026-11-30",
    remark=(
        "The weight of a key is the output where its value is 1 and the others are 0: so the "
        "weights stay, too. A bias that differs from key to key is no shift. Weights without exp, "
        "scores over their sum, as in Lil'Log, commit 067de52, since corrected, would not stay."
    ),
    code=("attnref.softmax", "attnref.attention"),
)

similarity, other_similarity = (Sum(product(q[t, i], k[x, i]), (i, 1, d_k)) for x in (s, j))
moved, other_moved = (Sum(product(q[t, i], total(k[x, i], u[i])), (i, 1, d_k)) for x in (s, j))
offset = product(beta, Sum(product(q[t, i], u[i]), (i, 1, d_k)))
KEYS_NUMERATOR = Sum(product(exp(product(beta, similarity)), v[s]), keys)
KEYS_NORMALISER = Sum(exp(product(beta, other_similarity)), other_keys)

KSHF = Record(
    tag="KSHF",
    title="One vector added to every key",
    summary="All scores of a query change by the same amount, and its output does not change.",
    statement=Eq(
        ratio(
            Sum(product(exp(product(beta, moved)), v[s]), keys),
            Sum(exp(product(beta, other_moved)), other_keys),
        ),
        y[t],
    ),
    symbols=(
        *row,
        Quantity(d_k, "components of a key", r"\geq 1"),
        Quantity(q[t, i], "component of a query", r"\in \mathbb{R}"),
        Quantity(k[s, i], "component of a key", r"\in \mathbb{R}"),
        Quantity(u[i], "component of the vector that is added", r"\in \mathbb{R}"),
        Quantity(beta, "scale", r"\in \mathbb{R}"),
    ),
    definitions=(
        Law("output", "the Z form", (Eq(y[t], ratio(KEYS_NUMERATOR, KEYS_NORMALISER)),), (t,)),
    ),
    assumptions=(),
    steps=(
        Step(
            "outside",
            ratio(product(exp(offset), KEYS_NUMERATOR), product(exp(offset), KEYS_NORMALISER)),
            "The inner product is linear. Its part with $u$ has no $s$: a shift, as in SHFT.",
        ),
        Step("output", y[t], "The factor cancels, and the output is left.", ("output",)),
    ),
    variants=(
        Variant(
            "with the key",
            "outside",
            "The vector meets the query and no key: added to the queries it would be no shift; a "
            "common slip.",
            ratio(
                Sum(
                    product(
                        exp(
                            product(
                                beta, total(similarity, Sum(product(u[i], k[s, i]), (i, 1, d_k)))
                            )
                        ),
                        v[s],
                    ),
                    keys,
                ),
                Sum(
                    exp(
                        product(
                            beta, total(other_similarity, Sum(product(u[i], k[j, i]), (i, 1, d_k)))
                        )
                    ),
                    other_keys,
                ),
            ),
        ),
        Variant(
            "above only",
            "outside",
            "The normaliser is shifted as well; a common slip.",
            ratio(product(exp(offset), KEYS_NUMERATOR), KEYS_NORMALISER),
        ),
    ),
    sources=(Source("Milakov and Gimelshein 2018, arXiv:1805.02867", "section 2", False),),
    date="2026-11-30",
    remark=(
        "The mean of the keys may be taken off all of them, and the bias of a key projection does "
        "nothing. With a sink, whose score does not move, this fails."
    ),
    code=("attnref.attention",),
)

RECORDS = (SHFT, KSHF)
