"""BWDV and BWDS: the backward pass up to the scores.

The loss stands for any loss: all that reaches its gradients is g, its slope in the outputs, and ℓ,
its slope in log Z. A linear loss with these slopes has the same gradients.
"""

from typing import Any

from sympy import Eq, Expr, IndexedBase, Sum, Symbol, log, symbols

from attnref.derivations._means import p
from attnref.derivations._means import t as query
from attnref.derivations._operators import Partial, Place, difference, product, total
from attnref.derivations._record import Law, Quantity, Record, Source, Step, Variant
from attnref.derivations.log_partition import NORMALISER, WEIGHTS, c
from attnref.derivations.softmax_jacobian import WITHOUT_DOT
from attnref.derivations.z_form import Z, a, keys, m, n, s, t

d_v = symbols("d_v", integer=True, positive=True)
L = Symbol("L", real=True)


class Script(Symbol):  # type: ignore[misc]  # SymPy has no types: its classes are Any
    """The symbol ell, which SymPy sets in LaTeX and spells out in text."""

    def _plain(self, _printer: Any) -> str:
        return "ℓ"


v, y, g, ell = IndexedBase("v"), IndexedBase("y"), IndexedBase("g"), IndexedBase(Script("ell"))
key, e = Place("s", m), Place("e", d_v)
r, u = symbols("r u", integer=True)
queries, components = (t, 1, n), (c, 1, d_v)

SIZES = (
    Quantity(n, "number of queries", r"\geq 1"),
    Quantity(m, "number of keys", r"\geq 1"),
    Quantity(d_v, "components of a value", r"\geq 1"),
)
PARTS = (
    Quantity(v[s, c], "component of a value", r"\in \mathbb{R}"),
    Quantity(y[t, c], "component of an output", r"\in \mathbb{R}"),
    Quantity(g[t, c], "cotangent: slope of the loss in $y_{tc}$", r"\in \mathbb{R}"),
    Quantity(ell[t], "cotangent: slope of the loss in $\\log Z_t$", r"\in \mathbb{R}"),
    Quantity(a[t, s], "score", r"\in \mathbb{R}"),
    Quantity(Z[t], "normaliser", "> 0"),
    Quantity(p[t, s], "weight", "> 0"),
    Quantity(L, "loss", r"\in \mathbb{R}"),
)
ONE_QUERY = Quantity(query, "one of the queries", r"= 1, \dots, n")
ONE_KEY = Quantity(key, "one of the keys", r"= 1, \dots, m")


def _dot(at: Expr, vector: Expr) -> Expr:
    """Return the inner product of the cotangent of an output with a vector."""
    return Sum(product(g[at, c], vector), components)


def _slopes(x: Expr) -> Step:
    """Return the first step: both parts of the loss, under a letter of their own."""
    parts = total(_dot(u, Partial(y[u, c], x)), product(ell[u], Partial(log(Z[u]), x)))
    reason = "Outputs and normalisers are differentiated, their cotangents are factors."
    return Step("loss", Sum(parts, (u, 1, n)), reason, ("loss",))


LOSS = Law(
    "loss",
    "linear, with the slopes of any other",
    (Eq(L, Sum(total(_dot(t, y[t, c]), product(ell[t], log(Z[t]))), queries)),),
)
OUTPUT = Law(
    "output",
    "the values, weighted",
    (Eq(y[t, c], Sum(product(p[t, s], v[s, c]), keys)),),
    (t, c),
)
FLASH = Source("Dao et al. 2022, arXiv:2205.14135", "appendix B.2", False)
FLASH_2 = Source("Dao 2023, arXiv:2307.08691", "algorithm 2", False)

