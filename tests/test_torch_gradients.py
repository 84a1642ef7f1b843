"""The laws of the gradients of attention on the Torch side: true, and 0 of what is absent."""

import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck

from attnref.torch import (
    attention,
    attention_weights,
    expanded_attention,
    log_partition,
    scores,
    softmax,
)
from samples import D_K, D_V, L, S, normal, random_mask, triple

Attend: TypeAlias = Callable[..., Tensor]
Loss: TypeAlias = Callable[[Tensor], Tensor]

both = pytest.mark.parametrize("attend", [attention, expanded_attention], ids=["matrix", "loops"])
every_wildness = pytest.mark.parametrize("wild", [math.nan, math.inf, -math.inf])

QUERY, KEY, VALUE = (torch.tensor(x) for x in triple())
EMPTY, ABSENT = 2, 3  # a query that sees no key, a key that no query sees
MASK = torch.tensor(random_mask(L, S))
MASK[EMPTY] = MASK[:, ABSENT] = False
SEEING = [t for t in range(L) if t != EMPTY]
assert MASK[SEEING].any(dim=-1).all()


def gradients(attend: Attend, *inputs: Tensor, loss: Loss, mask: Tensor = MASK) -> list[Tensor]:
    """Return the gradients of a loss of the output, for query, key and value."""
    leaves = [x.clone().requires_grad_() for x in inputs]
    return list(torch.autograd.grad(loss(attend(*leaves, mask=mask)), leaves))


def assert_same(actual: list[Tensor], expected: list[Tensor]) -> None:
    """Require the same gradients up to rounding; nothing that is not finite is the same.

    A gradient is a sum of fewer than 2LS(d_k + d_v) terms, each a weight, which is at most 1, times
    at most four entries of the inputs; either side rounds each term by u = 2⁻⁵³.
    """
    largest = max(float(x.abs().max()) for x in (QUERY, KEY, VALUE))
    atol = 2 * 2 * L * S * (D_K + D_V) * largest**4 * 2**-53
    for one, other in zip(actual, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=atol)


def swayed(y: Tensor) -> Tensor:
    """Return a loss that depends on every output in its own way, and not linearly."""
    weights = torch.tensor(normal(*y.shape, seed=1))
    return (weights * y + y.square()).sum()


@contextmanager
def anomaly_detection() -> Iterator[None]:
    """Make backward raise where any step of it gives NaN, its result used or not."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Anomaly Detection has been enabled")
        with torch.autograd.detect_anomaly():
            yield


# Truth.


def small(wild: float = 0.0) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return query, key, value and mask with an empty row, and a key that no query sees."""
    query, key, value = (torch.tensor(normal(*shape)) for shape in [(3, 2), (5, 2), (5, 1)])
    mask = torch.tensor(random_mask(3, 5))
    mask[1] = mask[:, 2] = False
    assert mask[[0, 2]].any(dim=-1).all()
    query[1] = key[2] = value[2] = wild
    return query.requires_grad_(), key.requires_grad_(), value.requires_grad_(), mask


@both
@pytest.mark.parametrize("wild", [0.0, math.nan, math.inf])
def test_gradients_of_attention_are_finite_differences(attend: Attend, wild: float) -> None:
    """First and second derivatives are right, whatever the absent query, key and value hold."""
    query, key, value, mask = small(wild)
    inputs = query, key, value
    assert gradcheck(lambda q, k, v: attend(q, k, v, mask=mask), inputs)
    assert gradgradcheck(lambda q, k, v: attend(q, k, v, mask=mask), inputs)


