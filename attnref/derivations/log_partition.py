"""PSUM, LZGR and LZGQ: the weights, and how log Z generates them and the expected key."""

from sympy import Eq, Integer, Sum, Symbol, exp, log

from attnref.derivations._means import by_logarithm, expected, p, t
from attnref.derivations._operators import Partial, Place, product, ratio
from attnref.derivations._record import Law, Quantity, Record, Source, Step, Variant
from attnref.derivations.z_form import Z, a, d_k, k, keys, m, n, q, s

beta = Symbol("beta", real=True)
key, i = Place("j", m), Place("i", d_k)
c = Symbol("c", integer=True)

ROW = (
    Quantity(n, "number of queries", r"\geq 1"),
    Quantity(m, "number of keys", r"\geq 1"),
    Quantity(t, "one of the queries", r"= 1, \dots, n"),
)
SCORE = Quantity(a[t, s], "score", r"\in \mathbb{R}")
PARTITION = Quantity(Z[t], "normaliser, or partition function", "> 0")
WEIGHT = Quantity(p[t, s], "weight", "> 0")
SCALE = Quantity(beta, "scale", r"\in \mathbb{R}")

NORMALISER = Law("normaliser", "a name for the sum", (Eq(Z[t], Sum(exp(a[t, s]), keys)),), (t,))
WEIGHTS = Law("weights", "softmax", (Eq(p[t, s], ratio(exp(a[t, s]), Z[t])),), (t, s))
SCORES = Law(
    "score",
    "the scaled inner product",
    (Eq(a[t, s], product(beta, Sum(product(q[t, c], k[s, c]), (c, 1, d_k)))),),
    (t, s),
)
WAINWRIGHT = Source(
    "Wainwright and Jordan 2008, Graphical Models, Exponential Families, and Variational Inference",
    "proposition 3.1",
    False,
)


PSUM = Record(
    tag="PSUM",
    title="The weights of a row add up to 1",
    summary="The normaliser is what makes it so.",
    statement=Eq(Sum(p[t, s], keys), Integer(1)),
    symbols=(*ROW, SCORE, PARTITION, WEIGHT),
    definitions=(NORMALISER, WEIGHTS),
    assumptions=(),
    steps=(
        Step("weights", Sum(ratio(exp(a[t, s]), Z[t]), keys), "What a weight is.", ("weights",)),
        Step("outside", ratio(Sum(exp(a[t, s]), keys), Z[t]), "The normaliser has no $s$."),
        Step("one", Integer(1), "Above stands the normaliser as well.", ("normaliser",)),
    ),
    variants=(
        Variant(
            "without exp",
            "weights",
            "Scores over the normaliser; Lil'Log, “Attention? Attention!”, commit 067de52, since "
            "corrected, had no exp at all.",
            Sum(ratio(a[t, s], Z[t]), keys),
        ),
        Variant(
            "any normaliser",
            "one",
            "Divided by something else they add up to something else: with a sink in $Z_t$ to less "
            "than 1, after dropout to a random number.",
            withheld=("normaliser",),
        ),
    ),
    sources=(Source("Vaswani et al. 2017, arXiv:1706.03762", "equation 1", True),),
    date="2026-11-30",
    remark="They do not where a row allows no key: its weights are all 0.",
    code=("attnref.softmax", "attnref.attention_weights"),
)

LZGR = Record(
    tag="LZGR",
    title="The gradient of log Z in the scores",
    summary="A weight is the derivative of $\\log Z_t$ in its score.",
    statement=Eq(Partial(log(Z[t]), a[t, key]), p[t, key]),
    symbols=(
        *ROW,
        Quantity(key, "one of the keys", r"= 1, \dots, m"),
        Quantity(a[t, key], "score", r"\in \mathbb{R}"),
        PARTITION,
        Quantity(p[t, key], "weight", "> 0"),
    ),
    definitions=(NORMALISER, WEIGHTS),
    assumptions=(),
    steps=(
        by_logarithm(a[t, key]),
        Step(
            "sum",
            ratio(Sum(Partial(exp(a[t, s]), a[t, key]), keys), Z[t]),
            "A sum is differentiated term by term.",
            ("normaliser",),
        ),
        Step(
            "term",
            ratio(exp(a[t, key]), Z[t]),
            "Only one of the terms contains this score, and exp is its own derivative.",
        ),
        Step("weight", p[t, key], "What a weight is.", ("weights",)),
    ),
    variants=(
        Variant(
            "dropped",
            "sum",
            "A backward pass that ignores the cotangent of log Z, as if log Z were constant "
            "(Dao-AILab/flash-attention, issues 404, 889 and 1137; JAX stops the gradient there).",
            product(0, Z[t]),
        ),
        Variant(
            "without the logarithm",
            "logarithm",
            "The derivative of $Z_t$ itself is $\\exp(a_{tj})$; a common slip.",
            Partial(Z[t], a[t, key]),
        ),
        Variant(
            "all terms",
            "term",
            "Every term differentiated as if it held this score: 1; a common slip.",
            ratio(Sum(exp(a[t, s]), keys), Z[t]),
        ),
    ),
    sources=(
        WAINWRIGHT,
        Source("Boyd and Vandenberghe 2004, Convex Optimization", "section 3.1.5", False),
    ),
    date="2026-11-30",
    remark="So the cotangent of $\\log Z_t$ reaches each score times its weight: see BWDS.",
    code=("attnref.log_partition", "attnref.softmax"),
)

LZGQ = Record(
    tag="LZGQ",
    title="The gradient of log Z in the query",
    summary="The gradient of $\\log Z_t$ in the query is the scale times the expected key.",
    statement=Eq(Partial(log(Z[t]), q[t, i]), product(beta, expected(k[s, i]))),
    symbols=(
        *ROW,
        Quantity(d_k, "components of a key", r"\geq 1"),
        Quantity(i, "one of the components", r"= 1, \dots, d_k"),
        Quantity(q[t, i], "component of the query", r"\in \mathbb{R}"),
        Quantity(k[s, i], "component of a key", r"\in \mathbb{R}"),
        SCALE,
        SCORE,
        PARTITION,
        WEIGHT,
    ),
    definitions=(NORMALISER, WEIGHTS, SCORES),
    assumptions=(),
    steps=(
        by_logarithm(q[t, i]),
        Step(
            "chain",
            expected(Partial(a[t, s], q[t, i])),
            "The query reaches $\\log Z_t$ through every score, at the rate of its weight.",
            ("weights", "normaliser"),
        ),
        Step(
            "mean",
            product(beta, expected(k[s, i])),
            "A score is linear in the query; the key's component is the factor.",
            ("score",),
        ),
    ),
    variants=(
        Variant(
            "not scaled",
            "mean",
            "The scale belongs to the score and comes down with the key; a common slip.",
            expected(k[s, i]),
        ),
        Variant(
            "all keys alike",
            "mean",
            "The keys count by their weights; a common slip.",
            product(beta, Sum(k[s, i], keys)),
        ),
        Variant(
            "the largest alone",
            "chain",
            "As if $\\log Z_t$ were the score of the largest key; a common slip.",
            product(p[t, key], Partial(a[t, key], q[t, i])),
        ),
    ),
    sources=(WAINWRIGHT,),
    date="2026-11-30",
    remark="Where the values are the keys, $y_t$ is the gradient over $\\beta$: see AGRD.",
    code=("attnref.log_partition", "attnref.attention_weights"),
)

RECORDS = (PSUM, LZGR, LZGQ)
