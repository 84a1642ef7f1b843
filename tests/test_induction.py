"""Proofs by induction: what they prove, and what only looks like one."""

from dataclasses import replace
from typing import Any

import pytest
from sympy import Eq, Expr, IndexedBase, Integer, Sum, exp, symbols

from attnref.derivations import (
    Induction,
    Law,
    NotProvedError,
    Quantity,
    Record,
    Source,
    Step,
    Variant,
    check,
    verify,
)
from attnref.derivations._operators import (
    Place,
    RandomVariable,
    at_most,
    difference,
    product,
    ratio,
    total,
)
from attnref.derivations._proof import Outcome
from attnref.derivations._verify import judged
from slips import slips, survivors, turned
from written_out import DIGITS, number, written_out

n = symbols("n", integer=True, nonnegative=True)
m = symbols("m", integer=True, positive=True)
j, t = symbols("j t", integer=True)
mu = symbols("mu", positive=True)
c, z = symbols("c z")
x, S = IndexedBase("x"), IndexedBase("S")
g = IndexedBase("g", nonnegative=True)


def _ratio(power: Expr) -> Expr:
    """Return the geometric sum of exp(−μ j) in closed form."""
    below = difference(1, exp(-mu))
    return ratio(product(exp(-mu), difference(1, exp(-mu * power))), below)


def _geometric(last: Expr) -> Expr:
    return Sum(exp(-mu * j), (j, 1, last))


GEOMETRIC = Record(
    tag="TGEO",
    title="A geometric sum",
    summary="The weights of ALiBi at equal scores, added up.",
    statement=Eq(_geometric(n), _ratio(n)),
    symbols=(
        Quantity(n, "number of keys", r"\geq 0"),
        Quantity(mu, "slope", "> 0"),
    ),
    definitions=(),
    assumptions=(),
    steps=(),
    variants=(
        Variant("one power less", "together", "A slip at the end.", _ratio(n)),
        Variant("from nothing", "known", "The sum is not known.", withheld=("hypothesis",)),
        Variant("not empty", "empty", "The sum of no terms is 0.", Integer(1)),
    ),
    sources=(Source("Euclid, Elements", "book IX, proposition 35", False),),
    date="2026-11-30",
    induction=Induction(
        n,
        base=(Step("empty", Integer(0), "A sum of no terms is 0, and so is $1 - \\exp 0$."),),
        step=(
            Step("last", total(_geometric(n), exp(-mu * (n + 1))), "Split the last term off."),
            Step(
                "known", total(_ratio(n), exp(-mu * (n + 1))), "The sum is known.", ("hypothesis",)
            ),
            Step("together", _ratio(n + 1), "Over one denominator."),
        ),
    ),
)


def test_induction_is_proved_and_every_slip_refused() -> None:
    """A first record by induction is proved for all n, and none of its slips is."""
    verdict = check(GEOMETRIC)
    names = ["base-empty", "step-last", "step-known", "step-together"]
    assert [result.name for result in verdict.steps] == names
    assert verdict.general
    assert verdict.sizes == (n,)
    assert [survivors(GEOMETRIC, line) for line in GEOMETRIC.lines] == [[], [], [], []]
    kinds = {k for line in GEOMETRIC.lines for k, _ in slips(GEOMETRIC, line.step.expression)}
    assert {"change a length", "drop a term", "flip a sign", "invert a ratio"} <= kinds


@pytest.mark.parametrize("size", range(6))
def test_induction_holds_for_the_first_numbers(size: int) -> None:
    """Added up for n = 0 … 5, both sides of the statement, and of each line, are one number."""
    statement = GEOMETRIC.statement
    apart = [statement.lhs - statement.rhs]
    apart += [line.before - line.step.expression for line in GEOMETRIC.lines]
    for e in apart:
        assert abs(number(written_out(e, {n: size}), seed=size)) < 10 ** (10 - DIGITS)


