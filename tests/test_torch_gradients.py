"""The laws of the gradients of attention on the Torch side: true, and 0 of what is absent."""

import itertools
import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

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


# Options.

OPTIONS = ("bias", "softcap", "sink", "heads")
SUBSETS = [*itertools.combinations(OPTIONS, 1), *itertools.combinations(OPTIONS, 2), OPTIONS]
every_subset = pytest.mark.parametrize("chosen", SUBSETS, ids="-".join)
every_subset_wild_or_all = pytest.mark.parametrize(
    ("chosen", "wild"),
    [(chosen, math.nan) for chosen in SUBSETS] + [(OPTIONS, 0.0), (OPTIONS, math.inf)],
    ids=lambda x: "-".join(x) if isinstance(x, tuple) else str(x),
)
Leaves: TypeAlias = dict[str, Any]


def with_options(chosen: tuple[str, ...], wild: float = 0.0) -> tuple[Leaves, dict[str, Any]]:
    """Return what takes gradients, and the rest: an empty row, a key that no query sees.

    One key is seen by no query and another by the first query not, by a bias of −∞ where there is a
    bias; the absent are wild.
    """
    query, key, value, mask = (x.detach() for x in small(wild))
    rest: dict[str, Any] = {"mask": mask}
    leaves = {"query": query, "key": key, "value": value}
    if "heads" in chosen:
        leaves = {name: x.expand(2, *x.shape).clone() for name, x in leaves.items()}
        leaves["query"] = torch.cat([leaves["query"], -leaves["query"]])
    rows = leaves["query"].shape[:-1]
    if "bias" in chosen:
        bias = torch.tensor(normal(*rows, 5, seed=2))
        bias[..., ~mask] = -math.inf
        bias[..., 0, 3] = -math.inf
        leaves["bias"], rest = bias, {"mask": mask.any(dim=0)}
    if "softcap" in chosen:
        rest["softcap"] = 1.5
    if "sink" in chosen:
        leaves["sink"] = torch.tensor(normal(*rows, seed=3))
    return {name: x.requires_grad_() for name, x in leaves.items()}, rest


@both
@every_subset_wild_or_all
def test_gradients_with_options_are_finite_differences(
    attend: Attend, chosen: tuple[str, ...], wild: float
) -> None:
    """First derivatives for every input, bias and sink among them, an option or two at a time."""
    leaves, rest = with_options(chosen, wild)
    names, numbers = list(leaves), list(leaves.values())

    def function(*inputs: Tensor) -> Tensor:
        return attend(**dict(zip(names, inputs, strict=True)), **rest)

    assert gradcheck(function, numbers)


@every_subset_wild_or_all
def test_second_derivatives_with_options_are_finite_differences(
    chosen: tuple[str, ...], wild: float
) -> None:
    """Second derivatives for every input, an option or two at a time."""
    leaves, rest = with_options(chosen, wild)
    names, numbers = list(leaves), list(leaves.values())

    def function(*inputs: Tensor) -> Tensor:
        own: dict[str, Any] = dict(zip(names, inputs, strict=True))
        return attention(**own, **rest)

    assert gradgradcheck(function, numbers)


def test_second_derivatives_of_the_loops_with_options_are_finite_differences() -> None:
    """All options at once."""
    leaves, rest = with_options(("bias", "softcap", "sink"), math.nan)
    names, numbers = list(leaves), list(leaves.values())

    def function(*inputs: Tensor) -> Tensor:
        own: dict[str, Any] = dict(zip(names, inputs, strict=True))
        return expanded_attention(**own, **rest)

    assert gradgradcheck(function, numbers)


