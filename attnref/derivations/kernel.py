"""KRNL and KGAU: attention as an average with a Gaussian kernel."""

from sympy import Eq, Expr, IndexedBase, Integer, Sum, Symbol, exp

from attnref.derivations._operators import difference, product, ratio
from attnref.derivations._record import Law, Quantity, Record, Source, Step, Variant
from attnref.derivations.shifts import KEYS_NORMALISER, KEYS_NUMERATOR, beta
from attnref.derivations.z_form import d_k, i, j, k, keys, m, other_keys, q, s, t, v, y

half = ratio(beta, Integer(2))
g, radius = IndexedBase("g", positive=True), Symbol("R", real=True)


def _square(x: Expr) -> Expr:
    """Return |x|², component by component."""
    return Sum(x**2, (i, 1, d_k))


def _kernel(x: Expr) -> Expr:
    """Return the Gaussian kernel between the query and one key."""
    return exp(product(-1, half, _square(difference(q[t, i], k[x, i]))))


def _average(weight: Expr, other_weight: Expr) -> Expr:
    """Return the Nadaraya–Watson average, with a weight for each key."""
    above = Sum(product(weight, _kernel(s), v[s]), keys)
    return ratio(above, Sum(product(other_weight, _kernel(j)), other_keys))


from_query = exp(product(half, _square(q[t, i])))
from_key, from_other_key = (exp(product(half, _square(k[x, i]))) for x in (s, j))
smoother = ratio(Sum(product(_kernel(s), v[s]), keys), Sum(_kernel(j), other_keys))
TSAI = Source("Tsai et al. 2019, arXiv:1908.11775", "section 2", False)
SYMBOLS = (
    Quantity(t, "one of the queries", r"\geq 1"),
    Quantity(m, "number of keys", r"\geq 1"),
    Quantity(d_k, "components of a key", r"\geq 1"),
    Quantity(q[t, i], "component of a query", r"\in \mathbb{R}"),
    Quantity(k[s, i], "component of a key", r"\in \mathbb{R}"),
    Quantity(v[s], "value", r"\in \mathbb{R}^{d_v}"),
    Quantity(beta, "scale", r"\in \mathbb{R}"),
    Quantity(g[s], "weight of a key for its length", "> 0"),
    Quantity(y[t], "output", r"\in \mathbb{R}^{d_v}"),
)

KRNL = Record(
    tag="KRNL",
    title="Attention as a kernel average",
    summary="Attention is a Nadaraya–Watson average: a Gaussian kernel, and more for longer keys.",
    statement=Eq(y[t], _average(g[s], g[j])),
    symbols=SYMBOLS,
    definitions=(
        Law("output", "the Z form", (Eq(y[t], ratio(KEYS_NUMERATOR, KEYS_NORMALISER)),), (t,)),
        Law("length", "a name for a factor of the key", (Eq(g[s], from_key),), (s,)),
    ),
    assumptions=(),
    steps=(
        Step("output", ratio(KEYS_NUMERATOR, KEYS_NORMALISER), "What attention is.", ("output",)),
        Step(
            "square",
            ratio(
                Sum(product(from_query, from_key, _kernel(s), v[s]), keys),
                Sum(product(from_query, from_other_key, _kernel(j)), other_keys),
            ),
            "Twice the inner product is what both squares have more than that of the difference.",
        ),
        Step(
            "cancel",
            _average(from_key, from_other_key),
            "The factor of the query has no $s$: it leaves both sums and cancels.",
        ),
        Step("length", _average(g[s], g[j]), "Name the factor of the key.", ("length",)),
    ),
    variants=(
        Variant(
            "length forgotten",
            "cancel",
            "The Gaussian kernel alone is attention only where all keys are equally long; a "
            "common slip.",
            smoother,
        ),
        Variant(
            "half forgotten",
            "square",
            "The square of a difference has the inner product twice; a common slip.",
            ratio(
                Sum(product(from_query**2, from_key**2, _kernel(s) ** 2, v[s]), keys),
                Sum(product(from_query**2, from_other_key**2, _kernel(j) ** 2), other_keys),
            ),
        ),
    ),
    sources=(TSAI,),
    date="2026-11-30",
    remark="The kernel falls with the distance where β > 0, and its width is 1/√β.",
    code=("attnref.attention",),
)

KGAU = Record(
    tag="KGAU",
    title="Attention as a Gaussian smoother",
    summary="Where all keys are equally long, attention is an average by distance alone.",
    statement=Eq(y[t], smoother),
    symbols=(*SYMBOLS, Quantity(radius, "length of every key", r"\geq 0")),
    definitions=(Law("length", "as in KRNL", (Eq(g[s], from_key),), (s,)),),
    assumptions=(Law("equal length", "all keys are", (Eq(_square(k[s, i]), radius**2),), (s,)),),
    steps=(
        Step("kernel", _average(g[s], g[j]), "Attention as a kernel average.", ("KRNL",)),
        Step(
            "equal-length",
            _average(*(exp(product(half, radius**2)),) * 2),
            "All keys are equally long.",
            ("length", "equal length"),
        ),
        Step("smoother", smoother, "The weight has no $s$, and cancels."),
    ),
    variants=(
        Variant(
            "any length",
            "equal-length",
            "Keys of different lengths have different weights: the smoother is another average.",
            withheld=("equal length",),
        ),
        Variant(
            "above only",
            "smoother",
            "The weight stands in both sums; a common slip.",
            product(exp(product(half, radius**2)), smoother),
        ),
    ),
    sources=(TSAI,),
    date="2026-11-30",
    uses=(KRNL,),
    remark="Normalised keys, as in QK-norm without a gain, are equally long.",
    code=("attnref.attention",),
)

RECORDS = (KRNL, KGAU)