def test_induction_needs_its_hypothesis() -> None:
    """Without the hypothesis the step is not proved, and the base may not use it."""
    known = GEOMETRIC.lines[2]
    without = replace(known, step=replace(known.step, using=()))
    assert judged(GEOMETRIC, without).outcome is Outcome.NOT_EQUAL
    base = GEOMETRIC.lines[0]
    with_it = replace(base, step=replace(base.step, using=("hypothesis",)))
    assert judged(GEOMETRIC, with_it).outcome is Outcome.OUTSIDE


@pytest.mark.parametrize("other", [m, 2 * n, Integer(3)], ids=str)
def test_hypothesis_speaks_of_one_number(other: Expr) -> None:
    """The hypothesis is the statement for n, and for no other number."""
    known = GEOMETRIC.lines[2]
    wrong = replace(
        known,
        before=product(z, _geometric(other)),
        step=replace(known.step, expression=product(z, _ratio(other))),
    )
    expected = Outcome.PROVED if other == 3 else Outcome.NOT_EQUAL  # three terms are written out
    assert judged(GEOMETRIC, wrong).outcome is expected


def test_hypothesis_is_the_statement_and_nothing_else() -> None:
    """It does not hold for the terms of the sum, and not for any n that a law may vary."""
    assert GEOMETRIC.hypothesis.equalities == (GEOMETRIC.statement,)
    assert GEOMETRIC.hypothesis.variables == ()
    known = GEOMETRIC.lines[2]
    for before, after in (
        (exp(-mu * n), _ratio(n) - _ratio(n - 1) + z),
        (_ratio(n + 1), _geometric(n)),
    ):
        wrong = replace(known, before=before, step=replace(known.step, expression=after))
        assert judged(GEOMETRIC, wrong).outcome is Outcome.NOT_EQUAL


# What only looks like an induction ---------------------------------------------------------------


def _record(statement: Eq, **changes: Any) -> Record:
    """Return a record by induction whose two parts are one step each."""
    record = replace(
        GEOMETRIC,
        tag="TIND",
        statement=statement,
        symbols=tuple(Quantity(q, "", "") for q in (n, m, c, z, x[j], S[j], mu)),
        variants=(Variant("two", "grow", "Twice.", 2 * statement.rhs.xreplace({n: n + 1}) + 1),),
        induction=Induction(
            n,
            (Step("begin", statement.rhs.xreplace({n: Integer(0)}), "At 0."),),
            (Step("grow", statement.rhs.xreplace({n: n + 1}), "By hypothesis.", ("hypothesis",)),),
        ),
    )
    return replace(record, **changes)


def _proof(record: Record) -> Induction:
    assert record.induction is not None
    return record.induction


COUNT = _record(Eq(Sum(c, (j, 1, n)) - n * c, Integer(0)))
PROOF = _proof(COUNT)
LAW = Law("sum", "", (Eq(S[n], Sum(x[j], (j, 1, n))),), (n,))
SUMS = _record(
    Eq(S[n] + c, Sum(x[j], (j, 1, n)) + c),
    definitions=(LAW,),
    induction=Induction(
        n,
        (Step("begin", c, "At 0.", ("sum",)),),
        (Step("grow", Sum(x[j], (j, 1, n + 1)) + c, "Both.", ("sum", "hypothesis")),),
    ),
)


def test_law_for_every_number_may_be_used() -> None:
    """A law that has n among its variables is used at n + 1, and at 0."""
    assert verify(SUMS).failures == ()


def test_base_at_one_size_leaves_the_proof_general() -> None:
    """A base that shows its empty sum is no reason to claim less than all sizes."""
    empty = Step("see", _geometric(Integer(0)), "No terms.")
    base = (empty, *_proof(GEOMETRIC).base)
    shown = replace(GEOMETRIC, induction=replace(_proof(GEOMETRIC), base=base))
    assert verify(shown).failures == ()
    assert verify(shown).general


