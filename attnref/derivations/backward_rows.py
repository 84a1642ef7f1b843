"""BWDR: what the gradients in the scores of one query add up to."""

from sympy import Eq, Expr, Integer, Sum

from attnref.derivations._means import p
from attnref.derivations._means import t as query
from attnref.derivations._operators import Partial, product, total
from attnref.derivations._record import Record, Step, Variant
from attnref.derivations.backward import (
    BWDS,
    FLASH,
    ONE_QUERY,
    OUTPUT,
    PARTS,
    SIZES,
    L,
    components,
    ell,
    g,
    key,
    v,
    y,
)
from attnref.derivations.log_partition import PSUM, c
from attnref.derivations.softmax_jacobian import WITHOUT_DOT
from attnref.derivations.z_form import a, keys, s


def _dot(vector: Expr) -> Expr:
    """Return the inner product of the cotangent of the output with a vector."""
    return Sum(product(g[query, c], vector), components)


row_sum = Sum(Partial(L, a[query, s]), keys)

BWDR = Record(
    tag="BWDR",
    title="Row sums of the score gradient",
    summary="The gradients of the scores of one query add up to the cotangent of its log Z.",
    statement=Eq(row_sum, ell[query]),
    symbols=(*SIZES, ONE_QUERY, *PARTS),
    definitions=(OUTPUT,),
    assumptions=(),
    steps=(
        Step(
            "gradient",
            Sum(BWDS.statement.rhs.xreplace({key: s}), keys),
            "The gradient in the scores.",
            ("BWDS",),
        ),
        Step(
            "one",
            total(
                _dot(Sum(product(p[query, s], v[s, c]), keys)),
                product(-1, _dot(y[query, c])),
                ell[query],
            ),
            "The weights add up to 1.",
            ("PSUM",),
        ),
        Step("cancel", ell[query], "The weighted values are the output.", ("output",)),
    ),
    variants=(
        Variant(
            "zero",
            "cancel",
            "It is 0 only where the loss does not see log Z, whose cotangent was dropped in "
            "Dao-AILab/flash-attention, issues 404, 889 and 1137.",
            Integer(0),
        ),
        Variant(
            "without the dot product",
            "gradient",
            f"Without it the row sum is off by that dot product {WITHOUT_DOT}.",
            Sum(
                total(product(p[query, s], _dot(v[s, c])), product(p[query, s], ell[query])),
                keys,
            ),
        ),
        Variant(
            "weights that need not add up to 1",
            "one",
            "With a sink the sum is that of the weights times this, and more.",
            withheld=("PSUM",),
        ),
    ),
    sources=(FLASH,),
    date="2026-11-30",
    uses=(PSUM, BWDS),
    code=("attnref.attention_gradients",),
)

RECORDS = (BWDR,)
