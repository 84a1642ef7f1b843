"""EUNI and VUNI: mean and variance of the scores of uniform numbers in [0, 1)."""

from sympy import Eq, Integer, Rational, Sum, sqrt

from attnref.derivations._operators import (
    Expectation,
    Variance,
    difference,
    product,
    ratio,
    total,
)
from attnref.derivations._record import Law, Record, Source, Step, Variant
from attnref.derivations.dot_product_variance import (
    VARIANCE,
    d_k,
    dot,
    each_i,
    general,
    i,
    k,
    mean_product,
    mu_k,
    mu_q,
    q,
    sigma_k,
    sigma_q,
)
from attnref.derivations.moments import INNER, VECTORS, VGEN
from attnref.derivations.scaled_variance import deviation, score

E = Expectation
MEAN, SPREAD = Rational(1, 2), Rational(1, 12)
GOODMAN = VGEN.sources[0]
ARITHMETIC = Source("Casella and Berger 2002, Statistical Inference", "section 3.3, uniform", False)
means = product(E(q[i]), E(k[i]))

EUNI = Record(
    tag="EUNI",
    title="The mean score of uniform numbers",
    summary="Numbers from [0, 1) have scores that grow with the root of $d_k$, in the mean.",
    statement=Eq(E(score), ratio(sqrt(d_k), 4)),
    symbols=VECTORS,
    definitions=(INNER,),
    assumptions=(
        Law("query and key", "$q_i$ and $k_i$ are independent", (Eq(mean_product, means),), (i,)),
        Law("uniform", "in [0, 1)", (Eq(E(q[i]), MEAN), Eq(E(k[i]), MEAN)), (i,)),
    ),
    steps=(
        Step(
            "sum",
            ratio(Sum(mean_product, each_i), sqrt(d_k)),
            "The mean of a sum is the sum of the means.",
            ("inner product",),
        ),
        Step(
            "factors",
            ratio(Sum(means, each_i), sqrt(d_k)),
            "The means of independent numbers multiply.",
            ("query and key",),
        ),
        Step("uniform", ratio(ratio(d_k, 4), sqrt(d_k)), "Half times half.", ("uniform",)),
        Step("root", ratio(sqrt(d_k), 4), "The division takes one root off."),
    ),
    variants=(
        Variant(
            "as if centred",
            "uniform",
            "Only numbers with mean 0 have scores with mean 0; a common slip.",
            Integer(0),
        ),
        Variant(
            "divided by the width",
            "root",
            "With 1/d in place of 1/√d the mean would stay; a common slip.",
            Rational(1, 4),
        ),
    ),
    sources=(ARITHMETIC,),
    date="2026-11-30",
    remark="The components need not be independent of each other.",
    code=("attnref.scores", "attnref.make_array"),
)

VUNI = Record(
    tag="VUNI",
    title="The variance of scores of uniform numbers",
    summary="Numbers from [0, 1) have scores of variance 7/144, and not 1.",
    statement=Eq(Variance(score), Rational(7, 144)),
    symbols=VGEN.symbols,
    definitions=(VARIANCE,),
    assumptions=(
        Law(
            "uniform",
            "mean 1/2 and variance 1/12",
            (
                Eq(mu_q, MEAN),
                Eq(mu_k, MEAN),
                Eq(sigma_q**2, SPREAD),
                Eq(sigma_k**2, SPREAD),
            ),
        ),
    ),
    steps=(
        Step("definition", E(difference(score, E(score)) ** 2), "What variance is.", ("variance",)),
        Step(
            "outside",
            ratio(E(deviation**2), d_k),
            "$1/\\sqrt{d_k}$ leaves both expectations, and is squared.",
        ),
        Step("unscaled", ratio(Variance(dot), d_k), "What variance is, again.", ("variance",)),
        Step("general", ratio(general, d_k), "The variance with means.", ("VGEN",)),
        Step(
            "uniform",
            total(Rational(1, 144), Rational(6, 144)),
            "The variances give 1/144, and the means six times as much.",
            ("uniform",),
        ),
        Step("number", Rational(7, 144), "Add them."),
    ),
    variants=(
        Variant(
            "means ignored",
            "number",
            "1/144 is the variance of the same numbers less 1/2; a common slip.",
            Rational(1, 144),
        ),
        Variant(
            "one as for normal numbers",
            "number",
            "Numbers from rand are not numbers from randn; a common slip.",
            Integer(1),
        ),
        Variant(
            "no distribution",
            "uniform",
            "Without means and variances the number is not known.",
            withheld=("uniform",),
        ),
    ),
    sources=(GOODMAN, ARITHMETIC),
    date="2026-11-30",
    uses=(VGEN,),
    remark="Of the uniform distribution only mean and variance are used.",
    code=("attnref.scores", "attnref.make_array"),
)

RECORDS = (EUNI, VUNI)