def test_false_statement_has_no_proof() -> None:
    """What is right at 0 alone, or from n to n + 1 alone, is not proved."""
    only_base = _record(Eq(Sum(x[j], (j, 1, n)), n * c))
    failures = verify(only_base).failures
    assert len(failures) == 1
    assert failures[0].startswith("step step-grow is not proved: not shown to be equal")
    only_step = _record(Eq(_geometric(n), _ratio(n) + 1))
    failures = verify(only_step).failures
    assert len(failures) == 1
    assert failures[0].startswith("step base-begin is not proved: not shown to be equal")


def _with_law(*equalities: Eq, variables: tuple[Expr, ...] = (), name: str = "law") -> Record:
    law = Law(name, "", equalities, variables)
    begin, grow = PROOF.base, PROOF.step
    using = replace(grow[0], using=("hypothesis", name) if name != "hypothesis" else (name,))
    return replace(COUNT, assumptions=(law,), induction=Induction(n, begin, (using,)))


NUMBER = symbols("n", integer=True)
POSITIVE = symbols("n", integer=True, positive=True)
REAL = symbols("n", nonnegative=True)


def _over(variable: Expr) -> Record:
    statement = COUNT.statement.xreplace({n: variable})
    parts = (
        tuple(replace(s, expression=s.expression.xreplace({n: variable})) for s in steps)
        for steps in (PROOF.base, PROOF.step)
    )
    symbols_ = (Quantity(variable, "", ""), *COUNT.symbols[1:])
    return replace(
        COUNT, statement=statement, symbols=symbols_, induction=Induction(variable, *parts)
    )


FLAWS = {
    "n, the variable of the induction, is declared to be positive": _over(POSITIVE),
    "n, the variable of the induction, is not declared to be a whole number": _over(NUMBER),
    "N, the variable of the induction, is not declared": _over(RandomVariable("N")),
    "a proof by induction has a base and a step, and no other steps": replace(
        COUNT, steps=(Step("more", COUNT.statement.rhs, ""),)
    ),
    "the statement does not have n, the variable": replace(
        COUNT, statement=Eq(Sum(c, (j, 1, m)), m * c)
    ),
    "a law is called hypothesis": _with_law(Eq(z, c), name="hypothesis"),
    "the hypothesis is used in no step": replace(
        COUNT,
        induction=replace(PROOF, step=(replace(PROOF.step[0], using=()),)),
    ),
    "law law speaks of n, the variable of the induction": _with_law(Eq(z, n * c)),
    "law law of TUSE speaks of n, the variable of the induction": replace(
        COUNT, uses=(replace(_with_law(Eq(z, n * c)), tag="TUSE"),)
    ),
    "n, the variable of the induction, is an index": _with_law(Eq(z, Sum(x[n], (n, 1, m)))),
    "n, the variable of the induction, is an index, or ends the range": _with_law(
        Eq(z, x[Place("p", n)])
    ),
    "the last step is not the right side of the base": replace(
        COUNT, induction=replace(PROOF, base=(Step("begin", z, ""),))
    ),
    "the last step is not the right side of the step": replace(
        COUNT, induction=replace(PROOF, step=(Step("grow", z, ""),))
    ),
    "two steps are called begin": replace(COUNT, induction=replace(PROOF, step=PROOF.base)),
}


def test_count_is_proved() -> None:
    """The induction that the flaws are put into has none."""
    assert verify(COUNT).failures == ()


@pytest.mark.parametrize(("message", "record"), FLAWS.items(), ids=lambda part: str(part)[:40])
def test_flaw_of_an_induction_is_reported(message: str, record: Record) -> None:
    """An induction with a flaw is not proved, and the message says where."""
    with pytest.raises(NotProvedError) as caught:
        check(record)
    assert message in str(caught.value)


