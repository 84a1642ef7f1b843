"""ENTR and ENTD: the entropy of a row of weights, and how it falls as the scale grows."""

from sympy import Eq, IndexedBase, Sum, log

from attnref.derivations._means import expected, p, t
from attnref.derivations._operators import Partial, difference, product, total
from attnref.derivations._record import Law, Quantity, Record, Step, Variant
from attnref.derivations.log_partition import (
    NORMALISER,
    PARTITION,
    PSUM,
    ROW,
    SCALE,
    WAINWRIGHT,
    WEIGHT,
    WEIGHTS,
    beta,
)
from attnref.derivations.z_form import Z, a, j, m, s

H, f = IndexedBase("H"), IndexedBase("f")
SYMBOLS = (
    *ROW,
    Quantity(f[t, s], "score before the scale", r"\in \mathbb{R}"),
    SCALE,
    Quantity(a[t, s], "score", r"\in \mathbb{R}"),
    PARTITION,
    WEIGHT,
    Quantity(H[t], "entropy of the weights, in nats", r"\geq 0"),
)
SCALED = Law("scale", "a factor of every score", (Eq(a[t, s], product(beta, f[t, s])),), (t, s))
ENTROPY = Law("entropy", "by Shannon", (Eq(H[t], product(-1, expected(log(p[t, s])))),), (t,))
mean = expected(f[t, s])

ENTR = Record(
    tag="ENTR",
    title="The entropy of a row of weights",
    summary="The entropy is $\\log Z_t$ less the mean score.",
    statement=Eq(H[t], difference(log(Z[t]), product(beta, mean))),
    symbols=SYMBOLS,
    definitions=(ENTROPY, WEIGHTS, SCALED),
    assumptions=(),
    steps=(
        Step("entropy", product(-1, expected(log(p[t, s]))), "What entropy is.", ("entropy",)),
        Step(
            "logarithm",
            product(-1, expected(difference(a[t, s], log(Z[t])))),
            "The logarithm of a weight is its score less $\\log Z_t$.",
            ("weights",),
        ),
        Step(
            "one",
            difference(log(Z[t]), expected(a[t, s])),
            "$\\log Z_t$ is the same for every key, and the weights add up to 1.",
            ("PSUM",),
        ),
        Step(
            "scale",
            difference(log(Z[t]), product(beta, mean)),
            "The scale leaves the mean.",
            ("scale",),
        ),
    ),
    variants=(
        Variant(
            "sign",
            "entropy",
            "Logarithms of weights are below 0: the entropy takes a minus; a common slip.",
            expected(log(p[t, s])),
        ),
        Variant(
            "log Z weighted by the keys",
            "one",
            "$\\log Z_t$ counts once and not once a key: the weights add up to 1; a common slip.",
            difference(product(m, log(Z[t])), expected(a[t, s])),
        ),
        Variant(
            "not scaled",
            "scale",
            "The mean is that of the scores, scale and all; a common slip.",
            difference(log(Z[t]), mean),
        ),
    ),
    sources=(WAINWRIGHT,),
    date="2026-11-30",
    uses=(PSUM,),
    remark=(
        "In nats; divided by log 2 it is in bits. A masked key has weight 0 and adds nothing: the "
        "sum is over the allowed keys. With a sink the entropy of the keys alone is another one."
    ),
    code=("attnref.log_partition", "attnref.attention_weights"),
)

entropy = ENTR.statement.rhs
moved = product(-beta, Sum(product(Partial(p[t, s], beta), f[t, s]), (s, 1, m)))
other_mean = Sum(product(p[t, j], f[t, j]), (j, 1, m))
variance = difference(expected(f[t, s] ** 2), mean**2)

ENTD = Record(
    tag="ENTD",
    title="Entropy falls as the scale grows",
    summary="The slope of the entropy in the scale is the variance of the scores, times −β.",
    statement=Eq(Partial(H[t], beta), product(-beta, variance)),
    symbols=SYMBOLS,
    definitions=(NORMALISER, WEIGHTS, SCALED),
    assumptions=(),
    steps=(
        Step("entropy", Partial(entropy, beta), "What the entropy is.", ("ENTR",)),
        Step(
            "product",
            total(Partial(log(Z[t]), beta), product(-1, mean), moved),
            "The rule for products: the scale itself moves, and the weights do.",
        ),
        Step(
            "cancel",
            moved,
            "The slope of $\\log Z_t$ in the scale is the mean: see AGRD.",
            ("weights", "normaliser", "scale"),
        ),
        Step(
            "deviation",
            product(-beta, expected(difference(f[t, s], other_mean), f[t, s])),
            "A weight grows where the score is above the mean, by SJAC.",
            ("weights", "normaliser", "scale"),
        ),
        Step(
            "variance",
            product(-beta, variance),
            "Multiply out: the mean of the square less the square of the mean.",
        ),
    ),
    variants=(
        Variant(
            "weights held",
            "product",
            "As if the weights did not move with the scale: 0; a common slip.",
            difference(Partial(log(Z[t]), beta), mean),
        ),
        Variant(
            "wrong sign",
            "variance",
            "For a scale above 0 larger scores make the weights sharper; a common slip.",
            product(beta, variance),
        ),
        Variant(
            "without the scale",
            "variance",
            "The second derivative of $\\log Z_t$ is the variance; here the scale is a factor, "
            "too; a common slip.",
            product(-1, variance),
        ),
    ),
    sources=(WAINWRIGHT,),
    date="2026-11-30",
    uses=(ENTR,),
    remark=(
        "At the scale 0 the weights are equal and the entropy is log $m$, its maximum. It falls on "
        "both sides of 0, and stays where all scores are the same."
    ),
    code=("attnref.log_partition", "attnref.attention_weights"),
)

RECORDS = (ENTR, ENTD)