@pytest.mark.parametrize("wild", [0.0, math.nan, math.inf])
def test_gradients_on_the_way_with_options_are_finite_differences(wild: float) -> None:
    """Scores, weights and log Z: of query, key, bias and sink, once and twice, step by step too."""
    leaves, rest = with_options(("bias", "softcap", "sink"), wild)
    query, key, bias, sink = (leaves[name] for name in ("query", "key", "bias", "sink"))
    mask, cap = rest["mask"], rest["softcap"]
    seen = bias.detach() != -math.inf
    functions: list[tuple[Attend, tuple[Tensor, ...]]] = [
        (lambda q, k, b: scores(q, k, softcap=cap, bias=b)[seen], (query, key, bias)),
        (
            lambda q, k, b, s: attention_weights(q, k, mask=mask, softcap=cap, bias=b, sink=s),
            (query, key, bias, sink),
        ),
        (
            lambda q, k, b, s: softmax(scores(q, k, softcap=cap, bias=b), mask=mask, sink=s),
            (query, key, bias, sink),
        ),
        (
            lambda q, k, b, s: log_partition(scores(q, k, softcap=cap, bias=b), mask=mask, sink=s),
            (query, key, bias, sink),
        ),
    ]
    for function, inputs in functions:
        assert gradcheck(function, inputs)
        assert gradgradcheck(function, inputs)


@every_subset
def test_gradients_of_both_agree_with_options(chosen: tuple[str, ...]) -> None:
    """The loops and the matrices have the same gradients for every input."""
    leaves, rest = with_options(chosen)
    ours, theirs = (
        torch.autograd.grad(swayed(attend(**leaves, **rest)), list(leaves.values()))
        for attend in (attention, expanded_attention)
    )
    assert_same(list(ours), list(theirs))


@both
def test_gradient_of_the_bias_is_that_of_the_scores(attend: Attend) -> None:
    """∂y_t/∂bias_ts = p_ts (v_s − y_t), 0 where the key is masked, summed where it broadcasts."""
    bias = torch.tensor(normal(L, S)).masked_fill(~MASK, -math.inf).requires_grad_()
    y = attend(QUERY, KEY, VALUE, bias=bias)
    (gradient,) = torch.autograd.grad(y.sum(), bias)
    p = attention_weights(QUERY, KEY, bias=bias.detach())
    expected = p * (VALUE.sum(dim=-1) - y.detach().sum(dim=-1, keepdim=True))
    assert_same([gradient], [expected])
    assert (gradient[~MASK] == 0).all()
    row = torch.tensor(normal(S), requires_grad=True)
    (summed,) = torch.autograd.grad(attend(QUERY, KEY, VALUE, bias=row, mask=MASK).sum(), row)
    whole = row.detach().expand(L, S).clone().requires_grad_()
    (parts,) = torch.autograd.grad(attend(QUERY, KEY, VALUE, bias=whole, mask=MASK).sum(), whole)
    assert_same([summed], [parts.sum(dim=0)])


def test_gradient_of_log_partition_is_the_weights_and_that_of_the_sink() -> None:
    """∂ log Z_t/∂sink_t = exp(sink_t − log Z_t), which is what the weights lack of 1 (fault 51)."""
    a = scores(QUERY, KEY).requires_grad_()
    sink = torch.tensor(normal(L), requires_grad=True)
    log_z = log_partition(a, mask=MASK, sink=sink)
    da, dsink = torch.autograd.grad(log_z.sum(), (a, sink))
    p = softmax(a, mask=MASK, sink=sink).detach()
    assert_same([da, dsink], [p, (sink - log_z).exp().detach()])
    assert_same([dsink], [1 - p.sum(dim=-1)])
    assert dsink[EMPTY] == 1, "alone it is the normaliser"


@both
def test_gradient_of_the_sink_has_the_closed_form(attend: Attend) -> None:
    """∂y_t/∂sink_t = −y_t exp(sink_t)/Z_t, and 0 in a row of masked keys, summed over its rows."""
    sink = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    y = attend(QUERY, KEY, VALUE, mask=MASK, sink=sink)
    (gradient,) = torch.autograd.grad(y.sum(), sink)
    log_z = log_partition(scores(QUERY, KEY), mask=MASK, sink=0.5)
    assert_same([gradient], [-((sink - log_z).exp() * y.sum(dim=-1)).sum().detach()])
    rows = torch.zeros(L, dtype=torch.float64, requires_grad=True)
    y = attend(QUERY, KEY, VALUE, mask=MASK, sink=rows)
    (gradient,) = torch.autograd.grad(y, rows, torch.full_like(y, math.nan))
    assert gradient[EMPTY] == 0
    assert gradient[SEEING].isnan().all()


