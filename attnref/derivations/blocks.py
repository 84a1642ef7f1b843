"""MBLK: the keys in two blocks, each with a state of its own."""

from sympy import Eq, Expr, IndexedBase, Sum, exp, symbols

from attnref.derivations._operators import difference, product, ratio, total
from attnref.derivations._record import Law, Quantity, Record, Source, Step, Variant
from attnref.derivations._states import ONLINE, A, B, N, Z, both, m, y
from attnref.derivations.merging import MSHF
from attnref.derivations.z_form import j, s

SIZE_A, SIZE_B = symbols("S_A S_B", integer=True, positive=True)
a, b, v, w = (IndexedBase(name) for name in "abvw")
KEYS_OF_A, KEYS_OF_B = (s, 1, SIZE_A), (j, 1, SIZE_B)
Z_A, Z_B = Sum(exp(difference(a[s], m[A])), KEYS_OF_A), Sum(exp(difference(b[j], m[B])), KEYS_OF_B)
N_A = Sum(product(exp(difference(a[s], m[A])), v[s]), KEYS_OF_A)
N_B = Sum(product(exp(difference(b[j], m[B])), w[j]), KEYS_OF_B)


def _joined(n_a: Expr, n_b: Expr, z_a: Expr, z_b: Expr) -> Expr:
    """Return the merged output, with the sums of two blocks put in."""
    from_a, from_b = exp(m[A]), exp(m[B])
    above = total(product(from_a, n_a), product(from_b, n_b))
    return ratio(above, total(product(from_a, z_a), product(from_b, z_b)))


whole = ratio(
    total(Sum(product(exp(a[s]), v[s]), KEYS_OF_A), Sum(product(exp(b[j]), w[j]), KEYS_OF_B)),
    total(Sum(exp(a[s]), KEYS_OF_A), Sum(exp(b[j]), KEYS_OF_B)),
)

MBLK = Record(
    tag="MBLK",
    title="Two blocks of keys",
    summary="The states of two blocks, each at its own exponent, merge to attention to all.",
    statement=Eq(y[both], whole),
    symbols=(
        *MSHF.symbols,
        Quantity(SIZE_A, "keys in the first block", r"\geq 1"),
        Quantity(SIZE_B, "keys in the second block", r"\geq 1"),
        Quantity(a[s], "score in the first block", r"\in \mathbb{R}"),
        Quantity(b[j], "score in the second block", r"\in \mathbb{R}"),
        Quantity(v[s], "value in the first block", r"\in \mathbb{R}^{d_v}"),
        Quantity(w[j], "value in the second block", r"\in \mathbb{R}^{d_v}"),
    ),
    definitions=(
        Law("first block", "its own keys only", (Eq(N[A], N_A), Eq(Z[A], Z_A))),
        Law("second block", "its own keys only", (Eq(N[B], N_B), Eq(Z[B], Z_B))),
    ),
    assumptions=(),
    steps=(
        Step("merge", MSHF.statement.rhs, "How states merge.", ("MSHF",)),
        Step(
            "blocks",
            _joined(N_A, N_B, Z_A, Z_B),
            "What the states are.",
            ("first block", "second block"),
        ),
        Step("whole", whole, "Each block's exponent goes back into its scores, and is gone."),
    ),
    variants=(
        Variant(
            "the wrong maximum",
            "blocks",
            "The sum of the second block was shifted by the maximum of the first: the JAX scaling "
            "book, since corrected (jax-ml/scaling-book, pull request 52).",
            _joined(N_A, N_B, Z_A, Sum(exp(difference(b[j], m[A])), KEYS_OF_B)),
        ),
        Variant(
            "without exp",
            "blocks",
            "The running denominator was once described without exp: the JAX scaling book, a copy "
            "of 2025.",
            _joined(N_A, N_B, Sum(difference(a[s], m[A]), KEYS_OF_A), Z_B),
        ),
        Variant(
            "outputs averaged",
            "whole",
            "The mean of the outputs of two blocks counts all blocks alike; a common slip.",
            ratio(total(ratio(N_A, Z_A), ratio(N_B, Z_B)), 2),
        ),
    ),
    sources=(
        ONLINE,
        Source("Rabe and Staats 2021, arXiv:2112.05682", "section 2", False),
        Source("Dao et al. 2022, arXiv:2205.14135", "section 3.1", False),
    ),
    date="2026-11-30",
    uses=(MSHF,),
    remark="With MASS the same holds for any number of blocks, in any order of merging.",
    code=("attnref.partial_attention", "attnref.merge"),
)

RECORDS = (MBLK,)
