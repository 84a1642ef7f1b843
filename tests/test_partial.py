"""Places and derivatives in the derivations: what the judge works out, and what it leaves alone."""

from dataclasses import replace
from itertools import product as all_of

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy import (
    Eq,
    Expr,
    IndexedBase,
    Integer,
    KroneckerDelta,
    Rational,
    Sum,
    exp,
    log,
    sqrt,
    symbols,
)

from attnref.derivations import Law, Quantity, Record, Source, Step, Variant, check, verify
from attnref.derivations._chains import bound_in
from attnref.derivations._derivatives import differentiated
from attnref.derivations._finite_sums import OutsideLanguageError, normal_form
from attnref.derivations._operators import (
    Expectation,
    Inner,
    Partial,
    Place,
    RandomVariable,
    Softmax,
    difference,
    product,
    ratio,
    total,
)
from attnref.derivations._printing import latex, plain
from attnref.derivations._proof import Finding, Outcome, prove
from attnref.derivations._rewriting import rewritten
from slips import slips, survivors
from written_out import DIGITS, number, written_out

m, n = symbols("m n", integer=True, positive=True)
s, k, t, u = symbols("s k t u", integer=True)
i, j, r = Place("i", m), Place("j", m), Place("r", n)
a, b, p, v, y = (IndexedBase(name) for name in "abpvy")
Z, w = IndexedBase("Z", positive=True), IndexedBase("w", positive=True)
h = symbols("h", integer=True, nonnegative=True)
c, L = symbols("c L")
z = symbols("z", positive=True)
X = RandomVariable("X")
delta = KroneckerDelta
keys, other_keys = (s, 1, m), (k, 1, m)
partition = Sum(exp(a[k]), other_keys)

WEIGHTS = Law("weights", "softmax", (Eq(p[s], ratio(exp(a[s]), partition)),), (s,))
jacobian = product(p[i], difference(delta(i, j), p[j]))

JACOBIAN = Record(
    tag="TJAC",
    title="The Jacobian of softmax",
    summary="A weight grows with its own score and falls with every other.",
    statement=Eq(Partial(p[i], a[j]), jacobian),
    symbols=(
        Quantity(m, "number of keys", r"\geq 1"),
        Quantity(i, "a key", r"= 1, \dots, m"),
        Quantity(j, "a key", r"= 1, \dots, m"),
        Quantity(a[s], "score", r"\in \mathbb{R}"),
        Quantity(p[s], "weight", r"\in (0, 1)"),
        Quantity(s, "a key", r"= 1, \dots, m"),
    ),
    definitions=(WEIGHTS,),
    assumptions=(),
    steps=(
        Step("open", Partial(ratio(exp(a[i]), partition), a[j]), "What a weight is.", ("weights",)),
        Step(
            "quotient",
            difference(
                ratio(product(delta(i, j), exp(a[i])), partition),
                ratio(product(exp(a[i]), exp(a[j])), partition**2),
            ),
            "The rule for a quotient; one term of the sum has $a_j$.",
        ),
        Step("close", jacobian, "What a weight is, again.", ("weights",)),
    ),
    variants=(
        Variant("diagonal", "close", "Off the diagonal, too.", product(p[i], 1 - p[j])),
        Variant("no name", "close", "Without softmax nothing is known.", withheld=("weights",)),
    ),
    sources=(Source("A textbook", "page 1", False),),
    date="2026-11-30",
    code=("attnref.softmax",),
)


def test_jacobian_is_proved_and_every_slip_refused() -> None:
    """A first record with a derivative and two places is proved, and none of its slips is."""
    assert check(JACOBIAN).failures == ()
    same = "δ_ij exp(a_j)/Σ_{k=1}^m exp(a_k) - exp(a_i) exp(a_j)/(Σ_{k=1}^m exp(a_k))²"
    # δ_ij makes i and j the same: this slip changes no value
    assert [survivors(JACOBIAN, line) for line in JACOBIAN.lines] == [[], [same], []]
    kinds = {kind for line in JACOBIAN.lines for kind, _ in slips(JACOBIAN, line.step.expression)}
    assert {"wrong variable", "swap an index", "drop a term", "flip a sign"} <= kinds


