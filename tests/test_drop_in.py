"""The laws of the drop-in for Torch's own function, on the NumPy side."""

import inspect
import math
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention as of_torch

import oracle
from attnref import attention, masks, scaled_dot_product_attention
from oracle import Floats
from samples import D_K, D_V, DTYPES, B, L, S, normal, random_mask, triple

every_dtype = pytest.mark.parametrize("dtype", DTYPES)
SEEN = random_mask(L, S)
SEEN[:, 0] = True  # Torch's own function is asked about rows that see something
ADDED = np.where(SEEN, normal(L, S), -math.inf)

# What both functions define: arrays with heads, and options under Torch's names.
SAME: dict[str, dict[str, Any]] = {
    "nothing": {},
    "boolean mask": {"attn_mask": SEEN},
    "mask by position": {"attn_mask": SEEN, "dropout_p": 0.0},
    "added numbers": {"attn_mask": ADDED},
    "causal": {"is_causal": True},
    "scale": {"scale": 0.3, "attn_mask": SEEN},
    "negative scale": {"scale": -0.3},
    "shared heads": {"enable_gqa": True},
    "shared heads, causal": {"enable_gqa": True, "is_causal": True},
}


def arrays_for(options: dict[str, Any]) -> tuple[Floats, Floats, Floats]:
    """Return query, key and value, of fewer heads where the options let them be shared."""
    hq, hkv = (6, 2) if options.get("enable_gqa") else (3, 3)
    shapes = (B, hq, L, 3), (B, hkv, S, 3), (B, hkv, S, 2)
    query, key, value = (normal(*shape, seed=n) for n, shape in enumerate(shapes))
    return query, key, value


@pytest.mark.parametrize("options", SAME.values(), ids=SAME)
def test_drop_in_agrees_with_torch(options: dict[str, Any]) -> None:
    """In float64 the two differ by no more than both may differ from the truth."""
    arrays = arrays_for(options)
    query, key, value = (torch.tensor(x) for x in arrays)
    theirs: dict[str, Any] = {
        name: torch.tensor(x) if isinstance(x, np.ndarray) else x for name, x in options.items()
    }
    mask = options.get("attn_mask")
    if options.get("is_causal"):
        mask = masks.causal(L, S, align="upper-left")
    kind = "bias" if mask is not None and mask.dtype != bool else "mask"
    asked: dict[str, Any] = {kind: mask, "scale": options.get("scale")}
    truth = oracle.attention(*arrays, **asked)
    output = scaled_dot_product_attention(*arrays, **options)
    oracle.assert_within(output, truth.output)
    oracle.assert_agree(output, of_torch(query, key, value, **theirs).numpy(), truth.output)


def test_drop_in_has_the_parameters_of_torch_in_their_order() -> None:
    """Whatever call Torch's function takes, ours takes; one keyword more, rng, is the last."""
    ours = list(inspect.signature(scaled_dot_product_attention).parameters.values())
    said = (of_torch.__doc__ or "").split("scaled_dot_product_attention(")[1].split(")")[0]
    theirs = [part.strip().split("=") for part in said.split("->")[0].split(",")]
    names = [name for name, *_ in theirs if name != "*"]
    assert [p.name for p in ours] == [*names, "rng"]
    defaults = {name: default[0] for name, *default in theirs if default}
    assert {p.name: str(p.default) for p in ours if p.name in defaults} == defaults
    keywords = [p.name for p in ours if p.kind is inspect.Parameter.KEYWORD_ONLY]
    assert keywords == ["scale", "enable_gqa", "rng"]


@every_dtype
def test_drop_in_takes_its_options_by_position(dtype: str) -> None:
    """The fourth is the mask, the fifth dropout, the sixth the causal flag."""
    query, key, value = triple(dtype=dtype)
    output = scaled_dot_product_attention(query, key, value, None, 0.0, True)
    causal = masks.causal(L, S, align="upper-left")
    np.testing.assert_array_equal(output, attention(query, key, value, mask=causal), strict=True)


