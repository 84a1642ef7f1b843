"""Bounds, limits and inductions: each record is what attnref computes."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from operator import mul
from typing import Any

import numpy as np
import pytest
from mpmath import mp
from numpy.typing import NDArray
from sympy import Rational, exp, log, simplify

import attnref
import oracle
from attnref.derivations.alibi import ALBD, ALBZ, ENDLESS
from attnref.derivations.bounds import LZLO, LZUP
from attnref.derivations.covariance_around import PAXT, i, j, mu
from attnref.derivations.covariance_merge import CMRG
from attnref.derivations.divergence import BREG
from attnref.derivations.lead import LOGN, LOGP
from attnref.derivations.linear import LINA, LINS
from attnref.derivations.online import ONLN
from attnref.derivations.temperature import TGAP, TZER
from attnref.derivations.variational import VARI, VENT
from samples import eighths, normal
from statements import Numbers, evaluated, in_powers_of_two, written_out

S, D_K, D_V = 7, 3, 2

Floats = NDArray[np.floating]
Exact = Any  # an mpf; mpmath has no types


def _column(*numbers: Any) -> oracle.Numbers:
    return np.array(numbers, dtype=object)


def _exactly(numbers: Floats) -> list[Fraction]:
    return [Fraction(x) for x in numbers.tolist()]


# Bounds -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, S])
def test_log_z_is_at_least_every_score(size: int) -> None:
    """LZLO: both sides, evaluated, stand as log_partition says, and are one for a single key."""
    a = eighths(size) / 16
    truth = oracle.rows(a[None]).log_z
    z = sum(exp(Rational(x)) for x in a.tolist())
    right = evaluated(LZLO.statement.rhs, {"Z": z})
    oracle.assert_near(attnref.log_partition(a[None]), _column(right), truth.bound("float64"))
    left = [evaluated(LZLO.statement.lhs, {"s": s + 1, "a": a}) for s in range(size)]
    least = float(attnref.log_partition(a)) + float(truth.bound("float64")[0])
    assert max(left) == a.max()
    assert max(left) <= least
    assert (max(left) == right) == (size == 1)


@pytest.mark.parametrize("above", [0.0, 0.5])
def test_log_z_exceeds_the_greatest_score_by_log_m_at_most(above: float) -> None:
    """LZUP: the right side is above log_partition for any bound of the scores."""
    a = eighths(S) / 16
    bound = oracle.rows(a[None]).log_z.bound("float64")[0]
    right = evaluated(LZUP.statement.rhs, {"M": a.max() + above, "m": S})
    assert attnref.log_partition(a) - bound <= right


def test_equal_scores_attain_the_bound_of_log_z() -> None:
    """LZUP: for equal scores the right side is what log_partition gives, and no other bound is."""
    a = np.full((1, S), 2.5)
    right = evaluated(LZUP.statement.rhs, {"M": 2.5, "m": S})
    bound = oracle.rows(a).log_z.bound("float64")
    oracle.assert_near(attnref.log_partition(a), _column(right), bound)


# One key ahead of many ----------------------------------------------------------------------------


def _ahead(lead: float, others: int, scale: float) -> tuple[Floats, oracle.Bounds]:
    """Return the weights of one key and of others that are behind, and how far off they may be."""
    query, key = np.ones((1, 1)), np.array([[1.25], *[[1.25 - lead]] * others])
    truth = oracle.weights(query, key, scale=scale).weights
    return attnref.attention_weights(query, key, scale=scale)[0], truth.bound("float64")[0]


CONTESTS = [(lead, others) for lead in (2.0, 0.5, -1.0) for others in (1, 2, 31)]


@pytest.mark.parametrize(("lead", "others"), CONTESTS)
def test_weight_of_the_key_ahead(lead: float, others: int) -> None:
    """LOGP: the right side is the weight that attnref gives the key ahead."""
    weights, bound = _ahead(lead, others, 0.5)
    right = evaluated(LOGP.statement.rhs, {"r": others, "beta": 0.5, "Delta": lead})
    oracle.assert_near(weights[:1], _column(right), bound[:1])


@pytest.mark.parametrize(("lead", "others"), CONTESTS)
def test_lead_from_the_weight_of_the_key_ahead(lead: float, others: int) -> None:
    """LOGN: the right side, given weights of attnref, is the lead they come from."""
    weights, bound = _ahead(lead, others, 0.5)
    first, *rest = _exactly(weights)
    right = evaluated(LOGN.statement.rhs, {"r": others, "p": first, "w": sum(rest)})
    off = [bound[0] / weights[0], bound[1:].sum() / float(sum(rest))]
    assert abs(right - mp.mpf(0.5 * lead)) <= -sum(map(math.log1p, np.negative(off)))


# Temperature --------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [0.0, 0.5, 2.0, 16.0])
def test_greatest_score_leaves_little_to_the_others(scale: float) -> None:
    """TGAP: the right side is more than attnref gives all other keys together."""
    query, key = np.ones((1, 1)), eighths(S, 1) / 16
    x = np.sort(key[:, 0])
    gap = x[-1] - x[-2]
    assert gap > 0
    weights = np.sort(attnref.attention_weights(query, key, scale=scale)[0])
    bound = oracle.weights(query, key, scale=scale).weights.bound("float64").sum()
    right = evaluated(TGAP.statement.rhs, {"r": S - 1, "beta": scale, "Delta": gap})
    left = sum(_exactly(weights[:-1]))
    assert float(left) - bound <= right


@pytest.mark.parametrize("scale", [2.0, 4.0, 8.0, 16.0])
def test_others_at_the_gap_nearly_attain_its_bound(scale: float) -> None:
    """TGAP: where all others are at the gap, their weight is the bound over 1 and the bound."""
    weights, bounds = _ahead(2.0, S - 1, scale)
    rhs = TGAP.statement.rhs
    rest = Rational(sum(_exactly(weights[1:])))
    error = evaluated(rhs / (1 + rhs) - rest, {"r": S - 1, "beta": scale, "Delta": 2})
    assert abs(error) <= bounds.sum()


def test_scale_of_zero_gives_the_mean() -> None:
    """TZER: the right side is what attention gives at scale 0, whatever the keys."""
    query, key, value = normal(2, D_K), normal(S, D_K), normal(S, D_V)
    mean = [evaluated(TZER.statement.rhs, {"m": S, "v": value[:, c]}) for c in range(D_V)]
    truth = oracle.attention(query, key, value, scale=0.0).output
    output = attnref.attention(query, key, value, scale=0.0)
    oracle.assert_near(output, np.array([mean, mean]), truth.bound("float64"))


# Energy and entropy -------------------------------------------------------------------------------


def _row() -> tuple[Floats, Floats, oracle.Bounds, float]:
    """Return scores, weights of attnref, and how far they and log_partition may be off."""
    a = normal(S)
    truth = oracle.rows(a[None])
    bounds = truth.weights.bound("float64")[0], float(truth.log_z.bound("float64")[0])
    return a, attnref.softmax(a), *bounds


def _best(a: Floats, weights: Any, name: str, record: Any) -> Exact:
    """Return the mean score and the entropy of weights, both from the record."""
    (entropy,) = next(law for law in record.definitions if law.name == "entropy").equalities
    numbers = {"m": S, "a": a, name: weights}
    in_symbols = record.statement.lhs.xreplace({entropy.lhs: entropy.rhs})
    return evaluated(in_symbols, numbers)


def test_log_z_is_the_mean_score_and_the_entropy() -> None:
    """VENT: the left side, given weights of attnref, is log_partition."""
    # Σ p (a − log p) moves by log Z − 1 times what a weight does, and by its square over p at most.
    a, weights, off, off_log_z = _row()
    log_z = float(attnref.log_partition(a))
    slack = off.sum() * (abs(log_z) + 1) + (off**2 / weights).sum() + off_log_z
    assert abs(_best(a, _exactly(weights), "p", VENT) - mp.mpf(log_z)) <= slack


def test_other_weights_fall_short_by_their_divergence() -> None:
    """VARI: the left side is less than log_partition, by the divergence from attnref's weights."""
    a, weights, off, off_log_z = _row()
    shares = (abs(eighths(S, seed=1)) * 8 + 1).astype(int).tolist()
    pi = [Fraction(share, sum(shares)) for share in shares]
    short = mp.mpf(float(attnref.log_partition(a))) - _best(a, pi, "pi", VARI)
    step = next(step for step in VARI.steps if step.name == "divergence").expression
    less = evaluated(step, {"m": S, "Z": 1, "pi": pi, "p": _exactly(weights)})
    assert off_log_z < short
    assert abs(short + less) <= off_log_z - math.log1p(-(off / weights).max())