@pytest.mark.parametrize(("size", "seed"), list(all_of((1, 2, 3), (0, 1))))
def test_jacobian_is_what_sympy_finds(size: int, seed: int) -> None:
    """Written out at each size, SymPy's own derivative of exp(a_i)/Z is the right side."""
    for one, other in all_of(range(1, size + 1), repeat=2):
        place = {m: size, i: one, j: other}
        weight = written_out(ratio(exp(a[i]), partition), place)
        own = weight.diff(a[other])
        opened = {p[e]: written_out(exp(a[e]) / partition, place) for e in range(1, size + 1)}
        right = written_out(jacobian, place).xreplace(opened)
        assert abs(number(own, seed) - number(right, seed)) < 10 ** (10 - DIGITS)


# The rules ----------------------------------------------------------------------------------------

RULES = {
    "of itself": (c, c, Integer(1)),
    "of another symbol": (z, c, Integer(0)),
    "of a number": (Rational(2, 3), c, Integer(0)),
    "of a size": (m * c, c, m),
    "of a positive symbol": (z**3, z, 3 * z**2),
    "of a root": (sqrt(z), z, 1 / (2 * sqrt(z))),
    "of a reciprocal": (1 / z, z, -1 / z**2),
    "of an exponential": (exp(c * z), c, z * exp(c * z)),
    "of a logarithm": (log(z), z, 1 / z),
    "of a logarithm of a sum": (
        log(partition),
        a[j],
        exp(a[j]) / partition,
    ),
    "of an entry": (a[i], a[j], delta(i, j)),
    "of an entry with two indices": (b[t, i], b[u, j], delta(t, u) * delta(i, j)),
    "of a fixed entry": (a[1], a[2], Integer(0)),
    "of a sum": (Sum(v[s] * a[s] ** 2, keys), a[j], 2 * v[j] * a[j]),
    "of a double sum": (
        Sum(b[s, k] * a[s] * a[k], keys, other_keys),
        a[j],
        Sum((b[j, k] + b[k, j]) * a[k], other_keys),
    ),
    "of a sum over other places": (
        Sum(a[s], (s, 1, n)),
        a[j],
        Sum(delta(s, j), (s, 1, n)),
    ),
    "of a sum with one term more": (
        Sum(a[s], (s, 1, m + 1)),
        a[j],
        1 + delta(m + 1, j),
    ),
    "under a sum": (
        Sum(Partial(Sum(a[k] ** 2, other_keys), a[s]) * v[s], keys),
        None,
        2 * Sum(a[k] * v[k], other_keys),
    ),
    "under a sum over its own name": (
        Sum(Partial(Sum(a[s] * v[s], keys), a[s]) * y[s], keys),
        None,
        Sum(v[k] * y[k], other_keys),
    ),
    "twice": (Partial(exp(a[i] * c), c), c, a[i] ** 2 * exp(a[i] * c)),
    "with respect to two entries": (
        Partial(log(partition), a[i]),
        a[j],
        exp(a[i]) * delta(i, j) / partition - exp(a[i]) * exp(a[j]) / partition**2,
    ),
    "of a mean of something else": (c * Expectation(X), c, Expectation(X)),
}


@pytest.mark.parametrize(("f", "x", "derivative"), RULES.values(), ids=list(RULES))
def test_derivative_follows_the_rules(f: Expr, x: Expr | None, derivative: Expr) -> None:
    """The rules of calculus give the derivative, and neither another one nor 0."""
    left = f if x is None else Partial(f, x)
    assert _judged(left, derivative).outcome is Outcome.PROVED
    assert _judged(left, derivative + c * z).outcome is Outcome.NOT_EQUAL
    assert _judged(left, 2 * derivative + 1).outcome is Outcome.NOT_EQUAL


def _judged(left: Expr, right: Expr, *laws: Law, bound: tuple[str, ...] = ()) -> Finding:
    return prove(left, right, laws, bound=bound)


@st.composite
def functions(draw: st.DrawFn, depth: int = 3, scope: tuple[Expr, ...] = (i, j)) -> Expr:
    """Draw a function of a_1 … a_m and c; letters for indices are few, and hide one another."""
    one = draw(st.sampled_from(scope))
    if depth == 0:
        return draw(st.sampled_from([a[one], v[one], w[one], c, z, b[one, scope[0]], Integer(2)]))
    kind = draw(st.sampled_from(["add", "mul", "exp", "log", "sum", "over", "square", "delta"]))
    part = functions(depth - 1, scope)
    if kind == "sum":
        index = draw(st.sampled_from([s, k]))
        last = draw(st.sampled_from([m, m + 1]))
        return Sum(draw(functions(depth - 1, (*scope, index))), (index, 1, last))
    if kind == "exp":
        return exp(draw(part))
    if kind == "log":
        return log(exp(draw(part)) + draw(st.sampled_from([z, w[one], Sum(w[s], keys)])))
    if kind == "over":
        return draw(part) / draw(st.sampled_from([z, partition, 1 + w[one] * exp(a[one])]))
    if kind == "square":
        return draw(part) ** 2
    if kind == "delta":
        return delta(one, draw(st.sampled_from(scope))) * draw(part)
    left, right = draw(part), draw(part)
    return left + right if kind == "add" else left * right


