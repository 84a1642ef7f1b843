"""Inequalities in the derivations: what the judge sees to be at least 0, and what it does not."""

import re
from dataclasses import replace
from itertools import product as all_of

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy import Eq, Expr, IndexedBase, Integer, Le, Rational, Sum, exp, log, symbols

from attnref.derivations import Law, Quantity, Record, Source, Step, Variant, check, verify
from attnref.derivations._finite_sums import normal_form
from attnref.derivations._inequality import shown_nonnegative, shown_positive
from attnref.derivations._operators import (
    Expectation,
    Place,
    RandomVariable,
    at_most,
    difference,
    product,
    ratio,
    total,
)
from attnref.derivations._printing import latex, plain
from attnref.derivations._proof import Finding, Outcome, prove
from attnref.derivations._signs import is_nonnegative
from attnref.derivations._verify import judged
from slips import slips, survivors, turned
from written_out import DIGITS, number, written_out

m, n = symbols("m n", integer=True, positive=True)
s, k, t = symbols("s k t", integer=True)
i, r = Place("i", m), Place("r", n)
a, v = IndexedBase("a"), IndexedBase("v")
w, p = IndexedBase("w", positive=True), IndexedBase("p", nonnegative=True)
g = IndexedBase("g", nonnegative=True)
Z, z, mu = symbols("Z z mu", positive=True)
h = symbols("h", nonnegative=True)
M, c, d = symbols("M c d")
X = RandomVariable("X")
keys, other_keys = (s, 1, m), (k, 1, m)
partition = Sum(exp(a[k]), other_keys)

PARTITION = Law("partition", "a name", (Eq(Z, partition),))
GAP = Law("gap", "no score is above $M$", (Eq(a[s], difference(M, g[s])),), (s,))
spread = Sum(exp(difference(M, g[s])), keys)

BOUND = Record(
    tag="TBND",
    title="A bound for the normaliser",
    summary="No term of $Z$ is above $\\exp M$.",
    statement=at_most(Z, product(m, exp(M))),
    symbols=(
        Quantity(m, "number of keys", r"\geq 1"),
        Quantity(a[s], "score", r"\in \mathbb{R}"),
        Quantity(s, "a key", r"= 1, \dots, m"),
        Quantity(g[s], "distance of a score to $M$", r"\geq 0"),
        Quantity(M, "largest score, or more", r"\in \mathbb{R}"),
        Quantity(Z, "normaliser", "> 0"),
    ),
    definitions=(PARTITION,),
    assumptions=(GAP,),
    steps=(
        Step("open", Sum(exp(a[s]), keys), "What $Z$ is.", ("partition",)),
        Step("gaps", spread, "No score is above $M$.", ("gap",)),
        Step("each", product(m, exp(M)), "$\\exp(-g_s) \\leq 1$.", relation="<="),
    ),
    variants=(
        Variant("one key", "each", "There are $m$ of them.", exp(M)),
        Variant("any scores", "gaps", "Scores may be above.", withheld=("gap",)),
    ),
    sources=(Source("A textbook", "page 1", False),),
    date="2026-11-30",
)


def test_bound_is_proved_and_every_slip_refused() -> None:
    """A first record of an inequality is proved; what a slip makes of it is weaker or refused."""
    assert check(BOUND).failures == ()
    assert [survivors(BOUND, line) for line in BOUND.lines] == [[], [], []]
    kinds = {kind for line in BOUND.lines for kind, _ in slips(BOUND, line.step.expression)}
    assert {"drop the shift", "flip a sign", "drop a factor"} <= kinds


def test_bound_has_one_direction() -> None:
    """Turned round, or taken for an equality, the inequality is refused."""
    line = BOUND.lines[-1]
    equality = replace(line, step=replace(line.step, relation="="))
    assert judged(BOUND, turned(line)).outcome is Outcome.NOT_AT_MOST
    assert judged(BOUND, equality).outcome is Outcome.NOT_EQUAL