def test_divergence_is_what_log_z_lies_above_its_tangent() -> None:
    """BREG: each step, given log Z and weights of attnref for two queries, is one number."""
    key, queries, beta = eighths(S, D_K) / 16, eighths(2, D_K) / 16, 0.5
    truth = oracle.weights(queries, key, scale=beta)
    p, a = (
        attnref.attention_weights(queries, key, scale=beta),
        attnref.scores(queries, key, scale=beta),
    )
    log_z = attnref.log_partition(a)
    numbers: Numbers = {
        "m": S,
        "d_k": D_K,
        "beta": beta,
        "k": key,
        **{"q": queries[0], "a": a[0], "L": log_z[0], "p": p[0]},
        **{"q'": queries[1], "a'": a[1], "L'": log_z[1], "p'": p[1]},
    }
    lines = [evaluated(step.expression, numbers) for step in BREG.steps[:-1]]
    off, off_log_z = truth.weights.bound("float64"), truth.log_z.bound("float64")
    spread = abs(a[1] - a[0]) + abs(log_z[1] - log_z[0])
    slack = off[0] @ spread + 2 * off_log_z.sum() - math.log1p(-(off / p).max()) * 2
    assert (truth.scores.exact == oracle.exactly(a)).all()
    assert max(lines) - min(lines) <= slack
    assert slack < lines[0]


