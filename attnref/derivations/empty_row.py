"""SEMP: the row without keys, as the limit of one whose scores go down."""

from sympy import Eq, Sum, Symbol, exp

from attnref.derivations._operators import difference, product, ratio, total
from attnref.derivations._record import Law, Quantity, Record, Step, Variant
from attnref.derivations.shifts import normaliser, numerator
from attnref.derivations.sinks import MILLER, NORMALISER, N, row, sink, y_sink
from attnref.derivations.z_form import Z, a, j, keys, m, other_keys, s, t, v

depth, epsilon = Symbol("b", real=True), Symbol("epsilon", positive=True)
lowered, other_lowered = exp(difference(a[t, s], depth)), exp(difference(a[t, j], depth))
SMALL = Law("smallness", "a name for the factor", (Eq(epsilon, exp(-depth)),))

SEMP = Record(
    tag="SEMP",
    title="The empty row as a limit",
    summary=(
        "With a sink the output goes to 0 as all scores go down; without one it does not change."
    ),
    statement=Eq(
        y_sink[t],
        product(epsilon, ratio(N[t], total(product(epsilon, Z[t]), exp(sink[t])))),
    ),
    symbols=(
        *row,
        Quantity(N[t], "numerator of the keys", r"\in \mathbb{R}^{d_v}"),
        Quantity(depth, "how far all scores are lowered", r"\in \mathbb{R}"),
        Quantity(epsilon, "the factor that this is", "> 0"),
    ),
    definitions=(
        Law(
            "sink",
            "all scores lowered, but not the sink's",
            (
                Eq(
                    y_sink[t],
                    ratio(
                        Sum(product(lowered, v[s]), keys),
                        total(Sum(other_lowered, other_keys), exp(sink[t])),
                    ),
                ),
            ),
            (t,),
        ),
        NORMALISER,
        Law("numerator", "of the keys", (Eq(N[t], numerator),), (t,)),
        SMALL,
    ),
    assumptions=(),
    steps=(
        Step(
            "lowered",
            ratio(
                Sum(product(lowered, v[s]), keys),
                total(Sum(other_lowered, other_keys), exp(sink[t])),
            ),
            "What the output with a sink is.",
            ("sink",),
        ),
        Step(
            "outside",
            ratio(product(epsilon, numerator), total(product(epsilon, normaliser), exp(sink[t]))),
            "The factor leaves the sums over the keys. The sink keeps its place.",
            ("smallness",),
        ),
        Step(
            "names",
            product(epsilon, ratio(N[t], total(product(epsilon, Z[t]), exp(sink[t])))),
            "Name the sums; the denominator is never less than the sink's part, which is not 0.",
            ("normaliser", "numerator"),
        ),
    ),
    variants=(
        Variant(
            "lowered with the keys",
            "outside",
            "If the sink goes down with the keys nothing changes; a common slip.",
            ratio(product(epsilon, numerator), product(epsilon, total(normaliser, exp(sink[t])))),
        ),
        Variant(
            "without the sink",
            "names",
            "This is the same for every $b$: without a sink the 0 of an empty row is a "
            "definition, and no limit.",
            ratio(product(epsilon, N[t]), product(epsilon, Z[t])),
        ),
        Variant(
            "the mean of the values",
            "names",
            "What a finite number in place of −∞ makes of a masked row (ml-explore/mlx, issue "
            "2395; microsoft/onnxruntime, issue 28904).",
            ratio(Sum(v[s], keys), m),
        ),
    ),
    sources=(MILLER,),
    date="2026-11-30",
    remark=(
        "The right side is continuous down to ε = 0 and 0 there, and never more than ε times the "
        "numerator over exp(sink): the empty row gives 0. At ε = 0 and without the sink it would "
        "be 0/0; SHFT says that lowering all scores does nothing."
    ),
    code=("attnref.attention",),
)

RECORDS = (SEMP,)
