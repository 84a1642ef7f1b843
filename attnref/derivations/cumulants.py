"""LZHS and AGRD: log Z twice differentiated, and attention as a gradient of a log Z."""

from sympy import Eq, Expr, IndexedBase, Sum, Symbol, exp, log

from attnref.derivations._means import by_logarithm, expected, p, t
from attnref.derivations._operators import Partial, Place, difference, product, ratio, total
from attnref.derivations._record import Law, Quantity, Record, Step, Variant
from attnref.derivations.log_partition import (
    LZGQ,
    NORMALISER,
    PARTITION,
    ROW,
    SCORE,
    SCORES,
    WAINWRIGHT,
    WEIGHT,
    WEIGHTS,
    beta,
    i,
)
from attnref.derivations.z_form import Z, a, d_k, k, keys, m, q, s, v, y

j, r = Place("j", d_k), Symbol("r", integer=True)
b, tau = IndexedBase("b"), Symbol("tau", real=True)
other_key = Sum(product(p[t, r], k[r, j]), (r, 1, m))


def _weighted(change: Expr) -> Expr:
    """Return β times the expected key, its weights changed by a factor."""
    return product(beta, Sum(product(p[t, s], change, k[s, i]), keys))


slope = Partial(a[t, s], q[t, j])
other_slope = Sum(product(p[t, r], Partial(a[t, r], q[t, j])), (r, 1, m))
covariance = difference(expected(k[s, i], k[s, j]), product(expected(k[s, i]), expected(k[s, j])))

LZHS = Record(
    tag="LZHS",
    title="The Hessian of log Z in the query",
    summary="The second derivatives of $\\log Z_t$ are the covariances of the keys.",
    statement=Eq(Partial(Partial(log(Z[t]), q[t, i]), q[t, j]), product(beta**2, covariance)),
    symbols=(*LZGQ.symbols, Quantity(j, "a component, another or the same", r"= 1, \dots, d_k")),
    definitions=(NORMALISER, WEIGHTS, SCORES),
    assumptions=(),
    steps=(
        Step(
            "gradient",
            Partial(expected(Partial(a[t, s], q[t, i])), q[t, j]),
            "The query reaches $\\log Z_t$ through every score, at the rate of its weight.",
            ("weights", "normaliser"),
        ),
        Step(
            "mean",
            Partial(product(beta, expected(k[s, i])), q[t, j]),
            "A score is linear in the query. This is the gradient of LZGQ, differentiated again.",
            ("score",),
        ),
        Step(
            "inside",
            product(beta, Sum(product(Partial(p[t, s], q[t, j]), k[s, i]), keys)),
            "The weights alone depend on the query.",
        ),
        Step(
            "weight",
            _weighted(difference(slope, other_slope)),
            "A weight is $\\exp(a_{ts} - \\log Z_t)$, and $\\log Z_t$ moves as before.",
            ("weights", "normaliser"),
        ),
        Step(
            "deviation",
            _weighted(product(beta, difference(k[s, j], other_key))),
            "The score brings down the key, $\\log Z_t$ the expected key.",
            ("score",),
        ),
        Step(
            "covariance",
            product(beta**2, covariance),
            "Multiply out: the mean of a product less the product of the means.",
        ),
    ),
    variants=(
        Variant(
            "second moment",
            "covariance",
            "Without the second term it is no covariance: the weights were taken to be constant "
            "under a change of $Z_t$; a common slip.",
            product(beta**2, expected(k[s, i], k[s, j])),
        ),
        Variant(
            "the scale once",
            "covariance",
            "Two derivatives bring the scale down twice; a common slip.",
            product(beta, covariance),
        ),
        Variant(
            "variance for covariance",
            "covariance",
            "A variance where a covariance belongs is right for $i = j$ alone (the same slip was "
            "reported of StatProofBook, pull requests 119 and 282).",
            product(beta**2, difference(expected(k[s, i] ** 2), expected(k[s, i]) ** 2)),
        ),
    ),
    sources=(WAINWRIGHT,),
    date="2026-11-30",
    remark=(
        "In a direction $x$ this is $\\beta^2$ times the variance of $\\langle x, k_s\\rangle$, "
        "never below 0: $\\log Z_t$ is convex in the query."
    ),
    code=("attnref.log_partition", "attnref.attention_weights"),
)

AGRD = Record(
    tag="AGRD",
    title="Attention is a gradient",
    summary=(
        "Tilt the scores along the values: the slope of $\\log Z_t$ is the output of attention."
    ),
    statement=Eq(Partial(log(Z[t]), tau), y[t]),
    symbols=(
        *ROW,
        Quantity(b[t, s], "score before the tilt", r"\in \mathbb{R}"),
        Quantity(tau, "tilt", r"\in \mathbb{R}"),
        SCORE,
        Quantity(v[s], "value, one component", r"\in \mathbb{R}"),
        PARTITION,
        WEIGHT,
        Quantity(y[t], "output, one component", r"\in \mathbb{R}"),
    ),
    definitions=(
        Law("tilt", "along the values", (Eq(a[t, s], total(b[t, s], product(tau, v[s]))),), (t, s)),
        NORMALISER,
        WEIGHTS,
        Law("output", "the values, weighted", (Eq(y[t], expected(v[s])),), (t,)),
    ),
    assumptions=(),
    steps=(
        by_logarithm(tau),
        Step(
            "chain",
            ratio(Sum(product(exp(a[t, s]), Partial(a[t, s], tau)), keys), Z[t]),
            "The tilt reaches the normaliser through every score.",
            ("normaliser",),
        ),
        Step(
            "value",
            ratio(Sum(product(exp(a[t, s]), v[s]), keys), Z[t]),
            "Each score is linear in the tilt; its value is the factor.",
            ("tilt",),
        ),
        Step("output", y[t], "The Z form of the output.", ("output", "weights")),
    ),
    variants=(
        Variant(
            "without the logarithm",
            "logarithm",
            "The derivative of $Z_t$ itself is the numerator, not yet divided; a common slip.",
            Partial(Z[t], tau),
        ),
        Variant(
            "not weighted",
            "value",
            "The sum of the values, each with the weight 1; a common slip.",
            Sum(v[s], keys),
        ),
        Variant(
            "no tilt",
            "value",
            "Scores that nothing ties to τ have an unknown slope.",
            withheld=("tilt",),
        ),
    ),
    sources=(WAINWRIGHT,),
    date="2026-11-30",
    remark=(
        "At τ = 0 the scores are $b_{ts}$, and $y_t$ is the attention with these; elsewhere "
        "it is that with tilted ones. Where the values are the keys, LZGQ says it without a tilt: "
        "$y_t$ is the gradient of $\\log Z_t$ in the query, over $\\beta$."
    ),
    code=("attnref.log_partition", "attnref.attention"),
)

RECORDS = (LZHS, AGRD)