# Inductions ---------------------------------------------------------------------------------------

EXPONENTS = [3, -2, 5, 0, -7, 4]
"""Of the states, from the one before the first block: no maxima, and nothing else."""
BLOCKS = {"c": [2, -1, 6, 0, 3], "x": [Rational(3, 2), Rational(-5), Rational(7, 4), 1, -2]}


def _states() -> Iterator[tuple[int, Numbers]]:
    """Fold block after block as the record says, and yield the states so far, by powers of two."""
    numbers: dict[str, Any] = {"m": dict(enumerate(EXPONENTS)), "X": {0: Rational(0)}}
    (fold,) = next(law for law in ONLN.definitions if law.name == "fold").equalities
    for n in range(len(BLOCKS["c"])):
        yield n, {"n": n, **numbers, **BLOCKS}
        numbers["X"][n + 1] = in_powers_of_two(fold.rhs, {"n": n, **numbers, **BLOCKS})


def test_folded_states_stand_for_all_blocks() -> None:
    """ONLN: both sides are one exact number for every number of blocks, at any exponents."""
    for n, numbers in _states():
        left, right = (in_powers_of_two(side, numbers) for side in ONLN.statement.args)
        assert left == right, n


def test_each_step_of_folding_is_the_same_number() -> None:
    """ONLN: from P(n) to P(n + 1) all lines agree, by plain loops."""
    *_, (n, numbers) = _states()
    assert ONLN.induction is not None
    lines = [step.expression for step in ONLN.induction.step]
    assert n > 1
    assert len({in_powers_of_two(line, numbers) for line in lines}) == 1


@pytest.mark.parametrize("sizes", [(1,) * S, (2, 5), (3, 1, 3), (S,)], ids=str)
def test_blocks_of_attnref_fold_into_attention_to_all_keys(sizes: tuple[int, ...]) -> None:
    """ONLN: given log Z and output of each block, the right side is Z and N of all keys."""
    # log Z moves by what those of the blocks do at most. A share σ_b moves by σ_b times twice that.
    query, key, value = normal(1, D_K), normal(S, D_K), normal(S, D_V)
    ends = np.cumsum((0, *sizes))
    c, y, off, off_y = [], [], [], []
    for first, last in pairwise(ends):
        part = query, key[first:last], value[first:last]
        truth = oracle.attention(*part)
        c.append(attnref.log_partition(attnref.scores(*part[:2]))[0])
        y.append(attnref.attention(*part)[0])
        off.append(truth.log_z.bound("float64")[0])
        off_y.append(truth.output.bound("float64")[0])
    numbers = {"n": len(sizes), "c": c}
    z = written_out(ONLN.statement.rhs, {**numbers, "x": [1] * len(sizes)})
    truth = oracle.attention(query, key, value)
    assert abs(evaluated(log(z), {}) - truth.log_z.exact[0]) <= max(off)
    for e in range(D_V):
        column = [part[e] for part in y]
        n = written_out(ONLN.statement.rhs, {**numbers, "x": column})
        slack = max(part[e] for part in off_y) + math.expm1(2 * max(off)) * max(map(abs, column))
        assert abs(evaluated(n / z, {}) - truth.output.exact[0, e]) <= slack


