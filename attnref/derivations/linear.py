"""LINA and LINS: attention without exp, by products of features: its state is fixed, and adds."""

from sympy import Eq, Expr, IndexedBase, Integer, Sum, symbols

from attnref.derivations._operators import product, ratio, total
from attnref.derivations._record import Induction, Law, Quantity, Record, Source, Step, Variant
from attnref.derivations.z_form import j, m, s

c = symbols("c", integer=True)
d_f = symbols("d_f", integer=True, positive=True)
n = symbols("n", integer=True, nonnegative=True)
f, g, z = (IndexedBase(name, positive=True) for name in "fgz")
v, S = IndexedBase("v"), IndexedBase("S")
y = symbols("y", real=True)
features = (c, 1, d_f)


def _weight(key: Expr) -> Sum:
    """Return what a key weighs: the inner product of its features and the query's."""
    return Sum(product(f[c], g[key, c]), features)


def _read(state: Expr) -> Sum:
    """Return what a query reads from a state."""
    return Sum(product(f[c], state), features)


def _gathered(last: Expr) -> Sum:
    """Return the numerator of so many keys, key by key."""
    return Sum(product(_weight(s), v[s]), (s, 1, last))


KATHAROPOULOS = Source("Katharopoulos et al. 2020, arXiv:2006.16236", "section 3.2", False)
row = (
    Quantity(d_f, "number of features", r"\geq 1"),
    Quantity(f[c], "feature of the query", "> 0"),
    Quantity(g[s, c], "feature of a key", "> 0"),
    Quantity(v[s], "value", r"\in \mathbb{R}^{d_v}"),
)
values, ones = Sum(product(g[s, c], v[s]), (s, 1, m)), Sum(g[j, c], (j, 1, m))

LINA = Record(
    tag="LINA",
    title="Linear attention",
    summary="Where weights are products of features, the sums over the keys need no query.",
    statement=Eq(y, ratio(_read(S[c]), _read(z[c]))),
    symbols=(
        Quantity(m, "number of keys", r"\geq 1"),
        *row,
        Quantity(S[c], "sum of the values, by one feature", r"\in \mathbb{R}^{d_v}"),
        Quantity(z[c], "sum of one feature", "> 0"),
        Quantity(y, "output", r"\in \mathbb{R}^{d_v}"),
    ),
    definitions=(
        Law(
            "attention",
            "a product of features takes the place of exp",
            (Eq(y, ratio(_gathered(m), Sum(_weight(j), (j, 1, m)))),),
        ),
        Law("state", "of all keys", (Eq(S[c], values), Eq(z[c], ones)), (c,)),
    ),
    assumptions=(),
    steps=(
        Step(
            "weights",
            ratio(_gathered(m), Sum(_weight(j), (j, 1, m))),
            "What the output is.",
            ("attention",),
        ),
        Step(
            "keys-first",
            ratio(_read(values), _read(ones)),
            "The features of the query have no $s$: the sum over the keys may come first.",
        ),
        Step("state", ratio(_read(S[c]), _read(z[c])), "Name the sums.", ("state",)),
    ),
    variants=(
        Variant(
            "features summed apart",
            "keys-first",
            "A sum of products is no product of sums; a common slip.",
            ratio(
                product(Sum(f[c], features), Sum(values, features)),
                product(Sum(f[c], features), Sum(ones, features)),
            ),
        ),
        Variant(
            "not divided",
            "state",
            "Without the normaliser the weights do not add up to 1: another method, not this one.",
            _read(S[c]),
        ),
        Variant(
            "normaliser without the query",
            "state",
            "The normaliser is the query's own, as in attention with exp; a common slip.",
            ratio(_read(S[c]), Sum(z[c], features)),
        ),
    ),
    sources=(KATHAROPOULOS,),
    date="2026-11-30",
    code=("attnref.attention",),
    remark=(
        "The logarithms of the products of features, given as a bias, make attention compute the "
        "same. No finite number of features gives exp itself."
    ),
)

taken_in = total(S[n, c], product(g[n + 1, c], v[n + 1]))
new = product(_weight(n + 1), v[n + 1])

LINS = Record(
    tag="LINS",
    title="The state of linear attention adds",
    summary="Key after key is added to a state of fixed size, from which any query can read.",
    statement=Eq(_read(S[n, c]), _gathered(n)),
    symbols=(
        Quantity(n, "number of keys so far", r"\geq 0"),
        *row,
        Quantity(S[n, c], "state, for one feature", r"\in \mathbb{R}^{d_v}"),
    ),
    definitions=(
        Law("empty", "before the first key", (Eq(S[0, c], 0),), (c,)),
        Law("addition", "of one key", (Eq(S[n + 1, c], taken_in),), (n, c)),
    ),
    assumptions=(),
    steps=(),
    induction=Induction(
        n,
        base=(Step("empty", Integer(0), "Nothing is read from nothing.", ("empty",)),),
        step=(
            Step("addition", _read(taken_in), "How a key is added.", ("addition",)),
            Step("apart", total(_read(S[n, c]), new), "Reading is linear."),
            Step("keys", total(_gathered(n), new), "What was read before.", ("hypothesis",)),
            Step("sum", _gathered(n + 1), "One term more."),
        ),
    ),
    variants=(
        Variant(
            "rescaled",
            "addition",
            "Without exp there is no exponent to keep: a state that fades is another method.",
            _read(total(ratio(S[n, c], 2), product(g[n + 1, c], v[n + 1]))),
        ),
        Variant(
            "the first key again",
            "addition",
            "Each key is added with its own value; a common slip.",
            _read(total(S[n, c], product(g[n + 1, c], v[1]))),
        ),
        Variant(
            "no hypothesis",
            "keys",
            "That the state stands for its keys has to be known of the one before.",
            withheld=("hypothesis",),
        ),
    ),
    sources=(KATHAROPOULOS,),
    date="2026-11-30",
    code=("attnref.attention",),
    remark="With 1 for each value the same holds for the normaliser. States of two parts add.",
)

RECORDS = (LINA, LINS)
