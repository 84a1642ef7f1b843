"""TGAP and TZER: a row at a large scale and at none, from the greatest score to the mean."""

from sympy import Eq, IndexedBase, Sum, Symbol, exp

from attnref.derivations._operators import at_most, difference, product, ratio, total
from attnref.derivations._record import Law, Quantity, Record, Step, Variant
from attnref.derivations.lead import CHIANG, beta, contest, greatest, leading, others, r, rest
from attnref.derivations.z_form import j, keys, m, other_keys, s, v

x, g, y = IndexedBase("x"), IndexedBase("g", nonnegative=True), Symbol("y")
gap = Symbol("Delta", nonnegative=True)
at_the_gap = exp(product(-1, beta, gap))
faded = product(r, at_the_gap)
deeper = Sum(exp(product(beta, difference(difference(greatest, gap), g[j]))), others)
relative = Sum(exp(product(-1, beta, total(gap, g[j]))), others)

TGAP = Record(
    tag="TGAP",
    title="What the greatest score leaves to the others",
    summary="The weight of all others falls exponentially with the scale times the gap.",
    statement=at_most(rest, faded),
    symbols=(
        *contest[:2],
        Quantity(greatest, "greatest score, before the scale", r"\in \mathbb{R}"),
        Quantity(gap, "how far the next score is below it, before the scale", r"\geq 0"),
        Quantity(g[j], "how far another key is below the next one", r"\geq 0"),
        Quantity(rest, "weight of all other keys together", "> 0"),
    ),
    definitions=(
        Law(
            "others",
            "softmax, all other keys together",
            (Eq(rest, ratio(deeper, total(leading, deeper))),),
        ),
    ),
    assumptions=(),
    steps=(
        Step("softmax", ratio(deeper, total(leading, deeper)), "What the weight is.", ("others",)),
        Step(
            "relative",
            ratio(relative, total(1, relative)),
            "The greatest exponential is a factor of every term above and below.",
        ),
        Step(
            "denominator",
            relative,
            "Nothing that is positive is less than itself over 1 and more.",
            relation="<=",
        ),
        Step("gap", faded, "None of the $r$ terms is larger than at the gap.", relation="<="),
    ),
    variants=(
        Variant(
            "as if there were one other",
            "gap",
            "Each of the others may be just at the gap; a common slip.",
            at_the_gap,
        ),
        Variant(
            "halved",
            "denominator",
            "The denominator can be as little as 1; a common slip.",
            ratio(relative, 2),
        ),
        Variant(
            "without the scale",
            "gap",
            "The gap counts after the scale; a common slip.",
            product(r, exp(product(-1, gap))),
        ),
    ),
    sources=(CHIANG,),
    date="2026-11-30",
    code=("attnref.softmax",),
    remark=(
        "$1 - p$ of the greatest score is meant. Where the gap is positive the right side goes to "
        "0 as β grows: all weight goes to the greatest score. Where scores tie for it the gap is "
        "0, and nothing follows: the weight is shared by those that tie."
    ),
)

above, under = (
    Sum(product(exp(product(beta, x[s])), v[s]), keys),
    Sum(exp(product(beta, x[j])), other_keys),
)

TZER = Record(
    tag="TZER",
    title="A scale of 0 gives the mean",
    summary="Without regard to the scores, all values count alike.",
    statement=Eq(y, ratio(Sum(v[s], keys), m)),
    symbols=(
        Quantity(m, "number of keys", r"\geq 1"),
        Quantity(beta, "scale", r"\geq 0"),
        Quantity(x[s], "inner product of the query and a key", r"\in \mathbb{R}"),
        Quantity(v[s], "value", r"\in \mathbb{R}^{d_v}"),
        Quantity(y, "output", r"\in \mathbb{R}^{d_v}"),
    ),
    definitions=(Law("output", "the Z form", (Eq(y, ratio(above, under)),)),),
    assumptions=(Law("zero", "the scale is 0", (Eq(beta, 0),)),),
    steps=(
        Step("output", ratio(above, under), "What the output is.", ("output",)),
        Step(
            "zero",
            ratio(Sum(v[s], keys), Sum(1, other_keys)),
            "All scores are 0, and their exponentials are 1.",
            ("zero",),
        ),
        Step("mean", ratio(Sum(v[s], keys), m), "Ones, added up over the keys, are $m$."),
    ),
    variants=(
        Variant(
            "the sum",
            "mean",
            "The weights add up to 1, whatever the scale; a common slip.",
            Sum(v[s], keys),
        ),
        Variant(
            "nothing left",
            "zero",
            "exp(0) is 1, not 0: equal scores are no reason to leave a key out; a common slip.",
            ratio(Sum(product(0, v[s]), keys), Sum(1, other_keys)),
        ),
        Variant("any scale", "zero", "For another scale the scores count.", withheld=("zero",)),
    ),
    sources=(CHIANG,),
    date="2026-11-30",
    code=("attnref.attention",),
    remark="The mean is over the keys that are allowed. A negative scale picks the least score.",
)

RECORDS = (TGAP, TZER)
