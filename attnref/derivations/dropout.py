"""DRPM and DRPV: mean and variance of an output whose weights are dropped at random."""

from sympy import Eq, IndexedBase, KroneckerDelta, Sum, Symbol, symbols

from attnref.derivations._operators import (
    Expectation,
    RandomVariable,
    RandomVector,
    Variance,
    difference,
    product,
    ratio,
    total,
)
from attnref.derivations._record import Law, Quantity, Record, Source, Step, Variant
from attnref.derivations.dot_product_variance import VARIANCE

E = Expectation
s, j = symbols("s j", integer=True)
m = symbols("m", integer=True, positive=True)
p, v, y = IndexedBase("p"), IndexedBase("v"), Symbol("y", real=True)
p_d, kappa = Symbol("p_d", real=True), Symbol("kappa", positive=True)
B, dropped = RandomVector("B"), RandomVariable("y'")
keys, other_keys = (s, 1, m), (j, 1, m)
output = Sum(product(p[s], v[s]), keys)
kept = Sum(product(ratio(B[s], kappa), p[s], v[s]), keys)
SRIVASTAVA = Source("Srivastava et al. 2014, Dropout, J. Mach. Learn. Res. 15", "section 10", False)
SYMBOLS = (
    Quantity(m, "number of keys", r"\geq 1"),
    Quantity(p[s], "weight of a key", r"\geq 0"),
    Quantity(v[s], "value, one component", r"\in \mathbb{R}"),
    Quantity(kappa, "probability that a weight is kept", "> 0"),
    Quantity(B[s], "random: 1 if the weight is kept, 0 if not", r"\in \mathbb{R}"),
    Quantity(y, "output without dropout", r"\in \mathbb{R}"),
    Quantity(dropped, "random output with dropout", r"\in \mathbb{R}"),
)
OUTPUT = Law("output", "the values, weighted", (Eq(y, output),))
DROPOUT = Law("dropout", "kept weights are divided by κ", (Eq(dropped, kept),))

DRPM = Record(
    tag="DRPM",
    title="The mean under dropout",
    summary="Divided by the probability that they are kept, dropped weights give the right mean.",
    statement=Eq(E(dropped), y),
    symbols=SYMBOLS,
    definitions=(OUTPUT, DROPOUT),
    assumptions=(
        Law("keeping", "every weight is kept with probability κ", (Eq(E(B[s]), kappa),), (s,)),
    ),
    steps=(
        Step("dropout", E(kept), "What dropout does.", ("dropout",)),
        Step(
            "linear",
            Sum(product(ratio(E(B[s]), kappa), p[s], v[s]), keys),
            "Only $B_s$ is random, and the mean of a sum is the sum of the means.",
        ),
        Step("keeping", output, "The mean of $B_s$ is the divisor.", ("keeping",)),
        Step("output", y, "What the output is.", ("output",)),
    ),
    variants=(
        Variant(
            "not divided",
            "keeping",
            "Without the division the mean is κ times the output; a common slip.",
            product(kappa, output),
        ),
        Variant(
            "multiplied by the probability",
            "linear",
            "Scaled by the probability of dropping and not by 1/κ, as once in the backward pass "
            "of NVIDIA/apex (pull request 816).",
            Sum(product(E(B[s]), difference(1, kappa), p[s], v[s]), keys),
        ),
        Variant(
            "any chance",
            "keeping",
            "If the weights are kept with other probabilities the mean is another one.",
            withheld=("keeping",),
        ),
    ),
    sources=(SRIVASTAVA,),
    date="2026-11-30",
    remark=(
        "The weights need not be kept independently. In one draw they do not add up to 1 (reported "
        "as a fault in facebookresearch/fairseq, issue 351, and pytorch, issue 90842; it is none)."
    ),
    code=("attnref.scaled_dot_product_attention",),
)

pair = total(
    product(KroneckerDelta(s, j), kappa),
    product(difference(1, KroneckerDelta(s, j)), kappa**2),
)
pairs = Sum(
    product(ratio(E(product(B[s], B[j])), kappa**2), p[s], v[s], p[j], v[j]), other_keys, keys
)

DRPV = Record(
    tag="DRPV",
    title="The variance under dropout",
    summary="Dropout adds noise that the large weights rule: their squares count.",
    statement=Eq(
        Variance(dropped), product(ratio(p_d, kappa), Sum(product(p[s] ** 2, v[s] ** 2), keys))
    ),
    symbols=(*SYMBOLS, Quantity(p_d, "probability that a weight is dropped", r"\geq 0")),
    definitions=(
        VARIANCE,
        OUTPUT,
        DROPOUT,
        Law("rate", "what is not kept is dropped", (Eq(p_d, difference(1, kappa)),)),
    ),
    assumptions=(
        Law(
            "independence",
            "each $B_s$ is 1 with probability κ and else 0, and they are independent",
            (Eq(E(product(B[s], B[j])), pair),),
            (s, j),
        ),
    ),
    steps=(
        Step(
            "definition",
            E(difference(dropped, E(dropped)) ** 2),
            "What variance is.",
            ("variance",),
        ),
        Step(
            "square",
            difference(E(dropped**2), y**2),
            "Multiply out; the mean is the output.",
            ("DRPM",),
        ),
        Step(
            "pairs",
            difference(pairs, output**2),
            "The square of a sum is a sum over pairs.",
            ("dropout", "output"),
        ),
        Step(
            "split",
            difference(
                Sum(product(ratio(pair, kappa**2), p[s], v[s], p[j], v[j]), other_keys, keys),
                output**2,
            ),
            "A weight is paired with itself, or with another one that is independent of it.",
            ("independence",),
        ),
        Step(
            "diagonal",
            product(total(1 / kappa, -1), Sum(product(p[s] ** 2, v[s] ** 2), keys)),
            "The pairs of different keys cancel.",
        ),
        Step(
            "rate",
            product(ratio(p_d, kappa), Sum(product(p[s] ** 2, v[s] ** 2), keys)),
            "In terms of the probability of dropping.",
            ("rate",),
        ),
    ),
    variants=(
        Variant(
            "not divided",
            "rate",
            "The variance of what is kept, not divided by κ; a common slip.",
            product(p_d, kappa, Sum(product(p[s] ** 2, v[s] ** 2), keys)),
        ),
        Variant(
            "not squared",
            "rate",
            "Weights and values count by their squares; a common slip.",
            product(ratio(p_d, kappa), Sum(product(p[s], v[s] ** 2), keys)),
        ),
        Variant(
            "one coin for all",
            "split",
            "With one $B$ for the whole row the variance is that of the whole output.",
            withheld=("independence",),
        ),
    ),
    sources=(SRIVASTAVA,),
    date="2026-11-30",
    uses=(DRPM,),
    remark="Of the independence only this is needed: that no two of them are correlated.",
    code=("attnref.scaled_dot_product_attention",),
)

RECORDS = (DRPM, DRPV)