BWDV = Record(
    tag="BWDV",
    title="The gradient in the values",
    summary="A value collects the cotangents of all outputs, by the weight it had in each.",
    statement=Eq(Partial(L, v[key, e]), Sum(product(p[t, key], g[t, e]), queries)),
    symbols=(*SIZES, ONE_KEY, Quantity(e, "one of the components", r"= 1, \dots, d_v"), *PARTS),
    definitions=(LOSS, OUTPUT, WEIGHTS, NORMALISER),
    assumptions=(),
    steps=(
        _slopes(v[key, e]),
        Step(
            "outputs",
            Sum(_dot(t, Partial(y[t, c], v[key, e])), queries),
            "No normaliser has values in it.",
            ("normaliser",),
        ),
        Step(
            "weight",
            Sum(product(p[t, key], g[t, e]), queries),
            "Each output has one term with this value, in the same component; no weight moves.",
            ("output", "weights", "normaliser"),
        ),
    ),
    variants=(
        Variant(
            "one query alone",
            "weight",
            "Each key serves all queries: their parts add up; a common slip.",
            product(p[t, key], g[t, e]),
        ),
        Variant(
            "not transposed",
            "weight",
            "The sum is over the queries: with the weights as they stand the shapes fit only where "
            "there are as many keys as queries; a common slip.",
            Sum(product(p[key, r], g[r, e]), (r, 1, m)),
        ),
        Variant(
            "with the cotangent of log Z",
            "weight",
            "The normaliser has no values in it; a common slip.",
            Sum(product(p[t, key], total(g[t, e], ell[t])), queries),
        ),
    ),
    sources=(FLASH, FLASH_2),
    date="2026-11-30",
    remark="For all keys together: the transpose of the weights, times the cotangent.",
    code=("attnref.attention_gradients",),
)

gain = difference(_dot(query, v[key, c]), _dot(query, y[query, c]))
score_gradient = total(product(p[query, key], gain), product(p[query, key], ell[query]))

BWDS = Record(
    tag="BWDS",
    title="The gradient in the scores",
    summary=(
        "A score is worth its weight times what its value gains over the output, and its weight "
        "times the cotangent of $\\log Z_t$."
    ),
    statement=Eq(Partial(L, a[query, key]), score_gradient),
    symbols=(*SIZES, ONE_QUERY, ONE_KEY, *PARTS),
    definitions=(LOSS, OUTPUT, WEIGHTS, NORMALISER),
    assumptions=(),
    steps=(
        _slopes(a[query, key]),
        Step(
            "row",
            total(
                _dot(query, Sum(product(Partial(p[query, r], a[query, key]), v[r, c]), (r, 1, m))),
                product(ell[query], p[query, key]),
            ),
            "A score belongs to one query. It moves the weights there, and $\\log Z_t$ by LZGR.",
            ("output", "weights", "normaliser"),
        ),
        Step(
            "gain",
            score_gradient,
            "By SJAC, the weight of the key gains what all weights lose by their shares.",
            ("output", "weights", "normaliser"),
        ),
    ),
    variants=(
        Variant(
            "without the dot product",
            "gain",
            f"The row is not normalised again {WITHOUT_DOT}.",
            total(
                product(p[query, key], _dot(query, v[key, c])), product(p[query, key], ell[query])
            ),
        ),
        Variant(
            "wrong sign",
            "gain",
            "The dot product with the output is taken off; a common slip.",
            total(
                product(p[query, key], total(_dot(query, v[key, c]), _dot(query, y[query, c]))),
                product(p[query, key], ell[query]),
            ),
        ),
        Variant(
            "without the weight",
            "gain",
            "A key of weight 0 takes no gradient: the weight is a factor of all; a common slip.",
            total(gain, ell[query]),
        ),
        Variant(
            "log Z dropped",
            "gain",
            "The cotangent of log Z was not passed on (Dao-AILab/flash-attention, issues 404, 889 "
            "and 1137).",
            product(p[query, key], gain),
        ),
        Variant(
            "log Z not weighted",
            "gain",
            "As if $\\log Z_t$ moved one for one with each score; a common slip.",
            total(product(p[query, key], gain), ell[query]),
        ),
    ),
    sources=(FLASH, FLASH_2),
    date="2026-11-30",
    remark=(
        "Both dot products are of the row: $\\langle g_t, y_t\\rangle$ is computed once a query. A "
        "bias is added to the scores and takes the same gradient."
    ),
    code=("attnref.attention_gradients",),
)
RECORDS = (BWDV, BWDS)