def test_slip_that_only_weakens_a_bound_is_told_apart() -> None:
    """Z ≤ 2m exp(M) is proved as well: a slip, but no wrong line, and the end is not reached."""
    line = BOUND.lines[-1]
    weak = replace(line, step=replace(line.step, expression=product(2, m, exp(M))))
    assert judged(BOUND, weak).outcome is Outcome.PROVED
    record = replace(BOUND, steps=(*BOUND.steps[:2], weak.step))
    assert "the last step is not the right side of the statement" in verify(record).failures


def test_inequality_is_shown_with_its_sign() -> None:
    """≤ stands in the chain and in the statement, in text and in LaTeX."""
    text, markdown = str(BOUND), BOUND._repr_markdown_()
    assert "    Z ≤ m exp(M)\n" in text
    assert "   2. = Σ_{s=1}^m exp(M - g_s)\n" in text
    assert "   3. ≤ m exp(M)\n" in text
    assert "exp(-g_s) ≤ 1" in text
    assert "\n\\leq m \\exp(M) \\label{TBND-each}\n" in markdown
    assert "\nZ \\leq m \\exp(M) \\label{TBND-statement}\n" in markdown


# What is seen to be at most something ------------------------------------------------------------

SEEN = {
    "a number": (Integer(1), Rational(3, 2)),
    "itself": (c, c),
    "something nonnegative more": (c, c + h),
    "a square more": (c, c + (c - d) ** 2),
    "twice a product": (2 * c * d, c**2 + d**2),
    "a square of a sum": (Integer(0), (c + Sum(a[s], keys)) ** 2),
    "an odd power of what is not negative": (Integer(0), h**3 * (c + d) ** 2),
    "a product of two differences of one sign": (Integer(0), (exp(-h) - 1) * (exp(-z) - 1)),
    "exp": (Integer(0), exp(c)),
    "exp of one": (Integer(2), 1 + exp(Integer(1))),
    "exp of what is not negative": (Integer(1), exp(h)),
    "exp of what is not positive": (exp(-h), Integer(1)),
    "exp of a product": (exp(-h * z), Integer(1)),
    "exp of less": (exp(c - h), exp(c)),
    "exp of twice as much": (exp(-2 * h), exp(-h)),
    "exp of a sum of gaps": (exp(-Sum(g[s], keys)), Integer(1)),
    "a sum of exps of gaps": (Sum(exp(-g[s]), keys), m),
    "a weighted sum of exps of gaps": (Sum(p[s] * exp(-g[s]), keys), Sum(p[s], keys)),
    "a sum of exps of twice the gaps, below": (m, Sum(exp(2 * g[s]), keys)),
    "a sum below another one": (Sum(w[s] * exp(c - g[s]), keys), Sum(w[s], keys) * exp(c)),
    "one term of a sum": (exp(a[i]), partition),
    "one term of a sum, divided": (exp(a[i]) / partition, Integer(1)),
    "two terms of two sums": (p[i] * p[r], Sum(p[s], keys) * Sum(p[s], (s, 1, n))),
    "a sum with more terms": (Sum(p[s], keys), Sum(p[s], (s, 1, m + 1))),
    "an empty sum": (Sum(p[s], (s, 1, 0)), h),
    "a quotient": (1 / (1 + exp(h)), Rational(1, 2)),
    "a logarithm of less": (log(w[1]), log(w[1] + z)),
    "a logarithm of one term": (a[i], log(partition)),
    "a logarithm of one and more": (Integer(0), log(1 + h)),
    "half a logarithm": (log(z) / 2, log(z + h) / 2),
    "a logarithm of a sum with gaps": (log(Sum(exp(M - g[s]), keys)), M + log(m)),
    "a number of terms": (Integer(1), m),
    "a mean square": (Integer(0), Expectation(X**2)),
    "a sum of squares, as it is written": (
        Integer(0),
        Sum(product(p[s], difference(v[s], M) ** 2), keys),
    ),
    "a sum of squares more, as it is written": (
        total(c, z),
        total(z, Sum(product(p[s], difference(v[s], M) ** 2), keys), c),
    ),
}