@settings(max_examples=60, deadline=None, derandomize=True)
@given(functions(), st.sampled_from([a[i], a[j], c, z, b[j, i], w[j]]), st.integers(1, 3))
def test_derivative_is_sympys_written_out(f: Expr, x: Expr, size: int) -> None:
    """Any derivative, written out at a size, is the number that SymPy's own derivative has."""
    worked_out = normal_form(differentiated(normal_form(Partial(f, x)), (), normal_form))
    place = {m: size, i: 1, j: size}
    own = written_out(f, place).diff(written_out(x, place))
    for seed in (0, 1):
        expected, found = number(own, seed), number(written_out(worked_out, place), seed)
        assert abs(found - expected) <= (1 + abs(expected)) * 10 ** (20 - DIGITS)


# What depends on x by its definition -------------------------------------------------------------

PARTITION = Law("partition", "", (Eq(Z[t], Sum(exp(b[t, k]), other_keys)),), (t,))
UNIT = Law("unit", "", (Eq(Sum(p[s], keys), 1),))
LONG = Law("length", "", (Eq(Inner(a, a), 1),))
NORM = Law("norm", "", (Eq(Inner(a, a), Sum(a[s] ** 2, keys)),))


def test_what_a_law_defines_is_no_constant() -> None:
    """∂Z_t/∂b_tj is not 0 in a record that defines Z_t, even in a step that withholds the law."""
    left = Partial(Z[t], b[t, j])
    assert _judged(left, exp(b[t, j]), PARTITION, bound=("Z",)).outcome is Outcome.PROVED
    finding = _judged(left, Integer(0), bound=("Z",))
    assert finding.outcome is Outcome.NOT_EQUAL
    assert finding.detail == "the two sides differ by ∂Z_t/∂b_tj"
    assert _judged(Partial(c * Z[t], b[t, j]), c * left, bound=("Z",)).outcome is Outcome.PROVED


def test_what_nothing_defines_is_constant() -> None:
    """A symbol that no law of the record speaks of does not move with x."""
    assert _judged(Partial(Z[t], b[t, j]), Integer(0)).outcome is Outcome.PROVED


@pytest.mark.parametrize(
    ("x", "bound"),
    [(Z[t], ("Z",)), (m, ()), (X, ()), (c * z, ()), (exp(c), ()), (p[j], ("p",)), (i, ())],
    ids=str,
)
def test_variable_has_to_vary_freely(x: Expr, bound: tuple[str, ...]) -> None:
    """No derivative with respect to what a law binds, to a size, an index, chance or a formula."""
    f = Partial(x**2 + c, x)
    assert _judged(f, f, bound=bound).outcome is Outcome.OUTSIDE


def test_entries_of_one_array_have_as_many_indices() -> None:
    """a_i and a_ij cannot both be entries of the array that is varied."""
    assert _judged(Partial(a[i] * a[i, j], a[j]), c).outcome is Outcome.OUTSIDE


def test_functions_without_rules_are_left_alone() -> None:
    """⟨a, a⟩ and softmax are not constant in a, and not known before a law opens them."""
    for f in (Inner(a, a), Softmax(a, i), Expectation(c * X**2 + exp(c * X))):
        x = c if f.has(c) else a[j]
        assert _judged(Partial(f, x), Integer(0)).outcome is Outcome.NOT_EQUAL
    opened = _judged(Partial(Inner(a, a), a[j]), 2 * a[j], NORM, bound=("Inner",))
    assert opened.outcome is Outcome.PROVED


def test_law_does_not_open_what_is_varied() -> None:
    """Even a law for all a_s leaves the a_j alone that a derivative is taken by."""
    law = Law("score", "", (Eq(a[s], c * v[s]),), (s,))
    assert _judged(Partial(a[i], a[j]), Integer(0), law, bound=("a",)).outcome is Outcome.OUTSIDE