@both
def test_gradients_of_shared_heads_are_sums_over_the_group(attend: Attend) -> None:
    """A head of key or value takes those of all its queries."""
    query = torch.tensor(normal(6, L, D_K))
    key, value = torch.tensor(normal(2, S, D_K)), torch.tensor(normal(2, S, D_V))
    group = [0, 0, 0, 1, 1, 1]
    dq, dk, dv = gradients(attend, query, key, value, loss=swayed)
    own = gradients(attend, query, key[group], value[group], loss=swayed)
    assert_same([dq], own[:1])
    sums = [x.reshape(2, 3, *x.shape[1:]).sum(dim=1) for x in own[1:]]
    assert_same([dk, dv], sums)


@both
@every_wildness
def test_keys_masked_by_a_bias_have_gradient_zero_and_change_no_other(
    attend: Attend, wild: float
) -> None:
    """With every option: −∞ in a bias deletes a key, whatever it holds, in every gradient."""
    key, value = KEY.clone(), VALUE.clone()
    key[ABSENT] = value[ABSENT] = wild
    bias = torch.tensor(normal(L, S)).masked_fill(~MASK, -math.inf)
    kept = [s for s in range(S) if s != ABSENT]

    def taken(key: Tensor, value: Tensor, bias: Tensor) -> list[Tensor]:
        sink = torch.zeros(L, dtype=torch.float64)
        leaves = [x.clone().requires_grad_() for x in (QUERY, key, value, bias, sink)]
        q, k, v, b, s = leaves
        y = attend(q, k, v, bias=b, softcap=2.0, sink=s)
        return list(torch.autograd.grad(swayed(y), leaves))

    dq, dk, dv, db, ds = taken(key, value, bias)
    rest = taken(KEY[kept], VALUE[kept], bias[:, kept])
    assert all((x == 0).all() for x in (dk[ABSENT], dv[ABSENT], db[~MASK]))
    assert_same([dq, dk[kept], dv[kept], db[:, kept], ds], rest)