def _alibi(head: int, keys: int) -> tuple[Floats, Numbers]:
    """Return the bias of the last query, and what the records call it."""
    bias = attnref.masks.alibi(4, 1, keys, offset=keys - 1)[head]
    slope = Rational(1, 4 ** (head + 1))
    (endless,) = ENDLESS.equalities
    return bias, {"n": keys, "mu": slope, "W": written_out(endless.rhs, {"mu": slope})}


@pytest.mark.parametrize("keys", [2, 3, 11])
@pytest.mark.parametrize("head", [0, 1, 3])
def test_normaliser_of_alibi(keys: int, head: int) -> None:
    """ALBZ: the logarithm of the right side is log_partition of the bias alone."""
    bias, numbers = _alibi(head, keys)
    log_z = evaluated(log(ALBZ.statement.rhs), numbers)
    bound = oracle.rows(bias).log_z.bound("float64")
    oracle.assert_near(attnref.log_partition(bias), _column(log_z), bound)


@pytest.mark.parametrize("keys", [2, 3, 11])
@pytest.mark.parametrize("head", [0, 1, 3])
def test_mean_distance_under_alibi(keys: int, head: int) -> None:
    """ALBD: over ALBZ, the right side is the output where values are distances."""
    bias, numbers = _alibi(head, keys)
    nothing, distances = np.zeros((keys, 1)), np.arange(keys, dtype="float64")[::-1, None]
    truth = oracle.attention(nothing[:1], nothing, distances, bias=bias).output
    output = attnref.attention(nothing[:1], nothing, distances, bias=bias)
    mean = evaluated(ALBD.statement.rhs / ALBZ.statement.rhs, numbers)
    oracle.assert_near(output[0], _column(mean), truth.bound("float64")[0])


@pytest.mark.parametrize(("keys", "z", "log_z"), [(0, 0, -math.inf), (1, 1, 0.0)])
def test_alibi_of_no_key_or_one(keys: int, z: int, log_z: float) -> None:
    """ALBZ and ALBD: Z is 0 or 1, as log_partition says, and there is no distance yet."""
    bias, numbers = _alibi(0, keys)
    assert attnref.log_partition(bias).tolist() == [log_z]
    assert simplify(written_out(ALBZ.statement.rhs, numbers)) == z
    assert simplify(written_out(ALBD.statement.rhs, numbers)) == 0


# Linear attention ---------------------------------------------------------------------------------

FEATURES = 5


def _features() -> tuple[Floats, Floats, Floats]:
    """Return features of a query and of keys, small positive eighths, and values."""
    f, g = (abs(eighths(*shape)) / 8 + 0.125 for shape in ((FEATURES,), (S, FEATURES)))
    return f, g, normal(S, D_V)


def test_linear_attention_is_attention_with_a_bias() -> None:
    """LINA: the right side is what attention gives for the logarithms of the products as a bias."""
    # Where a score is off by ε, each weight is by at most exp(2ε) − 1 times itself.
    f, g, value = _features()
    products = [sum(map(mul, _exactly(f), _exactly(key))) for key in g]
    bias = np.log([[float(x) for x in products]])
    off = max(
        abs(evaluated(log(Rational(x)) - Rational(b), {}))
        for x, b in zip(products, bias[0].tolist(), strict=True)
    )
    nothing = np.zeros((S, 1))
    truth = oracle.attention(nothing[:1], nothing, value, bias=bias).output
    output = attnref.attention(nothing[:1], nothing, value, bias=bias)
    rounding = truth.bound("float64") + math.expm1(2 * off) * abs(value).max(axis=0)
    state = {"d_f": FEATURES, "f": f, "z": [sum(map(Fraction, x)) for x in g.T.tolist()]}
    right = [
        evaluated(LINA.statement.rhs, {**state, "S": _sums(g, value[:, e])}) for e in range(D_V)
    ]
    oracle.assert_near(output, np.array([right]), rounding)


def _sums(g: Floats, value: Floats) -> list[Fraction]:
    """Return the sum of the values by each feature, without rounding."""
    return [sum(map(mul, _exactly(x), _exactly(value)), Fraction()) for x in g.T]


def test_keys_added_to_the_state_are_read_from_it() -> None:
    """LINS: added as the record says, the state gives both sides one exact number."""
    f, g, value = _features()
    (added,) = next(law for law in LINS.definitions if law.name == "addition").equalities
    numbers: dict[str, Any] = {"d_f": FEATURES, "f": f, "g": g, "v": value[:, 0]}
    states: list[list[Any]] = [[Fraction()] * FEATURES]  # S_0 stays last: its place is index −1
    for n in range(S):
        now = {**numbers, "n": n, "S": states}
        assert written_out(LINS.statement.lhs, now) == written_out(LINS.statement.rhs, now)
        new = [written_out(added.rhs, {**now, "c": e + 1}) for e in range(FEATURES)]
        states.insert(n, new)