def test_drop_in_adds_single_numbers_to_half_scores_without_rounding_them() -> None:
    """A mask of float32 with arrays of float16 counts as it stands: 2⁻¹⁴ + 1 is not 1."""
    query, key = np.zeros((1, 1), "float16"), np.zeros((2, 1), "float16")
    value = np.array([[0.0], [60000.0]], "float16")
    mask = np.array([[0.0, -12 - 2**-9]], "float32")
    assert mask.astype("float16")[0, 1] == -12
    wide = [x.astype("float64") for x in (query, key, value)]
    truth = oracle.attention(*wide, bias=mask.astype("float64")).output
    rounded = oracle.attention(*wide, bias=mask.astype("float16").astype("float64")).output
    output = scaled_dot_product_attention(query, key, value, mask)
    assert output.dtype == np.float16
    oracle.assert_near(output, truth.exact, truth.bound("float16"))
    with pytest.raises(AssertionError, match="error"):
        oracle.assert_near(output, rounded.exact, rounded.bound("float16"))


def test_drop_in_gives_nan_for_a_query_that_is_nan() -> None:
    """Row 12: NaN is not emptiness, though Torch's kernel for the CPU returns 0."""
    query = np.full((1, 1), math.nan)
    output = scaled_dot_product_attention(query, np.zeros((2, 1)), np.array([[1.0], [3.0]]))
    assert np.isnan(output).all()


# ------------------------------------------------------------------------------ dropout


def dropped(p: float, seed: int, *, keys: int = 4096) -> Floats:
    """Return outputs of one query over equal keys of value 1: kept weights, added up."""
    query, key, value = np.zeros((1, 1)), np.zeros((keys, 1)), np.eye(keys)
    rng = np.random.default_rng(seed)
    output = scaled_dot_product_attention(query, key, value, dropout_p=p, rng=rng)
    return np.asarray(output[0])


def test_dropout_drops_weights_and_divides_the_others() -> None:
    """Row 62: a weight is 0 or 1/(1 − p) times what it was, and both occur."""
    p, keys = 0.2, 4096
    weights = dropped(p, 0)
    kept = weights > 0
    assert 0 < kept.sum() < keys
    right = 1 / keys / (1 - p)
    assert (abs(weights[kept] - right) <= 8 * oracle.unit("float64") * right).all()


def test_dropout_keeps_the_mean() -> None:
    """The sum of 4096 weights of mean 1/4096 is 1 to six deviations of √(p/(1 − p)/4096)."""
    p, keys = 0.5, 4096
    total = dropped(p, 1).sum()
    assert abs(total - 1) <= 6 * math.sqrt(p / (1 - p) / keys)
    assert total != 1


def test_dropout_is_repeated_by_the_same_source() -> None:
    """One seed gives one result, another another; without dropout no number is drawn."""
    np.testing.assert_array_equal(dropped(0.3, 5), dropped(0.3, 5))
    assert (dropped(0.3, 5) != dropped(0.3, 6)).any()
    rng = np.random.default_rng(0)
    scaled_dot_product_attention(*triple(), rng=rng)
    assert rng.bit_generator.state == np.random.default_rng(0).bit_generator.state


def test_dropout_of_everything_is_zero() -> None:
    """At p = 1 every weight is dropped, and nothing is divided by 0."""
    output = scaled_dot_product_attention(*triple(), dropout_p=1.0)
    np.testing.assert_array_equal(output, np.zeros((L, D_V)), strict=True)


def test_dropout_hides_no_nan_and_lets_none_in() -> None:
    """An allowed NaN shows, dropped or not, and a masked one is absent."""
    query, key, value = triple()
    value[2] = math.nan
    assert np.isnan(scaled_dot_product_attention(query, key, value, dropout_p=0.99)).all()
    mask = np.arange(S) != 2
    output = scaled_dot_product_attention(query, key, value, mask, dropout_p=0.5)
    assert np.isfinite(output).all()


def test_dropout_without_a_source_is_by_chance() -> None:
    """Row 61: nothing but the caller decides on dropout; unless given, the source is new."""
    query, key, value = np.zeros((1, D_K)), np.zeros((999, D_K)), np.ones((999, 1))
    outputs = {
        float(scaled_dot_product_attention(query, key, value, dropout_p=0.5)[0, 0])
        for _ in range(8)
    }
    assert len(outputs) > 1


@pytest.mark.parametrize("chance", [0.0, 0.5])
def test_dropout_refuses_what_is_no_source(chance: float) -> None:
    """A source of another kind is an error, with dropout or without."""
    with pytest.raises(TypeError, match=r"^rng must be a numpy.random.Generator or None, not int"):
        scaled_dot_product_attention(*triple(), dropout_p=chance, rng=3)  # type: ignore[arg-type]  # on purpose
