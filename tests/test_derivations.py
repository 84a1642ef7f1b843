"""The derivations: every step holds, every mistake is caught, every claim agrees with the code."""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product as all_of

import numpy as np
import pytest
from numpy.typing import NDArray
from sympy import Expr, Indexed, IndexedBase, Integer, Sum, Symbol

import attnref
from attnref.derivations import RECORDS, Record, Variant, check, get, verify
from attnref.derivations._chains import Line
from attnref.derivations._operators import Inner
from attnref.derivations._proof import Outcome, prove
from attnref.derivations._verify import judged
from slips import slips, survivors, turned
from sums_by_hand import Array, World, value

LINES = [
    pytest.param(record, line, id=f"{record.tag}-{line.address}")
    for record in RECORDS
    for line in record.lines
]
VARIANTS = [
    pytest.param(record, variant, id=f"{record.tag}-{variant.name.replace(' ', '-')}")
    for record in RECORDS
    for variant in record.variants
]
each_record = pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.tag)
each_line = pytest.mark.parametrize(("record", "line"), LINES)

EQUIVALENT = {
    ("VDOT", "split", "E[q_j² k_i²]"): "δ_ij makes i and j the same",
    ("VDOT", "split", "E[q_i² k_j²]"): "δ_ij makes i and j the same",
}
"""Slips that are no mistakes: record, step, and what stands in them and not in the original."""


@each_line
def test_step_refuses_every_slip(record: Record, line: Line) -> None:
    """One slip anywhere in a step, and the step is refused, unless the slip changes no value."""
    known = [mark for tag, at, mark in EQUIVALENT if (tag, at) == (record.tag, line.address)]
    found = survivors(record, line)
    assert len(found) == len(known)
    assert all(any(mark in survivor for mark in known) for survivor in found)


@each_line
def test_inequality_has_one_direction(record: Record, line: Line) -> None:
    """What is at most the next line is not equal to it, and the next line is not at most it."""
    if line.step.relation == "<=":
        equality = replace(line, step=replace(line.step, relation="="))
        for wrong in (turned(line), equality):
            assert judged(record, wrong).outcome in (Outcome.NOT_AT_MOST, Outcome.NOT_EQUAL)


@each_record
def test_slips_are_many_and_of_every_kind(record: Record) -> None:
    """The mutator has something to change in every step, in at least six ways in all."""
    kinds = [{kind for kind, _ in slips(record, line.step.expression)} for line in record.lines]
    assert all(kinds)
    assert len(set[str]().union(*kinds)) >= 6


# The check ----------------------------------------------------------------------------------------


@each_record
def test_record_is_proved(record: Record) -> None:
    """Every step is proved, every variant refused, and nothing else is amiss."""
    verdict = check(record)
    assert verdict.failures == ()
    assert [result.name for result in verdict.steps] == [line.address for line in record.lines]


@pytest.mark.parametrize(("record", "variant"), VARIANTS)
def test_variant_is_refused_for_being_wrong(record: Record, variant: Variant) -> None:
    """A mistake is refused because it is one, and not because the judge can't read it."""
    result = verify(record).variants[record.variants.index(variant)]
    assert result.good
    assert result.finding.outcome not in (Outcome.PROVED, Outcome.OUTSIDE)
    assert result.finding.detail


@each_line
def test_step_needs_every_law_it_names(record: Record, line: Line) -> None:
    """Without any one of the laws it names, a step is not proved."""
    for name in line.step.using:
        fewer = tuple(other for other in line.step.using if other != name)
        without = replace(line, step=replace(line.step, using=fewer))
        assert judged(record, without).outcome is not Outcome.PROVED, name


def test_division_by_what_may_be_zero_is_refused() -> None:
    """A step that divides by a sum of scores is refused even where both sides agree."""
    x, i, n = IndexedBase("x"), Symbol("i", integer=True), Symbol("n", integer=True, positive=True)
    quotient = x[1] / Sum(x[i], (i, 1, n))
    finding = prove(quotient, quotient, (), bound=())
    assert finding.outcome is Outcome.MAY_DIVIDE_BY_ZERO
    assert finding.detail == "nothing says that Σ_{i=1}^n x_i is positive"


# The claims, by plain loops -----------------------------------------------------------------------


