"""BREG: the divergence of two rows of weights is what log Z is above its tangent."""

from sympy import Eq, Expr, IndexedBase, Sum, Symbol, exp, log

from attnref.derivations._operators import Partial, difference, product
from attnref.derivations._record import Law, Quantity, Record, Source, Step, Variant
from attnref.derivations.variational import GRAPHICAL_MODELS, a, p
from attnref.derivations.z_form import d_k, i, j, k, keys, m, other_keys, q, s

q_new, a_new = IndexedBase("q'"), IndexedBase("a'")
p_new = IndexedBase("p'", positive=True)
L, L_new, D = Symbol("L", real=True), Symbol("L'", real=True), Symbol("D", real=True)
beta = Symbol("beta", real=True)
components = (i, 1, d_k)
apart = difference(L_new, L)
step = difference(q_new[i], q[i])
mean_key = Sum(product(p[s], k[s, i]), keys)
divergence = Sum(product(p[s], difference(log(p[s]), log(p_new[s]))), keys)


def _scored(query: IndexedBase) -> Expr:
    """Return the score of a key, for either query."""
    return product(beta, Sum(product(query[i], k[s, i]), components))


BREG = Record(
    tag="BREG",
    title="The divergence of two rows of weights",
    summary="How far log Z of another query lies above its tangent is how far the weights diverge.",
    statement=Eq(
        difference(apart, Sum(product(step, Partial(L, q[i])), components)),
        D,
    ),
    symbols=(
        Quantity(m, "number of keys", r"\geq 1"),
        Quantity(d_k, "components of a key", r"\geq 1"),
        Quantity(k[s, i], "component of a key", r"\in \mathbb{R}"),
        Quantity(q[i], "component of a query", r"\in \mathbb{R}"),
        Quantity(q_new[i], "component of another query", r"\in \mathbb{R}"),
        Quantity(beta, "scale", r"\in \mathbb{R}"),
        Quantity(a[s], "score, for the query", r"\in \mathbb{R}"),
        Quantity(a_new[s], "score, for the other query", r"\in \mathbb{R}"),
        Quantity(L, "log Z of the query", r"\in \mathbb{R}"),
        Quantity(L_new, "log Z of the other query", r"\in \mathbb{R}"),
        Quantity(p[s], "weight, for the query", "> 0"),
        Quantity(p_new[s], "weight, for the other query", "> 0"),
        Quantity(D, "Kullback–Leibler divergence of the other weights from these", r"\geq 0"),
    ),
    definitions=(
        Law(
            "scores",
            "of a key, for either query",
            (Eq(a[s], _scored(q)), Eq(a_new[s], _scored(q_new))),
            (s,),
        ),
        Law(
            "weights",
            "softmax, for either query",
            (
                Eq(p[s], exp(difference(a[s], L))),
                Eq(p_new[s], exp(difference(a_new[s], L_new))),
            ),
            (s,),
        ),
        Law("log Z", "of the query", (Eq(L, log(Sum(exp(a[j]), other_keys))),)),
        Law("divergence", "the mean difference of log p", (Eq(D, divergence),)),
    ),
    assumptions=(),
    steps=(
        Step(
            "gradient",
            difference(apart, Sum(product(step, beta, mean_key), components)),
            "The gradient of log Z is β times the mean of the keys.",
            ("weights", "log Z", "scores"),
        ),
        Step(
            "scores",
            difference(apart, Sum(product(p[s], difference(a_new[s], a[s])), keys)),
            "Scores are linear in the query.",
            ("scores",),
        ),
        Step(
            "inside",
            Sum(product(p[s], difference(difference(a[s], L), difference(a_new[s], L_new))), keys),
            "The weights add up to 1: what has no $s$ may go into the sum.",
            ("weights", "log Z"),
        ),
        Step("logarithms", divergence, "log p is the score less log Z.", ("weights",)),
        Step("divergence", D, "What the divergence is.", ("divergence",)),
    ),
    variants=(
        Variant(
            "without the scale",
            "gradient",
            "The gradient has the scale in it; a common slip.",
            difference(apart, Sum(product(step, mean_key), components)),
        ),
        Variant(
            "the mean by the other weights",
            "scores",
            "The tangent touches at the query, and its weights take the mean; a common slip.",
            difference(apart, Sum(product(p_new[s], difference(a_new[s], a[s])), keys)),
        ),
        Variant(
            "the weights exchanged",
            "logarithms",
            "The divergence is not symmetric; a common slip.",
            Sum(product(p[s], difference(log(p_new[s]), log(p[s]))), keys),
        ),
    ),
    sources=(Source(GRAPHICAL_MODELS, "section 5.2.2", False),),
    date="2026-11-30",
    code=("attnref.log_partition", "attnref.attention_weights"),
    remark="It is at least 0 by VARI: so log Z is convex in the query.",
)

RECORDS = (BREG,)
