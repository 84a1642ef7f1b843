"""The samples of Torch's own tests, from torch.testing: attention, softmax and logsumexp.

They lie in [−9, 9], so that scores reach hundreds and most rows have one key that matters.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.testing import assert_close
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import SampleInput

import attnref
import attnref.torch
import oracle
from attnref.torch import masks

Side: TypeAlias = Callable[..., Tensor]

DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def samples(operator: str) -> dict[str, SampleInput]:
    """Return the samples that Torch tests an operator with, of every dtype, always the same."""
    found: dict[str, SampleInput] = {}
    for entry in (entry for entry in op_db if entry.name == operator):
        for dtype in DTYPES:
            name = "-".join([str(dtype), *entry.variant_test_name.split()]).removeprefix("torch.")
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(0)
                draw: Callable[..., Iterator[SampleInput]] = entry.sample_inputs
                drawn = list(draw("cpu", dtype))
            found |= {f"{name}-{n}": sample for n, sample in enumerate(drawn)}
    return found


ATTENTION = samples("nn.functional.scaled_dot_product_attention")
SOFTMAX = samples("softmax")
LOGSUMEXP = samples("logsumexp")
CERTAIN = [name for name, sample in ATTENTION.items() if sample.kwargs["dropout_p"] == 0]
CHANCE = [name for name in ATTENTION if name not in CERTAIN]


def by_torch(query: Tensor, key: Tensor, value: Tensor, **options: Any) -> Tensor:
    """Call the Torch side's drop-in."""
    source = torch.Generator().manual_seed(0)
    attend = attnref.torch.scaled_dot_product_attention
    return attend(query, key, value, **options, generator=source)


def by_numpy(*tensors: Tensor, attn_mask: Tensor | None = None, **options: Any) -> Tensor:
    """Call the NumPy side's drop-in."""
    query, key, value = (tensor.numpy() for tensor in tensors)
    mask = None if attn_mask is None else attn_mask.numpy()
    source = np.random.default_rng(0)
    attend = attnref.scaled_dot_product_attention
    return torch.from_numpy(attend(query, key, value, mask, **options, rng=source))


def on_both_sides(names: list[str]) -> pytest.MarkDecorator:
    """Take every sample on the Torch side, and on the NumPy side if NumPy has its dtype."""
    calls = [pytest.param(by_torch, name, id=f"torch-{name}") for name in names]
    calls += [
        pytest.param(by_numpy, name, id=f"numpy-{name}")
        for name in names
        if not name.startswith("bfloat16")
    ]
    return pytest.mark.parametrize(("attend", "name"), calls)


def parts(name: str) -> tuple[tuple[Tensor, Tensor, Tensor], dict[str, Any]]:
    """Return the tensors and the options of a sample of attention."""
    sample = ATTENTION[name]
    return (sample.input, *sample.args), sample.kwargs


def in_double(tensors: tuple[Tensor, ...]) -> list[NDArray[np.float64]]:
    """Return tensors as arrays of float64, which hold the same numbers."""
    return [tensor.double().numpy() for tensor in tensors]


def seen(query: Tensor, key: Tensor, is_causal: bool) -> Tensor:
    """Return the mask that is_causal stands for."""
    L, S = query.shape[-2], key.shape[-2]
    return masks.causal(L, S, align="upper-left") if is_causal else torch.ones(L, S).bool()


def assert_once_rounded(result: Tensor, exact: Any, work: oracle.Bounds) -> None:
    """Require a result within an error of float64 work and one rounding to its dtype."""
    info = torch.finfo(result.dtype)
    size = np.asarray(abs(exact), dtype=np.float64) + work
    rounding = info.eps / 2 * size + info.smallest_normal * info.eps / 2
    bound = work if result.dtype == torch.float64 else work + rounding
    oracle.assert_near(result.double().numpy(), exact, bound)


def assert_near_torch(ours: Tensor, theirs: Tensor, size: Tensor) -> None:
    """Require Torch's own result, by the tolerance that Torch publishes: assert_close's, OpInfo's.

    In 16 bits Torch computes in float32, and rounds weights and outputs: twice, and we once, each
    by no more than u Σ_s p_s |v_s|, which is the size. That may be more than assert_close allows.
    """
    dtype = ours.dtype
    rtol, atol = (1e-7, 1e-7) if dtype == torch.float64 else (5e-6, 5e-5)
    roundings = 3 * torch.finfo(dtype).eps / 2 if dtype.itemsize == 2 else 0.0
    ours, theirs = ours.double(), theirs.double()
    assert (abs(ours - theirs) <= atol + rtol * abs(theirs) + roundings * size).all()


