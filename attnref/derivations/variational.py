"""VENT and VARI: log Z is the most that mean score and entropy add up to, attained by softmax."""

from sympy import Eq, IndexedBase, Sum, Symbol, exp, log

from attnref.derivations._operators import at_most, difference, product, ratio, total
from attnref.derivations._record import Law, Quantity, Record, Source, Step, Variant
from attnref.derivations.z_form import j, keys, m, other_keys, s

a, gap = IndexedBase("a"), IndexedBase("h", nonnegative=True)
p, pi = (IndexedBase(name, positive=True) for name in ("p", "pi"))
Z, H = Symbol("Z", positive=True), Symbol("H", real=True)
row = (
    Quantity(m, "number of keys", r"\geq 1"),
    Quantity(a[s], "score", r"\in \mathbb{R}"),
    Quantity(p[s], "weight, by softmax", "> 0"),
    Quantity(Z, "normaliser", "> 0"),
)
SOFTMAX = Law("softmax", "over the keys", (Eq(p[s], ratio(exp(a[s]), Z)),), (s,))
NORMALISER = Law("normaliser", "over the keys", (Eq(Z, Sum(exp(a[j]), other_keys)),))
GRAPHICAL_MODELS = (
    "Wainwright and Jordan 2008, Graphical Models, Exponential Families, and Variational Inference"
)
WAINWRIGHT = Source(GRAPHICAL_MODELS, "section 3.6", False)


def _mean_score(weights: IndexedBase) -> Sum:
    """Return the mean of the scores by some weights."""
    return Sum(product(weights[s], a[s]), keys)


def _disorder(weights: IndexedBase) -> Sum:
    """Return the sum whose negative is the entropy of some weights."""
    return Sum(product(weights[s], log(weights[s])), keys)


VENT = Record(
    tag="VENT",
    title="log Z is the mean score and the entropy",
    summary="The weights of softmax make up log Z of the mean of the scores and their entropy.",
    statement=Eq(total(_mean_score(p), H), log(Z)),
    symbols=(*row, Quantity(H, "entropy of the weights, in nats", r"\geq 0")),
    definitions=(
        Law("entropy", "of the weights of softmax", (Eq(H, -_disorder(p)),)),
        SOFTMAX,
        NORMALISER,
    ),
    assumptions=(),
    steps=(
        Step(
            "entropy",
            difference(_mean_score(p), _disorder(p)),
            "What the entropy is.",
            ("entropy",),
        ),
        Step(
            "logarithm",
            difference(_mean_score(p), Sum(product(p[s], difference(a[s], log(Z))), keys)),
            "The logarithm of a weight is its score less log Z.",
            ("softmax",),
        ),
        Step(
            "outside",
            product(log(Z), Sum(p[s], keys)),
            "The scores are gone; log Z has no $s$ and leaves the sum.",
        ),
        Step("one", log(Z), "The weights add up to 1.", ("softmax", "normaliser")),
    ),
    variants=(
        Variant(
            "entropy with the wrong sign",
            "entropy",
            "Entropy is minus the mean of log p; a common slip.",
            total(_mean_score(p), _disorder(p)),
        ),
        Variant(
            "the normaliser itself",
            "logarithm",
            "The logarithm of a quotient is a difference of logarithms; a common slip.",
            difference(_mean_score(p), Sum(product(p[s], difference(a[s], Z)), keys)),
        ),
        Variant(
            "scores left over",
            "outside",
            "No score is left outside log Z; a common slip.",
            total(product(log(Z), Sum(p[s], keys)), _mean_score(p)),
        ),
    ),
    sources=(WAINWRIGHT,),
    date="2026-11-30",
    code=("attnref.softmax", "attnref.log_partition"),
    remark="With $\\log_2$ in the entropy and natural log Z the two do not fit.",
)

relative = Sum(product(pi[s], difference(log(pi[s]), log(p[s]))), keys)
gaps = Sum(product(pi[s], gap[s]), keys)

VARI = Record(
    tag="VARI",
    title="Softmax is the best of all weights",
    summary="For no weights do the mean score and the entropy add up to more than log Z.",
    statement=at_most(total(_mean_score(pi), H), log(Z)),
    symbols=(
        *row,
        Quantity(pi[s], "other weights, that add up to 1", "> 0"),
        Quantity(H, "their entropy, in nats", r"\geq 0"),
        Quantity(gap[s], "what the logarithm lacks, 0 only where the weights agree", r"\geq 0"),
    ),
    definitions=(
        Law("entropy", "of the other weights", (Eq(H, -_disorder(pi)),)),
        SOFTMAX,
        NORMALISER,
    ),
    assumptions=(
        Law("distribution", "the other weights add up to 1", (Eq(Sum(pi[s], keys), 1),)),
        Law(
            "tangent",
            "$\\log x \\leq x - 1$ at the quotient of two weights; $h_s$ is the difference",
            (
                Eq(
                    log(p[s]),
                    total(log(pi[s]), difference(difference(ratio(p[s], pi[s]), 1), gap[s])),
                ),
            ),
            (s,),
        ),
    ),
    steps=(
        Step(
            "entropy",
            difference(_mean_score(pi), _disorder(pi)),
            "What the entropy is.",
            ("entropy",),
        ),
        Step(
            "divergence",
            difference(log(Z), relative),
            "A score is log Z and the logarithm of its weight; log Z times 1 leaves the sum. What "
            "is taken off is the Kullback–Leibler divergence from softmax.",
            ("softmax", "distribution"),
        ),
        Step(
            "gaps",
            difference(log(Z), gaps),
            "The tangents cancel, for both kinds of weights add up to 1.",
            ("tangent", "distribution", "softmax", "normaliser"),
        ),
        Step("drop", log(Z), "The gaps are at least 0.", relation="<="),
    ),
    variants=(
        Variant(
            "the other divergence",
            "divergence",
            "The divergence is not symmetric: here it is the mean by π, not by p; a common slip.",
            difference(log(Z), Sum(product(p[s], difference(log(p[s]), log(pi[s]))), keys)),
        ),
        Variant(
            "divergence added",
            "divergence",
            "Other weights fall short, they do not exceed; a common slip.",
            total(log(Z), relative),
        ),
        Variant(
            "any numbers for weights",
            "divergence",
            "Numbers that do not add up to 1 can exceed log Z.",
            withheld=("distribution",),
        ),
        Variant(
            "the greatest score alone",
            "drop",
            "Without the entropy the mean score is largest at the greatest score; with it, at "
            "softmax, which is more.",
            difference(log(Z), total(gaps, 1)),
        ),
    ),
    sources=(
        WAINWRIGHT,
        Source("Boyd and Vandenberghe 2004, Convex Optimization", "example 3.25", False),
    ),
    date="2026-11-30",
    code=("attnref.softmax", "attnref.log_partition"),
    remark=(
        "By VENT softmax attains the bound; only softmax does, for a gap is 0 only where the "
        "weights agree. A weight of 0 is a limit: π log π goes to 0 there."
    ),
)

RECORDS = (VENT, VARI)
