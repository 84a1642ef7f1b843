"""MCOM, MASS and MIDN: merging is commutative, associative, and has an identity."""

from sympy import Eq, Expr, exp, symbols

from attnref.derivations._operators import Merged, difference, product, ratio, total
from attnref.derivations._record import Law, Quantity, Record, Step, Variant
from attnref.derivations._states import (
    EITHER,
    ONLINE,
    OTHER,
    REFERENCE,
    STATE,
    A,
    B,
    C,
    X,
    both,
    m,
    merged,
    merging,
    represented,
    rescaled,
)

empty = symbols("0", integer=True)
MERGE = merging(X, "merge")
back = Merged(B, A)
left, right = Merged(both, C), Merged(A, Merged(B, C))


def _put_back(left: Expr, right: Expr) -> Expr:
    """Return the represented sum of a merged state, with the merging written out."""
    return product(exp(m[Merged(left, right)]), merged(X, left, right))


def _rescaled_pair(first: Expr, second: Expr, state: Expr) -> Expr:
    """Return two states, merged, at the reference exponent of the state they merge into."""
    inner = Merged(first, second)
    return product(exp(difference(m[inner], m[state])), merged(X, first, second))


MCOM = Record(
    tag="MCOM",
    title="Merging is commutative",
    summary="Two states merge into states that stand for the same sums, in either order.",
    statement=Eq(represented(X, both), represented(X, back)),
    symbols=(STATE, OTHER, REFERENCE, EITHER),
    definitions=(MERGE,),
    assumptions=(),
    steps=(
        Step("merge", _put_back(A, B), "How states merge.", ("merge",)),
        Step("represented", represented(X, A, B), "The exponent of the merged state is gone."),
        Step("swap", represented(X, B, A), "Addition is commutative."),
        Step("other-way", _put_back(B, A), "Put the exponent of the other merged state in."),
        Step("merged", represented(X, back), "How states merge, the other way.", ("merge",)),
    ),
    variants=(
        Variant(
            "inverted",
            "merge",
            "Printed in FlashAttention-2, arXiv:2307.08691, algorithm 1, line 10 "
            "(Dao-AILab/flash-attention, issue 991).",
            product(
                exp(m[both]),
                total(product(exp(difference(m[both], m[A])), X[A]), rescaled(X, B, m[both])),
            ),
        ),
        Variant(
            "the first one kept",
            "merge",
            "The first state's exponent may not be kept without rescaling the second; a common "
            "slip.",
            product(exp(m[both]), total(rescaled(X, A, m[both]), X[B])),
        ),
    ),
    sources=(ONLINE,),
    date="2026-11-30",
    remark="The two merged states may have different reference exponents.",
    code=("attnref.merge",),
)

MASS = Record(
    tag="MASS",
    title="Merging is associative",
    summary="Three states merge into states that stand for the same sums, however bracketed.",
    statement=Eq(represented(X, left), represented(X, right)),
    symbols=(
        STATE,
        OTHER,
        Quantity(C, "a third state", "= (m_C, Z_C, N_C)"),
        REFERENCE,
        EITHER,
    ),
    definitions=(MERGE,),
    assumptions=(),
    steps=(
        Step(
            "merge",
            product(exp(m[left]), total(_rescaled_pair(A, B, left), rescaled(X, C, m[left]))),
            "How states merge: first the outer one is opened, then the one inside.",
            ("merge", "merge"),
        ),
        Step("represented", represented(X, A, B, C), "Both exponents of merged states are gone."),
        Step(
            "other-way",
            product(exp(m[right]), total(rescaled(X, A, m[right]), _rescaled_pair(B, C, right))),
            "Put those of the other merged states in.",
        ),
        Step("merged", represented(X, right), "How states merge, again.", ("merge", "merge")),
    ),
    variants=(
        Variant(
            "the inner exponent kept",
            "merge",
            "What two states merge into is at the merged exponent, no longer at the first one's; a "
            "common slip.",
            product(
                exp(m[left]),
                total(
                    product(exp(difference(m[A], m[left])), merged(X, A, B)),
                    rescaled(X, C, m[left]),
                ),
            ),
        ),
        Variant(
            "the last one weighs half",
            "represented",
            "A mean of two means is not the mean of all: merged are sums; a common slip.",
            ratio(total(ratio(represented(X, A, B), 2), represented(X, C)), 2),
        ),
    ),
    sources=(ONLINE,),
    date="2026-11-30",
    remark=(
        "So blocks may be merged in a chain, as in streaming, in a tree, as in split decoding, or "
        "around a ring of machines."
    ),
    code=("attnref.merge",),
)

MIDN = Record(
    tag="MIDN",
    title="The empty state is the identity",
    summary="A state without keys changes nothing, whatever its reference exponent.",
    statement=Eq(represented(X, Merged(A, empty)), represented(X, A)),
    symbols=(STATE, Quantity(empty, "the empty state", "= (m_0, 0, 0)"), REFERENCE, EITHER),
    definitions=(MERGE, Law("empty", "a sum without terms", (Eq(X[empty], 0),))),
    assumptions=(),
    steps=(
        Step("merge", _put_back(A, empty), "How states merge.", ("merge",)),
        Step(
            "empty",
            product(exp(m[Merged(A, empty)]), rescaled(X, A, m[Merged(A, empty)])),
            "The empty state adds 0 times a finite number.",
            ("empty",),
        ),
        Step("identity", represented(X, A), "The exponent of the merged state is gone."),
    ),
    variants=(
        Variant(
            "counted as one",
            "empty",
            "With log Z = 0 for a row without keys, as Torch 2.13's flash kernel for the CPU "
            "returns, the empty state weighs like a key of score 0.",
            product(
                exp(m[Merged(A, empty)]),
                total(rescaled(X, A, m[Merged(A, empty)]), exp(-m[Merged(A, empty)])),
            ),
        ),
        Variant(
            "not empty",
            "empty",
            "A state of keys is not empty for having small scores.",
            withheld=("empty",),
        ),
    ),
    sources=(ONLINE,),
    date="2026-11-30",
    remark=(
        "The exponent of the empty state is finite here. Where it is −∞, as the maximum over "
        "nothing, the factor has to be defined as 0: −∞ − (−∞) has no value, and empty states meet."
    ),
    code=("attnref.Partial", "attnref.merge"),
)

RECORDS = (MCOM, MASS, MIDN)
