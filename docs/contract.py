# %% [markdown]
# # The contract
#
# Look up here what attnref does in every case that libraries decide differently, and see what three
# others make of the same numbers: Torch's `scaled_dot_product_attention` on the CPU, the reference
# evaluator of ONNX, and plain NumPy, as one writes it in a few lines. All of them run when this page
# is made, by the code below; the versions stand at the page's end.

# %% tags=["fold-input"]
from functools import partial

import attnref
from attnref import masks
import numpy as np


def plain(q, k, v, mask=None, bias=None, is_causal=False, scale=None, softcap=None):
    """Attention as one writes it."""
    scores = q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)
    if softcap is not None:
        scores = softcap * np.tanh(scores / softcap)
    if bias is not None:
        scores = scores + bias
    if is_causal:
        mask = np.tril(np.ones(scores.shape[-2:], dtype=bool))
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return (e / e.sum(axis=-1, keepdims=True)) @ v


def of_torch(
    q, k, v, mask=None, bias=None, is_causal=False, scale=None, softcap=None
):
    """Torch's own function."""
    import torch

    if softcap is not None:
        raise NotImplementedError

    q, k, v, *added = (
        torch.tensor(x) for x in (q, k, v, mask, bias) if x is not None
    )
    return torch.nn.functional.scaled_dot_product_attention(
        q,
        k,
        v,
        *added,
        is_causal=is_causal,
        scale=scale,
        enable_gqa=q.shape[-3] != k.shape[-3],
    ).numpy()


def of_onnx(q, k, v, mask=None, bias=None, **options):
    """One Attention node of opset 24, in ONNX's reference evaluator."""
    from onnx import TensorProto, helper
    from onnx.reference import ReferenceEvaluator

    arrays = [x for x in (q, k, v, mask, bias) if x is not None]
    inputs = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(x.dtype), None
        )
        for name, x in zip("qkvm", arrays, strict=False)
    ]
    options = {
        name: option for name, option in options.items() if option is not None
    }
    node = helper.make_node("Attention", [x.name for x in inputs], ["y"], **options)
    output = helper.make_tensor_value_info("y", TensorProto.UNDEFINED, None)
    model = helper.make_model(
        helper.make_graph([node], "attention", inputs, [output]),
        opset_imports=[helper.make_opsetid("", 24)],
    )
    given = {x.name: array for x, array in zip(inputs, arrays, strict=True)}
    return ReferenceEvaluator(model).run(None, given)[0]


def compare(q, k, v, **options):
    """Print the outputs of all four for the same arrays and options."""
    line("attnref", partial(attnref.attention, q, k, v, **options))
    others(q, k, v, **options)


def others(q, k, v, **options):
    """Print the outputs of the other three."""
    for name, attend in {
        "Torch": of_torch,
        "ONNX": of_onnx,
        "NumPy": plain,
    }.items():
        line(name, partial(attend, q, k, v, **options))


def line(name, attend):
    """Print one output, or what kind of error came instead."""
    try:
        with np.errstate(all="ignore"):
            output = ", ".join(f"{x:.6g}" for x in attend().ravel())
    except NotImplementedError:
        output = "has no such option"
    except ModuleNotFoundError:
        output = f"not installed: pip install {name.lower()}"
    except Exception as error:
        output = type(error).__name__
    print(f"{name:12} {output}")


def heads(*numbers, dtype="float64"):
    """Return one head for each list of numbers, a row for each number: (1, H, rows, 1)."""
    return np.array([np.atleast_1d(x) for x in numbers], dtype)[None, :, :, None]


# %% [markdown]
# Every example has vectors of one entry. `heads([0, 0])` is one head with two rows, 0 and 0.
#
# ## Shapes
#
# `query` is $(\dots, L, d_k)$, `key` $(\dots, S, d_k)$, `value` $(\dots, S, d_v)$; leading axes broadcast,
# and $d_v$ may differ from $d_k$. **Heads are axis −3 and may be shared:** where the query has a multiple
# of the key's, query head $h$ reads key head $h // (H_q / H_{kv})$, so neighbours share. Four heads over
# two, whose values are 10 and 20:

# %%
compare(heads([0], [0], [0], [0]), heads([0], [0]), heads([10], [20]))

# %% [markdown]
# NumPy broadcasts axes of 4 and 2 not at all. Tiled heads would give
# `{python} ", ".join(map(str, np.tile([10, 20], 2)))`.
#
# **Lengths have to match.** Three keys with two values is an error that names both:

# %%
try:
    attnref.attention(heads([0]), heads([0, 0, 0]), heads([1, 3]))
except ValueError as error:
    print(error)

# %% [markdown]
# Torch's kernel for the CPU does not compare the two lengths, so it is not asked here.
#
# ## Order
#
# **Scale, softcap, bias, mask, sink, softmax.** The scale $\beta$ is $1/\sqrt{d_k}$ unless given; any finite
# number is one, 0 and negative ones too. Scores 0 and $\log 3$ under $\beta = -1$ have the weights
# `{python} " and ".join(f"{p:.2f}" for p in attnref.softmax(-np.log([1.0, 3.0])))`:

# %% tags=["expect-nan"]
compare(heads([1]), heads([0, np.log(3)]), heads([1, 3]), scale=-1.0)

