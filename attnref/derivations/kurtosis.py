"""KURT: how far the score of many components is from a normal number."""

from sympy import Eq, Integer, KroneckerDelta, Pow, Sum, symbols

from attnref.derivations._operators import Expectation, difference, product, ratio, total
from attnref.derivations._record import Law, Quantity, Record, Source, Step, Variant
from attnref.derivations.dot_product_variance import d_k, dot, i, j, k, q
from attnref.derivations.moments import INNER, VECTORS
from attnref.derivations.scaled_variance import score

E, delta = Expectation, KroneckerDelta
g, h = symbols("g h", integer=True)
kappa_q, kappa_k = symbols("kappa_q kappa_k", real=True)
each = tuple((index, 1, d_k) for index in (i, j, g, h))
four = E(product(q[i], k[i], q[j], k[j], q[g], k[g], q[h], k[h]))
fourth = E(product(q[i] ** 4, k[i] ** 4))
in_pairs = total(
    product(delta(i, j), delta(g, h)),
    product(delta(i, g), delta(j, h)),
    product(delta(i, h), delta(j, g)),
)
all_equal = product(delta(i, j), delta(j, g), delta(g, h))
split = total(in_pairs, product(total(fourth, -3), all_equal))
excess = difference(product(kappa_q, kappa_k), 3)

KURT = Record(
    tag="KURT",
    title="The kurtosis of a score",
    summary="The more components, the closer to the 3 of a normal number; the gap falls like 1/d.",
    statement=Eq(E(Pow(score, 4, evaluate=False)), total(3, ratio(excess, d_k))),
    symbols=(
        *VECTORS,
        Quantity(kappa_q, "kurtosis of $q_i$", r"\geq 1"),
        Quantity(kappa_k, "kurtosis of $k_i$", r"\geq 1"),
    ),
    definitions=(INNER,),
    assumptions=(
        Law(
            "components",
            "different products $q_i k_i$ are independent, with mean 0 and variance 1: a product "
            "of four of them counts where they pair up, or are all the same",
            (Eq(four, split),),
            (i, j, g, h),
        ),
        Law(
            "query and key",
            "$q_i$ and $k_i$ are independent, with mean 0, variance 1 and these fourth moments",
            (Eq(fourth, product(kappa_q, kappa_k)),),
            (i,),
        ),
    ),
    steps=(
        Step("outside", ratio(E(dot**4), d_k**2), "The root leaves, to the fourth power."),
        Step(
            "fours",
            ratio(Sum(four, *reversed(each)), d_k**2),
            "The fourth power of a sum is a sum over fours.",
            ("inner product",),
        ),
        Step(
            "count",
            ratio(total(product(3, d_k**2), Sum(total(fourth, -3), (i, 1, d_k))), d_k**2),
            "In three ways four places make two pairs. Where all are the same place, this has "
            "counted three, and right is the fourth moment.",
            ("components",),
        ),
        Step(
            "moments",
            total(3, ratio(excess, d_k)),
            "The fourth moments of independent numbers multiply.",
            ("query and key",),
        ),
    ),
    variants=(
        Variant(
            "kurtoses added",
            "moments",
            "Of independent factors the fourth moments multiply; a common slip.",
            total(3, ratio(difference(total(kappa_q, kappa_k), 3), d_k)),
        ),
        Variant(
            "as if normal",
            "moments",
            "The score of normal numbers is not normal: its kurtosis is 3 + 6/d.",
            Integer(3),
        ),
        Variant(
            "one way to pair",
            "count",
            "There are three; a common slip.",
            ratio(total(d_k**2, Sum(total(fourth, -3), (i, 1, d_k))), d_k**2),
        ),
        Variant(
            "dependent components",
            "count",
            "Components that are all the same number never come close to normal.",
            withheld=("components",),
        ),
    ),
    sources=(
        Source(
            "Kendall and Stuart 1977, The Advanced Theory of Statistics 1",
            "chapter 3, cumulants",
            False,
        ),
    ),
    date="2026-11-30",
    remark=(
        "The score has mean 0 and variance 1, see VSCL, so its kurtosis is its fourth moment. For "
        "normal numbers it is 3 + 6/d, for coins of ±1 it is 3 − 2/d."
    ),
    code=("attnref.scores",),
)

RECORDS = (KURT,)
