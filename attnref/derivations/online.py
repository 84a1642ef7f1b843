"""ONLN: online softmax, folded over any number of blocks of any sizes."""

from sympy import Eq, Expr, IndexedBase, Integer, Sum, exp, symbols

from attnref.derivations._operators import difference, product, ratio, total
from attnref.derivations._record import Induction, Law, Quantity, Record, Source, Step, Variant

b = symbols("b", integer=True)
n = symbols("n", integer=True, nonnegative=True)
m, X, c, x = (IndexedBase(name) for name in "mXcx")


def _rescaled(number: Expr, old: Expr, new: Expr) -> Expr:
    """Return a sum, taken from one reference exponent to another."""
    return product(exp(difference(old, new)), number)


def _blocks(last: Expr) -> Sum:
    """Return the sum that the first blocks stand for."""
    return Sum(product(exp(c[b]), x[b]), (b, 1, last))


block = product(exp(c[n + 1]), x[n + 1])
state = product(exp(m[n]), X[n])


def _folded(old: Expr, new: Expr) -> Expr:
    """Return the next state at its exponent, put back to exponent 0."""
    return product(exp(m[n + 1]), total(old, new))


old_rescaled, new_rescaled = (
    _rescaled(X[n], m[n], m[n + 1]),
    _rescaled(x[n + 1], c[n + 1], m[n + 1]),
)

ONLN = Record(
    tag="ONLN",
    title="Online softmax",
    summary=(
        "Folded block after block, at whatever exponents, a state stands for the sum over all "
        "blocks."
    ),
    statement=Eq(state, _blocks(n)),
    symbols=(
        Quantity(n, "number of blocks so far", r"\geq 0"),
        Quantity(m[n], "reference exponent of the state, any finite number", r"\in \mathbb{R}"),
        Quantity(X[n], "Z of the state, or one component of N", r"\in \mathbb{R}"),
        Quantity(c[b], "reference exponent of a block, any finite number", r"\in \mathbb{R}"),
        Quantity(x[b], "Z of the block at this exponent, or one component of N", r"\in \mathbb{R}"),
    ),
    definitions=(
        Law("empty", "before the first block", (Eq(X[0], 0),)),
        Law(
            "fold",
            "both are taken to the next reference exponent, and added",
            (Eq(X[n + 1], total(old_rescaled, new_rescaled)),),
            (n,),
        ),
    ),
    assumptions=(),
    steps=(),
    induction=Induction(
        n,
        base=(
            Step("empty", Integer(0), "Nothing is added yet, and the sum is empty.", ("empty",)),
        ),
        step=(
            Step(
                "fold", _folded(old_rescaled, new_rescaled), "How a block is folded in.", ("fold",)
            ),
            Step(
                "exponents",
                total(state, block),
                "The next exponent is gone from both terms.",
            ),
            Step(
                "blocks",
                total(_blocks(n), block),
                "The state stands for the blocks before.",
                ("hypothesis",),
            ),
            Step("sum", _blocks(n + 1), "One term more."),
        ),
    ),
    variants=(
        Variant(
            "inverted",
            "fold",
            "FlashAttention-2, arXiv:2307.08691, algorithm 1, line 10, rescales the numerator by "
            "the inverse (Dao-AILab/flash-attention, issue 991; on the text issue 2342).",
            _folded(ratio(X[n], exp(difference(m[n], m[n + 1]))), new_rescaled),
        ),
        Variant(
            "the wrong maximum",
            "fold",
            "The sum of a block was shifted by the maximum of the block before: the JAX scaling "
            "book, since corrected (jax-ml/scaling-book, pull request 52).",
            _folded(old_rescaled, _rescaled(x[n + 1], c[n + 1], m[n])),
        ),
        Variant(
            "a sign",
            "fold",
            "New minus old: deepseek-ai/FlashMLA, its page of 22 April 2025 on a kernel (pull "
            "request 177).",
            _folded(_rescaled(X[n], m[n + 1], m[n]), new_rescaled),
        ),
        Variant(
            "not rescaled",
            "fold",
            "The normaliser was rescaled, the numerator not; a common slip.",
            _folded(X[n], new_rescaled),
        ),
        Variant(
            "without exp",
            "fold",
            "The running denominator was once described without exp: the JAX scaling book, a copy "
            "of 2025.",
            _folded(old_rescaled, product(difference(c[n + 1], m[n + 1]), x[n + 1])),
        ),
        Variant(
            "no hypothesis",
            "blocks",
            "That a state stands for its blocks has to be known of the one before.",
            withheld=("hypothesis",),
        ),
    ),
    sources=(
        Source("Milakov and Gimelshein 2018, arXiv:1805.02867", "section 3, theorem 1", False),
        Source("Rabe and Staats 2021, arXiv:2112.05682", "section 2", False),
        Source("Dao 2023, arXiv:2307.08691", "algorithm 1", False),
    ),
    date="2026-11-30",
    code=("attnref.streaming_attention",),
    remark=(
        "A block of one key has its score for the exponent, $Z = 1$ and $N = v$: key after key is "
        "a case of this. For a block of more keys MBLK says what its sums are. The output is the "
        "quotient of the two sums, from which $\\exp(m_n)$ cancels. The first exponent, $m_0$, may "
        "be any, for it multiplies 0. Maxima keep the exponentials at 1 or below; the sums do not "
        "need them."
    ),
)

RECORDS = (ONLN,)
