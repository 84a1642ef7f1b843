"""CAPU and CAPL: how far a capped score is from its caps."""

from sympy import Eq, Expr, IndexedBase, Integer, exp, tanh

from attnref.derivations._operators import Place, difference, product, ratio, total
from attnref.derivations._record import Law, Quantity, Record, Step, Variant
from attnref.derivations.softcap import GEMMA, TANH, c, u
from attnref.derivations.z_form import m, s

x = IndexedBase("x")
alpha, gamma = IndexedBase("alpha", positive=True), IndexedBase("gamma", positive=True)
key = Place("s", m)
SYMBOLS = (
    Quantity(m, "number of keys", r"\geq 1"),
    Quantity(key, "one of the keys", r"= 1, \dots, m"),
    Quantity(x[s], "scaled score", r"\in \mathbb{R}"),
    Quantity(c, "cap", "> 0"),
)
BELOW = Quantity(gamma[s], "how far the capped score is below $c$", "> 0")
ABOVE = Quantity(alpha[s], "how far the capped score is above $-c$", "> 0")


def _with_exp(of: Expr) -> Expr:
    """Return tanh, written with exp."""
    return TANH.equalities[0].rhs.xreplace({u: of})


def _capped(at: Expr) -> Expr:
    """Return the capped score of a key."""
    return product(c, tanh(ratio(x[at], c)))


def _twice(at: Expr) -> Expr:
    """Return twice a score over the cap."""
    return ratio(product(2, x[at]), c)


def _distance(exponent: Expr) -> Expr:
    """Return how far the capped score of a key is from one of the caps."""
    return ratio(product(2, c), total(1, exp(exponent)))


CAPU = Record(
    tag="CAPU",
    title="A capped score is below the cap",
    summary="However high a score is, $c$ is not reached.",
    statement=Eq(_capped(key), difference(c, gamma[key])),
    symbols=(*SYMBOLS, BELOW),
    definitions=(
        TANH,
        Law("distance", "a name; above 0", (Eq(gamma[s], _distance(_twice(s))),), (s,)),
    ),
    assumptions=(),
    steps=(
        Step("exp", product(c, _with_exp(ratio(x[key], c))), "Write tanh with exp.", ("tanh",)),
        Step(
            "apart",
            difference(c, _distance(_twice(key))),
            "Multiply above and below by $\\exp(x_s / c)$, and take $c$ off.",
        ),
        Step("name", difference(c, gamma[key]), "Name what is left.", ("distance",)),
    ),
    variants=(
        Variant(
            "the other cap",
            "apart",
            "This is how far it is above $-c$; a common slip.",
            difference(c, _distance(-_twice(key))),
        ),
        Variant(
            "clipped",
            "apart",
            "As if high scores were cut off at $c$: the cap is soft; a common slip.",
            c,
        ),
    ),
    sources=(GEMMA,),
    date="2026-11-30",
    remark="In floating point it is reached: tanh of 20 rounds to 1 in float64.",
    code=("attnref.scores",),
)

CAPL = Record(
    tag="CAPL",
    title="A capped score is above the negative cap",
    summary="However low a score is, $-c$ is not reached.",
    statement=Eq(_capped(key), difference(alpha[key], c)),
    symbols=(*SYMBOLS, ABOVE),
    definitions=(
        TANH,
        Law("distance", "a name; above 0", (Eq(alpha[s], _distance(-_twice(s))),), (s,)),
    ),
    assumptions=(),
    steps=(
        Step("exp", product(c, _with_exp(ratio(x[key], c))), "Write tanh with exp.", ("tanh",)),
        Step(
            "apart",
            difference(_distance(-_twice(key)), c),
            "Multiply above and below by $\\exp(-x_s / c)$, and add $c$.",
        ),
        Step("name", difference(alpha[key], c), "Name what it is above.", ("distance",)),
    ),
    variants=(
        Variant(
            "the other cap",
            "apart",
            "This is how far it is below $c$; a common slip.",
            difference(_distance(_twice(key)), c),
        ),
        Variant(
            "masked",
            "apart",
            "As if a score of −∞ stayed there: its cap is $-c$ (onnx/onnx, issue 7865).",
            Integer(0),
        ),
    ),
    sources=(GEMMA,),
    date="2026-11-30",
    remark="In floating point it is reached, by −∞ at the latest: the cap of −∞ is $-c$.",
    code=("attnref.scores",),
)

RECORDS = (CAPU, CAPL)