def _attention_world(t: int) -> World:
    """Set 2 queries and 3 keys of 4 components, whole numbers such that all scores are whole."""
    query = {
        (1, 1): 4,
        (1, 2): 0,
        (1, 3): -4,
        (1, 4): 4,
        (2, 1): 0,
        (2, 2): 4,
        (2, 3): 4,
        (2, 4): 0,
    }
    key = {(s, e): (3 * s + 2 * e) % 5 - 1 for s in range(1, 4) for e in range(1, 5)}
    places = list(all_of((1, 2), (1, 2, 3)))
    scores = {(u, s): sum(query[u, e] * key[s, e] for e in range(1, 5)) // 2 for u, s in places}
    powers: dict[tuple[int, int], Fraction] = {us: Fraction(2) ** scores[us] for us in places}
    number = {(1,): 5, (2,): -2, (3,): 7}
    z = {(u,): sum((powers[u, s] for s in (1, 2, 3)), Fraction()) for u in (1, 2)}
    n = {(u,): sum((powers[u, s] * number[s,] for s in (1, 2, 3)), Fraction()) for u in (1, 2)}
    y = {row: n[row] / z[row] for row in n}
    arrays: dict[str, Array] = {"q": query, "k": key, "v": number, "a": scores, "Z": z, "y": y}
    return World({"t": t, "m": 3, "n": 2, "d_k": 4}, arrays, keys=3, depth=4)


Points = tuple[tuple[Fraction, int | Fraction], ...]
"""A distribution: probabilities and values."""

HALF = Fraction(1, 2)
COIN: Points = ((HALF, -1), (HALF, 1))
DIE: Points = ((Fraction(1, 8), -2), (Fraction(3, 4), 0), (Fraction(1, 8), 2))
WIDE: Points = ((HALF, -2), (HALF, 2))
LEFT: Points = ((HALF, -1), (HALF, 3))
RIGHT: Points = ((HALF, 1), (HALF, 2))


def _vectors(query: Sequence[Fraction | int], key: Sequence[Fraction | int]) -> dict[str, Array]:
    vectors = {"q": query, "k": key}
    return {name: {(e,): x for e, x in enumerate(xs, 1)} for name, xs in vectors.items()}


def _random_world(d: int, query: Points, key: Points) -> World:
    """Let 2d independent components take every combination of their values."""
    chances: list[tuple[Fraction, dict[str, Array]]] = []
    for outcome in all_of(*[query] * d, *[key] * d):
        probability = math.prod((p for p, _ in outcome), start=Fraction(1))
        numbers = [number for _, number in outcome]
        chances.append((probability, _vectors(numbers[:d], numbers[d:])))
    moments: dict[str, Fraction | int] = {}
    for name, points in {"q": query, "k": key}.items():
        mean = sum(p * number for p, number in points)
        square = sum((p * (number - mean) ** 2 for p, number in points), start=Fraction())
        root = Fraction(math.isqrt(square.numerator), math.isqrt(square.denominator))
        moments |= {f"mu_{name}": mean, f"sigma_{name}": root}
    return World({"d_k": d, **moments}, {}, tuple(chances), depth=d)


@pytest.mark.parametrize("t", [1, 2])
def test_z_form_steps_agree_by_plain_loops(t: int) -> None:
    """Each line of ZFRM is the output of the query, added up by hand."""
    world = _attention_world(t)
    lines = [get("ZFRM").statement.rhs, *(step.expression for step in get("ZFRM").steps)]
    assert {value(line, world) for line in lines} == {world.arrays["y"][t,]}


@pytest.mark.parametrize(
    ("query", "key", "last"),
    [(LEFT, RIGHT, "general"), (WIDE, COIN, "centred"), (DIE, COIN, "unit"), (COIN, COIN, "unit")],
    ids=["with means", "centred", "unit", "coins"],
)
@pytest.mark.parametrize("d", [1, 2, 3])
def test_variance_steps_agree_by_enumeration(d: int, query: Points, key: Points, last: str) -> None:
    """A line of VDOT is the variance, over all outcomes, just as far as the assumptions hold."""
    record, world = get("VDOT"), _random_world(d, query, key)
    names = [step.name for step in record.steps]
    variance = value(record.statement.lhs, world)
    holds = names.index(last) + 1
    assert {value(step.expression, world) for step in record.steps[:holds]} == {variance}
    assert all(value(step.expression, world) != variance for step in record.steps[holds:])


@pytest.mark.parametrize("d", [1, 4])
def test_scaled_variance_steps_agree_by_enumeration(d: int) -> None:
    """Each line of VSCL is 1, over all outcomes."""
    world = _random_world(d, COIN, COIN)
    assert {value(step.expression, world) for step in get("VSCL").steps} == {1}
    assert value(get("VSCL").statement.lhs, world) == 1


WORLDS = {
    "ZFRM": [_attention_world(1), _attention_world(2)],
    "VSCL": [_random_world(4, COIN, COIN)],
    "VDOT": [_random_world(2, LEFT, RIGHT), _random_world(2, COIN, COIN)],
}


@pytest.mark.parametrize(
    ("record", "variant"),
    [(get(tag), v) for tag in WORLDS for v in get(tag).variants if v.expression is not None],
    ids=lambda part: part.name.replace(" ", "-") if isinstance(part, Variant) else part.tag,
)
def test_variant_is_another_number(record: Record, variant: Variant) -> None:
    """A wrong formula gives another number than the line it replaces."""
    step = next(step for step in record.steps if step.name == variant.step)
    assert any(
        value(variant.expression, world) != value(step.expression, world)
        for world in WORLDS[record.tag]
    )


def test_general_variance_of_uniform_numbers() -> None:
    """Uniform numbers in [0, 1) give 7 d_k/144: 6/144 of them come from the means."""
    general = next(step.expression for step in get("VDOT").steps if step.name == "general")
    twelfth = Integer(1) / 12
    uniform = {"mu_q": HALF, "mu_k": HALF, "sigma_q": twelfth**HALF, "sigma_k": twelfth**HALF}
    numbers = {s: uniform[s.name] for s in general.free_symbols if s.name in uniform}
    assert general.subs(numbers) / Symbol("d_k", integer=True, positive=True) == Integer(7) / 144


def test_dependence_breaks_the_variance() -> None:
    """Equal components make the variance d_k²; a vector with itself has another one, too."""
    statement = get("VDOT").statement
    coins = list(all_of((-1, 1), repeat=2))
    equal = [(Fraction(1, 4), _vectors((a, a), (b, b))) for a, b in coins]
    itself = [(Fraction(1, 4), _vectors(coin, coin)) for coin in coins]
    for chances, variance in ((equal, 4), (itself, 0)):
        world = World({"d_k": 2}, {}, tuple(chances), depth=2)
        assert value(statement.lhs, world) == variance
        assert value(statement.rhs, world) == 2


def test_z_form_is_what_attention_computes() -> None:
    """The statement, a plain loop over math.exp and attnref.attention are the same numbers."""
    draw = np.random.default_rng(0)
    q, k, v = draw.normal(size=(2, 5)), draw.normal(size=(3, 5)), draw.normal(size=(3, 7))
    output = attnref.attention(q, k, v)
    for t, e in all_of(range(2), range(7)):
        scores = [math.fsum(q[t] * k[s]) / math.sqrt(5) for s in range(3)]
        z = math.fsum(map(math.exp, scores))
        by_hand = math.fsum(math.exp(a) * v[s, e] for s, a in enumerate(scores)) / z
        # float64 rounds the dozen operations of each by 1.1e-16; 1e-14 leaves room for cancellation
        assert output[t, e] == pytest.approx(by_hand, rel=1e-14, abs=1e-14)
        assert _statement(q[t] @ k.T, v[:, e], z) == pytest.approx(by_hand, rel=1e-14, abs=1e-14)


def _statement(inner: NDArray[np.float64], values: NDArray[np.float64], z: float) -> float:
    """Evaluate the right side of ZFRM for 3 keys of 5 components."""
    rhs = get("ZFRM").statement.rhs
    sizes = {"m": 3, "d_k": 5}
    written = rhs.subs({s: sizes[str(s)] for s in rhs.free_symbols if str(s) in sizes}).doit()
    numbers: dict[Expr, float] = {
        product: float(inner[int(product.args[1].indices[0]) - 1])
        for product in written.atoms(Inner)
    }
    for part in written.atoms(Indexed):
        if str(part.base) == "v":
            numbers[part] = float(values[int(part.indices[0]) - 1])
        elif str(part.base) == "Z":
            numbers[part] = z
    return float(written.xreplace(numbers))
