"""DUPL: a key that is there r times weighs like one with the bias ln r."""

from sympy import Eq, Expr, Sum, Symbol, exp, symbols

from attnref.derivations._operators import product, ratio, total
from attnref.derivations._record import Law, Quantity, Record, Source, Step, Variant
from attnref.derivations.shifts import normaliser, numerator, row
from attnref.derivations.z_form import a, i, s, t, y

r = symbols("r", integer=True, positive=True)
score, value, bias = Symbol("x", real=True), Symbol("w", real=True), Symbol("b", real=True)
copies = (i, 1, r)


def _with_the_key(above: Expr, below: Expr) -> Expr:
    """Return the output of the other keys and of this one, by what it adds to both sums."""
    return ratio(total(numerator, above), total(normaliser, below))


biased = exp(total(score, bias))

DUPL = Record(
    tag="DUPL",
    title="A key that is repeated",
    summary="Together, copies of a key weigh like one whose bias is the logarithm of their number.",
    statement=Eq(y[t], _with_the_key(product(biased, value), biased)),
    symbols=(
        *row,
        Quantity(a[t, s], "score of another key", r"\in \mathbb{R}"),
        Quantity(r, "how often the key is there", r"\geq 1"),
        Quantity(score, "its score", r"\in \mathbb{R}"),
        Quantity(value, "its value", r"\in \mathbb{R}^{d_v}"),
        Quantity(bias, "bias", r"\in \mathbb{R}"),
    ),
    definitions=(
        Law(
            "copies",
            "each copy is a key like the $m$ others",
            (
                Eq(
                    y[t],
                    _with_the_key(Sum(product(exp(score), value), copies), Sum(exp(score), copies)),
                ),
            ),
            (t,),
        ),
        Law("bias", "$b$ is the logarithm of $r$", (Eq(exp(bias), r),)),
    ),
    assumptions=(),
    steps=(
        Step(
            "copies",
            _with_the_key(Sum(product(exp(score), value), copies), Sum(exp(score), copies)),
            "The copies are summed over like other keys.",
            ("copies",),
        ),
        Step(
            "count",
            _with_the_key(product(r, exp(score), value), product(r, exp(score))),
            "All terms are equal: there are $r$.",
        ),
        Step(
            "bias",
            _with_the_key(product(biased, value), biased),
            "A factor of exp is a term in its exponent.",
            ("bias",),
        ),
    ),
    variants=(
        Variant(
            "bias r",
            "bias",
            "The bias is the logarithm of the number, not the number; a common slip.",
            _with_the_key(product(exp(total(score, r)), value), exp(total(score, r))),
        ),
        Variant(
            "weights multiplied",
            "count",
            "The number counts in the normaliser, too: the weights would no longer add up to 1; "
            "a common slip.",
            _with_the_key(product(r, exp(score), value), exp(score)),
        ),
        Variant(
            "counted once",
            "count",
            "Merged tokens without the bias: ToMe, arXiv:2210.09461, adds it for this reason and "
            "calls it proportional attention.",
            _with_the_key(product(exp(score), value), exp(score)),
        ),
    ),
    sources=(
        Source(
            "Bolya et al. 2022, ToMe, arXiv:2210.09461", "section 3, proportional attention", False
        ),
    ),
    date="2026-11-30",
    remark=(
        "The copies need the same score and the same value. Repeating all keys equally often is a "
        "shift, and changes nothing."
    ),
    code=("attnref.attention",),
)

RECORDS = (DUPL,)