# %% [markdown]
# ONNX's evaluator multiplies query and key each by $\sqrt{\beta}$.
#
# **A cap comes before the mask:** $c\tanh(x/c)$ of a masked score, $-c$, would let the key back in. Torch has
# no such option.

# %%
compare(
    heads([0]),
    heads([0, 0]),
    heads([1, 3]),
    mask=np.array([[True, False]]),
    softcap=0.5,
)

# %% [markdown]
# ## Masks and biases
#
# **A mask is boolean, and True means: may attend.** Numbers are a bias, and are added. So 1 and 0 given as a
# bias favour a key and hide none, and given as a mask they are a TypeError:

# %%
compare(heads([0]), heads([0, 0]), heads([1, 3]), bias=np.array([[1.0, 0.0]]))
try:
    attnref.attention(
        heads([0]), heads([0, 0]), heads([1, 3]), mask=np.array([[1, 0]])
    )
except TypeError as error:
    print(error)

# %% [markdown]
# **A finite bias masks nothing; −∞ does,** whatever the key and value hold. The second key here is NaN:

# %% tags=["expect-nan"]
compare(
    heads([0]),
    heads([0, np.nan]),
    heads([1, np.nan]),
    bias=np.array([[0.0, -np.inf]]),
)

# %% [markdown]
# **A causal mask names its corner.** Query $i$ sees key $j$ where $j \le i + \text{offset}$. With two queries
# and four keys the offset is 0 (upper left) or 2 (lower right), and `masks.causal(2, 4)` without either
# is an error. The others' flag means one of them:

# %%
arrays = heads([0, 0]), heads([0, 0, 0, 0]), heads([1, 2, 4, 8])
for corner in ("upper-left", "lower-right"):
    mask = masks.causal(2, 4, align=corner)
    line(corner, partial(attnref.attention, *arrays, mask=mask))
others(*arrays, is_causal=True)

# %% [markdown]
# **Windows count inclusively on both sides:** `left=1` sees the key before its own and its own.

# %%
print(masks.window(4, 4, left=1, right=0).astype(int))

# %% [markdown]
# ## Masked is absent
#
# Nothing that a masked key or value holds reaches an output or a gradient. Masking a key is the same as
# deleting it:

# %% tags=["expect-nan"]
compare(
    heads([0]), heads([0, 0]), heads([1, np.nan]), mask=np.array([[True, False]])
)

# %% [markdown]
# **A row that may attend to nothing gives 0,** with weights 0, $\log Z = -\infty$, and all gradients 0:

# %% tags=["expect-nan"]
compare(heads([0]), heads([0, 0]), heads([1, 3]), mask=np.array([[False, False]]))

# %% [markdown]
# **No keys at all** is such a row too:

# %%
compare(heads([0]), heads([]), heads([]))

# %% [markdown]
# **A NaN that may be seen shows.** It is never taken for an empty row:

# %% tags=["expect-nan"]
print(attnref.attention(heads([np.nan]), heads([0, 0]), heads([1, 3])).item())

# %% [markdown]
# Torch's kernel for the CPU returns 0 here at some lengths and NaN at others, depending on the processor
# ([pytorch#141128](https://github.com/pytorch/pytorch/issues/141128)), so it is not shown.
#
# ## Precision
#
# **Work is done in float64 and rounded once,** to the dtype of the query. In float16 an inner product of
# 300 · 300 is beyond the largest number, `{python} int(np.finfo("float16").max)`, though both keys are equal:

# %% tags=["expect-nan"]
compare(
    heads([300], dtype="float16"),
    heads([300, 300], dtype="float16"),
    heads([1, 3], dtype="float16"),
)

# %% [markdown]
# **How far a right output may be off** follows from the data: `attnref.testing.assert_close` judges any
# implementation by the bound derived from them.
#
# **In blocks, work is done in the query's own dtype,** in float32 for float16 and bfloat16, and stays within the
# bound for that dtype as long as no score overflows it. All else on this page holds for
# [`streaming_attention`](reference/blocks.md) and its gradients too.
#
# ## The normaliser
#
# **$\log Z$ is natural,** so two scores of 0 give $\log 2$. **A sink is one more key without a value:** its
# exponential joins $Z$, and the weights of the others sum to less than 1. With a sink of 0:

# %%
row = np.zeros(2)
print(f"log Z    {attnref.log_partition(row):.6f}")
print(f"sink 0   {attnref.log_partition(row, sink=0.0):.6f}")
print("weights ", attnref.softmax(row, sink=0.0).round(6))

# %% [markdown]
# ## Errors
#
# A wrong kind is a TypeError, a wrong value a ValueError, before any work is done. The message names the
# argument, the rule, both numbers and both shapes. Integer, complex and mixed dtypes are errors, lists are
# too, and no argument is ever changed:

# %%
for wrong in (
    {"scale": "1/8"},
    {"softcap": -1.0},
    {"bias": np.zeros((1, 1), "float32")},
    {"mask": np.ones((3, 1), dtype=bool)},
):
    try:
        attnref.attention(heads([0]), heads([0]), heads([1]), **wrong)
    except (TypeError, ValueError) as error:
        print(f"{type(error).__name__}: {error}")

# %% [markdown]
# `attnref.torch` keeps the same contract, gradients included, and each side is tested against the other.
# Where to go next: the names and their arguments in the [reference](reference/index.md), and the idea
# behind all of it in [The Z form](guide/z-form.py).