@pytest.mark.parametrize(
    ("definitions", "assumptions", "bound"),
    [
        ((WEIGHTS,), (), {"p"}),
        ((), (WEIGHTS,), {"p"}),
        ((PARTITION,), (), {"Z"}),
        ((), (UNIT,), {"p"}),
        ((UNIT,), (), {"p"}),
        ((NORM,), (), {"Inner"}),
        ((), (LONG,), {"Inner", "a"}),
        ((), (Law("bound", "", (c <= z,)),), {"c", "z"}),
    ],
)
def test_laws_bind_what_they_define_or_constrain(
    definitions: tuple[Law, ...], assumptions: tuple[Law, ...], bound: set[str]
) -> None:
    """A definition binds what it names; any other equality binds all it speaks of."""
    record = replace(JACOBIAN, definitions=definitions, assumptions=assumptions)
    assert bound_in(record) == bound
    assert bound_in(replace(JACOBIAN, definitions=(), uses=(record,))) == bound


def test_derivative_is_not_borrowed_where_less_varies_freely() -> None:
    """∂f/∂a of a record that takes c for a constant is no law where c depends on something."""
    slope = replace(
        JACOBIAN,
        tag="TSLP",
        statement=Eq(Partial(y[i], a[j]), c * delta(i, j)),
        symbols=(*JACOBIAN.symbols, Quantity(c, "", ""), Quantity(y[s], "", "")),
        definitions=(Law("line", "", (Eq(y[s], c * a[s]),), (s,)),),
        steps=(Step("slope", c * delta(i, j), "A line.", ("line",)),),
        variants=(Variant("two", "slope", "Twice.", 2 * c * delta(i, j)),),
    )
    assert verify(slope).failures == ()
    square = Law("square", "", (Eq(c, Sum(a[s] ** 2, keys)),))
    end = Sum(a[s] ** 2, keys) * delta(i, j)
    borrower = replace(
        slope,
        tag="TBRW",
        statement=Eq(Partial(y[i], a[j]), end),
        definitions=(square,),
        uses=(slope,),
        steps=(Step("slope", end, "Wrong: c moves, too.", ("TSLP", "square")),),
    )
    assert "c varies freely in TSLP, and not here" in verify(borrower).failures


# Places ------------------------------------------------------------------------------------------

PLACES = {
    "delta picks the term of a place": (Sum(delta(i, s) * v[s], keys), v[i]),
    "delta picks one term of a double sum": (
        Sum(delta(i, s) * delta(j, k) * b[s, k], keys, other_keys),
        b[i, j],
    ),
    "delta picks a first term": (Sum(delta(s, 1) * v[s], keys), v[1]),
    "delta picks a last term": (Sum(delta(s, m) * v[s], keys), v[m]),
    "delta beyond the end picks nothing": (Sum(delta(s, m + 1) * v[s], keys), Integer(0)),
    "delta before the start picks nothing": (Sum(delta(s, 0) * v[s], keys), Integer(0)),
    "two places are one under delta": (delta(i, j) * v[i] * a[j], delta(i, j) * v[j] * a[i]),
    "three places are one under two deltas": (
        delta(i, j) * delta(j, t) * v[t],
        delta(i, t) * delta(i, j) * v[i],
    ),
    "delta squared is delta": (delta(i, j) ** 2 * v[j], delta(i, j) * v[i]),
    "under delta sums have one name": (
        delta(i, j) / Sum(exp(b[i, s] + b[j, s]), keys),
        delta(i, j) / Sum(exp(2 * b[j, s]), keys),
    ),
    "a place may be the only one": (delta(i, 1) * v[i], delta(i, 1) * v[1]),
}

NO_PLACES = {
    "a plain index may be out of range": (Sum(delta(t, s) * v[s], keys), v[t]),
    "a place has one range": (Sum(delta(r, s) * v[s], keys), v[r]),
    "two places are two": (v[i], v[j]),
    "a sum is none of its terms": (Sum(v[s], keys), v[i]),
    "delta is not one": (delta(i, j) * v[i], v[i]),
    "delta picks no term of a square": (Sum(delta(i, s) * v[s], keys) ** 2, v[i]),
    "a fixed place may be out of range": (Sum(delta(s, 2) * v[s], keys), v[2]),
    "a number from 0 on may be no place": (Sum(delta(s, h) * v[s], (s, 1, 2 * h)), v[h]),
}


@pytest.mark.parametrize(("left", "right"), PLACES.values(), ids=list(PLACES))
def test_place_is_one_of_its_sum(left: Expr, right: Expr) -> None:
    """Where a place is sure to be among the indices, δ finds it; the numbers agree, too."""
    assert normal_form(left - right) == 0
    for size, one, other in ((1, 1, 1), (2, 1, 2), (3, 2, 2), (3, 3, 1)):
        place = {m: size, i: one, j: other, t: one}
        assert written_out(left - right, place).expand() == 0