NOT_SEEN = {
    "something negative more": (c, c - h),
    "something unknown more": (c, c + d),
    "a product of two unknowns": (Integer(0), c * d),
    "an odd power of an unknown": (Integer(0), c**3),
    "a product of two differences of two signs": (Integer(0), (exp(-h) - 1) * (exp(z) - 1)),
    "exp of an unknown": (exp(c), Integer(1)),
    "exp of what is not negative": (exp(h), Integer(1)),
    "exp of less": (exp(-h), exp(-2 * h)),
    "a sum of exps of gaps": (m, Sum(exp(-g[s]), keys)),
    "a sum of exps of unknowns": (Sum(exp(-a[s]), keys), m),
    "a sum of fewer exps": (Sum(exp(-g[s]), keys), Integer(1)),
    "a weighted sum with unknown weights": (Sum(a[s] * exp(-g[s]), keys), Sum(a[s], keys)),
    "a sum of gaps with an unknown factor": (exp(-c * Sum(g[s], keys)), Integer(1)),
    "one term of a sum of unknowns": (a[i], Sum(a[s], keys)),
    "one term of another sum": (p[r], Sum(p[s], keys)),
    "a term that may be out of range": (p[t], Sum(p[s], keys)),
    "a sum, by one term": (partition, exp(a[i])),
    "a fixed term": (p[2], Sum(p[s], keys)),
    "two terms of one sum": (2 * p[i], Sum(p[s], keys)),
    "a quotient": (1 / (1 + exp(-h)), Rational(1, 2)),
    "a logarithm of more": (log(z + h), log(z)),
    "a logarithm of what may be below one": (Integer(0), log(z)),
    "a positive number and one": (z, Integer(1)),
    "a sum of products of unknowns": (Integer(0), Sum(a[s] * v[s], keys)),
    "a mean": (Integer(0), Expectation(X)),
}


def _judged(left: Expr, right: Expr, *laws: Law, relation: str = "<=") -> Finding:
    return prove(left, right, laws, bound=(), relation=relation)


SIZES = [{m: size, n: size + 1, i: size, r: size + 1, t: 4} for size in (1, 2, 3)]


def _values(e: Expr) -> list[float]:
    e = e.replace(Expectation, lambda inside: inside)  # of a number that is drawn once
    points = all_of(SIZES, range(12))
    return [number(written_out(e, size), seed) for size, seed in points]


@pytest.mark.parametrize(("left", "right"), SEEN.values(), ids=list(SEEN))
def test_inequality_is_seen_and_holds(left: Expr, right: Expr) -> None:
    """What is shown to be at most something is, at every size and point tried."""
    assert _judged(left, right).outcome is Outcome.PROVED
    assert all(value >= -(10 ** (20 - DIGITS)) for value in _values(right - left))


@pytest.mark.parametrize(("left", "right"), NOT_SEEN.values(), ids=list(NOT_SEEN))
def test_inequality_is_refused_where_it_fails(left: Expr, right: Expr) -> None:
    """What fails at some point is not shown, and the judge says what it misses."""
    finding = _judged(left, right)
    assert finding.outcome is Outcome.NOT_AT_MOST
    assert re.fullmatch("nothing says that .* is at least 0", finding.detail)
    assert any(value < 0 for value in _values(right - left))


def test_inequality_still_minds_its_divisors() -> None:
    """An inequality that holds wherever it makes sense is refused where it may make none."""
    assert _judged(ratio(c, c), Integer(2)).outcome is Outcome.MAY_DIVIDE_BY_ZERO
    assert _judged(ratio(c**2, c**2), Integer(2)).outcome is Outcome.MAY_DIVIDE_BY_ZERO
    assert _judged(ratio(h, h), Integer(2)).outcome is Outcome.MAY_DIVIDE_BY_ZERO
    assert _judged(difference(log(h), log(h)), Integer(2)).outcome is Outcome.MAY_LACK_A_LOGARITHM
    assert _judged(1 / (exp(h) - 1), 1 + 1 / (exp(h) - 1)).outcome is Outcome.MAY_DIVIDE_BY_ZERO
    assert _judged(1 / (exp(z) - 1), 1 + 1 / (exp(z) - 1)).outcome is Outcome.PROVED


