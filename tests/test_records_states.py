"""Shifts, partial states, sinks, copies and kernels: each record is what attnref computes."""

import math
from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sympy import Expr, Rational, exp, log, symbols

import attnref
import oracle
from attnref.derivations import Record, Variant
from attnref.derivations._operators import Merged
from attnref.derivations.blocks import MBLK
from attnref.derivations.duplicates import DUPL
from attnref.derivations.empty_row import SEMP
from attnref.derivations.kernel import KGAU, KRNL
from attnref.derivations.merging import MSHF
from attnref.derivations.monoid import MASS, MCOM, MIDN
from attnref.derivations.shifts import KSHF, SHFT
from attnref.derivations.sinks import MSNK, SINK
from samples import eighths, normal
from statements import Numbers, evaluated, in_powers_of_two

L, S, D_K, D_V = 2, 3, 5, 2
A, B, C, EMPTY = symbols("A B C 0", integer=True)
ONE = 1.0
"""A scale at which the scores of eighths are exact, so that a statement can be given them."""

Floats = NDArray[np.floating]


def _eighths() -> tuple[Floats, Floats, Floats, Floats]:
    """Return query, key and value of small eighths, and their scores, which are exact."""
    query, key = eighths(L, D_K) / 16, eighths(S, D_K) / 16
    a = attnref.scores(query, key, scale=ONE)
    assert (oracle.exactly(a) == oracle.weights(query, key, scale=ONE).scores.exact).all()
    return query, key, normal(S, D_V), a


def _rows(e: Expr, value: Floats, numbers: Callable[[int], Numbers]) -> oracle.Numbers:
    """Evaluate a line for each query and each component of the values."""
    result = np.empty((L, value.shape[1]), dtype=object)
    for t, c in np.ndindex(*result.shape):
        result[t, c] = evaluated(e, {"t": t + 1, "v": value[:, c], **numbers(t)})
    return result


# Shifts -------------------------------------------------------------------------------------------


def test_shifted_scores_give_the_same_output() -> None:
    """SHFT: the left side, evaluated, is the output of both the shifted and the plain scores."""
    query, key, value, a = _eighths()
    shift = eighths(L, 1, seed=1)
    line = _rows(SHFT.statement.lhs, value, lambda _: {"m": S, "a": a, "c": shift[:, 0]})
    for bias in (np.broadcast_to(shift, a.shape), None):
        truth = oracle.attention(query, key, value, bias=bias, scale=ONE).output
        output = attnref.attention(query, key, value, bias=bias, scale=ONE)
        oracle.assert_near(output, line, truth.bound("float64"))


def test_shift_multiplies_the_normaliser() -> None:
    """SHFT: log Z grows by the shift, and the weights do not change."""
    a, shift = eighths(L, S) / 16, eighths(L, 1, seed=1)
    plain, shifted = oracle.rows(a), oracle.rows(a + shift)
    expected = plain.log_z.exact + oracle.exactly(shift[:, 0])
    oracle.assert_near(attnref.log_partition(a + shift), expected, shifted.log_z.bound("float64"))
    oracle.assert_near(
        attnref.softmax(a + shift), plain.weights.exact, shifted.weights.bound("float64")
    )


def test_one_vector_added_to_every_key_gives_the_same_output() -> None:
    """KSHF: the left side, evaluated, is the output for the moved and for the old keys."""
    query, key, value, _ = _eighths()
    vector = eighths(D_K, seed=2) / 16
    line = _rows(
        KSHF.statement.lhs,
        value,
        lambda _: {"m": S, "d_k": D_K, "q": query, "k": key, "u": vector, "beta": 1},
    )
    for moved in (key + vector, key):
        truth = oracle.attention(query, moved, value, scale=ONE).output
        oracle.assert_near(
            attnref.attention(query, moved, value, scale=ONE), line, truth.bound("float64")
        )


# Partial states -----------------------------------------------------------------------------------

SUMS = {A: Rational(3, 4), B: Rational(-5, 2), C: Rational(7, 3), EMPTY: Rational(0)}
EXPONENTS = {A: 2, B: -3, C: 5, EMPTY: 11}


def _states(*nested: Merged) -> Numbers:
    """Return states and what they merge into, at exponents of no meaning, in powers of two."""
    m, x = dict[Expr, Any](EXPONENTS), dict[Expr, Any](SUMS)
    for place, state in enumerate(nested):
        m[state] = 7 - 4 * place
        x[state] = sum(x[part] * Rational(2) ** (m[part] - m[state]) for part in state.args)
    return {"m": m, "X": x}


