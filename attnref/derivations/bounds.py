"""LZLO and LZUP: log Z is at least every score, and exceeds the greatest by log m at most."""

from sympy import Eq, IndexedBase, Integer, Sum, Symbol, exp, log

from attnref.derivations._operators import Place, at_most, difference, total
from attnref.derivations._record import Law, Quantity, Record, Source, Step, Variant
from attnref.derivations.z_form import j, m, other_keys

a, g = IndexedBase("a"), IndexedBase("g", nonnegative=True)
Z, reference = Symbol("Z", positive=True), Symbol("M", real=True)
place = Place("s", m)
normaliser = Sum(exp(a[j]), other_keys)
NORMALISER = Law("normaliser", "over the keys", (Eq(Z, normaliser),))
BOYD = Source("Boyd and Vandenberghe 2004, Convex Optimization", "section 3.1.5", False)
RABE = Source("Rabe and Staats 2021, arXiv:2112.05682", "section 2", False)

LZLO = Record(
    tag="LZLO",
    title="log Z is at least every score",
    summary="A sum of positive terms is at least its greatest one.",
    statement=at_most(a[place], log(Z)),
    symbols=(
        Quantity(m, "number of keys", r"\geq 1"),
        Quantity(place, "any of the keys", r"= 1, \dots, m"),
        Quantity(a[place], "score", r"\in \mathbb{R}"),
        Quantity(reference, "reference exponent, any finite number", r"\in \mathbb{R}"),
        Quantity(Z, "normaliser", "> 0"),
    ),
    definitions=(NORMALISER,),
    assumptions=(),
    steps=(
        Step(
            "shifted",
            total(reference, log(exp(difference(a[place], reference)))),
            "One term, as it is computed, at any reference exponent.",
        ),
        Step(
            "one-term",
            log(Z),
            "One of the terms is at most their sum, for all are positive. log is monotone.",
            ("normaliser",),
            "<=",
        ),
    ),
    variants=(
        Variant(
            "the exponent not put back",
            "shifted",
            "What is taken off a score has to be added to the logarithm; a common slip.",
            log(exp(difference(a[place], reference))),
        ),
        Variant(
            "the mean in place of the sum",
            "one-term",
            "The logarithm of the mean of the exponentials can be less than the greatest score; a "
            "common slip.",
            difference(log(Z), log(m)),
        ),
        Variant(
            "the other keys alone",
            "one-term",
            "A score is not bounded by the others; a common slip.",
            log(difference(Z, exp(a[place]))),
        ),
    ),
    sources=(BOYD, RABE),
    date="2026-11-30",
    code=("attnref.log_partition",),
    remark=(
        "With one key the two are equal. A masked key is not in the sum and has no score. For an "
        "empty row log Z is −∞."
    ),
)

lowered = difference(reference, g[j])

LZUP = Record(
    tag="LZUP",
    title="log Z exceeds the greatest score by log m at most",
    summary="Any bound of the scores and $\\log m$ together are a bound of $\\log Z$.",
    statement=at_most(log(Z), total(reference, log(m))),
    symbols=(
        Quantity(m, "number of keys", r"\geq 1"),
        Quantity(a[j], "score", r"\in \mathbb{R}"),
        Quantity(reference, "a bound of the scores, the greatest say", r"\in \mathbb{R}"),
        Quantity(g[j], "how far a score is below it", r"\geq 0"),
        Quantity(Z, "normaliser", "> 0"),
    ),
    definitions=(NORMALISER,),
    assumptions=(Law("bound", "no score exceeds $M$", (Eq(a[j], lowered),), (j,)),),
    steps=(
        Step("scores", log(normaliser), "What $Z$ is.", ("normaliser",)),
        Step(
            "outside",
            total(reference, log(Sum(exp(-g[j]), other_keys))),
            "The bound leaves the sum as a factor, and the logarithm as a term.",
            ("bound",),
        ),
        Step(
            "ones",
            total(reference, log(m)),
            "Each of the $m$ terms is at most 1. log is monotone.",
            relation="<=",
        ),
    ),
    variants=(
        Variant(
            "without the logarithm",
            "ones",
            "Only one key attains the greatest score, but the others count, too; a common slip.",
            reference,
        ),
        Variant(
            "the bound not needed",
            "outside",
            "Without a bound of the scores there is none of log Z.",
            withheld=("bound",),
        ),
        Variant(
            "one key too few",
            "ones",
            "Where all scores are equal, log Z is log m above them; a common slip.",
            total(reference, log(difference(total(m, 1), Integer(2)))),
        ),
    ),
    sources=(BOYD, RABE),
    date="2026-11-30",
    code=("attnref.log_partition",),
    remark=(
        "Equal scores attain the bound. So the sum that is computed, shifted by the greatest "
        "score, lies between 1 and m, and can neither overflow nor vanish."
    ),
)

RECORDS = (LZLO, LZUP)