@pytest.mark.parametrize(
    ("e", "positive"),
    [
        (1 - exp(-mu), True),
        (exp(mu * z) - 1, True),
        (1 - exp(-h), False),
        (1 - exp(mu), False),
        (m - Sum(exp(-g[s]), keys), False),
        (1 + m - Sum(exp(-g[s]), keys), True),
        ((c - 1) ** 2, False),
        (partition - exp(a[i]), False),
        (partition + 1 - exp(a[i]), True),
        (z**2 - 2 * z + 1, False),
    ],
    ids=str,
)
def test_positive_is_more_than_nonnegative(e: Expr, positive: bool) -> None:
    """A divisor is positive where a term is, beyond those that may be 0."""
    assert shown_positive(e) is positive


@pytest.mark.parametrize("e", [c, a[1], c * h, h - z, Sum(a[s], keys), h**3 * c, -h], ids=str)
def test_nonnegative_is_not_seen_in_what_may_be_negative(e: Expr) -> None:
    """A number without a sign has none."""
    assert not is_nonnegative(e)


# Laws that are inequalities ----------------------------------------------------------------------

BELOW = Law("below", "", (at_most(Z, m * exp(M)),))
NEAR = Law("near", "", (at_most(c, d),))


def test_inequality_may_be_used_as_it_stands() -> None:
    """From b − a ≥ 0 follows what is more by that, a multiple of it, or by its logarithm."""
    assert _judged(Z, m * exp(M) + h, BELOW).outcome is Outcome.PROVED
    assert _judged(z * Z, m * z * exp(M), BELOW).outcome is Outcome.PROVED
    assert _judged(log(Z), M + log(m), BELOW).outcome is Outcome.PROVED
    assert _judged(-d, -c, NEAR).outcome is Outcome.PROVED


def test_inequality_is_used_for_no_more_than_it_says() -> None:
    """It proves no equality, nothing turned round, and no multiple by what may be negative or 0."""
    assert _judged(Z, m * exp(M), BELOW, relation="=").outcome is Outcome.NOT_EQUAL
    assert _judged(m * exp(M), Z, BELOW).outcome is Outcome.NOT_AT_MOST
    assert _judged(M * Z, m * M * exp(M), BELOW).outcome is Outcome.NOT_AT_MOST
    assert _judged(d, c, NEAR).outcome is Outcome.NOT_AT_MOST
    assert _judged(c**2, d**2, NEAR).outcome is Outcome.NOT_AT_MOST
    nothing = Law("nothing", "", (at_most(c, c),))
    assert _judged(d, c, nothing).outcome is Outcome.NOT_AT_MOST
    for factor in (h, c**2):
        law = Law("times", "", (at_most(product(factor, d), product(factor, M)),))
        assert _judged(d, M, law).outcome is Outcome.NOT_AT_MOST


def test_inequality_of_a_used_record_goes_by_its_tag() -> None:
    """A record may rest on the inequality of another one."""
    logarithm = replace(
        BOUND,
        tag="TLOG",
        statement=at_most(log(Z), total(log(m), M)),
        symbols=tuple(q for q in BOUND.symbols if q.symbol in (m, Z, M)),
        definitions=(),
        assumptions=(),
        uses=(BOUND,),
        steps=(Step("log", total(log(m), M), "log is monotone.", ("TBND",), "<="),),
        variants=(Variant("alone", "log", "Nothing is known.", withheld=("TBND",)),),
    )
    assert check(logarithm).failures == ()
    assert r"Z \leq m \exp(M) \label{TLOG-law-TBND}" in logarithm._repr_markdown_()


# Flaws -------------------------------------------------------------------------------------------


