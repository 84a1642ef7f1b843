"""SVAR and SHLF: the eigenvalues of the Jacobian of softmax lie between 0 and 1/2."""

from sympy import Eq, Expr, IndexedBase, KroneckerDelta, Rational, Sum

from attnref.derivations._means import p, t
from attnref.derivations._operators import Partial, at_most, difference, product, total
from attnref.derivations._record import Law, Quantity, Record, Source, Step, Variant
from attnref.derivations.log_partition import PSUM, ROW, SCORE, WEIGHT
from attnref.derivations.softmax_jacobian import GAO_PAVEL, SJAC, WITHOUT_DOT
from attnref.derivations.z_form import a, j, m, s

x, half = IndexedBase("x"), Rational(1, 2)
keys, other_keys = (s, 1, m), (j, 1, m)


def _form(matrix: Expr) -> Expr:
    """Return a quadratic form over pairs of keys."""
    return Sum(product(x[s], matrix, x[j]), other_keys, keys)


def _mean(quantity: Expr) -> Expr:
    """Return a mean over the keys."""
    return Sum(product(p[t, s], quantity), keys)


pairs = product(
    half,
    Sum(product(p[t, s], p[t, j], difference(x[s], x[j]) ** 2), other_keys, keys),
)
SVAR = Record(
    tag="SVAR",
    title="The Jacobian of softmax as a variance",
    summary="Along every direction it is the variance of the direction under the weights.",
    statement=Eq(_form(Partial(p[t, s], a[t, j])), pairs),
    symbols=(
        *ROW,
        SCORE,
        WEIGHT,
        Quantity(x[s], "component of a direction", r"\in \mathbb{R}"),
    ),
    definitions=(),
    assumptions=(),
    steps=(
        Step(
            "jacobian",
            _form(product(p[t, s], difference(KroneckerDelta(s, j), p[t, j]))),
            "The entries of the Jacobian.",
            ("SJAC",),
        ),
        Step(
            "variance",
            difference(_mean(x[s] ** 2), _mean(x[s]) ** 2),
            "On the diagonal a mean square, everywhere the square of the mean.",
        ),
        Step(
            "pairs",
            pairs,
            "Multiply the square out: its parts are means, and the weights add up to 1.",
            ("PSUM",),
        ),
    ),
    variants=(
        Variant(
            "second moment",
            "variance",
            f"Without the square of the mean, a Jacobian without the dot product {WITHOUT_DOT}.",
            _mean(x[s] ** 2),
        ),
        Variant(
            "each pair twice",
            "pairs",
            "The sum meets each pair of keys in both orders: half of it counts; a common slip.",
            pairs.args[1],
        ),
    ),
    sources=(GAO_PAVEL,),
    date="2026-11-30",
    uses=(PSUM, SJAC),
    remark=(
        "All terms of the right side are at least 0, so no eigenvalue of the Jacobian is negative. "
        "It is 0 only where all $x_s$ are equal, as all weights are positive."
    ),
    code=("attnref.softmax",),
)


def _sums(other: Expr) -> Expr:
    """Return the squared sums over pairs, with a factor that is 1 for two keys and 0 for one."""
    return Sum(product(other, p[t, s], p[t, j], total(x[s], x[j]) ** 2), other_keys, keys)


other = difference(1, KroneckerDelta(s, j))
alone = Sum(product(difference(1, product(2, p[t, s])) ** 2, x[s] ** 2), keys)
diagonal = product(2, Sum(product(p[t, s], difference(1, p[t, s]), x[s] ** 2), keys))
bound = product(half, Sum(x[s] ** 2, keys))
R = IndexedBase("R", nonnegative=True)

SHLF = Record(
    tag="SHLF",
    title="No eigenvalue of the Jacobian of softmax is above 1/2",
    summary="Softmax moves its weights by at most half of what moves its scores.",
    statement=at_most(SVAR.statement.lhs, bound),
    symbols=(*SVAR.symbols, Quantity(R[t], "what is missing, half a sum of squares", r"\geq 0")),
    definitions=(
        Law(
            "rest",
            "a name; $1 - \\delta$ is 0 or 1, and its square is the same",
            (Eq(R[t], product(half, total(_sums(other**2), alone))),),
            (t,),
        ),
    ),
    assumptions=(),
    steps=(
        Step("pairs", pairs, "The Jacobian as a variance.", ("SVAR",)),
        Step(
            "diagonal",
            difference(diagonal, product(half, _sums(other))),
            "$(x_s - x_j)^2 = 2 x_s^2 + 2 x_j^2 - (x_s + x_j)^2$ for every pair; the weights of "
            "all keys but one add up to $1 - p_{ts}$.",
            ("PSUM",),
        ),
        Step("rest", difference(bound, R[t]), "$4 p (1 - p) = 1 - (1 - 2 p)^2$.", ("rest",)),
        Step("bound", bound, "Squares were taken off.", (), "<="),
    ),
    variants=(
        Variant(
            "a quarter",
            "bound",
            "1/4 is the bound of the sigmoid's slope, and of the diagonal alone; a common slip.",
            product(Rational(1, 4), Sum(x[s] ** 2, keys)),
        ),
        Variant(
            "weights in place of the bound",
            "bound",
            "The bound with weights, the diagonal of the Jacobian, is too small: two keys of "
            "weight 1/2 reach 1/2, and not 1/4; a common slip.",
            Sum(product(p[t, s], difference(1, p[t, s]), x[s] ** 2), keys),
        ),
        Variant(
            "a key paired with itself",
            "diagonal",
            "The pair of a key with itself has no part in the variance; a common slip.",
            difference(
                product(2, Sum(product(p[t, s], x[s] ** 2), keys)), product(half, _sums(other))
            ),
        ),
    ),
    sources=(
        GAO_PAVEL,
        Source("Nair 2025, arXiv:2510.23012", "the theorem on softmax in every p-norm", False),
    ),
    date="2026-11-30",
    uses=(PSUM, SVAR),
    remark=(
        "1/2 is reached: two keys of equal score, $x = (1, -1)$. So softmax is Lipschitz with 1/2 "
        "in the Euclidean norm; Gao and Pavel give 1. By \\eqref{SHLF-diagonal} none is "
        "above twice the largest $p (1 - p)$."
    ),
    code=("attnref.softmax",),
)

RECORDS = (SVAR, SHLF)
