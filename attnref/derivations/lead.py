"""LOGP and LOGN: the weight of one key that is ahead of many equal ones, and how to keep it."""

from sympy import Eq, Pow, Sum, Symbol, exp, log, symbols

from attnref.derivations._operators import difference, product, ratio, total
from attnref.derivations._record import Law, Quantity, Record, Source, Step, Variant
from attnref.derivations.z_form import j

r = symbols("r", integer=True, positive=True)
beta, ahead = Symbol("beta", nonnegative=True), Symbol("Delta", real=True)
greatest = Symbol("x", real=True)
p, rest = symbols("p w", positive=True)
others = (j, 1, r)
leading = exp(product(beta, greatest))
behind = Sum(exp(product(beta, difference(greatest, ahead))), others)
faded = product(r, exp(product(-1, beta, ahead)))
against = Pow(total(1, faded), -1, evaluate=False)
CHIANG = Source("Chiang and Cholak 2022, arXiv:2202.12172", "section 5", False)
SSMAX = Source("Nakanishi 2025, arXiv:2501.19399, Scalable-Softmax", "section 2", False)
contest = (
    Quantity(r, "number of the other keys, one less than of all", r"\geq 1"),
    Quantity(beta, "scale", r"\geq 0"),
    Quantity(greatest, "inner product of the query and the key ahead", r"\in \mathbb{R}"),
    Quantity(ahead, "how far it is ahead of all others", r"\in \mathbb{R}"),
    Quantity(p, "weight of the key ahead", "> 0"),
)
AHEAD = Law(
    "ahead",
    "softmax over one key and the $r$ others, which are equal",
    (Eq(p, ratio(leading, total(leading, behind))),),
)

LOGP = Record(
    tag="LOGP",
    title="The weight of one key ahead of many",
    summary="It falls with the number of the others, and rises with the lead in their scores.",
    statement=Eq(p, against),
    symbols=contest,
    definitions=(AHEAD,),
    assumptions=(),
    steps=(
        Step("softmax", ratio(leading, total(leading, behind)), "What the weight is.", ("ahead",)),
        Step(
            "equal",
            ratio(leading, total(leading, product(leading, faded))),
            "The others are equal: their sum is their number times one of them.",
        ),
        Step("cancel", against, "What was ahead is in every term."),
    ),
    variants=(
        Variant(
            "as if there were one other",
            "equal",
            "The sum has a term for each of the others; a common slip.",
            ratio(leading, total(leading, product(leading, exp(product(-1, beta, ahead))))),
        ),
        Variant(
            "the lead the wrong way",
            "cancel",
            "The further ahead, the greater the weight; a common slip.",
            Pow(total(1, product(r, exp(product(beta, ahead)))), -1, evaluate=False),
        ),
        Variant(
            "the key among the others",
            "cancel",
            "The key ahead counts once, by itself; a common slip.",
            Pow(faded, -1, evaluate=False),
        ),
    ),
    sources=(CHIANG, SSMAX),
    date="2026-11-30",
    code=("attnref.softmax",),
    remark="For a given lead it goes to 0 as keys are added: it is less than exp(β Δ) over r.",
)

OTHERS = Law(
    "others",
    "softmax, all other keys together",
    (Eq(rest, ratio(behind, total(leading, behind))),),
)

LOGN = Record(
    tag="LOGN",
    title="The log n law",
    summary="To keep its weight, a key has to lead by more as keys are added: by $\\log r$ more.",
    statement=Eq(product(beta, ahead), total(log(r), log(ratio(p, rest)))),
    symbols=(*contest, Quantity(rest, "weight of all others together, $1 - p$", "> 0")),
    definitions=(AHEAD, OTHERS),
    assumptions=(),
    steps=(
        Step(
            "odds",
            log(product(r, ratio(leading, behind))),
            "The sum of the others is $r$ times one of them, and the rest is the lead.",
        ),
        Step(
            "weights",
            log(product(r, ratio(p, rest))),
            "Weights are as the exponentials.",
            ("ahead", "others"),
        ),
        Step("logarithm", total(log(r), log(ratio(p, rest))), "log turns a product into a sum."),
    ),
    variants=(
        Variant(
            "the number of keys itself",
            "logarithm",
            "The lead need grow like the logarithm only; a common slip.",
            total(r, log(ratio(p, rest))),
        ),
        Variant(
            "less for more keys",
            "logarithm",
            "More keys need a greater lead, not a smaller one; a common slip.",
            difference(log(ratio(p, rest)), log(r)),
        ),
        Variant(
            "the weight in place of the odds",
            "logarithm",
            "log p is not log(p/(1 − p)), and never positive; a common slip.",
            total(log(r), log(p)),
        ),
    ),
    sources=(CHIANG, SSMAX),
    date="2026-11-30",
    code=("attnref.softmax",),
    remark=(
        "The last term is logit p, for the weights add up to 1; with $n$ keys, $r$ is $n - 1$. A "
        "scale that grows like log n keeps the weight of a key with a given lead."
    ),
)

RECORDS = (LOGP, LOGN)
