"""Gradients, softmax's Jacobian, caps and entropy: each record is what attnref computes.

The left side of a record is what autograd finds for attnref.torch in float64, the right side its
own formula in 60 digits, with weights and log Z of the oracle. Each term of a right side has at
most three weights and eight other factors and is a term of at most four sums; a derivative by
autograd is the same terms, rounded in another order. So it may be off by

    u (3 W + L + S + d_k + d_v + 16) M

where W is the error of a weight in units of its own size, and M the right side with the absolute
values of all its terms.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, TypeAlias

import numpy as np
import pytest
import sympy
import torch
from numpy.typing import NDArray
from sympy import Expr, Indexed
from torch import Tensor
from torch.autograd import functional

import attnref
import attnref.torch
import oracle
from attnref.derivations import Record
from attnref.derivations.backward import BWDS, BWDV
from attnref.derivations.backward_projections import BWDK, BWDQ
from attnref.derivations.backward_rows import BWDR
from attnref.derivations.cumulants import AGRD, LZHS
from attnref.derivations.entropy import ENTD, ENTR
from attnref.derivations.log_partition import LZGQ, LZGR, PSUM
from attnref.derivations.shared_keys import GQAG
from attnref.derivations.softcap import SCAP
from attnref.derivations.softcap_bounds import CAPL, CAPU
from attnref.derivations.softcap_mask import CAPW, SCMK
from attnref.derivations.softmax_jacobian import SJAC, SNUL
from attnref.derivations.softmax_spectrum import SHLF, SVAR
from attnref.torch import attention, log_partition, scores, softmax
from samples import normal
from statements import DIGITS, Numbers, evaluated

L, S, D_K, D_V = 2, 3, 5, 7
BETA = 0.5
G, HEADS = 2, 4
CAP = 0.5
CAP_EXACT = sympy.Rational(1, 2)
SIZES = {"n": L, "m": S, "d_k": D_K, "d_v": D_V, "beta": BETA, "G": G}

QUERY, KEY, VALUE = normal(L, D_K), normal(S, D_K), normal(S, D_V)
COTANGENT, PARTITION_COTANGENT = normal(L, D_V, seed=1), normal(L, seed=2)
DIRECTION = normal(S, seed=3)
TRUTH = oracle.attention(QUERY, KEY, VALUE, scale=BETA)
Floats: TypeAlias = NDArray[np.floating]
q, k, v, g, ell = map(torch.tensor, (QUERY, KEY, VALUE, COTANGENT, PARTITION_COTANGENT))
a, f = scores(q, k, scale=BETA), scores(q, k, scale=1.0)


def _numbers(truth: oracle.Truth) -> dict[str, Any]:
    """Return what the oracle knows, in 60 digits."""
    parts = {"a": truth.scores, "p": truth.weights, "y": truth.output}
    numbers = {name: _in_digits(part.exact) for name, part in parts.items()}
    log_z = _in_digits(truth.log_z.exact)
    return numbers | {"Z": np.vectorize(sympy.exp, otypes=[object])(log_z)}


def _in_digits(array: oracle.Numbers) -> NDArray[np.object_]:
    in_digits = (sympy.Float(str(x), DIGITS) for x in array.flat)
    return np.array([*in_digits], dtype=object).reshape(array.shape)


KNOWN: dict[str, Any] = {
    **SIZES,
    **_numbers(TRUTH),
    **{"q": QUERY, "k": KEY, "v": VALUE, "g": COTANGENT, "ell": PARTITION_COTANGENT},
    "x": DIRECTION,
}


def _size(e: Expr, numbers: Numbers) -> float:
    """Return M: nothing cancels in it."""
    positive = {name: np.abs(x) if np.ndim(x) else x for name, x in numbers.items()}
    return float(evaluated(e.replace(lambda part: part == -1, lambda _: sympy.S.One), positive))


def _tolerance(truth: oracle.Truth) -> float:
    exact = truth.weights.exact.astype(float)
    w = float((truth.weights.error / exact).max())
    return (3 * w + L + S + D_K + D_V + 16) * 2.0**-53


def _value(e: Expr, numbers: Numbers) -> Any:
    return evaluated(sympy.Add(1, e, evaluate=False), numbers) - 1  # 0 is no float to SymPy


def _off(actual: Any, e: Expr, axes: str, numbers: Numbers, rhs: Expr) -> Iterator[float]:
    """Yield how far an array is from an expression, place by place, in tolerances."""
    for place in np.ndindex(*np.shape(actual)):
        here = dict(numbers) | {name: at + 1 for name, at in zip(axes, place, strict=True)}
        apart = abs(float(_value(e, here) - float(np.asarray(actual)[place])))
        yield apart / (_tolerance(TRUTH) * _size(rhs, here))


def _score_gradient() -> NDArray[np.object_]:
    """Return the right side of BWDS, in 60 digits."""
    rhs = BWDS.statement.rhs
    values = [evaluated(rhs, KNOWN | {"t": t + 1, "s": r + 1}) for t, r in np.ndindex(L, S)]
    return _in_digits(np.array(values, dtype=object).reshape(L, S))


KNOWN["D"] = _score_gradient()


# What autograd finds ------------------------------------------------------------------------------


def _jacobian(f: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    return functional.jacobian(f, x)  # type: ignore[no-untyped-call,no-any-return]


def _hessian(f: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    return functional.hessian(f, x)  # type: ignore[no-untyped-call,no-any-return]


def _loss(q: Tensor, k: Tensor, v: Tensor, bias: Tensor) -> Tensor:
    """Return a loss with the slopes g in the outputs and ℓ in log Z."""
    y = attention(q, k, v, scale=BETA, bias=bias)
    return (g * y).sum() + (ell * log_partition(scores(q, k, scale=BETA, bias=bias))).sum()


def _slopes() -> dict[str, Tensor]:
    """Differentiate the loss in everything; the bias takes the gradient of the scores."""
    leaves = [x.clone().requires_grad_() for x in (q, k, v, torch.zeros_like(a))]
    return dict(zip("qkva", torch.autograd.grad(_loss(*leaves), leaves), strict=True))


def _log_z(row: Tensor) -> Tensor:
    """Return log Z of one query."""
    return log_partition(scores(row[None], k, scale=BETA))[0]


def _tilted(tau: Tensor) -> Tensor:
    """Return log Z of every query, with scores tilted along the first component of the values."""
    return log_partition(a + tau * v[:, 0])


def _rows_alone(whole: Tensor) -> Tensor:
    """Return the derivatives of each row in itself, having seen that those in others are 0."""
    rows = torch.stack([whole[t, :, t] for t in range(L)])
    assert torch.count_nonzero(whole) == torch.count_nonzero(rows)
    return rows


def _entropy(beta: Tensor) -> Tensor:
    p = softmax(beta * f)
    return -(p * p.log()).sum(-1)


JACOBIAN = _rows_alone(_jacobian(softmax, a))
X = torch.tensor(DIRECTION)
BACK = _slopes()
FAR = 1000
FIRST = KNOWN | {"y": KNOWN["y"][:, 0], "v": VALUE[:, 0]}
PLAIN = KNOWN | {"f": _in_digits(oracle.weights(QUERY, KEY, scale=1.0).scores.exact)}

Case: TypeAlias = tuple[Record, Any, str, Numbers]
CASES: list[Case] = [
    (PSUM, softmax(a).sum(-1), "t", KNOWN),
    (LZGR, torch.stack([_jacobian(log_partition, row) for row in a]), "tj", KNOWN),
    (LZGQ, torch.stack([_jacobian(_log_z, row) for row in q]), "ti", KNOWN),
    (LZHS, torch.stack([_hessian(_log_z, row) for row in q]), "tij", KNOWN),
    (AGRD, _jacobian(_tilted, torch.tensor(0.0, dtype=torch.float64)), "t", FIRST),
    (SJAC, JACOBIAN, "tsr", KNOWN),
    (SVAR, torch.einsum("s,tsr,r->t", X, JACOBIAN, X), "t", KNOWN),
    (BWDV, BACK["v"], "se", KNOWN),
    (BWDS, BACK["a"], "ts", KNOWN),
    (BWDR, BACK["a"].sum(-1), "t", KNOWN),
    (BWDQ, BACK["q"], "ti", KNOWN),
    (BWDK, BACK["k"], "si", KNOWN),
    (ENTR, _entropy(torch.tensor(BETA)), "t", PLAIN),
    (ENTD, _jacobian(_entropy, torch.tensor(BETA, dtype=torch.float64)), "t", PLAIN),
]
each_case = pytest.mark.parametrize(
    ("record", "actual", "axes", "numbers"), CASES, ids=[case[0].tag for case in CASES]
)


@each_case
def test_record_is_what_autograd_finds(
    record: Record, actual: Tensor, axes: str, numbers: Numbers
) -> None:
    """The right side of the statement is the derivative, at every place."""
    rhs = record.statement.rhs
    assert max(_off(actual, rhs, axes, numbers, rhs)) <= 1


def test_record_is_what_the_backward_pass_by_hand_finds() -> None:
    """BWDV, BWDS, BWDQ, BWDK: the right sides are the gradients in blocks, on both sides."""
    asked: dict[str, Any] = {"scale": BETA, "block_size": 2}
    arrays = QUERY, KEY, VALUE, COTANGENT
    ours = attnref.attention_gradients(
        *arrays, bias=np.zeros((L, S)), grad_log_z=PARTITION_COTANGENT, **asked
    )
    theirs = attnref.torch.attention_gradients(
        *map(torch.tensor, arrays), bias=torch.zeros_like(a), grad_log_z=ell, **asked
    )
    records = {
        "query": (BWDQ, "ti"),
        "key": (BWDK, "si"),
        "value": (BWDV, "se"),
        "bias": (BWDS, "ts"),
    }
    for name, (record, axes) in records.items():
        rhs = record.statement.rhs
        for found in (getattr(ours, name), getattr(theirs, name)):
            assert max(_off(found, rhs, axes, KNOWN, rhs)) <= 1


LAST = [
    pytest.param(*case, variant.expression, id=f"{case[0].tag}-{variant.name.replace(' ', '-')}")
    for case in CASES
    for variant in case[0].variants
    if variant.step == case[0].steps[-1].name and variant.expression is not None
]


@pytest.mark.parametrize(("record", "actual", "axes", "numbers", "wrong"), LAST)
def test_wrong_variant_is_not_what_autograd_finds(
    record: Record, actual: Tensor, axes: str, numbers: Numbers, wrong: Expr
) -> None:
    """What is refused as a last line has other shapes, or differs by far more than rounding."""
    free = {name: 1 for name in "tsj" if name not in axes}  # a place that only the variant has
    with suppress(IndexError):
        off = _off(actual, wrong, axes, dict(numbers) | free, record.statement.rhs)
        assert any(ratio > FAR for ratio in off)


def test_rows_of_the_jacobian_add_up_to_nothing() -> None:
    """SNUL: what autograd finds for the rows of the Jacobian of softmax adds up to 0."""
    assert SNUL.statement.rhs == 0
    size = JACOBIAN.abs().sum(-1)
    assert (JACOBIAN.sum(-1).abs() <= _tolerance(TRUTH) * size).all()
    assert (size > FAR * _tolerance(TRUTH)).all()


def test_jacobian_of_softmax_moves_by_half_at_most() -> None:
    """SHLF: autograd keeps the bound in every direction, and comes up to it where it should."""
    for seed in range(11):
        x = torch.tensor(normal(S, seed=seed))
        moved = torch.einsum("s,tsr,r->t", x, JACOBIAN, x)
        bound = float(evaluated(SHLF.statement.rhs, KNOWN | {"x": x.numpy()}))
        assert (moved <= bound).all()
        assert (moved > 0).all()
    equal, ends = _jacobian(softmax, torch.zeros(2, dtype=torch.float64)), np.array([1.0, -1.0])
    assert ends @ equal.numpy() @ ends == evaluated(SHLF.statement.rhs, {"m": 2, "x": ends})


def test_gradient_of_a_shared_key_is_the_sum_over_its_group() -> None:
    """GQAG: autograd gives a head of keys what the query heads that read it find, together."""
    query, key, value = normal(HEADS, L, D_K), normal(HEADS // G, S, D_K), normal(2, S, D_V)
    shared = torch.tensor(key, requires_grad=True)
    bias = torch.zeros(HEADS, L, S, dtype=torch.float64, requires_grad=True)
    y = attention(torch.tensor(query), shared, torch.tensor(value), scale=BETA, bias=bias)
    slopes = torch.tensor(normal(*y.shape, seed=1))
    to_key, to_scores = torch.autograd.grad((slopes * y).sum(), (shared, bias))
    sums = L * G + D_K + S + D_V  # terms that are added up, one after the other
    for head, r, c in np.ndindex(HEADS // G, S, D_K):
        group = slice(G * head, G * head + G)
        numbers = SIZES | {"q": query[group], "D": to_scores[group].numpy()}
        here = numbers | {"s": r + 1, "i": c + 1}
        found = float(to_key[head, r, c])
        rounding = 2 * sums * 2.0**-53 * _size(GQAG.statement.rhs, here)
        assert abs(float(_value(GQAG.statement.rhs, here)) - found) <= rounding
    for variant in GQAG.variants:
        assert variant.expression is not None
        assert abs(float(_value(variant.expression, here)) - found) > FAR * rounding


# Caps ---------------------------------------------------------------------------------------------

SCORES = np.array([[-2.0, -0.375, 0.0, 0.125, 0.75]])
ONE = np.ones((1, 1))


def _over_keys(e: Expr, numbers: Numbers) -> NDArray[np.object_]:
    """Evaluate a line for every key of the one query."""
    values = [_value(e, dict(numbers) | {"s": at}) for at in range(1, SCORES.size + 1)]
    return np.array([values], dtype=object)


def test_slope_of_a_cap_is_what_autograd_finds() -> None:
    """SCAP: autograd's slope of a capped score, within the rounding of tanh, a square and a 1."""
    x = torch.tensor(SCORES.T, requires_grad=True)
    capped = scores(x, torch.ones(1, 1, dtype=torch.float64), scale=1.0, softcap=CAP)
    (slope,) = torch.autograd.grad(capped.sum(), x)
    for at, number in zip(slope[:, 0], SCORES[0], strict=True):
        found, here = float(at), {"x": number, "c": CAP}
        assert abs(_value(SCAP.statement.rhs, here) - found) <= 16 * 2.0**-53
    assert slope.min() < slope.max() == 1


