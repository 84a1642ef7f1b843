"""SCAP: the slope of a soft cap."""

from sympy import Eq, Expr, Symbol, exp, tanh

from attnref.derivations._operators import Partial, difference, product, ratio, total
from attnref.derivations._record import Law, Quantity, Record, Source, Step, Variant

x, c, u = Symbol("x", real=True), Symbol("c", positive=True), Symbol("u", real=True)
GEMMA = Source("Gemma Team 2024, Gemma 2, arXiv:2408.00118", "section 2, logit soft-capping", False)


def _with_exp(of: Expr) -> Expr:
    """Return tanh, written with exp."""
    return ratio(difference(exp(of), exp(-of)), total(exp(of), exp(-of)))


TANH = Law("tanh", "written with exp", (Eq(tanh(u), _with_exp(u)),), (u,))

above, below = exp(x / c), exp(-x / c)

SCAP = Record(
    tag="SCAP",
    title="The slope of a soft cap",
    summary="A capped score moves with its score by 1 at 0, and by less further out.",
    statement=Eq(Partial(product(c, tanh(x / c)), x), difference(1, tanh(x / c) ** 2)),
    symbols=(
        Quantity(x, "scaled score", r"\in \mathbb{R}"),
        Quantity(c, "cap", "> 0"),
    ),
    definitions=(TANH,),
    assumptions=(),
    steps=(
        Step(
            "exp",
            Partial(product(c, ratio(difference(above, below), total(above, below))), x),
            "Write tanh with exp.",
            ("tanh",),
        ),
        Step(
            "quotient",
            ratio(
                difference(total(above, below) ** 2, difference(above, below) ** 2),
                total(above, below) ** 2,
            ),
            "The rule for quotients; each derivative brings down $1/c$, which meets the cap.",
        ),
        Step(
            "slope",
            difference(1, tanh(x / c) ** 2),
            "The second part is the square of tanh.",
            ("tanh",),
        ),
    ),
    variants=(
        Variant(
            "divided by the cap",
            "slope",
            "The cap stands inside and outside of tanh, and cancels; a common slip.",
            ratio(difference(1, tanh(x / c) ** 2), c),
        ),
        Variant(
            "capped score squared",
            "slope",
            "The square is that of tanh and not of $c$ tanh$(x/c)$; a common slip.",
            difference(1, product(c, tanh(x / c)) ** 2),
        ),
        Variant(
            "the other cap",
            "exp",
            "Another function that stays below $c$, given in the docstring of Keras for its "
            "attn_logits_soft_cap (with the absolute value of $x$ below).",
            Partial(ratio(x, total(1, ratio(x, c))), x),
        ),
    ),
    sources=(GEMMA,),
    date="2026-11-30",
    remark=(
        "The slope is above 0 and at most 1: a cap never raises a gradient and never turns it. "
        "As $c$ grows it goes to 1, and the cap does nothing."
    ),
    code=("attnref.scores",),
)

RECORDS = (SCAP,)