@pytest.mark.parametrize(("left", "right"), NO_PLACES.values(), ids=list(NO_PLACES))
def test_place_is_no_more_than_that(left: Expr, right: Expr) -> None:
    """What is wrong at some size and places is not shown; the numbers differ there."""
    assert normal_form(left - right) != 0
    sizes = [{m: size, i: 1, j: size, t: 3, r: 4, n: 5, h: size - 1} for size in (1, 2, 3)]
    assert any(written_out(left - right, size).expand() != 0 for size in sizes)


def test_law_for_a_place_holds_for_places_of_its_range() -> None:
    """The statement of a used record holds for every place, and for no other index."""
    law = Law("weight", "", (Eq(p[i], c),), (i,))
    assert _judged(p[j], c, law).outcome is Outcome.PROVED
    assert _judged(Sum(p[s], keys), m * c, law).outcome is Outcome.PROVED
    assert _judged(p[1], c, law).outcome is Outcome.PROVED
    for e in (p[t], p[r], p[2], p[m + 1]):
        assert _judged(e, c, law).outcome is Outcome.NOT_EQUAL
    assert _judged(Sum(p[s], (s, 1, n)), n * c, law).outcome is Outcome.NOT_EQUAL


def test_law_does_not_let_an_index_out_of_its_sum() -> None:
    """A variable of a law is not set to what has the index of the sum that the law replaces."""
    law = Law("sum", "", (Eq(Sum(exp(c * v[s]), keys), c),), (c,))
    assert _judged(Sum(exp(z * v[s]), keys), z, law).outcome is Outcome.PROVED
    square = normal_form(Sum(exp(v[s] * v[s]), keys))
    pattern = normal_form(law.equalities[0].lhs)
    assert rewritten(square, pattern, c, law.variables) == square


def test_place_knows_its_range() -> None:
    """Two places of one name are the same only if they end at the same number."""
    assert Place("i", m) == i
    assert Place("i", n) != i
    assert hash(Place("i", m)) == hash(i)
    record = replace(JACOBIAN, statement=JACOBIAN.statement.xreplace({i: Place("i", n)}))
    assert record.fingerprint != JACOBIAN.fingerprint
    failures = verify(record).failures
    assert "n is not declared" in failures
    assert "two symbols are called i" in failures


def test_law_may_not_vary_the_range_of_a_place() -> None:
    """A law for all m cannot speak of one place among m."""
    law = replace(WEIGHTS, equalities=(Eq(p[s], a[i] * m),), variables=(s, m))
    record = replace(JACOBIAN, definitions=(law,))
    assert "law weights has a place whose range is a variable" in verify(record).failures


# Logarithms --------------------------------------------------------------------------------------

LOGARITHMS = {
    "of a product": (log(z * w[1]), log(z) + log(w[1])),
    "of a quotient": (log(z / w[1]), log(z) - log(w[1])),
    "of a power": (log(w[1] ** 3), 3 * log(w[1])),
    "of a root": (log(sqrt(z)), log(z) / 2),
    "of a number": (log(Rational(12, 5)), 2 * log(2) + log(3) - log(5)),
    "of one": (log(Integer(1) * z / z), Integer(0)),
    "of an exponential": (log(exp(c)), c),
    "exp of it": (exp(log(w[1]) + c), w[1] * exp(c)),
    "exp of two of it": (exp(Sum(log(w[1]), (s, 1, 2))), w[1] ** 2),
    "exp of half of it": (exp(log(z) / 2), sqrt(z)),
    "exp of twice a negative one": (exp(-2 * log(w[1])), w[1] ** -2),
    "of a shifted sum": (
        log(Sum(exp(a[s] - c), keys)) + c,
        log(partition),
    ),
    "of a mean": (log(Sum(exp(a[s] + v[s] - v[s]), keys) / m), log(partition) - log(m)),
    "under a sum": (
        Sum(w[s] * log(exp(a[s]) / partition), keys),
        Sum(w[s] * a[s], keys) - log(partition) * Sum(w[s], keys),
    ),
    "of what factors": (log(z**2 + 2 * z + 1), 2 * log(1 + z)),
}

NO_LOGARITHMS = {
    "of a sum is no sum": (log(z + w[1]), log(z) + log(w[1])),
    "of a sum over keys is no sum": (log(partition), Sum(a[s], keys)),
    "of a product over twice": (log(z * w[1]), log(z) * log(w[1])),
    "exp of a product with it": (exp(c * log(w[1])), c * w[1]),
}