@pytest.mark.parametrize(
    ("record", "states"),
    [
        (MCOM, (Merged(A, B), Merged(B, A))),
        (
            MASS,
            (
                Merged(A, B),
                Merged(Merged(A, B), C),
                Merged(B, C),
                Merged(A, Merged(B, C)),
            ),
        ),
        (MIDN, (Merged(A, EMPTY),)),
    ],
    ids=lambda part: part.tag if isinstance(part, Record) else "",
)
def test_merged_states_obey_the_laws_of_a_monoid(
    record: Record, states: tuple[Merged, ...]
) -> None:
    """MCOM, MASS, MIDN: both sides are one exact number, and each step is that number, too."""
    numbers = _states(*states)
    lines = [*record.statement.args, *(step.expression for step in record.steps)]
    assert len({in_powers_of_two(line, numbers) for line in lines}) == 1


def _block(query: Floats, key: Floats, value: Floats) -> tuple[Any, Any, Any, Any]:
    """Return output and log Z of a block, from attnref, and how far both may be off."""
    truth = oracle.attention(query, key, value)
    output, weights = attnref.attention(query, key, value), attnref.scores(query, key)
    bounds = truth.output.bound("float64"), truth.log_z.bound("float64")
    return output, attnref.log_partition(weights), *bounds


def test_blocks_of_attnref_merge_into_attention_to_all_keys() -> None:
    """MSHF: the statement, given outputs and log Z of two blocks, is the output of all keys."""
    # With σ the share of the first block, y = σ y_A + (1 − σ) y_B, and σ changes by at most a
    # quarter of what log Z_A − log Z_B does.
    query, key, value = normal(L, D_K), normal(7, D_K), normal(7, D_V)
    first, second = _block(query, key[:3], value[:3]), _block(query, key[3:], value[3:])
    truth = oracle.attention(query, key, value).output
    for t, c in np.ndindex(L, D_V):
        (y_a, l_a, e_a, f_a), (y_b, l_b, e_b, f_b) = (
            (y[t, c], z[t], e[t, c], f[t]) for y, z, e, f in (first, second)
        )
        states = {
            "m": {A: l_a, B: l_b},
            "Z": {A: 1, B: 1},
            "N": {A: y_a, B: y_b},
        }
        bound = max(e_a, e_b) + abs(y_a - y_b) * (f_a + f_b) / 4
        error = abs(evaluated(MSHF.statement.rhs, states) - truth.exact[t, c])
        assert error <= bound


def test_two_blocks_of_keys_are_attention_to_all() -> None:
    """MBLK: the right side, evaluated, is the output of attnref, in either order of the blocks."""
    query, key, value, a = _eighths()
    truth = oracle.attention(query, key, value, scale=ONE).output
    for order in permutations(range(S)):
        first, second = list(order[:2]), list(order[2:])
        line = np.empty((L, D_V), dtype=object)
        for t, c in np.ndindex(L, D_V):
            numbers = {
                "S_A": 2,
                "S_B": 1,
                "a": a[t, first],
                "b": a[t, second],
                "v": value[first, c],
                "w": value[second, c],
            }
            line[t, c] = evaluated(MBLK.statement.rhs, numbers)
        output = attnref.attention(query, key[list(order)], value[list(order)], scale=ONE)
        oracle.assert_near(output, line, truth.bound("float64"))


def test_a_block_of_masked_keys_changes_nothing() -> None:
    """MIDN: keys that are all masked are an empty state."""
    query, key, value = normal(L, D_K), normal(7, D_K), normal(7, D_V)
    mask = np.arange(7) < 3
    truth = oracle.attention(query, key[:3], value[:3]).output
    oracle.assert_within(attnref.attention(query, key, value, mask=mask), truth)


# Sinks --------------------------------------------------------------------------------------------


def _sums(a: Floats, value: Floats) -> tuple[Expr, Expr]:
    """Return Z and N of one row and one component, in closed form."""
    powers = [exp(Rational(x)) for x in a.tolist()]
    return sum(powers), sum(w * Rational(x) for w, x in zip(powers, value.tolist(), strict=True))


def _hold(
    record: Record, output: Floats, truth: oracle.Truth, numbers: Callable[[int, int], Numbers]
) -> None:
    """Require that the right side, for query t and component c, is the output."""
    line = np.empty(output.shape, dtype=object)
    for t, c in np.ndindex(*line.shape):
        line[t, c] = evaluated(record.statement.rhs, {"t": 1, **numbers(t, c)})
    oracle.assert_near(output, line, truth.output.bound("float64"))


