"""PAXT: the covariance of keys around another point than their mean."""

from sympy import Eq, Expr, IndexedBase, Integer, Sum, exp

from attnref.derivations._operators import Place, difference, product, ratio, total
from attnref.derivations._record import Law, Quantity, Record, Source, Step, Variant
from attnref.derivations.z_form import d_k, s

i, j, part = Place("i", d_k), Place("j", d_k), Place("A", Integer(2))
a, k, mu, C, Q = (IndexedBase(name) for name in ("a", "k", "mu", "C", "Q"))
Z = IndexedBase("Z", positive=True)
S = IndexedBase("S", integer=True, positive=True)


def _over(*summand: Expr) -> Sum:
    """Return the sum over the keys of a part, each times exp of its score."""
    return Sum(product(exp(a[part, s]), *summand), (s, 1, S[part]))


def _products_around(left: Expr, right: Expr) -> Sum:
    """Return the sum of the products of what two components differ from two numbers by."""
    return _over(difference(k[part, s, i], left), difference(k[part, s, j], right))


def _away(x: Expr) -> Expr:
    """Return how far the mean of a part is from the mean of all keys."""
    return difference(mu[part, x], mu[x])


within_and_between = product(Z[part], total(C[part, i, j], product(_away(i), _away(j))))
mean_products = product(Z[part], total(C[part, i, j], product(mu[part, i], mu[part, j])))
corrections = product(
    Z[part],
    total(
        product(mu[i], mu[part, j]),
        product(mu[part, i], mu[j]),
        product(-1, mu[i], mu[j]),
    ),
)

CHAN = Source(
    "Chan, Golub and LeVeque 1983, Algorithms for Computing the Sample Variance, The American "
    "Statistician 37",
    "equation 1.5b, for variances and weights that are all 1",
    False,
)
component = Quantity(i, "a component of a key", r"= 1, \dots, d_k")
other_component = Quantity(j, "a component of a key", r"= 1, \dots, d_k")
part_moments = (
    Quantity(Z[part], "normaliser of a part", "> 0"),
    Quantity(mu[part, i], "mean of the keys of a part, by their weights", r"\in \mathbb{R}"),
    Quantity(C[part, i, j], "their covariance, around this mean", r"\in \mathbb{R}"),
    Quantity(Q[part, i, j], "sum of the products around another point", r"\in \mathbb{R}"),
)

PAXT = Record(
    tag="PAXT",
    title="A covariance around another point",
    summary="Around another point than the mean, the square of the distance is added.",
    statement=Eq(Q[part, i, j], within_and_between),
    symbols=(
        component,
        other_component,
        Quantity(d_k, "components of a key", r"\geq 1"),
        Quantity(part, "a part of the keys", "= 1, 2"),
        Quantity(S[part], "keys of the part", r"\geq 1"),
        Quantity(a[part, s], "score", r"\in \mathbb{R}"),
        Quantity(k[part, s, i], "component of a key", r"\in \mathbb{R}"),
        *part_moments,
        Quantity(mu[i], "component of the point", r"\in \mathbb{R}"),
    ),
    definitions=(
        Law(
            "around the point",
            "the products, each times exp of its score",
            (Eq(Q[part, i, j], _products_around(mu[i], mu[j])),),
            (part, i, j),
        ),
        Law(
            "covariance",
            "of the keys of the part, around their mean",
            (
                Eq(
                    C[part, i, j],
                    ratio(_products_around(mu[part, i], mu[part, j]), Z[part]),
                ),
            ),
            (part, i, j),
        ),
        Law(
            "mean",
            "of the keys of the part",
            (Eq(mu[part, i], ratio(_over(k[part, s, i]), Z[part])),),
            (part, i),
        ),
        Law("normaliser", "of the part", (Eq(Z[part], _over()),), (part,)),
    ),
    assumptions=(),
    steps=(
        Step("products", _products_around(mu[i], mu[j]), "What the sum is.", ("around the point",)),
        Step(
            "moments",
            difference(mean_products, corrections),
            "Multiply out. The sums that appear are the normaliser, the mean, and the covariance "
            "with what was taken off for the mean.",
            ("covariance", "mean", "normaliser"),
        ),
        Step("square", within_and_between, "What the means leave is a product of differences."),
    ),
    variants=(
        Variant(
            "the distance taken off",
            "square",
            "The mean is the point around which the products add up to least; a common slip.",
            product(Z[part], difference(C[part, i, j], product(_away(i), _away(j)))),
        ),
        Variant(
            "not times the normaliser",
            "square",
            "The distance counts once for each key, by its weight; a common slip.",
            total(product(Z[part], C[part, i, j]), product(_away(i), _away(j))),
        ),
    ),
    sources=(CHAN,),
    date="2026-11-30",
    remark="The point may be any; CMRG puts the mean of all keys there.",
)

RECORDS = (PAXT,)
