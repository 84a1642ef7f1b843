"""CAPW and SCMK: under a soft cap every key keeps a weight, so a mask comes after it."""

from sympy import Eq, Expr, Integer, Sum, exp

from attnref.derivations._means import p
from attnref.derivations._operators import at_most, difference, product, ratio
from attnref.derivations._record import Law, Quantity, Record, Step, Variant
from attnref.derivations.softcap import GEMMA, c
from attnref.derivations.softcap_bounds import (
    ABOVE,
    BELOW,
    CAPL,
    CAPU,
    SYMBOLS,
    alpha,
    gamma,
    key,
    x,
)
from attnref.derivations.z_form import j, m, s

other_keys = (j, 1, m)
WEIGHT = Quantity(p[s], "weight", "> 0")


def _capped(at: Expr) -> Expr:
    """Return the capped score of a key."""
    return CAPU.statement.lhs.xreplace({key: at})


normaliser = Sum(exp(_capped(j)), other_keys)
lifted = exp(difference(alpha[key], c))

CAPW = Record(
    tag="CAPW",
    title="A weight under a soft cap",
    summary="The score itself is measured from the lower cap, the normaliser from the upper one.",
    statement=Eq(p[key], ratio(lifted, Sum(exp(difference(c, gamma[j])), other_keys))),
    symbols=(*SYMBOLS, BELOW, ABOVE, WEIGHT),
    definitions=(
        Law(
            "weights",
            "softmax of the capped scores",
            (Eq(p[s], ratio(exp(_capped(s)), normaliser)),),
            (s,),
        ),
    ),
    assumptions=(),
    steps=(
        Step("weight", ratio(exp(_capped(key)), normaliser), "What a weight is.", ("weights",)),
        Step("key", ratio(lifted, normaliser), "Its own score, from below.", ("CAPL",)),
        Step(
            "keys",
            ratio(lifted, Sum(exp(difference(c, gamma[j])), other_keys)),
            "All scores, from above.",
            ("CAPU",),
        ),
    ),
    variants=(
        Variant(
            "one distance for both",
            "keys",
            "The distances from the two caps are different numbers; a common slip.",
            ratio(lifted, Sum(exp(difference(c, alpha[j])), other_keys)),
        ),
        Variant(
            "without a cap",
            "weight",
            "Scores that are not capped have other weights (Keras ignored its "
            "attn_logits_soft_cap on all but TPUs).",
            ratio(exp(x[key]), Sum(exp(x[j]), other_keys)),
        ),
    ),
    sources=(GEMMA,),
    date="2026-11-30",
    uses=(CAPU, CAPL),
    code=("attnref.attention_weights",),
)

SCMK = Record(
    tag="SCMK",
    title="A soft cap leaves every key a weight",
    summary=(
        "Under a cap no score, however low, takes a key out: a mask that is put on before the cap "
        "masks nothing."
    ),
    statement=at_most(ratio(exp(product(-1, product(2, c))), m), p[key]),
    symbols=(*SYMBOLS[:2], SYMBOLS[-1], BELOW, ABOVE, WEIGHT),
    definitions=(),
    assumptions=(),
    steps=(
        Step(
            "extremes",
            ratio(exp(-c), Sum(exp(c), other_keys)),
            "The weight of a key at the lower cap, if all terms below were at the upper one.",
        ),
        Step(
            "weight",
            p[key],
            "No score is below the lower cap, and none above the upper one.",
            ("CAPW",),
            "<=",
        ),
    ),
    variants=(
        Variant(
            "masked before the cap",
            "weight",
            "A mask that is put on before the cap was meant to leave the weight 0 and leaves "
            "more: ONNX before 1.22 (onnx/onnx, issue 7865 and pull request 7867) and others "
            "(microsoft/onnxruntime, pull request 28370).",
            Integer(0),
        ),
        Variant(
            "the cap counted once",
            "extremes",
            "From the lowest score to the highest it is $2 c$; a common slip.",
            ratio(exp(-c), m),
        ),
        Variant(
            "any score",
            "weight",
            "Without a cap a weight may be as small as it likes.",
            withheld=("CAPW",),
        ),
    ),
    sources=(GEMMA,),
    date="2026-11-30",
    uses=(CAPW,),
    remark=(
        "A score of −∞ has the cap $-c$ and keeps at least the weight on the left. Put on after "
        "the cap, −∞ takes the key out. The two orders differ for every $c$."
    ),
    code=("attnref.attention_weights",),
)

RECORDS = (CAPW, SCMK)