def test_sink_is_a_gate() -> None:
    """SINK: the output with a sink is the one without, times the share of the keys."""
    query, key, value, a = _eighths()
    sink = eighths(L, seed=3) / 16

    def numbers(t: int, c: int) -> Numbers:
        z, n = _sums(a[t], value[:, c])
        return {"sink": [sink[t]], "Z": [z], "y": [n / z]}

    output = attnref.attention(query, key, value, scale=ONE, sink=sink)
    _hold(SINK, output, oracle.attention(query, key, value, scale=ONE, sink=sink), numbers)


def test_sink_takes_its_share_of_the_weights() -> None:
    """SINK: the weights of the keys, with a sink, add up to the gate."""
    a, sink = eighths(L, S) / 16, eighths(L, seed=3) / 16
    truth, gate = oracle.rows(a, sink=sink), np.empty(L, dtype=object)
    for t in range(L):
        z, _ = _sums(a[t], np.zeros(S))
        numbers = {"t": 1, "sink": [sink[t]], "Z": [z], "y": [1]}
        gate[t] = evaluated(SINK.statement.rhs, numbers)
    total = np.array([math.fsum(row) for row in attnref.softmax(a, sink=sink)])
    oracle.assert_near(
        total, gate, truth.weights.bound("float64").sum(axis=-1) + oracle.unit("float64")
    )


def test_sink_is_merged_once() -> None:
    """MSNK: the state of all keys and the state of the sink merge into attention with a sink."""
    query, key, value, a = _eighths()
    sink = eighths(L, seed=3) / 16

    def numbers(t: int, c: int) -> Numbers:
        z, n = _sums(a[t] - 2, value[:, c])
        return {"sink": {B: sink[t]}, "m": {A: 2}, "Z": {A: z}, "N": {A: n}}

    output = attnref.attention(query, key, value, scale=ONE, sink=sink)
    _hold(MSNK, output, oracle.attention(query, key, value, scale=ONE, sink=sink), numbers)


@pytest.mark.parametrize("depth", [0.0, 3.5, 29.0, 700.0, 800.0])
def test_lowered_scores_with_a_sink_go_to_nothing(depth: float) -> None:
    """SEMP: the statement is the output of lowered scores, far down and beyond what floats hold."""
    query, key, value, a = _eighths()
    sink, lower = eighths(L, seed=3) / 16, np.full((L, S), -depth)

    def numbers(t: int, c: int) -> Numbers:
        z, n = _sums(a[t], value[:, c])
        return {"sink": [sink[t]], "Z": [z], "N": [n], "epsilon": exp(-Rational(depth))}

    output = attnref.attention(query, key, value, bias=lower, scale=ONE, sink=sink)
    truth = oracle.attention(query, key, value, bias=lower, scale=ONE, sink=sink)
    _hold(SEMP, output, truth, numbers)


def test_empty_row_is_the_limit_with_a_sink() -> None:
    """SEMP: at ε = 0 the statement is 0, and so is the output of a row without keys."""
    numbers = {"t": 1, "sink": [2], "Z": [3], "N": [5], "epsilon": 0}
    assert in_powers_of_two(SEMP.statement.rhs, numbers) == 0
    query, key, value = normal(L, D_K), normal(S, D_K), normal(S, D_V)
    nothing = np.zeros((L, S), dtype=bool)
    assert not attnref.attention(query, key, value, mask=nothing, sink=2.0).any()


# Copies and kernels -------------------------------------------------------------------------------


@pytest.mark.parametrize("times", [1, 2, 7])
def test_copies_of_a_key_are_one_key_with_a_bias(times: int) -> None:
    """DUPL: attention to copies, and to one key with the bias ln r, is the statement."""
    query, key, value, a = _eighths()
    copies = np.arange(S).repeat([1, 1, times])
    last = np.zeros((L, S))
    last[:, -1] = math.log(times)

    def numbers(t: int, c: int) -> Numbers:
        known = {"m": S - 1, "a": a[t : t + 1], "v": value[:, c]}
        return {**known, "x": a[t, -1], "w": value[-1, c], "b": log(times)}

    repeated, kept = key[copies], value[copies]
    copied = oracle.attention(query, repeated, kept, scale=ONE)
    _hold(DUPL, attnref.attention(query, repeated, kept, scale=ONE), copied, numbers)
    biased = attnref.attention(query, key, value, bias=last, scale=ONE)
    truth = oracle.attention(query, key, value, bias=last, scale=ONE)
    # The bias itself is rounded: half a unit of its last place, a relative error of the weight.
    slack = oracle.ulp(math.log(times), "float64") * truth.magnitude
    near = truth.output.bound("float64") + slack
    oracle.assert_near(
        biased, oracle.attention(query, repeated, kept, scale=ONE).output.exact, near
    )


