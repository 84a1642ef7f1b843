"""The laws of scaled_dot_product_attention: Torch's own function, where both are defined."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention as torchs

import attnref
import oracle
from attnref.torch import attention, attention_weights, masks, scaled_dot_product_attention
from samples import D_K, D_V, B, H, L, S, normal, random_mask, triple

NAN, INF = math.nan, math.inf
QUERY, KEY, VALUE = (torch.tensor(x) for x in triple(batch=(B, H)))
MASK = torch.tensor(random_mask(B, 1, L, S))
assert MASK.any(dim=-1).all()


def column(*numbers: float, dtype: torch.dtype = torch.float64) -> Tensor:
    """Return rows of depth 1."""
    return torch.tensor(numbers, dtype=dtype)[:, None]


# Torch's own function.


def holed(*shape: int) -> Tensor:
    """Return a bias with −∞ in some places, but in no whole row."""
    bias = torch.tensor(normal(*shape))
    holes = ~torch.tensor(random_mask(*shape, seed=5))
    holes[..., 0] = False
    return bias.masked_fill(holes, -INF)


CALLS: dict[str, dict[str, Any]] = {
    "plain": {},
    "boolean": {"attn_mask": MASK},
    "boolean for all": {"attn_mask": MASK[0, 0]},
    "boolean with an empty row": {"attn_mask": MASK & (torch.arange(L) != 2)[:, None]},
    "floating": {"attn_mask": holed(B, H, L, S)},
    "floating for all": {"attn_mask": holed(L, S)},
    "floating for one query": {"attn_mask": holed(B, 1, 1, S)},
    "causal": {"is_causal": True},
    "scale": {"scale": 0.3},
    "scale of zero": {"scale": 0.0},
    "scale and mask": {"scale": 1.5, "attn_mask": MASK},
    "scale and causal": {"scale": 1.5, "is_causal": True},
    "no dropout": {"dropout_p": 0.0, "enable_gqa": False},
}


def half(dtype: torch.dtype, options: dict[str, Any]) -> dict[str, Any]:
    """Return the same call with a floating mask of the dtype."""
    return {
        name: x.to(dtype) if isinstance(x, Tensor) and x.is_floating_point() else x
        for name, x in options.items()
    }


def as_attention(query: Tensor, key: Tensor, call: dict[str, Any]) -> dict[str, Any]:
    """Return a call in the words of attention, for the oracle."""
    mask = call.get("attn_mask")
    if call.get("is_causal"):
        mask = masks.causal(query.shape[-2], key.shape[-2], align="upper-left")
    name = "mask" if mask is None or mask.dtype == torch.bool else "bias"
    given = mask if mask is None or name == "mask" else mask.double()
    return {name: None if given is None else given.numpy(), "scale": call.get("scale")}


def assert_torch_agrees(
    query: Tensor, key: Tensor, value: Tensor, call: dict[str, Any], theirs_too: bool = True
) -> None:
    """Require ours within the bound of float64 work rounded once, and Torch's within its own.

    Torch works in float32 on what is narrower, and may round weights to the query's dtype before
    it averages, in which case each term p_s v_s and Z are off by a unit roundoff.
    """
    truth = oracle.attention(
        *(x.double().numpy() for x in (query, key, value)), **as_attention(query, key, call)
    )
    ours, theirs = (
        attend(query, key, value, **call) for attend in (scaled_dot_product_attention, torchs)
    )
    assert ours.dtype == theirs.dtype == query.dtype
    # In float64, for NumPy has no bfloat16: the work's error, then a rounding to the dtype.
    narrow = torch.finfo(query.dtype)
    exact = abs(np.vectorize(float, otypes=[float])(truth.output.exact))
    rounding = (narrow.eps / 2 * exact + narrow.smallest_normal * narrow.eps) * (narrow.bits < 64)
    oracle.assert_near(
        ours.double().numpy(), truth.output.exact, truth.output.bound("float64") + rounding
    )
    if theirs_too:
        working = "float64" if narrow.bits == 64 else "float32"
        bound = truth.output.bound("float64", working) + narrow.eps * truth.magnitude + rounding
        oracle.assert_near(theirs.double().numpy(), truth.output.exact, bound)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("call", CALLS)
def test_drop_in_agrees_with_torch(call: str, dtype: torch.dtype) -> None:
    """Every mask, a causal one where L ≠ S, a scale and a bias, in every dtype."""
    q, k, v = (x.to(dtype) for x in (QUERY, KEY, VALUE))
    assert_torch_agrees(q, k, v, half(dtype, CALLS[call]))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_drop_in_takes_a_float32_bias_unrounded(dtype: torch.dtype) -> None:
    """A bias of float32 beside queries of another dtype is what it is: 2048.5 is not 2048."""
    q, k, v = (x.to(dtype) for x in (QUERY, KEY, VALUE))
    bias = holed(B, H, L, S).float() + 2048
    assert_torch_agrees(q, k, v, {"attn_mask": bias}, theirs_too=False)  # Torch may round it


@pytest.mark.parametrize(
    "call", [{}, {"is_causal": True}, {"attn_mask": MASK}, {"attn_mask": holed(6, L, S)}]
)
@pytest.mark.parametrize("shared", [1, 2, 3, 6])
def test_drop_in_shares_heads_as_torch_does(shared: int, call: dict[str, Any]) -> None:
    """With enable_gqa, neighbours read one head (faults 42 and 45)."""
    query, key = torch.tensor(normal(B, 6, L, D_K)), torch.tensor(normal(B, shared, S, D_K))
    value = torch.tensor(normal(B, shared, S, D_V))
    assert_torch_agrees(query, key, value, {**call, "enable_gqa": True})


def test_drop_in_broadcasts_as_torch_does() -> None:
    """Leading axes broadcast, of query, key, value and mask, without enable_gqa too."""
    query, key = torch.tensor(normal(3, 1, L, D_K)), torch.tensor(normal(2, S, D_K))
    value = torch.tensor(normal(1, 1, S, D_V))
    assert_torch_agrees(query, key, value, {})
    assert_torch_agrees(query, key, value, {"attn_mask": holed(3, 1, L, S)})
    assert_torch_agrees(QUERY, KEY[:, :1], VALUE[:, :1], {})
    assert_torch_agrees(QUERY[0, 0], KEY[0, 0], VALUE[0, 0], {"attn_mask": MASK[0, 0]})


@pytest.mark.parametrize(("L", "S"), [(2, 4), (4, 2), (1, 4), (3, 3), (0, 2), (2, 0)])
def test_drop_in_is_causal_from_the_upper_left(L: int, S: int) -> None:
    """Query i sees keys j ≤ i, however many there are, as Torch has it (faults 17 to 19)."""
    query, key, value = (torch.tensor(normal(n, 3)) for n in (L, S, S))
    ours = scaled_dot_product_attention(query, key, value, is_causal=True)
    seen = masks.causal(L, S, align="upper-left")
    assert torch.equal(ours, attention(query, key, value, mask=seen))
    if L:
        assert_torch_agrees(query, key, value, {"is_causal": True})


def test_drop_in_takes_its_arguments_in_torchs_order() -> None:
    """Query, key, value, attn_mask, dropout_p and is_causal may be given by place."""
    ours = scaled_dot_product_attention(QUERY, KEY, VALUE, None, 0.0, True)
    assert torch.equal(ours, scaled_dot_product_attention(QUERY, KEY, VALUE, is_causal=True))
    ours = scaled_dot_product_attention(QUERY, KEY, VALUE, MASK, 1.0)
    assert not ours.any()


# Itself.


def test_drop_in_is_attention() -> None:
    """The same numbers as attention, to the bit: a boolean is a mask, a float a bias."""
    bias = holed(B, H, L, S)
    cases: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"attn_mask": MASK}, {"mask": MASK}),
        ({"attn_mask": bias}, {"bias": bias}),
        ({"scale": -0.5}, {"scale": -0.5}),
    ]
    for call, own in cases:
        ours = scaled_dot_product_attention(QUERY, KEY, VALUE, **call)
        assert torch.equal(ours, attention(QUERY, KEY, VALUE, **own))


def test_drop_in_adds_ones_and_zeros() -> None:
    """Fault 25: a floating mask of 1 and 0 is a bias, a boolean one is a mask."""
    q, k, v = column(0), column(0, 0), column(1, 3)
    added = scaled_dot_product_attention(q, k, v, torch.tensor([1.0, 0.0]))
    right = (math.e + 3) / (math.e + 1)
    torch.testing.assert_close(added.item(), right, rtol=8 * 2**-53, atol=0)
    assert scaled_dot_product_attention(q, k, v, torch.tensor([True, False])).item() == 1


@pytest.mark.parametrize("wild", [NAN, INF])
@pytest.mark.parametrize("kind", [torch.bool, torch.float32, torch.float64])
def test_drop_in_lets_nothing_masked_through(wild: float, kind: torch.dtype) -> None:
    """Different from Torch on purpose: NaN behind a mask or a bias of −∞ stays there (fault 31)."""
    seen = torch.tensor([True, False])
    mask = seen if kind == torch.bool else torch.zeros(2, dtype=kind).masked_fill(~seen, -INF)
    q, k, v = (x.requires_grad_() for x in (column(0), column(0, wild), column(1, wild)))
    y = scaled_dot_product_attention(q, k, v, mask)
    assert y.item() == 1
    assert torchs(q, k, v, mask[None]).isnan().all(), "Torch has changed: so must the docstring"
    for gradient in torch.autograd.grad(y.sum(), (q, k, v)):
        assert gradient.isfinite().all()


def test_drop_in_shows_a_query_that_is_nan() -> None:
    """Different from Torch on purpose: NaN that is allowed is not hidden (fault 12)."""
    call = column(NAN)[None, None], column(0, 0)[None, None], column(1, 3)[None, None]
    assert scaled_dot_product_attention(*call).isnan().all()
    assert torchs(*call).item() == 0, "Torch has changed: so must the docstring"


def test_drop_in_has_torchs_signature() -> None:
    """What Torch documents is what may be given, and a generator after it."""
    said = str(torchs.__doc__)
    start = said.index("scaled_dot_product_attention(") + len("scaled_dot_product_attention(")
    theirs = [
        part.partition("=")[0].strip() for part in said[start : said.index(")", start)].split(",")
    ]
    code = scaled_dot_product_attention.__code__
    ours = list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    assert [name for name in theirs if name != "*"] + ["generator"] == ours


# Dropout.


def generator(seed: int = 0) -> torch.Generator:
    """Return a source of random numbers that starts at a seed."""
    return torch.Generator().manual_seed(seed)


def test_dropout_is_repeated_by_its_seed() -> None:
    """One seed, one result; another seed, another; and Torch's own source unless given."""
    arrays = QUERY, KEY, VALUE

    def drop(source: torch.Generator | None) -> Tensor:
        return scaled_dot_product_attention(*arrays, dropout_p=0.5, generator=source)

    assert torch.equal(drop(generator()), drop(generator()))
    assert not torch.equal(drop(generator()), drop(generator(1)))
    source = generator()
    assert not torch.equal(drop(source), drop(source)), "it goes on"
    state = torch.get_rng_state()
    first = drop(None)
    assert not torch.equal(torch.get_rng_state(), state)
    torch.set_rng_state(state)
    assert torch.equal(drop(None), first)
    drop(generator())
    state = torch.get_rng_state()
    drop(generator())
    assert torch.equal(torch.get_rng_state(), state), "a generator of one's own is the only source"


