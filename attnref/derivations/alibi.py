"""ALBZ and ALBD: ALiBi where all inner products are 0: the normaliser and the mean distance."""

from sympy import Eq, Expr, IndexedBase, Integer, Sum, Symbol, exp, symbols

from attnref.derivations._operators import difference, product, ratio, total
from attnref.derivations._record import Induction, Law, Quantity, Record, Source, Step, Variant

j = symbols("j", integer=True)
n = symbols("n", integer=True, nonnegative=True)
slope = Symbol("mu", positive=True)
Z, D = IndexedBase("Z"), IndexedBase("D")
distance = difference(j, 1)
faded = exp(product(-1, slope, distance))
W = Symbol("W", real=True)
PRESS = Source("Press, Smith and Lewis 2022, arXiv:2108.12409", "section 3", False)
row = (
    Quantity(n, "number of keys", r"\geq 0"),
    Quantity(slope, "slope of the head", "> 0"),
    Quantity(Z[n], "normaliser of the last query of $n$", r"\geq 0"),
    Quantity(W, "normaliser of endlessly many keys", "> 1"),
)
NORMALISER = Law(
    "normaliser",
    "the nearest key is at distance 0, the farthest at $n - 1$",
    (Eq(Z[n], Sum(faded, (j, 1, n))),),
    (n,),
)
ENDLESS = Law(
    "endless",
    "the geometric series",
    (Eq(W, ratio(1, difference(1, exp(-slope)))),),
)


def _last(keys: Expr) -> Expr:
    """Return exp of the bias of the key after so many."""
    return exp(product(-1, slope, keys))


def _geometric(keys: Expr) -> Expr:
    """Return the normaliser without its sum."""
    return product(W, difference(1, _last(keys)))


ALBZ = Record(
    tag="ALBZ",
    title="The normaliser of ALiBi",
    summary="Where all inner products are 0, ALiBi weighs distances by a geometric sequence.",
    statement=Eq(Z[n], _geometric(n)),
    symbols=(*row, Quantity(j, "a key, counted from the query back", r"= 1, \dots, n")),
    definitions=(NORMALISER, ENDLESS),
    assumptions=(),
    steps=(),
    induction=Induction(
        n,
        base=(Step("no-key", Integer(0), "The sum is empty.", ("normaliser",)),),
        step=(
            Step(
                "one-more",
                total(Z[n], _last(n)),
                "One key more, at distance $n$.",
                ("normaliser",),
            ),
            Step(
                "formula",
                total(_geometric(n), _last(n)),
                "What the sum of the nearer keys is.",
                ("hypothesis",),
            ),
            Step(
                "together",
                _geometric(n + 1),
                "By what $W$ is, one key is $W$ less $W$ at one step.",
                ("endless",),
            ),
        ),
    ),
    variants=(
        Variant(
            "far keys favoured",
            "one-more",
            "A bias with the wrong sign (attention-gym, pull request 86).",
            total(Z[n], exp(product(slope, n))),
        ),
        Variant(
            "one key too many",
            "together",
            "The exponent is the number of keys, not the greatest distance; a common slip.",
            _geometric(n + 2),
        ),
        Variant(
            "no bias at decoding",
            "one-more",
            "The bias was built over the query length: all distances 0 (keras-team/keras-hub, "
            "issue 2861; vllm-project/vllm, pull request 945).",
            total(Z[n], 1),
        ),
    ),
    sources=(PRESS,),
    date="2026-11-30",
    code=("attnref.masks.alibi", "attnref.log_partition"),
    remark="As n grows it goes to $W$: for small slopes about 1/μ keys count.",
)


def _moment(keys: Expr) -> Expr:
    """Return the sum of the distances without its sum."""
    near = product(total(W, -1), difference(1, _last(keys)))
    return product(W, difference(near, product(keys, _last(keys))))


ALBD = Record(
    tag="ALBD",
    title="The mean distance under ALiBi",
    summary="The distances, weighed, add up to less than a fixed number times Z.",
    statement=Eq(D[n], _moment(n)),
    symbols=(
        *(quantity for quantity in row if quantity.symbol != Z[n]),
        Quantity(j, "a key, counted from the query back", r"= 1, \dots, n"),
        Quantity(D[n], "sum of the distances, each times exp of its bias", r"\geq 0"),
    ),
    definitions=(
        Law(
            "distances",
            "each times exp of its bias",
            (Eq(D[n], Sum(product(distance, faded), (j, 1, n))),),
            (n,),
        ),
        ENDLESS,
    ),
    assumptions=(),
    steps=(),
    induction=Induction(
        n,
        base=(Step("no-key", Integer(0), "The sum is empty.", ("distances",)),),
        step=(
            Step(
                "one-more",
                total(D[n], product(n, _last(n))),
                "One key more, at distance $n$.",
                ("distances",),
            ),
            Step(
                "formula",
                total(_moment(n), product(n, _last(n))),
                "What the sum over the nearer keys is.",
                ("hypothesis",),
            ),
            Step("together", _moment(n + 1), "By what $W$ is.", ("endless",)),
        ),
    ),
    variants=(
        Variant(
            "distance counted from one",
            "one-more",
            "The query's own key is at distance 0; a common slip.",
            total(D[n], product(n + 1, _last(n))),
        ),
        Variant(
            "as for endless keys",
            "together",
            "With finitely many keys the far ones are missing from the mean; a common slip.",
            product(W, total(W, -1), difference(1, _last(n + 1))),
        ),
    ),
    sources=(PRESS,),
    date="2026-11-30",
    code=("attnref.masks.alibi", "attnref.attention"),
    remark=(
        "Over $Z_n$, and by ALBZ, the mean distance is $W - 1 - n/(\\exp(\\mu n) - 1)$. As n "
        "grows, $W - 1 = 1/(\\exp(\\mu) - 1)$ is left: about 1/μ for small slopes."
    ),
)

RECORDS = (ALBZ, ALBD)
