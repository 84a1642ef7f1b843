"""MSHF: two partial states merge into one, at any reference exponent."""

from sympy import Eq, exp

from attnref.derivations._operators import difference, product, ratio, total
from attnref.derivations._record import Law, Quantity, Record, Step, Variant
from attnref.derivations._states import (
    ONLINE,
    OTHER,
    REFERENCE,
    STATE,
    A,
    B,
    N,
    Z,
    both,
    m,
    merged,
    merging,
    represented,
    rescaled,
    y,
)

MSHF = Record(
    tag="MSHF",
    title="Merging at any reference exponent",
    summary="The merged output does not depend on the reference exponent of the merged state.",
    statement=Eq(y[both], ratio(represented(N, A, B), represented(Z, A, B))),
    symbols=(
        STATE,
        OTHER,
        REFERENCE,
        Quantity(Z[A], "normaliser at this exponent", "> 0"),
        Quantity(N[A], "numerator at this exponent", r"\in \mathbb{R}^{d_v}"),
        Quantity(y[both], "merged output", r"\in \mathbb{R}^{d_v}"),
    ),
    definitions=(
        Law("output", "divided once, at the end", (Eq(y[A], ratio(N[A], Z[A])),), (A,)),
        merging(N, "numerator"),
        merging(Z, "normaliser"),
    ),
    assumptions=(),
    steps=(
        Step("output", ratio(N[both], Z[both]), "What the output of a state is.", ("output",)),
        Step(
            "merge",
            ratio(merged(N, A, B), merged(Z, A, B)),
            "How states merge.",
            ("numerator", "normaliser"),
        ),
        Step(
            "reference",
            ratio(represented(N, A, B), represented(Z, A, B)),
            "The factor with the new exponent stands in every term above and below.",
        ),
    ),
    variants=(
        Variant(
            "inverted",
            "merge",
            "FlashAttention-2, arXiv:2307.08691, algorithm 1, line 10, rescales the numerator by "
            "the inverse (Dao-AILab/flash-attention, issue 991); so did FlashAttention-3, "
            "algorithm 1, line 21 (issue 1303).",
            ratio(
                total(product(1 / exp(difference(m[A], m[both])), N[A]), rescaled(N, B, m[both])),
                merged(Z, A, B),
            ),
        ),
        Variant(
            "inverted and unshifted",
            "merge",
            "FlashAttention-2, arXiv:2307.08691, the last line on online softmax, takes the first "
            "output times the inverse of $Z_A$ over $Z$, and without the shift "
            "(Dao-AILab/flash-attention, issues 897 and 2342).",
            total(
                product(ratio(merged(Z, A, B), Z[A]), ratio(N[A], Z[A])),
                ratio(rescaled(N, B, m[both]), merged(Z, A, B)),
            ),
        ),
        Variant(
            "sign of the exponent",
            "merge",
            "New minus old: deepseek-ai/FlashMLA, its page of 22 April 2025 on a kernel (pull "
            "request 177).",
            ratio(
                *(
                    total(product(exp(difference(m[both], m[A])), x[A]), rescaled(x, B, m[both]))
                    for x in (N, Z)
                )
            ),
        ),
        Variant(
            "not rescaled",
            "merge",
            "Sums at different exponents do not add; a common slip.",
            ratio(total(N[A], N[B]), total(Z[A], Z[B])),
        ),
        Variant(
            "log Z added",
            "reference",
            "The logarithms of the normalisers were added, not log-added "
            "(zhuzilin/ring-flash-attention, issue 20): the normalisers multiply.",
            ratio(represented(N, A, B), product(represented(Z, A), represented(Z, B))),
        ),
    ),
    sources=(ONLINE,),
    date="2026-11-30",
    remark="Only the sum below need be positive: one of the two states may be empty.",
    code=("attnref.merge",),
)

RECORDS = (MSHF,)