@pytest.mark.parametrize("wild", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("through", ["mask", "bias"])
def test_masked_keys_have_gradient_zero_step_by_step_through_the_cap(
    wild: float, through: str
) -> None:
    """Capped scores made without the mask don't bring a wild key back: as if it were deleted."""
    key = KEY.clone()
    key[ABSENT] = wild
    kept = [s for s in range(S) if s != ABSENT]

    def taken(key: Tensor, mask: Tensor) -> list[Tensor]:
        leaves = [x.clone().requires_grad_() for x in (QUERY, key)]
        bias = torch.zeros(mask.shape, dtype=torch.float64).masked_fill(~mask, -math.inf)
        if through == "bias":
            a = scores(*leaves, softcap=1.5, bias=bias)
            mask = torch.ones_like(mask)
        else:
            a = scores(*leaves, softcap=1.5)
        loss = swayed(softmax(a, mask=mask)[:, :1]) + log_partition(a, mask=mask)[SEEING].sum()
        return list(torch.autograd.grad(loss, leaves, create_graph=True))

    dq, dk = taken(key, MASK)
    rest = taken(KEY[kept], MASK[:, kept])
    assert (dk[ABSENT] == 0).all()
    assert_same([dq, dk[kept]], rest)


@both
@pytest.mark.parametrize("wild", [math.nan, math.inf])
@pytest.mark.parametrize("place", ["sink", "bias"])
def test_row_with_a_wild_option_leaves_the_other_rows_their_gradients(
    attend: Attend, wild: float, place: str
) -> None:
    """NaN or ∞ in the sink or bias of a row that the loss does not ask for stays there."""
    option = torch.zeros((L,) if place == "sink" else (L, S), dtype=torch.float64)
    others = [t for t in SEEING if t != 1]

    def taken(option: Tensor) -> list[Tensor]:
        leaves = [x.clone().requires_grad_() for x in (QUERY, KEY, VALUE, option)]
        y = attend(*leaves[:3], mask=MASK, **{place: leaves[3]})
        return list(torch.autograd.grad(swayed(y[others]), leaves))

    rest = taken(option)
    option[1] = wild
    assert_same(taken(option), rest)


def test_sink_of_minus_infinity_has_gradient_zero() -> None:
    """It is no key: with keys or without, it takes no gradient and makes no NaN in passing."""
    a = scores(QUERY, KEY).requires_grad_()
    sink = torch.full((L,), -math.inf, dtype=torch.float64, requires_grad=True)
    assert log_partition(a, mask=MASK, sink=sink)[EMPTY] == -math.inf
    with anomaly_detection():
        for function in (softmax, log_partition):
            result = function(a, mask=MASK, sink=sink)
            da, ds = torch.autograd.grad(result, (a, sink), torch.ones_like(result))
            assert (ds == 0).all()
            alone = function(a, mask=MASK)
            assert_same([da], list(torch.autograd.grad(alone, a, torch.ones_like(alone))))
        for attend in (attention, expanded_attention):
            y = attend(QUERY, KEY, VALUE, mask=MASK, sink=sink)
            (ds,) = torch.autograd.grad(swayed(y), sink)
            assert (ds == 0).all()


def test_capped_infinity_takes_no_gradient() -> None:
    """A score of ∞ is c under the cap, whose slope there is 0: its key has gradient 0."""
    key = KEY.clone()
    key[0] = math.inf
    query = QUERY.abs()
    for attend in (attention, expanded_attention):
        leaves = [x.clone().requires_grad_() for x in (query, key, VALUE)]
        y = attend(*leaves, softcap=1.0)
        assert y.isfinite().all()
        dq, dk, dv = torch.autograd.grad(swayed(y), leaves)
        assert (dk[0] == 0).all()
        assert all(x.isfinite().all() for x in (dq, dk, dv))


@both
@every_subset_wild_or_all
def test_backward_with_options_makes_no_nan_in_passing(
    attend: Attend, chosen: tuple[str, ...], wild: float
) -> None:
    """Torch's anomaly detection finds nothing, with empty rows and wild keys that are masked."""
    leaves, rest = with_options(chosen, wild)
    with anomaly_detection():
        y = attend(**leaves, **rest)
        first = torch.autograd.grad(swayed(y), list(leaves.values()), create_graph=True)
        again = torch.stack([swayed(x) for x in first]).sum()
        torch.autograd.grad(again, list(leaves.values()))


@both
@pytest.mark.parametrize(("L", "S"), [(2, 0), (0, 2), (2, 3)])
def test_gradients_of_options_are_zero_where_nothing_is_allowed(
    attend: Attend, L: int, S: int
) -> None:
    """No keys, no queries or no permission: bias and sink have gradients, and they are 0."""
    query, key, value = torch.ones(L, D_K), torch.ones(S, D_K), torch.ones(S, D_V)
    bias, sink = torch.full((L, S), -math.inf).requires_grad_(), torch.zeros(L, requires_grad=True)
    y = attend(query, key, value, bias=bias, sink=sink, softcap=1.0)
    for gradient in torch.autograd.grad(y.sum(), (bias, sink)):
        assert (gradient == 0).all()


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


@pytest.mark.parametrize("wild", [0.0, math.nan, math.inf])
def test_function_transforms_with_options_agree_with_a_loop(wild: float) -> None:
    """The same with every option, for every input at once."""
    chosen = [with_options(OPTIONS, wild) for _ in range(2)]
    leaves = [{name: x.detach() for name, x in one.items()} for one, _ in chosen]
    leaves[1] = {
        name: x if name in ("key", "value") else x.flip(0) for name, x in leaves[1].items()
    }
    rest = chosen[0][1]

    def loss(leaves: Leaves) -> Tensor:
        q, k, v, bias, sink = leaves.values()
        a = scores(q, k, softcap=1.5, bias=bias)
        on_the_way = softmax(a, sink=sink).square().sum() + log_partition(a, sink=sink).sum()
        return attention(q, k, v, bias=bias, sink=sink, **rest).square().sum() + on_the_way

    stacked = {name: torch.stack([one[name] for one in leaves]) for name in leaves[0]}
    batched = torch.func.vmap(torch.func.grad(loss))(stacked)
    for i, one in enumerate(leaves):
        alone = torch.func.grad(loss)(one)
        assert_same([x[i] for x in batched.values()], list(alone.values()))
        assert all(x.isfinite().all() for x in alone.values())
