"""The laws of the layers: what they compute, what they remember, and what may not enter.

Each has a witness that shares nothing with it: plain Torch in float64, which also counts how far
rounding may carry a result from the truth, Torch's own layer, and the oracle.
"""

import copy
import io
import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

import oracle
from attnref.torch import masks
from attnref.torch.modules import KeyValueCache, MultiHeadAttention, SingleHeadAttention
from samples import D_K, D_V, B, L, S, normal, random_mask

HEADS, GROUPS, DEPTH, KDIM, VDIM = 6, 3, 11, 13, 17
WIDTH = HEADS * DEPTH
DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
every_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=str)
every_group = pytest.mark.parametrize("num_kv_heads", [1, GROUPS, HEADS])


def unit(dtype: torch.dtype) -> float:
    """Return u, half the distance from 1 to the next number."""
    return torch.finfo(dtype).eps / 2


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


def numbers(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    """Return standard normal numbers; sizes and seed decide them."""
    return torch.tensor(normal(*shape, seed=seed)).to(dtype)


def some_mask(*shape: int) -> Tensor:
    """Return a mask with both values in it, in which every query sees the first key."""
    mask = torch.tensor(random_mask(*shape))
    mask[..., 0] = True
    return mask


def multi(num_kv_heads: int = GROUPS, **options: Any) -> MultiHeadAttention:
    """Return a layer of the sizes above, in float64."""
    return MultiHeadAttention(WIDTH, HEADS, num_kv_heads, **{"dtype": torch.float64, **options})


# The witness.


@dataclass(frozen=True)
class Near:
    """Numbers, and how far from them those of a layer may be that rounds as its dtype does."""

    x: Tensor
    error: Tensor


def exact(x: Tensor) -> Near:
    """Return numbers that are given, in float64."""
    return Near(x.double(), torch.zeros_like(x, dtype=torch.float64))


def working(dtype: torch.dtype) -> float:
    """Return the unit of sums: 16-bit numbers are summed in float32, and the sum is rounded."""
    return min(unit(dtype), unit(torch.float32))


def linear(given: Near, layer: nn.Linear, dtype: torch.dtype) -> Near:
    """Return W x + b: n products and n sums in any order, and one rounding to the dtype."""
    weight = layer.weight.detach().double()
    bias = weight.new_zeros(()) if layer.bias is None else layer.bias.detach().double()
    size = (given.x.abs() + given.error) @ weight.abs().mT + bias.abs()
    y, error = given.x @ weight.mT + bias, given.error @ weight.abs().mT
    sums = weight.shape[-1] * working(dtype) * size
    return Near(y, error + sums + unit(dtype) * (y.abs() + error + sums))


def weighed(q: Near, k: Near, mask: Tensor | None, sink: float | None, u: float) -> Near:
    """Return p: exp turns an error ε of a score into a factor exp(ε), and Z holds the mean one."""
    beta, S = 1 / math.sqrt(q.x.shape[-1]), k.x.shape[-2] + 1
    a = beta * q.x @ k.x.mT
    reach = beta * (q.x.abs() + q.error) @ (k.x.abs() + k.error).mT
    error = reach - beta * q.x.abs() @ k.x.abs().mT + (q.x.shape[-1] + 3) * u * reach
    if mask is not None:
        a = a.masked_fill(~mask, -math.inf)
    a = nn.functional.pad(a, (0, 1), value=-math.inf if sink is None else sink)
    p = torch.softmax(a, dim=-1)
    spread = nn.functional.pad(error, (0, 1)) + u * (a.amax(dim=-1, keepdim=True) - a + 4)
    spread = torch.where(p > 0, spread, 0.0)
    units = spread + (p * spread).sum(dim=-1, keepdim=True) + (S + 3) * u
    return Near(p[..., :-1], (p * units.expm1())[..., :-1])


def split(given: Near, depth: int, copies: int) -> Near:
    """Return the heads, (…, H, L, d), each written out for every query that reads it."""
    parts = (torch.unflatten(x, -1, (-1, depth)).transpose(-3, -2) for x in (given.x, given.error))
    return Near(*(x.repeat_interleave(copies, dim=-3) for x in parts))


def witness(
    layer: MultiHeadAttention, *tokens: Tensor, mask: Tensor | None = None
) -> tuple[Near, Near]:
    """Return output and weights in plain Torch, with the errors that the tokens' dtype allows."""
    dtype, copies = tokens[0].dtype, layer.num_heads // layer.num_kv_heads
    u, round_off = working(dtype), unit(dtype)
    q, k, v = (
        split(linear(exact(x), W, dtype), layer.head_dim, n)
        for x, W, n in zip(
            tokens, (layer.W_Q, layer.W_K, layer.W_V), (1, copies, copies), strict=True
        )
    )
    p = weighed(q, k, mask, layer.sink, u)
    size = (p.x + p.error) @ (v.x.abs() + v.error)
    error = size - p.x @ v.x.abs() + (k.x.shape[-2] + 3) * u * size + round_off * size
    joined = (x.transpose(-3, -2).flatten(-2) for x in (p.x @ v.x, error))
    return linear(Near(*joined), layer.W_O, dtype), Near(p.x, p.error + round_off * p.x)


def assert_near(found: tuple[Tensor, Tensor], expected: tuple[Near, Near]) -> None:
    """Require outputs and weights within the bound, and room for as much by the witness."""
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.x.shape
        assert (other.error < 1).all(), "a bound that bounds nothing"
        miss = (one.double() - other.x).abs() - 2 * other.error
        assert (miss <= 0).all(), f"beyond the bound by {miss.max().item()}"


def rows(given: tuple[Near, Near], which: Any) -> tuple[Near, Near]:
    """Return output and weights of some queries."""
    one, other = (Near(n.x[..., which, :], n.error[..., which, :]) for n in given)
    return one, other


# One head.


def test_single_head_is_the_layer_of_the_article() -> None:
    """768 numbers a token: the article's parameters, shapes, and rows of weights that sum to 1."""
    layer = SingleHeadAttention()
    assert sum(weight.numel() for weight in layer.parameters()) == 1771776
    assert [name for name, _ in layer.named_children()] == ["W_Q", "W_K", "W_V"]
    assert (layer.d_k, layer.d_v) == (768, 768)
    output, weights = layer(torch.randn(1, 9, 768))
    assert output.shape == torch.Size([1, 9, 768])
    assert weights.shape == torch.Size([1, 9, 9])
    # Each weight is rounded by u of itself, so the row by u of 1; what float64 adds is far less.
    assert ((weights.double().sum(dim=-1) - 1).abs() <= 1.01 * unit(torch.float32)).all()


@pytest.mark.parametrize("masked", [False, True])
def test_single_head_is_attention_of_its_projections(masked: bool) -> None:
    """Output and weights are the oracle's for W_Q x, W_K x, W_V x, at any depths."""
    layer = SingleHeadAttention(KDIM, D_K, D_V, dtype=torch.float64)
    x = numbers(B, L, KDIM)
    mask = some_mask(B, L, L) if masked else None
    output, weights = layer(x, mask=mask)
    q, k, v = (W(x).detach().numpy() for W in (layer.W_Q, layer.W_K, layer.W_V))
    truth = oracle.attention(q, k, v, mask=None if mask is None else mask.numpy())
    assert output.shape == (B, L, D_V)
    oracle.assert_within(output.detach().numpy(), truth.output)
    oracle.assert_within(weights.detach().numpy(), truth.weights)


def as_one_of_several(single: SingleHeadAttention) -> MultiHeadAttention:
    """Return a layer of one head with the same weights, which passes on what the head returns."""
    layer = MultiHeadAttention(single.hidden_size, 1, dtype=single.W_Q.weight.dtype)
    nn.init.eye_(layer.W_O.weight)
    nn.init.zeros_(layer.W_O.bias)
    layer.load_state_dict(single.state_dict(), strict=False)
    return layer


ORDERS = pytest.mark.parametrize("order", [[0, 1, 2, 3, 4], [0, 4, 3, 2, 1], [0, 2, 4, 1, 3]])


@ORDERS
def test_single_head_reads_context_and_no_order(order: list[int]) -> None:
    """Where the other tokens stand changes no output; which they are does."""
    layer, x = SingleHeadAttention(WIDTH, dtype=torch.float64), numbers(L, WIDTH)
    first = rows(witness(as_one_of_several(layer), x, x, x), [0])
    output, weights = layer(x[order])
    assert_near((output[:1], weights[None, :1, torch.tensor(order).argsort()]), first)
    other = torch.cat([x[:1], numbers(L - 1, WIDTH, seed=1)])
    assert ((layer(other)[0][:1] - first[0].x).abs() > 2 * first[0].error).any()


@ORDERS
def test_multi_head_reads_context_and_no_order(order: list[int]) -> None:
    """Without causal, its heads know no order either; with causal they do."""
    layer, x = multi(), numbers(L, WIDTH)
    first = rows(witness(layer, x, x, x), [0])
    output, weights = layer(x[order])
    assert_near((output[:1], weights[:, :1, torch.tensor(order).argsort()]), first)
    assert ((layer(x, causal=True)[0][:1] - first[0].x).abs() > 2 * first[0].error).any()


@pytest.mark.parametrize("bias", [False, True])
def test_initial_scores_have_variance_one_ninth(bias: bool) -> None:
    """Weights uniform on ±1/√h have variance 1/3h; with |x|² = h, q and k have 1/3, scores 1/9."""
    # A bias is one more term: (h + 1)/3h each. The d_k products q_i k_i of one pair of tokens are
    # independent, each with the variance of the score. A sum of uniform numbers has a kurtosis
    # below 3, so a squared product has a variance of at most 9 − 1 in units of its squared mean.
    h, n = 11, 100003
    layer = SingleHeadAttention(h, n, 1, bias=bias, dtype=torch.float64)
    x = nn.functional.normalize(numbers(2, h), dim=-1) * math.sqrt(h)
    products = (layer.W_Q(x[0]) * layer.W_K(x[1])).detach()
    expected = ((h + bias) / (3 * h)) ** 2
    assert abs(products.square().mean().item() / expected - 1) < 4 * math.sqrt(8 / n)
    assert layer.W_Q.weight.abs().max() <= 1 / math.sqrt(h)


# Several heads.


@every_dtype
@every_group
def test_multi_head_is_the_plain_formula_within_its_bound(
    num_kv_heads: int, dtype: torch.dtype
) -> None:
    """Every dtype and grouping, tokens of three depths, a mask for each head: within rounding."""
    layer = multi(num_kv_heads, kdim=KDIM, vdim=VDIM, dtype=dtype)
    shapes = (B, L, WIDTH), (B, S, KDIM), (B, S, VDIM)
    tokens = [numbers(*shape, dtype=dtype) for shape in shapes]
    mask = some_mask(HEADS, L, S)
    found = layer(*tokens, mask=mask)
    assert {x.dtype for x in found} == {dtype}
    assert found[0].shape == (B, L, WIDTH)
    assert found[1].shape == (B, HEADS, L, S)
    assert_near(found, witness(layer, *tokens, mask=mask))


def test_multi_head_takes_the_query_for_the_key_and_the_key_for_the_value() -> None:
    """What is left out is what stands before it."""
    layer, x, other, third = multi(), *(numbers(n, L, WIDTH) for n in (2, 1, 1))
    third = third + 1
    for short, long in [
        ((x,), (x, x, x)),
        ((x, other), (x, other, other)),
        ((x, None, third), (x, x, third)),
    ]:
        for one, two in zip(layer(*short), layer(*long), strict=True):
            assert torch.equal(one, two)
    assert not torch.equal(layer(x, other)[0], layer(x, other, third)[0])


def test_multi_head_broadcasts_leading_axes() -> None:
    """Queries, keys and values of other leading axes are repeated, a mask's first ones too."""
    layer = multi(kdim=KDIM, vdim=VDIM)
    query, key = numbers(5, 1, L, WIDTH), numbers(S, KDIM)
    value, mask = numbers(2, S, VDIM), some_mask(5, 2, 1, L, S)
    output, weights = layer(query, key, value, mask=mask)
    full = query.expand(5, 2, L, WIDTH), key.expand(5, 2, S, KDIM), value.expand(5, 2, S, VDIM)
    assert weights.shape == (5, 2, HEADS, L, S)
    assert_near((output, weights), witness(layer, *full, mask=mask))
    assert layer(query, key, value)[1].shape == (5, 2, HEADS, L, S)


@pytest.mark.parametrize("lead", [(), (0,), (2, 3)], ids=str)
@pytest.mark.parametrize(("few", "many"), [(0, 0), (0, 3), (3, 0), (2, 3)])
def test_layers_are_defined_for_zero_sizes_and_any_leading_axes(
    lead: tuple[int, ...], few: int, many: int
) -> None:
    """No tokens, no batch: shapes as always, and with no keys the output is W_O's bias."""
    layer = multi()
    output, weights = layer(numbers(*lead, few, WIDTH), numbers(*lead, many, WIDTH))
    assert output.shape == (*lead, few, WIDTH)
    assert weights.shape == (*lead, HEADS, few, many)
    if not many:
        assert torch.equal(output, layer.W_O.bias.expand_as(output))
    single = SingleHeadAttention(KDIM, D_K, D_V, dtype=torch.float64)
    output, weights = single(numbers(*lead, few, KDIM))
    assert (output.shape, weights.shape) == ((*lead, few, D_V), (*lead, few, few))


def test_causal_is_the_causal_mask_and_goes_with_another() -> None:
    """Without a cache causal is masks.causal, and what a mask forbids is forbidden too."""
    layer, x, mask = multi(), numbers(B, L, WIDTH), torch.tensor(random_mask(B, 1, L, L))
    order = masks.causal(L, L)
    for one, two in [
        (layer(x, causal=True), layer(x, mask=order)),
        (layer(x, causal=True, mask=mask), layer(x, mask=order & mask)),
    ]:
        assert torch.equal(one[0], two[0])
        assert torch.equal(one[1], two[1])


@pytest.mark.parametrize("wild", [math.nan, math.inf])
def test_masked_tokens_are_as_if_deleted(wild: float) -> None:
    """Whatever a masked token holds, outputs and gradients of the others are those without it."""
    layer, query, key = multi(), numbers(B, L, WIDTH), numbers(B, S, WIDTH)
    kept = [s for s in range(S) if s not in (2, 3)]
    mask = torch.ones(S, dtype=torch.bool)
    mask[[2, 3]] = False
    poisoned = key.clone()
    poisoned[:, [2, 3]] = wild
    poisoned.requires_grad_()
    expected = witness(layer, query, key[:, kept], key[:, kept])
    output, weights = layer(query, poisoned, mask=mask)
    assert_near((output, weights[..., kept]), expected)
    assert (weights[..., ~mask] == 0).all()
    (gradient,) = torch.autograd.grad(output.sum(), poisoned)
    assert gradient.isfinite().all()
    assert (gradient[:, [2, 3]] == 0).all()


def test_a_query_that_may_attend_to_nothing_gives_the_bias_of_the_output() -> None:
    """The weights of such a row are 0, and W_O of 0 is its bias."""
    layer, mask = multi(), some_mask(L, L)
    mask[1] = False
    output, weights = layer(numbers(L, WIDTH), mask=mask)
    assert (weights[:, 1] == 0).all()
    assert torch.equal(output[1], layer.W_O.bias)


def test_gradients_of_the_layers_are_finite_differences() -> None:
    """By tokens and by every weight, a causal mask included."""
    layer = MultiHeadAttention(6, 2, 1, kdim=3, vdim=5, dtype=torch.float64)
    tokens = tuple(numbers(3, n).requires_grad_() for n in (6, 3, 5))
    names, weights = zip(*layer.named_parameters(), strict=True)

    def call(*given: Tensor) -> Any:
        state = dict(zip(names, given[3:], strict=True))
        return torch.func.functional_call(layer, state, given[:3], {"causal": True})

    assert torch.autograd.gradcheck(call, (*tokens, *weights))


# The memory.


def decoded(
    layer: MultiHeadAttention, x: Tensor, sizes: list[int], cache: KeyValueCache
) -> tuple[Tensor, Tensor]:
    """Return outputs and weights of tokens that come in pieces; weights of keys to come are 0."""
    outputs, weights = [], []
    for piece in torch.split(x, sizes, dim=-2):
        before = cache.length
        output, p = layer(piece, causal=True, cache=cache)
        assert cache.length == before + piece.shape[-2]
        outputs.append(output)
        weights.append(nn.functional.pad(p, (0, x.shape[-2] - cache.length)))
    return torch.cat(outputs, dim=-2), torch.cat(weights, dim=-2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@every_group
@settings(max_examples=10, deadline=None, derandomize=True)
@given(cuts=st.sets(st.integers(0, S)))
def test_decoding_in_pieces_is_the_whole_causal_pass(
    num_kv_heads: int, dtype: torch.dtype, cuts: set[int]
) -> None:
    """Token by token or in any pieces, empty ones too, both lie within the bound of the truth."""
    layer, x = multi(num_kv_heads, dtype=dtype), numbers(B, S, WIDTH, dtype=dtype)
    edges = [0, *sorted(cuts), S]
    sizes = [stop - start for start, stop in pairwise(edges)]
    expected = witness(layer, x, x, x, mask=masks.causal(S, S))
    assert_near(layer(x, causal=True), expected)
    assert_near(decoded(layer, x, sizes, KeyValueCache()), expected)
    assert_near(decoded(layer, x, [1] * S, KeyValueCache()), expected)


def test_cache_holds_the_projected_keys_and_values() -> None:
    """A new one is empty; then (…, Hkv, S, d), the oldest first, also without causal."""
    layer, cache = multi(kdim=KDIM, vdim=VDIM), KeyValueCache()
    assert (cache.length, cache.key, cache.value) == (0, None, None)
    assert repr(cache) == "KeyValueCache(length=0)"
    query, key, value = numbers(B, L, WIDTH), numbers(B, S, KDIM), numbers(B, S, VDIM)
    for part in (slice(0, 3), slice(3, S)):
        found = layer(query, key[:, part], value[:, part], cache=cache)
    assert_near(found, witness(layer, query, key, value))
    assert (cache.length, repr(cache)) == (S, "KeyValueCache(length=7)")
    for held, W, x in [(cache.key, layer.W_K, key), (cache.value, layer.W_V, value)]:
        assert held is not None
        assert held.shape == (B, GROUPS, S, DEPTH)
        right = split(linear(exact(x), W, torch.float64), DEPTH, 1)
        assert ((held - right.x).abs() <= 2 * right.error).all()


def test_masks_count_what_the_cache_holds() -> None:
    """A mask covers the keys in the cache too, and goes with causal."""
    layer, x, cache = multi(), numbers(B, S, WIDTH), KeyValueCache()
    mask = some_mask(B, 1, S, S)
    layer(x[:, :3], mask=mask[..., :3, :3], causal=True, cache=cache)
    output, weights = layer(x[:, 3:], mask=mask[..., 3:, :], causal=True, cache=cache)
    full = witness(layer, x, x, x, mask=mask & masks.causal(S, S))
    assert_near((output, weights), rows(full, slice(3, None)))


def test_gradients_flow_through_the_cache() -> None:
    """The gradients of the outputs of a decoding are finite differences, through every piece."""
    layer = MultiHeadAttention(6, 2, 1, dtype=torch.float64)

    def last(x: Tensor) -> Tensor:
        cache = KeyValueCache()
        layer(x[:2], causal=True, cache=cache)
        output: Tensor = layer(x[2:], causal=True, cache=cache)[0]
        return output

    x = numbers(3, 6).requires_grad_()
    assert torch.autograd.gradcheck(last, (x,))
    (gradient,) = torch.autograd.grad(last(x).sum(), x)
    assert (gradient[:2] != 0).any(dim=-1).all(), "no gradient came through the cache"


def test_a_copied_cache_goes_its_own_way() -> None:
    """Two continuations of one prompt give what each gives alone."""
    layer, prompt = multi(), numbers(1, 3, WIDTH)
    cache = KeyValueCache()
    layer(prompt, causal=True, cache=cache)
    held = cache.key
    for seed in (1, 2):
        x = torch.cat([prompt, numbers(1, 2, WIDTH, seed=seed)], dim=1)
        branch = copy.copy(cache)
        found = layer(x[:, 3:], causal=True, cache=branch)
        full = witness(layer, x, x, x, mask=masks.causal(5, 5))
        assert_near(found, rows(full, slice(3, None)))
        assert (branch.length, cache.length) == (5, 3)
        assert cache.key is held


# Torch's own layer.


def tokens_of(theirs: nn.MultiheadAttention) -> list[Tensor]:
    """Return query, key and value for a layer, batch first."""
    dtype, sizes = theirs.out_proj.weight.dtype, (theirs.embed_dim, theirs.kdim, theirs.vdim)
    return [numbers(B, n, size, dtype=dtype) for n, size in zip((L, S, S), sizes, strict=True)]


def called(theirs: nn.MultiheadAttention, *tokens: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Return its outputs and weights, head by head, batch first, for a mask (B, H, L, S)."""
    turned = tokens if theirs.batch_first else [x.transpose(0, 1) for x in tokens]
    forbidden = ~mask.flatten(0, 1)
    output, weights = theirs(*turned, attn_mask=forbidden, average_attn_weights=False)
    return output if theirs.batch_first else output.transpose(0, 1), weights


CONVERTED: dict[str, dict[str, Any]] = {
    "packed": {},
    "without bias": {"bias": False},
    "batch first": {"batch_first": True},
    "separate": {"kdim": KDIM, "vdim": VDIM},
    "separate without bias": {"kdim": KDIM, "bias": False, "batch_first": True},
    "zero key": {"add_zero_attn": True},
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("case", CONVERTED)
def test_converted_layer_is_that_of_torch(case: str, dtype: torch.dtype) -> None:
    """Both lie within the bound of the truth, outputs and weights; masks are inverted."""
    theirs = nn.MultiheadAttention(WIDTH, HEADS, **CONVERTED[case], dtype=dtype)
    for bias in (theirs.in_proj_bias, theirs.out_proj.bias):
        if bias is not None:
            nn.init.normal_(bias)  # Torch starts at 0, where nothing shows
    ours, tokens = MultiHeadAttention.from_torch(theirs), tokens_of(theirs)
    mask, zero = some_mask(B, HEADS, L, S), theirs.add_zero_attn
    expected = witness(ours, *tokens, mask=mask)
    output, weights = called(theirs, *tokens, mask=mask)
    assert_near((output, weights[..., :S]), expected)
    assert_near(ours(*tokens, mask=mask), expected)
    assert ours.sink == (0.0 if zero else None)
    if zero:
        # The row holds what the sink leaves of 1, and so does Torch's, whose zero key has a column.
        torch.testing.assert_close(weights.sum(dim=-1), torch.ones(B, HEADS, L, dtype=dtype))
        assert (weights[..., S] > 0).all()


def test_converted_layer_has_weights_of_its_own() -> None:
    """Nothing is shared, all of it takes gradients, no random number is drawn, the mode is kept."""
    theirs = nn.MultiheadAttention(WIDTH, HEADS).eval().requires_grad_(False)
    state = torch.get_rng_state()
    ours = MultiHeadAttention.from_torch(theirs)
    assert torch.equal(torch.get_rng_state(), state)
    assert not ours.training
    assert all(isinstance(w, nn.Parameter) and w.requires_grad for w in ours.parameters())
    assert len(list(ours.parameters())) == 8
    before = ours.W_K.weight.clone()
    nn.init.zeros_(theirs.in_proj_weight)
    assert torch.equal(ours.W_K.weight, before)


# Precision, and what every layer can do.


@pytest.mark.parametrize("x_dtype", [torch.bfloat16, torch.float32], ids=str)
def test_autocast_chooses_the_dtype_of_the_projections(x_dtype: torch.dtype) -> None:
    """What comes out is of autocast's dtype, within its bound; a cache holds it too."""
    layer, x = multi(dtype=torch.float32), numbers(B, S, WIDTH, dtype=torch.bfloat16).to(x_dtype)
    rounded, cache = copy.deepcopy(layer).to(torch.bfloat16), KeyValueCache()
    with torch.autocast("cpu", torch.bfloat16):
        found = layer(x, causal=True)
        pieces = decoded(layer, x, [3, 4], cache)
        single = SingleHeadAttention(WIDTH)(x)
    assert {y.dtype for y in (*found, *pieces, *single, cache.key)} == {torch.bfloat16}
    tokens = [x.bfloat16()] * 3
    expected = witness(rounded, *tokens, mask=masks.causal(S, S))
    assert_near(found, expected)
    assert_near(pieces, expected)
    with pytest.raises(TypeError, match="cache bfloat16, key float32"):
        layer(x.float(), causal=True, cache=cache)


def test_autocast_leaves_float64_alone() -> None:
    """A layer of float64 gives the same numbers under autocast, with its cache or without."""
    layer, x, cache = multi(), numbers(B, L, WIDTH), KeyValueCache()
    expected = layer(x, causal=True)
    with torch.autocast("cpu", torch.bfloat16):
        for found in (layer(x, causal=True), layer(x, causal=True, cache=cache)):
            assert all(map(torch.equal, found, expected))
        layer(x, causal=True, cache=cache)
        with pytest.raises(TypeError, match="query must have the dtype of the weights"):
            layer(x.float())


LAYERS: dict[str, Callable[..., nn.Module]] = {
    "single": lambda **options: SingleHeadAttention(WIDTH, D_K, D_V, **options),
    "multi": lambda **options: MultiHeadAttention(WIDTH, HEADS, GROUPS, sink=0.5, **options),
}
every_layer = pytest.mark.parametrize("name", LAYERS)


@every_layer
@pytest.mark.parametrize("bias", [False, True])
def test_state_goes_out_and_comes_back(name: str, bias: bool) -> None:
    """A layer that loads another's saved state, or is copied, computes the same."""
    layer, other = (LAYERS[name](bias=bias, dtype=torch.float64) for _ in range(2))
    x, buffer = numbers(L, WIDTH), io.BytesIO()
    assert not torch.equal(layer(x)[0], other(x)[0])
    torch.save(layer.state_dict(), buffer)
    buffer.seek(0)
    other.load_state_dict(torch.load(buffer))
    for twin in (other, copy.deepcopy(layer)):
        assert all(map(torch.equal, layer(x), twin(x)))
    names = [f"W_{n}.{kind}" for n in "QKVO" for kind in ("weight", "bias")[: 1 + bias]]
    assert list(layer.state_dict()) == [n for n in names if name == "multi" or "W_O" not in n]


@every_layer
def test_layers_are_made_where_and_as_asked(name: str) -> None:
    """Device and dtype are those of every weight; Torch's defaults unless given."""
    layer = LAYERS[name](device="meta", dtype=torch.float16)
    assert {(w.device.type, w.dtype) for w in layer.parameters()} == {("meta", torch.float16)}
    assert {w.dtype for w in LAYERS[name]().parameters()} == {torch.get_default_dtype()}


def test_repr_says_the_sizes() -> None:
    """One reads what the layer was made of."""
    assert "hidden_size=66, d_k=11, d_v=13\n" in repr(LAYERS["single"]())
    sizes = "embed_dim=66, num_heads=6, num_kv_heads=3, kdim=13, vdim=66"
    assert multi(kdim=KDIM).extra_repr() == sizes
    assert multi(kdim=KDIM, sink=0.5).extra_repr() == f"{sizes}, sink=0.5"


@every_group
def test_sink_is_one_more_key_of_that_score(num_kv_heads: int) -> None:
    """In every head, with a mask or without: the row holds what it leaves of 1."""
    layer, x, mask = multi(num_kv_heads, sink=-0.5), numbers(B, L, WIDTH), some_mask(L, L)
    for seen in (None, mask):
        output, weights = layer(x, mask=seen)
        assert_near((output, weights), witness(layer, x, x, x, mask=seen))
        assert (weights.sum(dim=-1) < 0.99).all()


# What may not enter.

LAYER, SINGLE = multi(kdim=KDIM, vdim=VDIM), SingleHeadAttention(KDIM, dtype=torch.float64)
QUERY, KEY, VALUE = numbers(B, L, WIDTH), numbers(B, S, KDIM), numbers(B, S, VDIM)
SELF, X = multi(), numbers(B, L, WIDTH)
MASK = torch.ones(L, S, dtype=torch.bool)
REFUSED: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "single, last axis": (
        lambda: SINGLE(QUERY),
        ValueError,
        r"x must have the last axis hidden_size: 66 ≠ 13 \(x \(2, 5, 66\), hidden_size 13\)",
    ),
    "single, dtype": (
        lambda: SINGLE(KEY.float()),
        TypeError,
        "x must have the dtype of the weights: float32 ≠ float64",
    ),
    "single, integers": (
        lambda: SINGLE(KEY.long()),
        TypeError,
        "x must have a floating dtype .* not int64",
    ),
    "single, one axis": (
        lambda: SINGLE(KEY[0, 0]),
        ValueError,
        r"x must have at least 2 axes .* not 1: \(13,\)",
    ),
    "single, kind": (
        lambda: SINGLE(KEY.numpy()),
        TypeError,
        r"x must be a torch\.Tensor, not numpy\.ndarray",
    ),
    "single, device": (
        lambda: SINGLE(KEY.to("meta")),
        ValueError,
        "x, weights must share one device: x meta, weights cpu",
    ),
    "single, mask": (
        lambda: SINGLE(KEY, mask=MASK),
        ValueError,
        r"to the scores \(…, L, L\): mask \(5, 7\), scores \(2, 7, 7\)",
    ),
    "single, mask of numbers": (
        lambda: SINGLE(KEY, mask=torch.ones(S, S)),
        TypeError,
        "mask must be boolean, .* not float32",
    ),
    "single, device of the mask": (
        lambda: SINGLE(KEY, mask=torch.ones(S, S, dtype=torch.bool, device="meta")),
        ValueError,
        "mask, weights must share one device: mask meta, weights cpu",
    ),
    "single, size": (lambda: SingleHeadAttention(0), ValueError, "hidden_size must be positive: 0"),
    "single, d_k": (lambda: SingleHeadAttention(3, -1), ValueError, "d_k must be positive: -1"),
    "single, d_v": (
        lambda: SingleHeadAttention(3, d_v=2.0),  # type: ignore[arg-type]  # on purpose
        TypeError,
        "d_v must be an integer, not float",
    ),
    "query": (
        lambda: LAYER(KEY),
        ValueError,
        r"query must have the last axis embed_dim: 13 ≠ 66 \(query \(2, 7, 13\), embed_dim 66\)",
    ),
    "key": (lambda: LAYER(QUERY), ValueError, "key must have the last axis kdim: 66 ≠ 13"),
    "value": (lambda: LAYER(QUERY, KEY), ValueError, "value must have the last axis vdim: 13 ≠ 17"),
    "dtype of the key": (
        lambda: LAYER(QUERY, KEY.half(), VALUE),
        TypeError,
        "key must have the dtype of the weights: float16 ≠ float64",
    ),
    "device of the value": (
        lambda: LAYER(QUERY, KEY, VALUE.to("meta")),
        ValueError,
        "value, weights must share one device: value meta, weights cpu",
    ),
    "lengths": (
        lambda: LAYER(QUERY, KEY, VALUE[:, 1:]),
        ValueError,
        r"share their second-last axis S: 7 ≠ 6 \(key \(2, 7, 13\), value \(2, 6, 17\)\)",
    ),
    "leading axes": (
        lambda: LAYER(
            QUERY, KEY.expand(3, 2, S, KDIM).transpose(0, 1), VALUE.expand(5, B, S, VDIM)
        ),
        ValueError,
        "the leading axes of query, key, value must broadcast: query .* key .* value",
    ),
    "mask": (
        lambda: LAYER(QUERY, KEY, VALUE, mask=MASK.expand(B, L, S)),
        ValueError,
        r"to the scores \(…, H, L, S\): mask \(2, 5, 7\), scores \(2, 6, 5, 7\)",
    ),
    "mask of numbers": (
        lambda: LAYER(QUERY, KEY, VALUE, mask=MASK.int()),
        TypeError,
        "mask must be boolean, .* not int32",
    ),
    "causal where the lengths differ": (
        lambda: LAYER(QUERY, KEY, VALUE, causal=True),
        ValueError,
        r"causal must have a new key for every query, L = S: 5 ≠ 7; .* mask=masks\.causal",
    ),
    "causal of another kind": (
        lambda: SELF(X, causal=MASK),
        TypeError,
        "causal must be True or False, not Tensor",
    ),
    "cache of another kind": (
        lambda: SELF(X, cache=[]),
        TypeError,
        "cache must be a KeyValueCache or None, not list",
    ),
    "heads": (
        lambda: MultiHeadAttention(8, 3),
        ValueError,
        "num_heads must divide embed_dim: num_heads 3, embed_dim 8",
    ),
    "heads of keys": (
        lambda: MultiHeadAttention(12, 6, 4),
        ValueError,
        "num_kv_heads must divide num_heads: num_kv_heads 4, num_heads 6",
    ),
    "no heads": (lambda: MultiHeadAttention(8, 0), ValueError, "num_heads must be positive: 0"),
    "no heads of keys": (
        lambda: MultiHeadAttention(8, 2, 0),
        ValueError,
        "num_kv_heads must be positive: 0",
    ),
    "kind of a size": (
        lambda: MultiHeadAttention(8.0, 2),  # type: ignore[arg-type]  # on purpose
        TypeError,
        "embed_dim must be an integer, not float",
    ),
    "kdim": (lambda: MultiHeadAttention(8, 2, kdim=0), ValueError, "kdim must be positive: 0"),
    "vdim": (lambda: MultiHeadAttention(8, 2, vdim=-2), ValueError, "vdim must be positive: -2"),
    "sink": (
        lambda: MultiHeadAttention(8, 2, sink="0"),  # type: ignore[arg-type]  # on purpose
        TypeError,
        "sink must be a real number or None, not str",
    ),
    "sink not finite": (
        lambda: MultiHeadAttention(8, 2, sink=math.inf),
        ValueError,
        "sink must be finite, not inf",
    ),
    "another module": (
        lambda: MultiHeadAttention.from_torch(nn.Linear(2, 2)),  # type: ignore[arg-type]  # on purpose
        TypeError,
        r"module must be a torch\.nn\.MultiheadAttention, not torch\.nn\.modules\.linear\.Linear",
    ),
    "keys of its own": (
        lambda: MultiHeadAttention.from_torch(nn.MultiheadAttention(6, 3, add_bias_kv=True)),
        ValueError,
        "module must not have a key and a value of its own .*add_bias_kv",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_layer_error_says_what_is_wrong(case: str) -> None:
    """Each refusal names the argument, the rule, and what came instead."""
    call, kind, message = REFUSED[case]
    with pytest.raises(kind, match=message):
        call()


def filled(layer: MultiHeadAttention, x: Tensor) -> KeyValueCache:
    """Return a cache that holds the keys and values of x."""
    cache = KeyValueCache()
    layer(x, cache=cache)
    return cache


CacheCall = Callable[[KeyValueCache], object]
BAD: dict[str, tuple[CacheCall, type[Exception], str]] = {
    "batch": (
        lambda cache: SELF(X[:1], cache=cache),
        ValueError,
        r"all axes of the projected key \(…, Hkv, S, d\) but S: "
        r"cache \(2, 3, 5, 11\), key \(1, 3, 5, 11\)",
    ),
    "batch of the value": (
        lambda cache: SELF(X, X, X[:1], cache=cache),
        ValueError,
        r"the projected value .* cache \(2, 3, 5, 11\), value \(1, 3, 5, 11\)",
    ),
    "leading axes": (
        lambda cache: SELF(X[0], cache=cache),
        ValueError,
        r"cache \(2, 3, 5, 11\), key \(3, 5, 11\)",
    ),
    "heads": (
        lambda cache: multi(HEADS)(X, cache=cache),
        ValueError,
        r"cache \(2, 3, 5, 11\), key \(2, 6, 5, 11\)",
    ),
    "depth": (
        lambda cache: MultiHeadAttention(WIDTH, 3, dtype=torch.float64)(X, cache=cache),
        ValueError,
        r"cache \(2, 3, 5, 11\), key \(2, 3, 5, 22\)",
    ),
    "dtype": (
        lambda cache: multi(dtype=torch.float32)(X.float(), cache=cache),
        TypeError,
        "the cache must share the dtype of the projected key: cache float64, key float32",
    ),
    "device": (
        lambda cache: multi(device="meta")(X.to("meta"), cache=cache),
        ValueError,
        "the cache must share the device of the projected key: cache cpu, key meta",
    ),
    "mask without what is held": (
        lambda cache: SELF(X, mask=torch.ones(L, L, dtype=torch.bool), cache=cache),
        ValueError,
        r"mask \(5, 5\), scores \(2, 6, 5, 10\)",
    ),
    "causal": (
        lambda cache: SELF(X, X[:, :1], causal=True, cache=cache),
        ValueError,
        "L = S: 5 ≠ 1",
    ),
    "query": (lambda cache: SELF(KEY, X, cache=cache), ValueError, "query must have the last axis"),
    "value": (lambda cache: SELF(X, X, KEY, cache=cache), ValueError, "value must have the last"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_leaves_the_cache_as_it_was(case: str) -> None:
    """What is refused is refused by name, and stores nothing, in a new cache too."""
    call, kind, message = BAD[case]
    cache = filled(SELF, X)
    held = cache.key, cache.value
    with pytest.raises(kind, match=message):
        call(cache)
    assert (cache.key, cache.value) == held
    assert cache.length == L


def test_an_error_on_the_way_leaves_the_cache_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys and values are stored last: an error in any step before stores none of them."""
    for step in ("W_Q", "W_K", "W_V", "W_O"):
        layer, cache = multi(), KeyValueCache()

        def fail(*_: object) -> None:
            raise MemoryError

        getattr(layer, step).register_forward_pre_hook(fail)
        with pytest.raises(MemoryError):
            layer(X, cache=cache)
        assert cache.length == 0


def test_refusal_comes_before_any_work() -> None:
    """Tokens, masks and caches are refused before anything is projected."""
    worked = []
    layer = multi()
    layer.W_Q.register_forward_pre_hook(lambda *_: worked.append("W_Q"))
    cache = filled(layer, X)
    worked.clear()
    for options in ({"mask": MASK}, {"causal": 1}, {"cache": cache, "value": X[:1]}, {"cache": 0}):
        with pytest.raises((TypeError, ValueError)):
            layer(X, **options)
    assert not worked
