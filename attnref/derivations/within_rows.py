"""VKEY and VROW: how much the scores of one query vary from key to key."""

from sympy import Eq, IndexedBase, KroneckerDelta, Rational, Sum

from attnref.derivations._operators import (
    Expectation,
    Inner,
    RandomVariable,
    Variance,
    difference,
    product,
    ratio,
    total,
)
from attnref.derivations._record import Law, Quantity, Record, Step, Variant
from attnref.derivations.dot_product_variance import (
    VARIANCE,
    d_k,
    each_i,
    each_j,
    i,
    j,
    k,
    mu_k,
    mu_q,
    q,
    sigma_k,
    sigma_q,
)
from attnref.derivations.moments import VECTORS, VGEN
from attnref.derivations.uniform import ARITHMETIC, GOODMAN, MEAN, SPREAD

E = Expectation
fixed = IndexedBase("q")
fixed_dot = Inner(fixed, k)
second_k = total(sigma_k**2, mu_k**2)
key_pair = total(
    product(KroneckerDelta(i, j), E(k[i] ** 2)),
    product(difference(1, KroneckerDelta(i, j)), E(k[i]), E(k[j])),
)
fixed_square = Sum(fixed[i] ** 2, each_i)

VKEY = Record(
    tag="VKEY",
    title="The variance across keys, for one query",
    summary="For one query the mean of the keys does nothing; the query's length decides.",
    statement=Eq(Variance(fixed_dot), product(sigma_k**2, fixed_square)),
    symbols=(
        Quantity(d_k, "components", r"\geq 1"),
        Quantity(fixed, "query, not random", r"\in \mathbb{R}^{d_k}"),
        Quantity(k, "random key", r"\in \mathbb{R}^{d_k}"),
        Quantity(mu_k, "mean of $k_i$", r"\in \mathbb{R}"),
        Quantity(sigma_k, "standard deviation of $k_i$", r"\geq 0"),
    ),
    definitions=(
        VARIANCE,
        Law(
            "inner product",
            "component by component",
            (Eq(fixed_dot, Sum(product(fixed[i], k[i]), each_i)),),
        ),
    ),
    assumptions=(
        Law(
            "components",
            "different components of the key are independent",
            (Eq(E(product(k[i], k[j])), key_pair),),
            (i, j),
        ),
        Law(
            "moments",
            "all components have the same mean and variance",
            (Eq(E(k[i]), mu_k), Eq(E(k[i] ** 2), second_k)),
            (i,),
        ),
    ),
    steps=(
        Step(
            "definition",
            E(difference(fixed_dot, E(fixed_dot)) ** 2),
            "What variance is.",
            ("variance",),
        ),
        Step(
            "pairs",
            difference(
                Sum(product(fixed[i], fixed[j], E(product(k[i], k[j]))), each_j, each_i),
                Sum(product(fixed[i], E(k[i])), each_i) ** 2,
            ),
            "Multiply out: the square of a sum is a sum over pairs, and the query is not random.",
            ("inner product",),
        ),
        Step(
            "diagonal",
            Sum(product(fixed[i] ** 2, difference(E(k[i] ** 2), E(k[i]) ** 2)), each_i),
            "A component is paired with itself or with an independent one, and those pairs cancel.",
            ("components",),
        ),
        Step(
            "moments",
            product(sigma_k**2, fixed_square),
            "The mean of a component is the same in both, and is gone.",
            ("moments",),
        ),
    ),
    variants=(
        Variant(
            "the mean counted",
            "moments",
            "The mean of the keys is one vector added to all of them: a shift, see KSHF.",
            product(second_k, fixed_square),
        ),
        Variant(
            "sum squared",
            "moments",
            "Independent terms add their squares; a common slip.",
            product(sigma_k**2, Sum(fixed[i], each_i) ** 2),
        ),
        Variant(
            "dependent components",
            "diagonal",
            "If all components of a key are one number, the sum is squared.",
            withheld=("components",),
        ),
    ),
    sources=(GOODMAN,),
    date="2026-11-30",
    remark="That no two components are correlated is enough.",
    code=("attnref.scores",),
)

across = RandomVariable("V")
second_q = total(sigma_q**2, mu_q**2)
scaled_square = ratio(product(sigma_k**2, Sum(q[i] ** 2, each_i)), d_k)

VROW = Record(
    tag="VROW",
    title="The variance within a row of uniform numbers",
    summary="Across the keys of one query the scores of numbers from [0, 1) vary by 1/36.",
    statement=Eq(E(across), Rational(1, 36)),
    symbols=(
        VECTORS[0],
        VECTORS[1],
        *VGEN.symbols[3:4],
        *VGEN.symbols[5:],
        Quantity(across, "random: the variance across keys, for the query drawn", r"\geq 0"),
    ),
    definitions=(
        Law("across keys", "VKEY, for scores scaled by 1/√d", (Eq(across, scaled_square),)),
    ),
    assumptions=(
        Law(
            "moments",
            "all components of the query have the same mean and variance",
            (Eq(E(q[i] ** 2), second_q),),
            (i,),
        ),
        Law(
            "uniform",
            "mean 1/2 and variance 1/12",
            (Eq(mu_q, MEAN), Eq(sigma_q**2, SPREAD), Eq(sigma_k**2, SPREAD)),
        ),
    ),
    steps=(
        Step("across", E(scaled_square), "The variance across keys.", ("across keys",)),
        Step(
            "mean",
            ratio(product(sigma_k**2, Sum(E(q[i] ** 2), each_i)), d_k),
            "The mean of a sum is the sum of the means.",
        ),
        Step("moments", product(sigma_k**2, second_q), "All terms are equal.", ("moments",)),
        Step(
            "uniform", product(SPREAD, total(SPREAD, MEAN**2)), "Put the numbers in.", ("uniform",)
        ),
        Step("number", Rational(1, 36), "1/12 times 1/3."),
    ),
    variants=(
        Variant(
            "over queries and keys",
            "number",
            "7/144 is the variance over queries and keys together: 3/144 of it, from the mean of "
            "the keys, is the same for all keys of a query, and softmax does not see it.",
            Rational(7, 144),
        ),
        Variant(
            "query centred",
            "moments",
            "The length of the query counts, its mean with it; a common slip.",
            product(sigma_k**2, sigma_q**2),
        ),
    ),
    sources=(GOODMAN, ARITHMETIC),
    date="2026-11-30",
    remark="So test data drawn from [0, 1) give weights that are nearly equal.",
    code=("attnref.scores", "attnref.make_array"),
)

RECORDS = (VKEY, VROW)