def test_samples_are_as_many_as_they_were() -> None:
    """25 a dtype for attention, 12 of them with dropout; none is lost without anybody noticing."""
    dtypes = Counter(sample.input.dtype for sample in ATTENTION.values())
    assert dtypes == dict.fromkeys(DTYPES, 25)
    assert (len(CERTAIN), len(CHANCE), len(SOFTMAX), len(LOGSUMEXP)) == (52, 48, 56, 40)


@on_both_sides(CERTAIN)
def test_samples_of_attention_are_the_oracle_and_torch(attend: Side, name: str) -> None:
    """The drop-in is the truth, rounded once, and near to Torch's own by Torch's own measure."""
    tensors, options = parts(name)
    ours = attend(*tensors, **options)
    bias = options.get("attn_mask")
    truth = oracle.attention(
        *in_double(tensors),
        mask=seen(*tensors[:2], options["is_causal"]).numpy(),
        bias=None if bias is None else bias.double().numpy(),
    )
    assert ours.dtype == tensors[0].dtype
    assert_once_rounded(ours, truth.output.exact, truth.output.bound("float64"))
    theirs = torch.nn.functional.scaled_dot_product_attention(*tensors, **options)
    assert_near_torch(ours, theirs, torch.from_numpy(truth.magnitude))


@pytest.mark.filterwarnings(
    # It is what this is.
    "ignore:Dropout mask should only be used for testing purposes:UserWarning"
)
@on_both_sides(CHANCE)
def test_samples_with_dropout_are_kept_weights_scaled(attend: Side, name: str) -> None:
    """Outputs combine values by the weights that are kept, over 1 − p, and Torch agrees."""
    # A value that is the unit matrix shows which they are; Torch is told to keep the same.
    tensors, options = parts(name)
    q, k, v = (tensor.double() for tensor in tensors)
    chance, S = options["dropout_p"], k.shape[-2]
    unit = torch.eye(S, dtype=torch.float64)
    weights = attend(q, k, unit, **{**options, "dropout_p": 0.0})
    thinned = attend(q, k, unit, **options)
    kept = thinned != 0
    for axis in range(kept.ndim):  # each is kept or not by itself, along every axis
        first, there = kept.narrow(axis, 0, 1), (weights > 0).narrow(axis, 0, 1)
        assert (kept != first)[(weights > 0) & there].any()
    assert torch.equal(thinned, kept * weights / (1 - chance))
    ours = attend(*tensors, **options)
    size = thinned @ abs(v)
    assert_once_rounded(
        ours, oracle.exactly((thinned @ v).numpy()), 2**-53 * (S + 2) * size.numpy()
    )
    theirs, _ = torch.ops.aten._scaled_dot_product_attention_math(
        *tensors, None, chance, options["is_causal"], dropout_mask=kept
    )
    assert_near_torch(ours, theirs, size)


def rows(array: Tensor, dim: int | tuple[int, ...]) -> Tensor:
    """Return an array with the axes that are summed over as its last one."""
    if array.ndim == 0:
        return array.reshape(1)
    dims = [n % array.ndim for n in ((dim,) if isinstance(dim, int) else dim)]
    others = [n for n in range(array.ndim) if n not in dims]
    return array.permute(*others, *dims).flatten(start_dim=len(others))


@pytest.mark.parametrize("name", SOFTMAX)
def test_samples_of_softmax_are_the_oracle_and_torch(name: str) -> None:
    """Weights along any axis, in the dtype that is asked for."""
    (dim,), options = SOFTMAX[name].args, SOFTMAX[name].kwargs
    theirs = rows(torch.softmax(SOFTMAX[name].input, dim, **options), dim)
    scores = rows(SOFTMAX[name].input, dim).to(theirs.dtype)
    ours = attnref.torch.softmax(scores)
    truth = oracle.rows(scores.double().numpy()).weights
    assert_once_rounded(ours, truth.exact, truth.bound("float64"))
    assert_close(ours, theirs)


@pytest.mark.parametrize("name", LOGSUMEXP)
def test_samples_of_logsumexp_are_the_oracle_and_torch(name: str) -> None:
    """The logarithm of Z over one axis or two, and of scores in the millions."""
    array, (dim, keepdim) = LOGSUMEXP[name].input, LOGSUMEXP[name].args
    ours = attnref.torch.log_partition(rows(array, dim))
    truth = oracle.rows(rows(array, dim).double().numpy()).log_z
    assert_once_rounded(ours, truth.exact, truth.bound("float64"))
    theirs = torch.logsumexp(array, dim, keepdim)
    assert_close(ours.reshape(theirs.shape), theirs)