def test_dropout_of_zero_draws_nothing() -> None:
    """Applied where it is above 0 only: the result is attention's, to the bit (fault 61)."""
    state = torch.get_rng_state()
    ours = scaled_dot_product_attention(QUERY, KEY, VALUE, dropout_p=0)
    assert torch.equal(ours, attention(QUERY, KEY, VALUE))
    assert torch.equal(torch.get_rng_state(), state)


def thinned(chance: float, *, source: torch.Generator, **call: Any) -> Tensor:
    """Return the weights after dropout: the output where the values are the unit vectors."""
    units = torch.eye(S, dtype=torch.float64)
    return scaled_dot_product_attention(
        QUERY, KEY, units, dropout_p=chance, generator=source, **call
    )


@pytest.mark.parametrize("chance", [0.2, 0.5, 0.9, 1.0])
def test_dropout_keeps_weights_over_the_chance_or_drops_them(chance: float) -> None:
    """Each weight is 0, or its own over 1 − p; a chance of 1 leaves nothing (fault 62)."""
    dropped = thinned(chance, source=generator(), attn_mask=MASK)
    p = attention_weights(QUERY, KEY, mask=MASK)
    kept = dropped != 0
    assert (kept & MASK.expand(kept.shape)).any() == (chance < 1)
    assert (~kept & MASK).any()
    assert not (kept & ~MASK).any()
    if chance < 1:
        # The weights are within a rounding or two of each other, and a quotient rounds once.
        torch.testing.assert_close(dropped[kept], (p / (1 - chance))[kept], rtol=2**-51, atol=0)