@pytest.mark.parametrize("record", [CAPU, CAPL], ids=["CAPU", "CAPL"])
def test_capped_score_is_measured_from_its_cap(record: Record) -> None:
    """CAPU, CAPL: the right side, its distance put in, is the score that attnref caps."""
    truth = oracle.weights(ONE, SCORES.T, scale=1.0, softcap=CAP).scores
    (law,) = (law.equalities[0] for law in record.definitions if law.name == "distance")
    (named,) = record.statement.rhs.atoms(Indexed)
    distance = law.rhs.xreplace({law.lhs.indices[0]: named.indices[0]})
    line = _over_keys(record.statement.rhs.xreplace({named: distance}), {"x": SCORES[0], "c": CAP})
    actual = attnref.scores(ONE, SCORES.T, scale=1.0, softcap=CAP)
    oracle.assert_near(actual, line, truth.bound("float64"))


@pytest.mark.parametrize("lowest", [-2.0, -1e6, -1e300])
def test_cap_leaves_every_key_the_weight_of_the_bound(lowest: float) -> None:
    """SCMK: no score, however low, gets a weight below the left side; a mask after the cap does."""
    key = np.array([[lowest], [0.0], [1e6]])
    bound = float(evaluated(SCMK.statement.lhs, {"m": 3, "c": CAP}))
    weights = attnref.attention_weights(ONE, key, scale=1.0, softcap=CAP)
    assert (weights >= bound).all()
    assert attnref.attention_weights(ONE, key, scale=1.0)[0, 0] < bound
    mask = np.array([[False, True, True]])
    assert attnref.attention_weights(ONE, key, scale=1.0, softcap=CAP, mask=mask)[0, 0] == 0


def test_capped_weight_is_a_quotient_of_two_distances() -> None:
    """CAPW: the right side, its distances put in, is the weight under the cap."""
    truth = oracle.weights(ONE, SCORES.T, scale=1.0, softcap=CAP)
    exact = _in_digits(truth.scores.exact)[0]
    numbers = {"m": SCORES.size, "c": CAP, "alpha": exact + CAP_EXACT, "gamma": CAP_EXACT - exact}
    line = _over_keys(CAPW.statement.rhs, numbers)
    actual = attnref.attention_weights(ONE, SCORES.T, scale=1.0, softcap=CAP)
    oracle.assert_near(actual, line, truth.weights.bound("float64"))