@pytest.mark.parametrize("wild", [0.0, math.nan, math.inf])
def test_gradients_on_the_way_are_finite_differences(wild: float) -> None:
    """Weights and log Z have right first and second derivatives, from scores and from the start."""
    query, key, _, mask = small(wild)
    a = scores(query, key).detach().requires_grad_()
    full = mask.any(dim=-1)  # −∞ has no differences: the empty row has a test of its own
    functions: list[tuple[Attend, tuple[Tensor, ...]]] = [
        (lambda a: softmax(a, mask=mask), (a,)),
        (lambda a: log_partition(a, mask=mask)[full], (a,)),
        (lambda q, k: attention_weights(q, k, mask=mask)[0], (query, key)),
        (lambda q, k: log_partition(scores(q, k), mask=mask)[full], (query, key)),
    ]
    for function, inputs in functions:
        assert gradcheck(function, inputs)
        assert gradgradcheck(function, inputs)


def test_gradients_of_both_agree() -> None:
    """The loops and the matrices have the same gradients, also where leading axes broadcast."""
    inputs = QUERY[None], KEY, VALUE.expand(2, S, D_V)
    assert_same(
        gradients(attention, *inputs, loss=swayed),
        gradients(expanded_attention, *inputs, loss=swayed),
    )


def test_gradient_of_log_partition_is_the_weights() -> None:
    """∂ log Z_t/∂a_ts = p_ts, and 0 in a row that allows nothing (faults 49 and 51)."""
    a = scores(QUERY, KEY).requires_grad_()
    log_z = log_partition(a, mask=MASK)
    assert log_z[EMPTY] == -math.inf
    assert_same([torch.autograd.grad(log_z.sum(), a)[0]], [softmax(a.detach(), mask=MASK)])