def test_dropout_is_of_weights_and_not_of_outputs() -> None:
    """The values are averaged by the weights that are kept, the same for every column."""
    y = scaled_dot_product_attention(QUERY, KEY, VALUE, MASK, dropout_p=0.5, generator=generator())
    by_hand = thinned(0.5, source=generator(), attn_mask=MASK) @ VALUE
    # S products, each at most 2 max|v|, and sums of them, rounded twice on either side.
    atol = 2 * 2 * S * 2 * S * float(VALUE.abs().max()) * 2**-53
    torch.testing.assert_close(y, by_hand, rtol=0, atol=atol)
    assert y.any()


def test_dropout_of_a_fifth_keeps_five_quarters() -> None:
    """One key: what is kept is 1.25, what is dropped 0 (fault 62)."""
    one = torch.ones(1000, 1, 1)
    y = scaled_dot_product_attention(one, one, one, dropout_p=0.2, generator=generator())
    assert set(y.flatten().tolist()) == {0.0, 1.25}


@pytest.mark.parametrize("chance", [0.1, 0.5])
def test_dropout_keeps_the_mean(chance: float) -> None:
    """Over n draws the mean of each weight is its own, to within 6 deviations of its mean."""
    n = 2000
    query, key = QUERY[0, 0].expand(n, L, D_K), KEY[0, 0]
    units = torch.eye(S, dtype=torch.float64)
    draws = scaled_dot_product_attention(query, key, units, dropout_p=chance, generator=generator())
    p = attention_weights(QUERY[0, 0], key)
    deviation = p * math.sqrt(chance / (1 - chance) / n)  # of p·Bernoulli(1 − p)/(1 − p), n times
    assert ((draws.mean(dim=0) - p).abs() <= 6 * deviation).all()
    # The share of those kept: as many as n·L·S draws of a coin allow.
    share = (draws != 0).double().mean().item()
    assert abs(share - (1 - chance)) <= 6 * math.sqrt(chance * (1 - chance) / (n * L * S))
    # And no two queries or keys share their luck: the draws differ in every row and column.
    kept = (draws != 0).double().reshape(n, -1)
    correlation = torch.corrcoef(kept.mT) - torch.eye(L * S)
    assert correlation.abs().max() <= 6 / math.sqrt(n)


