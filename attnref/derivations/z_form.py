"""ZFRM: one row of attention, from softmax to the form with its normaliser in sight."""

from sympy import Eq, IndexedBase, Pow, Sum, exp, sqrt, symbols

from attnref.derivations._operators import Inner, Softmax, product, ratio
from attnref.derivations._record import Law, Quantity, Record, Source, Step, Variant

t, s, j, i = symbols("t s j i", integer=True)
m, n, d_k = symbols("m n d_k", integer=True, positive=True)
y, a, q, k, v = (IndexedBase(name) for name in "yaqkv")
Z = IndexedBase("Z", positive=True)

keys, other_keys = (s, 1, m), (j, 1, m)
similarity = Inner(q[t], k[s])
score = ratio(similarity, sqrt(d_k))
normaliser = Sum(exp(a[t, j]), other_keys)
z_form = product(1 / Z[t], Sum(product(exp(score), v[s]), keys))

RECORD = Record(
    tag="ZFRM",
    title="The Z form",
    summary="Attention divides once, after the sum: $Z_t$ belongs to the query and to no key.",
    statement=Eq(y[t], z_form),
    symbols=(
        Quantity(t, "one of $n$ queries", r"= 1, \dots, n"),
        Quantity(m, "number of keys", r"\geq 1"),
        Quantity(q[t], "query", r"\in \mathbb{R}^{d_k}"),
        Quantity(k[s], "key", r"\in \mathbb{R}^{d_k}"),
        Quantity(v[s], "value", r"\in \mathbb{R}^{d_v}"),
        Quantity(d_k, "components of a key", r"\geq 1"),
        Quantity(a[t, s], "score", r"\in \mathbb{R}"),
        Quantity(Z[t], "normaliser", "> 0"),
        Quantity(y[t], "output", r"\in \mathbb{R}^{d_v}"),
    ),
    definitions=(
        Law(
            "attention",
            "the values, weighted by softmax",
            (Eq(y[t], Sum(product(Softmax(a[t], s), v[s]), keys)),),
            (t,),
        ),
        Law(
            "softmax",
            "over the keys",
            (Eq(Softmax(a[t], s), ratio(exp(a[t, s]), normaliser)),),
            (t, s),
        ),
        Law("normaliser", "a name for the sum", (Eq(Z[t], normaliser),), (t,)),
        Law("score", "the scaled inner product", (Eq(a[t, s], score),), (t, s)),
    ),
    assumptions=(),
    steps=(
        Step(
            "weights",
            Sum(product(Softmax(a[t], s), v[s]), keys),
            "What attention is.",
            ("attention",),
        ),
        Step(
            "softmax",
            Sum(product(exp(a[t, s]), 1 / normaliser, v[s]), keys),
            "Write softmax out. The sum below runs over all keys under a letter of its own.",
            ("softmax",),
        ),
        Step(
            "outside",
            product(1 / normaliser, Sum(product(exp(a[t, s]), v[s]), keys)),
            "The denominator does not contain $s$: a factor of every term, it leaves the sum.",
        ),
        Step(
            "name",
            product(1 / Z[t], Sum(product(exp(a[t, s]), v[s]), keys)),
            "Call it $Z_t$: the same for all keys, another one for each query.",
            ("normaliser",),
        ),
        Step("scores", z_form, "Put the scores in.", ("score",)),
    ),
    variants=(
        Variant(
            "over the queries",
            "softmax",
            "Softmax along the wrong axis: labml's diffusion U-Net, since corrected "
            "(labmlai, issue 146).",
            Sum(product(exp(a[t, s]), 1 / Sum(exp(a[j, s]), (j, 1, n)), v[s]), keys),
        ),
        Variant(
            "over everything",
            "softmax",
            "Softmax without an axis: one normaliser for all queries.",
            Sum(product(exp(a[t, s]), 1 / Sum(exp(a[i, j]), other_keys, (i, 1, n)), v[s]), keys),
        ),
        Variant(
            "without exp",
            "softmax",
            "The sum can be 0. Lil'Log, “Attention? Attention!”, commit 067de52, since corrected.",
            Sum(product(a[t, s], 1 / Sum(a[t, j], other_keys), v[s]), keys),
        ),
        Variant(
            "one letter for two indices",
            "softmax",
            "With $s$ below as well, each term is divided by itself.",
            Sum(product(exp(a[t, s]), Pow(exp(a[t, s]), -1, evaluate=False), v[s]), keys),
        ),
        Variant(
            "value inside softmax",
            "softmax",
            "Reported of nndl, edition of 7 October 2019, equation 15.107 (issue 469); since "
            "corrected.",
            Sum(
                ratio(exp(product(a[t, s], v[s])), Sum(exp(product(a[t, j], v[j])), other_keys)),
                keys,
            ),
        ),
        Variant(
            "without the root",
            "scores",
            "cntkx before 0.1.33 (issue 10).",
            product(1 / Z[t], Sum(product(exp(ratio(similarity, d_k)), v[s]), keys)),
        ),
    ),
    sources=(
        Source("Vaswani et al. 2017, arXiv:1706.03762", "equation 1", True),
        Source("Rabe and Staats 2021, arXiv:2112.05682", "section 2", False),
    ),
    date="2026-11-29",
    remark="$y_t$, $v_s$ are vectors; both sides are linear in $v$, one component stands for all.",
)
RECORDS = (RECORD,)
