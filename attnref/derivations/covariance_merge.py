"""CMRG: the covariance of the keys over two parts, from the covariances within them."""

from sympy import Eq, IndexedBase

from attnref.derivations._operators import difference, product, ratio, total
from attnref.derivations._record import Law, Quantity, Record, Step, Variant
from attnref.derivations.covariance_around import (
    CHAN,
    PAXT,
    C,
    Q,
    Z,
    component,
    i,
    j,
    mu,
    other_component,
    part,
    part_moments,
)
from attnref.derivations.z_form import d_k

w, delta = IndexedBase("w", positive=True), IndexedBase("delta")
whole = total(Z[1], Z[2])
from_mean = [
    total(C[x, i, j], product(*(difference(mu[x, e], mu[e]) for e in (i, j)))) for x in (1, 2)
]
averaged = (product(w[1], C[1, i, j]), product(w[2], C[2, i, j]))
merged = total(*averaged, product(w[1], w[2], delta[i], delta[j]))

CMRG = Record(
    tag="CMRG",
    title="Covariances merge",
    summary=(
        "Over two parts of the keys: the mean of the covariances, and what lies between the means."
    ),
    statement=Eq(C[i, j], merged),
    symbols=(
        component,
        other_component,
        Quantity(d_k, "components of a key", r"\geq 1"),
        Quantity(part, "a part of the keys", "= 1, 2"),
        *part_moments,
        Quantity(w[part], "weight of a part", "> 0"),
        Quantity(mu[i], "mean of all keys, by their weights", r"\in \mathbb{R}"),
        Quantity(C[i, j], "covariance of all keys, by their weights", r"\in \mathbb{R}"),
        Quantity(delta[i], "difference of the means of the parts", r"\in \mathbb{R}"),
    ),
    definitions=(
        Law(
            "covariance",
            "of all keys, around their mean: the sums over the parts add",
            (Eq(C[i, j], ratio(total(Q[1, i, j], Q[2, i, j]), whole)),),
            (i, j),
        ),
        Law(
            "mean",
            "of all keys: the sums over the parts add",
            (Eq(mu[i], ratio(total(*(product(Z[x], mu[x, i]) for x in (1, 2))), whole)),),
            (i,),
        ),
        Law(
            "weight",
            "of a part: its share of the normaliser",
            (Eq(w[part], ratio(Z[part], whole)),),
            (part,),
        ),
        Law(
            "difference",
            "of the means of the parts",
            (Eq(delta[i], difference(mu[1, i], mu[2, i])),),
            (i,),
        ),
    ),
    assumptions=(),
    steps=(
        Step(
            "parts",
            ratio(total(Q[1, i, j], Q[2, i, j]), whole),
            "What the covariance is.",
            ("covariance",),
        ),
        Step(
            "own-means",
            total(*(product(w[x], from_mean[x - 1]) for x in (1, 2))),
            "Each part around its own mean.",
            ("PAXT", "weight"),
        ),
        Step(
            "between",
            merged,
            "The mean of all keys lies between the means of the parts, nearer to the heavier one: "
            "the mean of the first is $w_2$ times their difference away, that of the second $w_1$ "
            "times.",
            ("mean", "weight", "difference"),
        ),
    ),
    variants=(
        Variant(
            "the means forgotten",
            "between",
            "The mean of the covariances alone is the covariance only if the means agree; a common "
            "slip.",
            total(*averaged),
        ),
        Variant(
            "parts of equal weight",
            "between",
            "A part counts by its share of the normaliser, not as one of two; a common slip.",
            total(ratio(total(C[1, i, j], C[2, i, j]), 2), ratio(product(delta[i], delta[j]), 4)),
        ),
        Variant(
            "one weight too few",
            "between",
            "What lies between the means has both weights; a common slip.",
            total(*averaged, product(w[2], delta[i], delta[j])),
        ),
    ),
    sources=(CHAN,),
    date="2026-11-30",
    uses=(PAXT,),
    remark=(
        "The Hessian of log Z by the query is $\\beta^2$ times this covariance, so Hessians merge, "
        "too. The diagonal, $i = j$, gives the variances."
    ),
)

RECORDS = (CMRG,)
