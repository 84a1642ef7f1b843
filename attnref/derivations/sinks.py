"""SINK and MSNK: one more key that has a score and no value."""

from typing import Any

from sympy import Eq, Expr, IndexedBase, Integer, Sum, Symbol, exp

from attnref.derivations import _states
from attnref.derivations._operators import difference, product, ratio, total
from attnref.derivations._record import Law, Quantity, Record, Source, Step, Variant
from attnref.derivations._states import A, B, both, represented
from attnref.derivations.merging import MSHF
from attnref.derivations.shifts import normaliser, numerator
from attnref.derivations.z_form import Z, a, j, keys, m, other_keys, s, t, v, y


class _Word(Symbol):  # type: ignore[misc]  # SymPy has no types: its classes are Any
    """A symbol of more than one letter, printed upright."""

    def _latex(self, _printer: Any) -> str:
        return rf"\mathrm{{{self.name}}}"


sink, reference, N = IndexedBase(_Word("sink")), IndexedBase("m"), IndexedBase("N")
y_sink = IndexedBase("y'")
row = (
    Quantity(t, "one of the queries", r"\geq 1"),
    Quantity(m, "number of keys", r"\geq 1"),
    Quantity(a[t, s], "score", r"\in \mathbb{R}"),
    Quantity(v[s], "value", r"\in \mathbb{R}^{d_v}"),
    Quantity(sink[t], "score of the sink", r"\in \mathbb{R}"),
    Quantity(y_sink[t], "output with the sink", r"\in \mathbb{R}^{d_v}"),
    Quantity(Z[t], "normaliser of the keys", "> 0"),
)
NORMALISER = Law("normaliser", "of the keys, without the sink", (Eq(Z[t], normaliser),), (t,))
MILLER = Source("Miller 2023, Attention is off by one", "the formula of softmax₁", False)
GPT_OSS = Source(
    "OpenAI 2025, gpt-oss model card, arXiv:2508.10925",
    "attention, the learned bias in the denominator",
    False,
)


def _shifted(constant: Expr) -> Expr:
    """Return the output as it is computed, at a reference exponent, with a term for the sink."""
    above = Sum(product(exp(difference(a[t, s], reference[t])), v[s]), keys)
    below = Sum(exp(difference(a[t, j], reference[t])), other_keys)
    return ratio(above, total(constant, below))


SINK = Record(
    tag="SINK",
    title="A sink is a gate",
    summary="A sink multiplies the output by the share of the keys in the normaliser.",
    statement=Eq(y_sink[t], product(y[t], ratio(Z[t], total(Z[t], exp(sink[t]))))),
    symbols=(
        *row,
        Quantity(reference[t], "reference exponent, any finite number", r"\in \mathbb{R}"),
        Quantity(y[t], "output without the sink", r"\in \mathbb{R}^{d_v}"),
    ),
    definitions=(
        Law(
            "sink",
            "a key without a value is in the normaliser only",
            (Eq(y_sink[t], ratio(numerator, total(normaliser, exp(sink[t])))),),
            (t,),
        ),
        NORMALISER,
        Law("output", "without the sink", (Eq(y[t], ratio(numerator, normaliser)),), (t,)),
    ),
    assumptions=(),
    steps=(
        Step(
            "shifted",
            _shifted(exp(difference(sink[t], reference[t]))),
            "As it is computed: the sink is shifted like any other score, and the shift cancels.",
            ("sink",),
        ),
        Step(
            "unshifted",
            ratio(numerator, total(Z[t], exp(sink[t]))),
            "Take the shift back. The new normaliser is the old one and exp(sink).",
            ("normaliser",),
        ),
        Step(
            "gate",
            product(y[t], ratio(Z[t], total(Z[t], exp(sink[t])))),
            "The numerator is the old output times the old normaliser.",
            ("normaliser", "output"),
        ),
    ),
    variants=(
        Variant(
            "not shifted",
            "shifted",
            "A constant that is added after the maximum is taken off is no constant: for a sink of "
            "0, 1 + Σ exp(a − m) (AttentionIsOFFByOne, issue 5, and other versions of softmax₁).",
            _shifted(exp(sink[t])),
        ),
        Variant(
            "shifted the wrong way",
            "shifted",
            "The reference exponent is to be taken off, not added; a common slip.",
            _shifted(exp(total(sink[t], reference[t]))),
        ),
        Variant(
            "counted twice",
            "unshifted",
            "A sink in each of two splits (ROCm/rocm-libraries, pull request 12229).",
            ratio(numerator, total(Z[t], product(2, exp(sink[t])))),
        ),
        Variant(
            "the share of the sink",
            "gate",
            "The output keeps the share of the keys, not that of the sink; a common slip.",
            product(y[t], ratio(exp(sink[t]), total(Z[t], exp(sink[t])))),
        ),
    ),
    sources=(MILLER, GPT_OSS),
    date="2026-11-30",
    remark=(
        "The factor is σ(log Z − sink) with the logistic function σ. The weights of the keys are "
        "multiplied by it and add up to it. A sink of −∞ is no sink."
    ),
    code=("attnref.softmax", "attnref.log_partition", "attnref.attention"),
)

MSNK = Record(
    tag="MSNK",
    title="A sink is merged once",
    summary="The sink is a state of its own: $m$ is its score, $Z = 1$ and $N = 0$.",
    statement=Eq(
        y[both], ratio(represented(_states.N, A), total(represented(_states.Z, A), exp(sink[B])))
    ),
    symbols=(*MSHF.symbols, Quantity(sink[B], "score of the sink", r"\in \mathbb{R}")),
    definitions=(
        Law(
            "sink",
            "the second state is one key of value 0",
            (Eq(_states.m[B], sink[B]), Eq(_states.Z[B], 1), Eq(_states.N[B], 0)),
        ),
    ),
    assumptions=(),
    steps=(
        Step("merge", MSHF.statement.rhs, "How states merge.", ("MSHF",)),
        Step(
            "sink",
            ratio(represented(_states.N, A), total(represented(_states.Z, A), exp(sink[B]))),
            "The second state is the sink.",
            ("sink",),
        ),
    ),
    variants=(
        Variant(
            "once a split",
            "sink",
            "Each of two splits had the sink in it already (ROCm/rocm-libraries, pull request "
            "12229; NVIDIA/TransformerEngine, issue 2541).",
            ratio(
                represented(_states.N, A),
                total(represented(_states.Z, A), product(2, exp(sink[B]))),
            ),
        ),
        Variant(
            "in no split",
            "sink",
            "No split had the sink in it: the output without a sink.",
            ratio(represented(_states.N, A), represented(_states.Z, A)),
        ),
        Variant(
            "a sink of weight 1",
            "sink",
            "The 1 of the state is at the reference exponent of the sink; a common slip.",
            ratio(represented(_states.N, A), total(represented(_states.Z, A), Integer(1))),
        ),
    ),
    sources=(MILLER, GPT_OSS),
    date="2026-11-30",
    uses=(MSHF,),
    remark="Merging is commutative and associative: which split takes the sink does not matter.",
    code=("attnref.partial_attention", "attnref.merge"),
)

RECORDS = (SINK, MSNK)
