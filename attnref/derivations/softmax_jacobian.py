"""SJAC and SNUL: how the weights of a row move with its scores."""

from sympy import Eq, Integer, KroneckerDelta, Sum, exp

from attnref.derivations._means import p, t
from attnref.derivations._operators import Partial, Place, difference, product, ratio
from attnref.derivations._record import Quantity, Record, Source, Step, Variant
from attnref.derivations.log_partition import NORMALISER, PARTITION, PSUM, ROW, WEIGHTS
from attnref.derivations.z_form import Z, a, j, m

key, other = Place("s", m), Place("r", m)
delta = KroneckerDelta(key, other)
SYMBOLS = (
    *ROW,
    Quantity(key, "one of the keys", r"= 1, \dots, m"),
    Quantity(a[t, key], "score", r"\in \mathbb{R}"),
    PARTITION,
    Quantity(p[t, key], "weight", "> 0"),
)
GAO_PAVEL = Source(
    "Gao and Pavel 2017, On the properties of the softmax function, arXiv:1704.00805",
    "proposition 2",
    False,
)
WITHOUT_DOT = (
    "(arunmallya.github.io, issues 1 and 2; RoboticsClubIITJ, pull request 153; "
    "HomericIntelligence/Odyssey, pull request 2134)"
)

SJAC = Record(
    tag="SJAC",
    title="The Jacobian of softmax",
    summary="A score raises its own weight, and lowers all others in proportion to them.",
    statement=Eq(
        Partial(p[t, key], a[t, other]), product(p[t, key], difference(delta, p[t, other]))
    ),
    symbols=(*SYMBOLS, Quantity(other, "a key, another or the same", r"= 1, \dots, m")),
    definitions=(NORMALISER, WEIGHTS),
    assumptions=(),
    steps=(
        Step(
            "weight",
            Partial(ratio(exp(a[t, key]), Z[t]), a[t, other]),
            "What a weight is.",
            ("weights",),
        ),
        Step(
            "quotient",
            difference(
                ratio(Partial(exp(a[t, key]), a[t, other]), Z[t]),
                product(ratio(exp(a[t, key]), Z[t] ** 2), Partial(Z[t], a[t, other])),
            ),
            "The rule for quotients: above stands one score, below stand all of them.",
        ),
        Step(
            "normaliser",
            product(ratio(exp(a[t, key]), Z[t]), difference(delta, ratio(exp(a[t, other]), Z[t]))),
            "Of the sum below one term contains the score that moves; above, perhaps the only one.",
            ("normaliser",),
        ),
        Step(
            "weights",
            product(p[t, key], difference(delta, p[t, other])),
            "Each exponential over the normaliser is a weight.",
            ("weights",),
        ),
    ),
    variants=(
        Variant(
            "diagonal only",
            "weights",
            "As for a sigmoid of each score by itself, without the other keys; a common slip.",
            product(delta, p[t, key], difference(1, p[t, key])),
        ),
        Variant(
            "normaliser constant",
            "quotient",
            "Without the second term the row is not normalised again: a backward pass without the "
            f"dot product {WITHOUT_DOT}.",
            ratio(Partial(exp(a[t, key]), a[t, other]), Z[t]),
        ),
        Variant(
            "wrong sign",
            "weights",
            "The other weights go down, not up; a common slip.",
            product(p[t, key], difference(p[t, other], delta)),
        ),
    ),
    sources=(GAO_PAVEL,),
    date="2026-11-30",
    remark="The matrix is symmetric: it is also the Hessian of $\\log Z_t$ in the scores (LZGR).",
    code=("attnref.softmax",),
)

change = Sum(Partial(p[t, key], a[t, j]), (j, 1, m))
SNUL = Record(
    tag="SNUL",
    title="Raising all scores alike does nothing",
    summary="Each row of the Jacobian of softmax adds up to 0.",
    statement=Eq(change, Integer(0)),
    symbols=tuple(quantity for quantity in SYMBOLS if quantity is not PARTITION),
    definitions=(),
    assumptions=(),
    steps=(
        Step(
            "jacobian",
            Sum(product(p[t, key], difference(KroneckerDelta(key, j), p[t, j])), (j, 1, m)),
            "The entries of the Jacobian.",
            ("SJAC",),
        ),
        Step(
            "outside",
            product(p[t, key], difference(1, Sum(p[t, j], (j, 1, m)))),
            "One of the keys is the key itself; its weight leaves the sum.",
        ),
        Step(
            "one",
            Integer(0),
            "The weights of a row add up to 1.",
            ("PSUM",),
        ),
    ),
    variants=(
        Variant(
            "diagonal only",
            "jacobian",
            "The entries beside the diagonal are what makes up for it; a common slip.",
            product(p[t, key], difference(1, p[t, key])),
        ),
        Variant(
            "without the dot product",
            "jacobian",
            f"Rows of a Jacobian that is diagonal with entries $p_{{ts}}$ {WITHOUT_DOT}.",
            p[t, key],
        ),
        Variant(
            "weights that need not add up to 1",
            "one",
            "With a sink or dropout they don't, and the rows don't add up to 0.",
            withheld=("PSUM",),
        ),
    ),
    sources=(GAO_PAVEL,),
    date="2026-11-30",
    uses=(PSUM, SJAC),
    remark=(
        "The vector of ones is in the null space, as SHFT has it: a shift of all scores of a row "
        "changes no weight. The columns add up to 0 as well: the weights keep adding up to 1."
    ),
    code=("attnref.softmax",),
)

RECORDS = (SJAC, SNUL)