def test_gradient_of_log_partition_has_the_closed_form() -> None:
    """Two keys of scores 0 and log 3: the gradient is 1/4 and 3/4 (fault 51)."""
    query = torch.ones(1, 1, dtype=torch.float64)
    key = torch.tensor([[0.0], [math.log(3)]], dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(log_partition(scores(query, key)).sum(), key)
    assert_same([gradient], [torch.tensor([[0.25], [0.75]], dtype=torch.float64)])


# Absence.


@both
def test_one_empty_row_poisons_nothing(attend: Attend) -> None:
    """Fault 2: the first row's gradient is its own although the second sees nothing."""
    query = torch.ones(2, 1, dtype=torch.float64, requires_grad=True)
    key = torch.tensor([[0.0], [math.log(3)]], dtype=torch.float64)
    value = torch.tensor([[1.0], [3.0]], dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([[True, True], [False, False]])
    output = attend(query, key, value, mask=mask)
    dq, dv = torch.autograd.grad(output[0].sum(), (query, value))
    assert dq[1] == 0
    right = [torch.tensor(x, dtype=torch.float64) for x in ([2.5], [0.25, 0.75])]
    assert_same([output[0], dv[:, 0]], right)


@both
@pytest.mark.parametrize("arriving", [1.0, math.nan, math.inf])
def test_empty_rows_have_gradient_zero(attend: Attend, arriving: float) -> None:
    """Whatever gradient arrives at an empty row, and NaN in its query too, nothing comes back."""

    def loss(y: Tensor) -> Tensor:
        return swayed(y[SEEING]) + arriving * y[EMPTY].sum()

    query = QUERY.clone()
    query[EMPTY] = math.nan
    dq, dk, dv = gradients(attend, query, KEY, VALUE, loss=loss)
    assert (dq[EMPTY] == 0).all()
    rest = gradients(attend, QUERY[SEEING], KEY, VALUE, loss=swayed, mask=MASK[SEEING])
    assert_same([dq[SEEING], dk, dv], rest)


@both
@pytest.mark.parametrize(("L", "S"), [(2, 0), (0, 2), (2, 3)])
def test_gradients_are_zero_where_nothing_is_allowed(attend: Attend, L: int, S: int) -> None:
    """No keys, no queries or no permission: every gradient is there, and 0."""
    inputs = torch.ones(L, D_K), torch.ones(S, D_K), torch.ones(S, D_V)
    mask = torch.zeros(L, S, dtype=torch.bool)
    for gradient in gradients(attend, *inputs, loss=torch.sum, mask=mask):
        assert (gradient == 0).all()


def test_empty_rows_of_weights_and_log_partition_have_gradient_zero() -> None:
    """A row that allows nothing, by its mask or by scores of −∞, has gradient 0, NaN or not."""
    a = torch.tensor([[1.0, math.nan], [-math.inf, -math.inf], [1.0, 2.0]], requires_grad=True)
    mask = torch.tensor([[False, False], [True, True], [True, True]])
    for function in (softmax, log_partition):
        result = function(a, mask=mask)
        (gradient,) = torch.autograd.grad(result, a, torch.full_like(result, math.nan))
        assert (gradient[:2] == 0).all()
        assert gradient[2].isnan().all()


@both
@every_wildness
def test_masked_keys_have_gradient_zero_and_change_no_other(attend: Attend, wild: float) -> None:
    """NaN or infinity in a masked key and value: every gradient is as if they were deleted."""
    key, value = KEY.clone(), VALUE.clone()
    key[ABSENT] = value[ABSENT] = wild
    dq, dk, dv = gradients(attend, QUERY, key, value, loss=swayed)
    kept = [s for s in range(S) if s != ABSENT]
    rest = gradients(attend, QUERY, KEY[kept], VALUE[kept], loss=swayed, mask=MASK[:, kept])
    assert (dk[ABSENT] == 0).all()
    assert (dv[ABSENT] == 0).all()
    assert_same([dq, dk[kept], dv[kept]], rest)


@pytest.mark.parametrize("wild", [math.nan, math.inf])
def test_masked_scores_of_a_key_have_gradient_zero_step_by_step(wild: float) -> None:
    """Scores made without the mask don't bring a masked key back: a gradient of 0 stays 0."""
    key = KEY.clone()
    key[ABSENT] = wild
    query, key = QUERY.clone().requires_grad_(), key.requires_grad_()
    steps = torch.autograd.grad(swayed(softmax(scores(query, key), mask=MASK)), (query, key))
    at_once = torch.autograd.grad(swayed(attention_weights(query, key, mask=MASK)), (query, key))
    assert_same(list(steps), list(at_once))


@both
@every_wildness
@pytest.mark.parametrize("place", ["key", "value", "both"])
def test_key_masked_for_one_query_and_seen_by_another_stays_with_the_other(
    attend: Attend, wild: float, place: str
) -> None:
    """A loss of the queries that don't see a wild key has the gradients of these alone."""
    s = 5
    blind = [t for t in range(L) if not MASK[t, s]]
    assert 0 < len(blind) < L
    key, value = KEY.clone(), VALUE.clone()
    if place != "value":
        key[s] = wild
    if place != "key":
        value[s] = wild
    dq, dk, dv = gradients(attend, QUERY, key, value, loss=lambda y: swayed(y[blind]))
    rest = gradients(attend, QUERY[blind], KEY, VALUE, loss=swayed, mask=MASK[blind])
    assert_same([dq[blind], dk, dv], rest)


@pytest.mark.parametrize("wild", [math.nan, math.inf])
@pytest.mark.parametrize("function", [softmax, log_partition])
def test_row_that_is_not_finite_leaves_the_other_rows_their_derivatives(
    function: Attend, wild: float
) -> None:
    """Rows that a loss does not ask for get 0, and those it asks for get theirs, twice."""
    a = torch.tensor(normal(3, 5))
    a[1, 2] = wild
    a.requires_grad_()
    (gradient,) = torch.autograd.grad(function(a)[[0, 2]].square().sum(), a)
    assert (gradient[1] == 0).all()
    assert gradcheck(lambda a: function(a)[[0, 2]], (a,))
    assert gradgradcheck(lambda a: function(a)[[0, 2]], (a,))


@both
def test_nan_that_is_seen_reaches_the_gradients_of_what_sees_it_and_no_others(
    attend: Attend,
) -> None:
    """NaN in a key is never hidden: in its queries' gradients and in those of all that they see."""
    s = 5
    key = KEY.clone()
    key[s] = math.nan
    dq, dk, dv = gradients(attend, QUERY, key, VALUE, loss=swayed)
    tainted = MASK[:, s]
    reached = MASK[tainted].any(dim=0)
    assert 0 < tainted.sum() < L
    assert 0 < reached.sum() < S
    for gradient, nan in [(dq, tainted), (dk, reached), (dv, reached)]:
        assert torch.equal(gradient.isnan(), nan[:, None].expand(gradient.shape))


@both
@pytest.mark.parametrize("wild", [0.0, math.nan, math.inf])
def test_backward_makes_no_nan_in_passing(attend: Attend, wild: float) -> None:
    """Torch's anomaly detection finds nothing, with an empty row and a wild key that is masked."""
    key, value = KEY.clone(), VALUE.clone()
    key[ABSENT] = value[ABSENT] = wild
    with anomaly_detection():
        gradients(attend, QUERY, key, value, loss=swayed)


@both
@pytest.mark.parametrize("wild", [0.0, math.nan])
def test_second_derivatives_are_right_where_the_first_are_zero(attend: Attend, wild: float) -> None:
    """At the minimum of ½|y − y*|² the gradient is 0, the curvature along u is Σ_t p_t⟨p_t, u⟩."""
    value = VALUE[:, :1].clone()
    value[ABSENT] = wild
    value.requires_grad_()
    y = attend(QUERY, KEY, value, mask=MASK)
    loss = (y - y.detach()).square().sum() / 2
    (dv,) = torch.autograd.grad(loss, value, create_graph=True)
    assert (dv == 0).all()
    direction = torch.tensor(normal(S, 1, seed=1))
    (curvature,) = torch.autograd.grad(dv, value, direction)
    p = attention_weights(QUERY, KEY, mask=MASK)
    assert_same([curvature], [p.mT @ (p @ direction)])


# Torch's ways.


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_gradients_have_the_dtype_of_their_inputs(dtype: torch.dtype) -> None:
    """A gradient is of its input's dtype, and that of float64 to within a rounding or two."""
    narrow = [x.to(dtype) for x in (QUERY, KEY, VALUE)]
    wide = gradients(attention, *(x.double() for x in narrow), loss=lambda y: y.sum())
    for one, other in zip(gradients(attention, *narrow, loss=torch.sum), wide, strict=True):
        assert one.dtype == dtype
        # Torch narrows float64 in two steps: half a unit each, and the subnormals' own.
        eps, tiny = torch.finfo(dtype).eps, torch.finfo(dtype).smallest_normal
        torch.testing.assert_close(one.double(), other, rtol=eps, atol=eps * tiny)


@both
def test_no_grad_is_respected(attend: Attend) -> None:
    """Under no_grad, and for inputs that ask for no gradient, none is prepared."""
    query = QUERY.clone().requires_grad_()
    with torch.no_grad():
        assert not attend(query, KEY, VALUE, mask=MASK).requires_grad
    assert not attend(QUERY, KEY, VALUE, mask=MASK).requires_grad


@pytest.mark.parametrize("wild", [0.0, math.nan])
def test_function_transforms_agree_with_a_loop(wild: float) -> None:
    """torch.func.vmap of torch.func.grad gives each query's gradient, a wild masked key or not."""
    key = KEY.clone()
    key[ABSENT] = wild

    def loss(query: Tensor, key: Tensor) -> Tensor:
        log_z = log_partition(scores(query, key), mask=MASK)[SEEING]
        return attention(query, key, VALUE, mask=MASK).square().sum() + log_z.square().sum()

    queries = torch.stack([QUERY, -QUERY])
    batched = torch.func.vmap(torch.func.grad(loss, argnums=1), in_dims=(0, None))(queries, key)
    assert_same(list(batched), [torch.func.grad(loss, argnums=1)(q, key) for q in queries])
    assert batched.isfinite().all()
