"""VSCL: the variance that is left when the dot product is divided by √d_k."""

from sympy import Eq, Integer, sqrt

from attnref.derivations._operators import Expectation, Variance, difference, ratio
from attnref.derivations._record import Quantity, Record, Source, Step, Variant
from attnref.derivations.dot_product_variance import RECORD as VDOT
from attnref.derivations.dot_product_variance import VARIANCE, d_k, dot, k, q

E = Expectation
score = ratio(dot, sqrt(d_k))
deviation = difference(dot, E(dot))

RECORD = Record(
    tag="VSCL",
    title="The variance of a score",
    summary="Divided by $\\sqrt{d_k}$, the dot product has variance 1, whatever $d_k$ is.",
    statement=Eq(Variance(score), Integer(1)),
    symbols=(
        Quantity(d_k, "components", r"\geq 1"),
        Quantity(q, "random query", r"\in \mathbb{R}^{d_k}"),
        Quantity(k, "random key", r"\in \mathbb{R}^{d_k}"),
    ),
    definitions=(VARIANCE,),
    assumptions=(),
    steps=(
        Step("definition", E(difference(score, E(score)) ** 2), "What variance is.", ("variance",)),
        Step(
            "outside",
            ratio(E(deviation**2), d_k),
            "$1/\\sqrt{d_k}$ is no random number: it leaves both expectations, and is squared.",
        ),
        Step("unscaled", ratio(Variance(dot), d_k), "What variance is, again.", ("variance",)),
        Step("unit", Integer(1), "The dot product has variance $d_k$.", ("VDOT",)),
    ),
    variants=(
        Variant(
            "not squared",
            "outside",
            "A factor leaves the variance as its square.",
            ratio(E(deviation**2), sqrt(d_k)),
        ),
        Variant(
            "nothing assumed",
            "unit",
            "Without VDOT, and its assumptions, the variance is not known.",
            withheld=("VDOT",),
        ),
    ),
    sources=(Source("Vaswani et al. 2017, arXiv:1706.03762", "section 3.2.1", True),),
    date="2026-11-29",
    uses=(VDOT,),
    remark="The assumptions are those of VDOT.",
)
RECORDS = (RECORD,)
