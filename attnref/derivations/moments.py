"""VGEN, ECOR and VCOR: the dot product with means, and with a query and a key that go together."""

from dataclasses import replace

from sympy import Eq, Integer, KroneckerDelta, Pow, Sum, Symbol

from attnref.derivations._operators import Expectation, Variance, difference, product, total
from attnref.derivations._record import Law, Quantity, Record, Source, Step, Variant
from attnref.derivations.dot_product_variance import RECORD as VDOT
from attnref.derivations.dot_product_variance import (
    VARIANCE,
    d_k,
    dot,
    each_i,
    each_j,
    general,
    i,
    j,
    k,
    mean_product,
    mean_square,
    mu_k,
    mu_q,
    q,
    spread,
)

E = Expectation
VECTORS = VDOT.symbols[:3]
INNER = VDOT.definitions[1]
COMPONENTS, QUERY_AND_KEY, MOMENTS = VDOT.assumptions[:3]

VGEN = Record(
    tag="VGEN",
    title="The variance of a dot product, with means",
    summary="A mean makes the other vector's variance count: it is added, times the mean squared.",
    statement=Eq(Variance(dot), general),
    symbols=VDOT.symbols,
    definitions=VDOT.definitions,
    assumptions=(COMPONENTS, QUERY_AND_KEY, MOMENTS),
    steps=(
        *VDOT.steps[:3],
        replace(
            VDOT.steps[4],
            reason="Variances of independent terms add: the pairs $i \\neq j$ cancel.",
            using=("components",),
        ),
        *VDOT.steps[5:8],
    ),
    variants=(
        Variant(
            "variances multiplied",
            "general",
            "The variance of a product is the product of the variances only without means.",
            product(d_k, spread),
        ),
        Variant(
            "means of their own",
            "general",
            "A mean is multiplied by the variance of the other vector, not of its own; a common "
            "slip.",
            general.xreplace({mu_q: mu_k, mu_k: mu_q}),
        ),
        Variant(
            "dependent components",
            "diagonal",
            "If all components of a vector are one and the same number, the variance is $d_k$ "
            "times as large.",
            withheld=("components",),
        ),
    ),
    sources=VDOT.sources[1:],
    date="2026-11-30",
    remark="These are steps of VDOT, which goes on to means of 0 and variances of 1.",
    code=("attnref.scores",),
)

rho = Symbol("rho", real=True)
ECOR = Record(
    tag="ECOR",
    title="The mean of a correlated dot product",
    summary="A query and a key whose components are correlated have a dot product that is not 0.",
    statement=Eq(E(dot), product(d_k, rho)),
    symbols=(*VECTORS, Quantity(rho, "correlation of $q_i$ and $k_i$", r"\in \mathbb{R}")),
    definitions=(INNER,),
    assumptions=(
        Law(
            "correlation",
            "with variances of 1 and means of 0 it is the mean of the product",
            (Eq(mean_product, rho),),
            (i,),
        ),
    ),
    steps=(
        Step("sum", E(Sum(product(q[i], k[i]), each_i)), "What it is.", ("inner product",)),
        Step("means", Sum(mean_product, each_i), "The mean of a sum is the sum of the means."),
        Step("correlation", product(d_k, rho), "All terms are equal.", ("correlation",)),
    ),
    variants=(
        Variant(
            "as if independent",
            "correlation",
            "Only for ρ = 0 is the mean 0.",
            Integer(0),
        ),
    ),
    sources=VDOT.sources[:1],
    date="2026-11-30",
    remark="For a vector with itself, ρ = 1, the mean is the number of components.",
    code=("attnref.scores",),
)

correlated_pair = total(
    product(KroneckerDelta(i, j), mean_square),
    product(difference(1, KroneckerDelta(i, j)), rho**2),
)
VCOR = Record(
    tag="VCOR",
    title="The variance of a correlated dot product",
    summary="For normal numbers, correlation ρ multiplies the variance by 1 + ρ².",
    statement=Eq(Variance(dot), product(d_k, total(1, rho**2))),
    symbols=ECOR.symbols,
    definitions=(VARIANCE, INNER),
    assumptions=(
        Law(
            "components",
            "different components are independent; the mean of a product is ρ",
            (Eq(E(product(q[i], k[i], q[j], k[j])), correlated_pair),),
            (i, j),
        ),
        Law(
            "normal",
            "the fourth moment that standard normal numbers with correlation ρ have",
            (Eq(mean_square, total(1, product(2, rho**2))),),
            (i,),
        ),
    ),
    steps=(
        Step("definition", E(difference(dot, E(dot)) ** 2), "What variance is.", ("variance",)),
        Step(
            "square",
            difference(E(dot**2), Pow(product(d_k, rho), 2, evaluate=False)),
            "Multiply out, and put the mean in.",
            ("ECOR",),
        ),
        Step(
            "pairs",
            difference(
                Sum(E(product(q[i], k[i], q[j], k[j])), each_j, each_i),
                Pow(product(d_k, rho), 2, evaluate=False),
            ),
            "The square of a sum is a sum over pairs.",
            ("inner product",),
        ),
        Step(
            "diagonal",
            Sum(difference(mean_square, rho**2), each_i),
            "A component is paired with itself or with an independent one, and those pairs cancel.",
            ("components",),
        ),
        Step(
            "normal",
            product(d_k, total(1, rho**2)),
            "The fourth moment of normal numbers.",
            ("normal",),
        ),
    ),
    variants=(
        Variant(
            "as if independent",
            "normal",
            "The variance is $d_k$ for ρ = 0 only: a score of a vector with itself has twice that.",
            d_k,
        ),
        Variant(
            "the mean not taken off",
            "normal",
            "The mean square is not the variance where there is a mean; a common slip.",
            product(d_k, total(1, product(2, rho**2))),
        ),
        Variant(
            "any distribution",
            "normal",
            "Coins that are equal, ρ = 1, have a product that is always 1, and variance 0.",
            withheld=("normal",),
        ),
    ),
    sources=(Source("Isserlis 1918, Biometrika 12", "pages 134 to 139, the fourth moment", False),),
    date="2026-11-30",
    uses=(ECOR,),
    remark="Of normality only the mean of $q_i^2 k_i^2$ is needed; the rest is as in VDOT.",
    code=("attnref.scores",),
)

RECORDS = (VGEN, ECOR, VCOR)