def test_equality_is_not_proved_by_an_inequality() -> None:
    """A chain with ≤ in it does not prove that its ends are equal."""
    record = replace(BOUND, statement=Eq(Z, product(m, exp(M))))
    assert "a step is an inequality, and the statement is none" in verify(record).failures


def test_relation_is_one_of_two() -> None:
    """Other signs than = and <= are none."""
    assert _judged(c, c + z, relation="<").outcome is Outcome.NOT_AT_MOST
    record = replace(BOUND, steps=(*BOUND.steps[:2], replace(BOUND.steps[2], relation="<")))
    assert not verify(record).proved
    assert "a step has the relation '<', which is neither '=' nor '<='" in verify(record).failures


def test_law_may_not_declare_nonnegative_what_is_not() -> None:
    """A symbol declared to be at least 0 may not be defined as something that need not be."""
    record = replace(
        BOUND,
        assumptions=(GAP, Law("claim", "", (Eq(g[s], difference(M, a[s])),), (s,))),
    )
    assert "law claim makes at least 0 what need not be" in verify(record).failures


def test_fingerprint_knows_the_direction_and_the_domain() -> None:
    """≤ is not =, nor ≤ turned round, and a gap that may be negative is another claim."""
    sides = BOUND.statement.args
    others = [
        replace(BOUND, statement=Eq(*sides)),
        replace(BOUND, statement=Le(*reversed(sides), evaluate=False)),
        replace(
            BOUND, assumptions=(replace(GAP, equalities=(Eq(a[s], M - IndexedBase("g")[s]),)),)
        ),
    ]
    assert len({record.fingerprint for record in (BOUND, *others)}) == 4


def test_statement_stays_where_sympy_sees_that_it_holds() -> None:
    """SymPy makes True of n ≤ n + 1; a statement keeps its sides."""
    more = total(m, 1)
    assert at_most(m, more).args == (m, more)
    assert plain(at_most(m, more)) == "m ≤ m + 1"
    assert latex(at_most(m, more)) == r"m \leq m + 1"


# Random inequalities -----------------------------------------------------------------------------


@st.composite
def expressions(draw: st.DrawFn, depth: int = 3, scope: tuple[Expr, ...] = (i,)) -> Expr:
    """Draw an expression whose sign may or may not be seen."""
    one = draw(st.sampled_from(scope))
    leaves = [a[one], w[one], g[one], p[one], c, z, h, Integer(1), Integer(2), m]
    kind = draw(st.sampled_from(["leaf", "add", "less", "mul", "gap", "exp", "sum", "over", "log"]))
    if depth == 0 or kind == "leaf":
        return draw(st.sampled_from(leaves))
    part = expressions(depth - 1, scope)
    if kind == "gap":
        return exp(draw(st.sampled_from([-h, -z, -g[one], -2 * h, h, -h * z, g[one]])))
    if kind == "exp":
        return exp(draw(st.sampled_from(leaves)) - draw(st.sampled_from(leaves)))
    if kind == "log":
        return log(draw(st.sampled_from([1 + h, z, 1 + exp(-g[one]), z + h, 2 * z])))
    if kind == "sum":
        index = draw(st.sampled_from([s, k]))
        return Sum(draw(expressions(depth - 1, (*scope, index))), (index, 1, m))
    if kind == "over":
        return draw(part) / draw(st.sampled_from([z, 1 + h, partition, 1 + exp(-g[one])]))
    left, right = draw(part), draw(part)
    return {"add": left + right, "less": left - right, "mul": left * right}[kind]


@settings(max_examples=120, deadline=None, derandomize=True)
@given(expressions())
def test_whatever_is_shown_holds(e: Expr) -> None:
    """Of random expressions, those shown to be at least 0, or positive, are: at every point."""
    shown, positive = shown_nonnegative(normal_form(e)), shown_positive(e)
    if shown or positive:
        values = [number(written_out(e, size), seed) for size in SIZES[:2] for seed in range(4)]
        assert all(value >= -(10 ** (20 - DIGITS)) for value in values)
        assert not positive or all(value > 0 for value in values)