def test_attention_is_a_kernel_average() -> None:
    """KRNL: the statement, with the length of each key written out, is the output."""
    query, key, value, _ = _eighths()
    lengths = [exp(sum(Rational(x) ** 2 for x in row) / 2) for row in key.tolist()]

    def numbers(t: int, c: int) -> Numbers:
        sizes = {"m": S, "d_k": D_K, "beta": 1}
        return {**sizes, "q": query[t : t + 1], "k": key, "v": value[:, c], "g": lengths}

    output = attnref.attention(query, key, value, scale=ONE)
    _hold(KRNL, output, oracle.attention(query, key, value, scale=ONE), numbers)


def test_equally_long_keys_make_a_gaussian_smoother() -> None:
    """KGAU: keys of one length, permutations and signs of one vector, make the statement true."""
    query, _, value, _ = _eighths()
    key = np.array([[3.0, -1, 2, 0, 1], [-1, 3, 0, 1, 2], [0, 2, -1, 3, -1]]) / 8

    def numbers(t: int, c: int) -> Numbers:
        sizes = {"m": S, "d_k": D_K, "beta": 1}
        return {**sizes, "q": query[t : t + 1], "k": key, "v": value[:, c]}

    output = attnref.attention(query, key, value, scale=ONE)
    _hold(KGAU, output, oracle.attention(query, key, value, scale=ONE), numbers)


# What is refused ----------------------------------------------------------------------------------

_ROW = {"t": 1, "m": 2, "a": [[1, -2]], "v": [3, -5]}
_Z, _N = Rational(9, 4), Rational(19, 4)  # 2¹ + 2⁻², 3·2¹ − 5·2⁻²
_SINK = {**_ROW, "Z": [_Z], "N": [_N], "y": [_N / _Z], "sink": [3]}
_KEYS = {**_ROW, "d_k": 2, "beta": 2, "q": [[1, -2]], "k": [[3, 4], [5, 0]]}
_PAIR = {"m": {A: 2, B: -3, Merged(A, B): 5}, "Z": {A: 3, B: 7}, "N": {A: -4, B: 9}}
WORLDS: tuple[tuple[Record, Numbers], ...] = (
    (SHFT, {**_ROW, "c": [3], "y": [_N / _Z]}),
    (KSHF, {**_KEYS, "u": [3, 1]}),
    (MSHF, _PAIR),
    (MBLK, {**_PAIR, "S_A": 2, "S_B": 1, "a": [1, -2], "b": [4], "v": [3, -5], "w": [7]}),
    (MCOM, _states(Merged(A, B), Merged(B, A))),
    (MASS, _states(Merged(A, B), Merged(Merged(A, B), C), Merged(B, C))),
    (MIDN, _states(Merged(A, EMPTY))),
    (SINK, {**_SINK, "m[]": [2]}),
    (MSNK, {**_PAIR, "sink": {B: 3}}),
    (SEMP, {**_SINK, "b": 2, "epsilon": Rational(1, 4)}),
    (DUPL, {**_ROW, "r": 4, "x": 1, "w": 7, "b": 2}),
    (KRNL, {**_KEYS, "k": [[3, 4], [1, 2]], "g": [2**25, 2**5]}),
    (KGAU, {**_KEYS, "R": 5}),
)
"""Exact numbers that obey the definitions of a record, with 2 for the base of exp."""

WRONG = [
    pytest.param(record, variant, numbers, id=f"{record.tag}-{variant.name.replace(' ', '-')}")
    for record, numbers in WORLDS
    for variant in record.variants
    if variant.expression is not None
]


@pytest.mark.parametrize(("record", "variant", "numbers"), WRONG)
def test_refused_line_is_another_number(record: Record, variant: Variant, numbers: Numbers) -> None:
    """A line is refused because it is wrong: in exact numbers, too, it is not the right one."""
    (step,) = (step for step in record.steps if step.name == variant.step)
    wrong, right = (in_powers_of_two(e, numbers) for e in (variant.expression, step.expression))
    assert wrong != right