def test_dropout_has_the_gradients_of_the_weights_it_keeps() -> None:
    """Once and twice, with an empty row and NaN behind the mask; 0 where all is dropped."""
    query, key, value = (torch.tensor(normal(n, 2)) for n in (3, 5, 5))
    mask = torch.tensor(random_mask(3, 5))
    mask[1] = mask[:, 2] = False
    key[2] = value[2] = NAN

    def drop(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return scaled_dot_product_attention(q, k, v, mask, 0.5, generator=generator())

    leaves = [x.requires_grad_() for x in (query, key, value)]
    assert gradcheck(drop, leaves)
    assert gradgradcheck(drop, leaves)
    y = scaled_dot_product_attention(query, key, value, mask, 1.0)
    for gradient in torch.autograd.grad(y.sum(), leaves):
        assert (gradient == 0).all()


def test_dropout_works_beside_every_other_option() -> None:
    """No option is lost by another: each pair with dropout is what the kept weights give."""
    units = torch.eye(S, dtype=torch.float64)
    heads = QUERY.repeat_interleave(2, dim=1)
    calls: list[dict[str, Any]] = [
        {"attn_mask": MASK},
        {"attn_mask": holed(L, S)},
        {"is_causal": True},
        {"scale": 0.3},
    ]
    for call, gqa in itertools.product(calls, (False, True)):
        query = heads if gqa else QUERY
        dropped, whole = (
            scaled_dot_product_attention(
                query, KEY, units, dropout_p=p, generator=generator(), enable_gqa=gqa, **call
            )
            for p in (0.5, 0.0)
        )
        kept = dropped != 0
        assert kept.any()
        assert (~kept & (whole != 0)).any()
        torch.testing.assert_close(dropped[kept], 2 * whole[kept], rtol=2**-50, atol=0)


def test_dropout_hides_no_nan() -> None:
    """NaN in an allowed value shows, its weight dropped or not, as Torch has it."""
    y = scaled_dot_product_attention(column(0), column(0, 0), column(1, NAN), dropout_p=1.0)
    assert y.isnan().all()


def test_dropout_under_vmap_draws_as_it_is_told() -> None:
    """Randomness "different" draws for each of a batch, "same" once for all."""
    query = QUERY[0, :1].expand(3, 1, L, D_K)

    def drop(q: Tensor) -> Tensor:
        return scaled_dot_product_attention(q, KEY[0, 0], VALUE[0, 0], dropout_p=0.5)

    same = torch.func.vmap(drop, randomness="same")(query)
    different = torch.func.vmap(drop, randomness="different")(query)
    assert torch.equal(same[0], same[1])
    assert not torch.equal(different[0], different[1])


# The two sides.


def test_drop_in_agrees_with_numpy() -> None:
    """Both sides within the oracle's bound of each other, whatever the mask."""
    query, key, value = triple(batch=(B, H))
    for call in CALLS.values():
        numpy_call: dict[str, Any] = {
            n: x.numpy() if isinstance(x, Tensor) else x for n, x in call.items()
        }
        theirs = attnref.scaled_dot_product_attention(query, key, value, **numpy_call)
        truth = oracle.attention(query, key, value, **as_attention(QUERY, KEY, call)).output
        ours = scaled_dot_product_attention(QUERY, KEY, VALUE, **call).numpy()
        oracle.assert_agree(ours, theirs, truth)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("chance", [0.1, 0.5, 0.9])
def test_dropout_drops_what_torch_drops_from_the_same_seed(
    dtype: torch.dtype, chance: float
) -> None:
    """From one seed of the global source both keep the same weights, seen by unit values."""
    query, key, value = torch.zeros(2, 3, 5, 1), torch.zeros(2, 3, 7, 1), torch.eye(7)
    q, k, v = (x.to(dtype) for x in (query, key, value.expand(2, 3, 7, 7)))
    torch.manual_seed(11)
    ours = scaled_dot_product_attention(q, k, v, dropout_p=chance)
    torch.manual_seed(11)
    with sdpa_kernel(SDPBackend.MATH):
        theirs = torchs(q, k, v, dropout_p=chance)
    assert torch.equal(ours > 0, theirs > 0)
    assert 0 < (ours > 0).sum() < ours.numel()