def test_statement_about_one_number_is_not_carried_to_the_next() -> None:
    """S defined for this n alone is not S for n + 1: P(n + 1) would be about another S."""
    this = symbols("T")
    law = Law("sum", "", (Eq(this, Sum(x[j], (j, 1, n))),))
    record = replace(
        COUNT,
        statement=Eq(this, Sum(x[j], (j, 1, n))),
        symbols=(*COUNT.symbols, Quantity(this, "", "")),
        definitions=(law,),
    )
    assert any("law sum speaks of n" in failure for failure in verify(record).failures)


# Inequalities by induction -----------------------------------------------------------------------

BELOW = Record(
    tag="TIEQ",
    title="A sum of exponentials",
    summary="Each term is at most 1.",
    statement=at_most(Sum(exp(-g[j]), (j, 1, n)), n),
    symbols=(Quantity(n, "", r"\geq 0"), Quantity(g[j], "", r"\geq 0"), Quantity(j, "", "")),
    definitions=(),
    assumptions=(),
    steps=(),
    variants=(Variant("less", "known", "One term too few.", n, ()),),
    sources=(),
    date="2026-11-30",
    induction=Induction(
        n,
        (Step("empty", Integer(0), "No terms."),),
        (
            Step("last", Sum(exp(-g[j]), (j, 1, n)) + exp(-g[n + 1]), "Split."),
            Step("known", n + exp(-g[n + 1]), "By hypothesis.", ("hypothesis",), "<="),
            Step("one", n + 1, "At most 1.", relation="<="),
        ),
    ),
)


def test_inequality_is_proved_by_induction() -> None:
    """The hypothesis of an inequality is one, and is used for a step that is one."""
    assert verify(BELOW).failures == ()
    for line in BELOW.lines[2:]:
        assert judged(BELOW, turned(line)).outcome is Outcome.NOT_AT_MOST
    equality = replace(BELOW.lines[2], step=replace(BELOW.lines[2].step, relation="="))
    assert judged(BELOW, equality).outcome is Outcome.NOT_EQUAL


# Ends of sums ------------------------------------------------------------------------------------


def test_sum_that_is_not_long_enough_is_outside() -> None:
    """N − 1 may be −1, and no sum ends there."""
    line = replace(
        GEOMETRIC.lines[1], step=Step("wrong", _geometric(n - 1) + exp(-mu * n), "Split.")
    )
    assert judged(GEOMETRIC, line).outcome is Outcome.OUTSIDE


# Print -------------------------------------------------------------------------------------------


def test_induction_is_shown_in_two_parts() -> None:
    """Base and step have headings of their own, lines counted from 1, and their own left sides."""
    text = str(GEOMETRIC)
    assert "\n  Base: the statement for n = 0\n    Σ_{j=1}^0 exp(-j μ)\n   1. = 0\n" in text
    assert "\n  Step: from n to n + 1; the hypothesis is the statement for n\n" in text
    assert "        step-known: The sum is known. [hypothesis]\n" in text
    assert "    Σ_{j=1}^{n + 1} exp(-j μ)\n   1. = Σ_{j=1}^n exp(-j μ) + exp(-μ (n + 1))\n" in text
    assert "✓ proved for all n" in text


def test_induction_has_labels_of_its_parts() -> None:
    """A line is cited as TGEO-base-empty or TGEO-step-known, each once."""
    markdown = GEOMETRIC._repr_markdown_()
    assert "### Base: the statement for $n = 0$" in markdown
    assert "### Step: from $n$ to $n + 1$; the hypothesis is the statement for $n$" in markdown
    for line in GEOMETRIC.lines:
        assert markdown.count(rf"\label{{TGEO-{line.address}}}") == 1
    assert "### Base" in GEOMETRIC.proof._repr_markdown_()


def test_induction_counts_in_no_fingerprint() -> None:
    """How a statement is proved is not what it claims; over what it is claimed is."""
    assert replace(GEOMETRIC, induction=None).fingerprint == GEOMETRIC.fingerprint
    assert _over(NUMBER).fingerprint != COUNT.fingerprint