@pytest.mark.parametrize(("left", "right"), LOGARITHMS.values(), ids=list(LOGARITHMS))
def test_logarithm_follows_its_laws(left: Expr, right: Expr) -> None:
    """Log turns products into sums and undoes exp; the numbers agree, too."""
    assert _judged(left, right).outcome is Outcome.PROVED
    for size, seed in all_of((1, 2, 3), (0, 1)):
        apart = number(written_out(left - right, {m: size}), seed)
        assert abs(apart) < 10 ** (10 - DIGITS)


@pytest.mark.parametrize(("left", "right"), NO_LOGARITHMS.values(), ids=list(NO_LOGARITHMS))
def test_logarithm_has_no_other_laws(left: Expr, right: Expr) -> None:
    """What is no law is not granted, and is wrong."""
    assert _judged(left, right).outcome is Outcome.NOT_EQUAL
    assert any(abs(number(written_out(left - right, {m: 2}), e)) > 0.001 for e in (0, 1, 2))


@pytest.mark.parametrize(
    "e",
    [log(c), log(a[1]), log(c**2), log(z - w[1]), log(Sum(a[s], keys)), log(1 - exp(c))],
    ids=str,
)
def test_logarithm_needs_what_is_seen_to_be_positive(e: Expr) -> None:
    """Log of what may be 0 or negative is refused, even compared with itself, and says why."""
    finding = _judged(e, e)
    assert finding.outcome is Outcome.MAY_LACK_A_LOGARITHM
    assert finding.detail == f"nothing says that {plain(e.args[0])} is positive"


def test_logarithm_opened_by_a_law_undoes_exp() -> None:
    """Exp of a multiple of log w is a power of w, also where a law brings the logarithm."""
    law = Law("name", "", (Eq(L, log(z)),))
    for times, power in ((-2, z**-2), (3, z**3), (Rational(1, 2), sqrt(z))):
        assert _judged(exp(times * L), power, law, bound=("L",)).outcome is Outcome.PROVED


def test_logarithm_is_split_only_where_a_factor_is_positive() -> None:
    """Of c d > 0 both may be negative: log(c d) is not log c + log d, but log(z c) is split."""
    assert normal_form(log(c * L) - log(c) - log(L)) != 0
    assert normal_form(log(z * c) - log(z) - log(c)) == 0


@pytest.mark.parametrize(
    "e", [log(product(c, 0)), log(total(c, -c, -3)), log(Integer(-2) * z / z)], ids=str
)
def test_logarithm_of_no_positive_number_is_outside(e: Expr) -> None:
    """Log 0 and log of a negative number are no numbers."""
    with pytest.raises(OutsideLanguageError):
        normal_form(e)


# Print -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("e", "text", "tex"),
    [
        (Partial(L, a[j]), "∂L/∂a_j", r"\frac{\partial L}{\partial a_{j}}"),
        (Partial(p[i], a[j]), "∂p_i/∂a_j", r"\frac{\partial p_{i}}{\partial a_{j}}"),
        (Partial(c * z, c), "∂(c z)/∂c", r"\frac{\partial}{\partial c} (c z)"),
        (Partial(L, c) ** 2, "(∂L/∂c)²", r"\left(\frac{\partial L}{\partial c}\right)^{2}"),
        (
            product(c, Partial(L, c)),
            "c ∂L/∂c",
            r"c \frac{\partial L}{\partial c}",
        ),
        (
            Partial(log(z), c),
            "∂(log(z))/∂c",
            r"\frac{\partial}{\partial c} (\log{\left(z \right)})",
        ),
        (
            Partial(Partial(L, c), z),
            "∂(∂L/∂c)/∂z",
            r"\frac{\partial}{\partial z} \left(\frac{\partial L}{\partial c}\right)",
        ),
    ],
)
def test_derivative_is_printed_as_it_is_written(e: Expr, text: str, tex: str) -> None:
    """A derivative reads as one in text and in LaTeX."""
    assert plain(e) == text
    assert latex(e) == tex


def test_jacobian_is_shown_with_its_derivative() -> None:
    """The record of a derivative has it in its statement, in the terminal and on the page."""
    assert "∂p_i/∂a_j = p_i (δ_ij - p_j)" in str(JACOBIAN)
    assert r"\frac{\partial p_{i}}{\partial a_{j}} = " in JACOBIAN._repr_markdown_()
