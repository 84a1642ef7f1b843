"""VDOT: why the dot product of two random vectors has the variance d_k."""

from sympy import Eq, KroneckerDelta, Sum, symbols

from attnref.derivations._operators import (
    Expectation,
    Inner,
    RandomVariable,
    RandomVector,
    Variance,
    difference,
    product,
    total,
)
from attnref.derivations._record import Law, Quantity, Record, Source, Step, Variant

i, j = symbols("i j", integer=True)
d_k = symbols("d_k", integer=True, positive=True)
q, k, X = RandomVector("q"), RandomVector("k"), RandomVariable("X")
mu_q, mu_k, sigma_q, sigma_k = symbols("mu_q mu_k sigma_q sigma_k", real=True)

E = Expectation
each_i, each_j = (i, 1, d_k), (j, 1, d_k)
dot = Inner(q, k)
mean_product = E(product(q[i], k[i]))
mean_square = E(product(q[i] ** 2, k[i] ** 2))
second_moment_q, second_moment_k = total(sigma_q**2, mu_q**2), total(sigma_k**2, mu_k**2)
pair = total(
    product(KroneckerDelta(i, j), mean_square),
    product(1 - KroneckerDelta(i, j), mean_product, E(product(q[j], k[j]))),
)
spread = product(sigma_q**2, sigma_k**2)
general = product(d_k, total(spread, product(mu_q**2, sigma_k**2), product(mu_k**2, sigma_q**2)))

VARIANCE = Law(
    "variance",
    "the mean square of the deviation from the mean, for every random number $X$",
    (Eq(Variance(X), E(difference(X, E(X)) ** 2)),),
    (X,),
)

RECORD = Record(
    tag="VDOT",
    title="The variance of a dot product",
    summary=(
        "Each of the $d_k$ components adds the same to the variance of $\\langle q, k\\rangle$, "
        "and the means add more unless they are 0."
    ),
    statement=Eq(Variance(dot), d_k),
    symbols=(
        Quantity(d_k, "components", r"\geq 1"),
        Quantity(q, "random query", r"\in \mathbb{R}^{d_k}"),
        Quantity(k, "random key", r"\in \mathbb{R}^{d_k}"),
        Quantity(mu_q, "mean of $q_i$", r"\in \mathbb{R}"),
        Quantity(mu_k, "mean of $k_i$", r"\in \mathbb{R}"),
        Quantity(sigma_q, "standard deviation of $q_i$", r"\geq 0"),
        Quantity(sigma_k, "standard deviation of $k_i$", r"\geq 0"),
    ),
    definitions=(
        VARIANCE,
        Law(
            "inner product", "component by component", (Eq(dot, Sum(product(q[i], k[i]), each_i)),)
        ),
    ),
    assumptions=(
        Law(
            "components",
            "different components are independent",
            (Eq(E(product(q[i], k[i], q[j], k[j])), pair),),
            (i, j),
        ),
        Law(
            "query and key",
            "$q_i$ and $k_i$ are independent",
            (
                Eq(mean_product, product(E(q[i]), E(k[i]))),
                Eq(mean_square, product(E(q[i] ** 2), E(k[i] ** 2))),
            ),
            (i,),
        ),
        Law(
            "moments",
            "all components have the same mean and variance",
            (
                Eq(E(q[i]), mu_q),
                Eq(E(k[i]), mu_k),
                Eq(E(q[i] ** 2), second_moment_q),
                Eq(E(k[i] ** 2), second_moment_k),
            ),
            (i,),
        ),
        Law("zero means", "both", (Eq(mu_q, 0), Eq(mu_k, 0))),
        Law("unit variances", "both", (Eq(sigma_q**2, 1), Eq(sigma_k**2, 1))),
    ),
    steps=(
        Step("definition", E(difference(dot, E(dot)) ** 2), "What variance is.", ("variance",)),
        Step(
            "square",
            difference(E(dot**2), E(dot) ** 2),
            "Multiply out: $\\mathbb{E}$ is linear, and a mean is a plain number.",
        ),
        Step(
            "pairs",
            difference(
                Sum(E(product(q[i], k[i], q[j], k[j])), each_j, each_i),
                Sum(mean_product, each_i) ** 2,
            ),
            "The square of a sum is a sum over pairs.",
            ("inner product",),
        ),
        Step(
            "split",
            difference(Sum(pair, each_j, each_i), Sum(mean_product, each_i) ** 2),
            "A component is paired with itself, or with another one that is independent of it.",
            ("components",),
        ),
        Step(
            "diagonal",
            Sum(difference(mean_square, mean_product**2), each_i),
            "The pairs $i \\neq j$ cancel: variances of independent terms add.",
        ),
        Step(
            "factors",
            Sum(
                difference(
                    product(E(q[i] ** 2), E(k[i] ** 2)), product(E(q[i]) ** 2, E(k[i]) ** 2)
                ),
                each_i,
            ),
            "Moments of independent numbers multiply.",
            ("query and key",),
        ),
        Step(
            "moments",
            Sum(
                difference(product(second_moment_q, second_moment_k), product(mu_q**2, mu_k**2)),
                each_i,
            ),
            "Put the moments in; the means stay.",
            ("moments",),
        ),
        Step("general", general, "All terms are equal; $\\mu_q^2 \\mu_k^2$ cancels."),
        Step("centred", product(d_k, spread), "Only now do the means go.", ("zero means",)),
        Step("unit", d_k, "One for each component.", ("unit variances",)),
    ),
    variants=(
        Variant(
            "means ignored",
            "centred",
            "Entries uniform on [0, 1), as test data often are, have mean 1/2: "
            "the variance is $7 d_k / 144$, not $d_k / 144$.",
            withheld=("zero means",),
        ),
        Variant(
            "variances multiplied",
            "general",
            "The variance of a product is the product of the variances only without means.",
            product(d_k, spread),
        ),
        Variant(
            "every pair counted",
            "diagonal",
            "Treating $i \\neq j$ like $i = j$ leads to $d_k^2$.",
            Sum(difference(mean_square, mean_product**2), each_j, each_i),
        ),
        Variant(
            "dependent components",
            "split",
            "If all components of a vector are one and the same number, the variance is $d_k^2$.",
            withheld=("components",),
        ),
        Variant(
            "dependent query and key",
            "factors",
            "A vector's dot product with itself, standard normal, has variance $2 d_k$.",
            withheld=("query and key",),
        ),
    ),
    sources=(
        Source("Vaswani et al. 2017, arXiv:1706.03762", "section 3.2.1, footnote 4", True),
        Source(
            "Goodman 1960, On the exact variance of products, J. Am. Stat. Assoc. 55",
            "pages 708 to 713",
            False,
        ),
    ),
    date="2026-11-29",
    remark=(
        "With other means and variances \\eqref{VDOT-general} holds. Less than independence is "
        "enough: that $q_i k_i$ is uncorrelated with $q_j k_j$, $q_i$ with $k_i$, and $q_i^2$ with "
        "$k_i^2$. The distribution may be any with these moments, and of the unit variances only "
        "$\\sigma_q^2 \\sigma_k^2 = 1$ matters."
    ),
)
RECORDS = (RECORD,)