# Covariances --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Moments:
    """log Z, means and mean products of keys by attnref's weights, and how far off they may be."""

    log_z: float
    mean: Floats
    square: Floats
    log_z_off: float
    mean_off: Floats
    square_off: Floats

    def covariance(self, a: int, b: int) -> Fraction:
        """Return the mean product less the product of the means, without rounding."""
        return Fraction(self.square[a, b]) - Fraction(self.mean[a]) * Fraction(self.mean[b])

    def covariance_off(self, a: int, b: int) -> float:
        """Return how far it may be off."""
        return float(self.square_off[a, b]) + _product_off(self.mean, self.mean_off, a, b)


def _product_off(x: Floats, off: Floats, a: int, b: int) -> float:
    return float(abs(x[a]) * off[b] + abs(x[b]) * off[a] + off[a] * off[b])


def _moments(query: Floats, key: Floats) -> _Moments:
    d = key.shape[1]
    products = (key[:, :, None] * key[:, None, :]).reshape(len(key), d * d)
    value = np.hstack([key, products])
    truth = oracle.attention(query, key, value)
    output, off = attnref.attention(query, key, value)[0], truth.output.bound("float64")[0]
    log_z, log_z_off = (
        attnref.log_partition(attnref.scores(query, key)),
        truth.log_z.bound("float64"),
    )
    squares = (x[d:].reshape(d, d) for x in (output, off))
    own, own_off = squares
    return _Moments(log_z[0], output[:d], own, log_z_off[0], off[:d], own_off)


def _covariances(*parts: _Moments) -> list[list[list[Fraction]]]:
    size = range(D_K)
    return [[[part.covariance(a, b) for b in size] for a in size] for part in parts]


PAIRS = [(a, b) for a in range(D_K) for b in range(D_K)]


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_products_around_a_point(a: int, b: int) -> None:
    """PAXT: over Z, the right side is the mean product of keys less the point, by attnref."""
    query, key, point = normal(1, D_K), eighths(S, D_K) / 16, eighths(D_K, seed=1) / 16
    own, moved = _moments(query, key), _moments(query, key - point)
    at_point = {mu[x]: Rational(float(point[e])) for x, e in ((i, a), (j, b))}
    numbers: Numbers = {"A": 1, "i": a + 1, "j": b + 1, "Z": [1], "mu": own.mean[None]}
    right = PAXT.statement.rhs.xreplace(at_point)
    measured = Rational(float(moved.square[a, b]))
    error = evaluated(right - measured, {**numbers, "C": _covariances(own)})
    slack = own.covariance_off(a, b) + float(moved.square_off[a, b])
    assert abs(error) <= slack + _product_off(own.mean - point, own.mean_off, a, b)


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_covariances_of_two_parts_merge(a: int, b: int) -> None:
    """CMRG: the right side, given attnref's moments of two parts, is the covariance of all keys."""
    # A share moves by a quarter of what log Z_1 − log Z_2 does, and the product of both by less.
    query, key = normal(1, D_K), eighths(S, D_K) / 16
    whole, *parts = (_moments(query, part) for part in (key, key[:3], key[3:]))
    first, second = parts
    share = 1 / (1 + Fraction(math.exp(second.log_z - first.log_z)))
    delta = first.mean - second.mean
    numbers = {"i": a + 1, "j": b + 1, "w": [share, 1 - share], "delta": delta.tolist()}
    measured = Rational(whole.covariance(a, b))
    error = evaluated(CMRG.statement.rhs - measured, {**numbers, "C": _covariances(*parts)})
    off_share = (first.log_z_off + second.log_z_off) / 4 + 2 * np.finfo("float64").eps
    apart = abs(float(first.covariance(a, b) - second.covariance(a, b)))
    slack = max(part.covariance_off(a, b) for part in parts) + whole.covariance_off(a, b)
    slack += off_share * (apart + abs(float(delta[a] * delta[b])))
    off_delta = first.mean_off + second.mean_off + np.finfo("float64").eps * abs(delta)
    slack += _product_off(delta, off_delta, a, b) / 4
    assert abs(error) <= slack
