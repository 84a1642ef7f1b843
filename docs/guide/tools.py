# %% [markdown]
# # Making and inspecting arrays
#
# By the end of this page you can make arrays to try attention with, and see in one call what they hold.
#
# ## What is in here?
#
# Here are 20 keys of 8 random numbers each, and what one call says of them:

# %%
import attnref.torch
from attnref.torch import make_tensor
import torch

source = torch.Generator().manual_seed(0)
keys = make_tensor((1, 20, 8), "rand", generator=source)
print("returned", attnref.print_matrix_info(keys, "keys", max_items=3))

# %% [markdown]
# What it is, how large, between which ends, and the first elements row by row. (The dtype is the kind of
# number, the device where it lies, and `requires_grad` tells whether Torch will want derivatives.) Both functions
# come from the article on the Z form; here they have a seed and some repairs ([the audit](../articles/index.py)).
# `make_array` is the same for NumPy.
#
# ## Making
#
# Four modes: `"rand"` is uniform on [low, high), `"randn"` standard normal, `"zeros"` and `"ones"` are what
# they say, in any dtype. The case of letters does not matter; a wrong argument is named:

# %%
from attnref import make_array
import numpy as np

for mode in ("zeros", "Ones", "rand", "randn"):
    x = make_array((3,), mode, low=-1, high=1, rng=np.random.default_rng(0))
    print(f"{mode:6}", x.round(3))
print(make_tensor((3,), "ones", dtype=torch.int64, device="cpu"))
for wrong in ({"mode": "normal"}, {"dtype": np.int64}, {"low": 2}):
    try:
        make_array((3,), **wrong)
    except (TypeError, ValueError) as error:
        print(f"{type(error).__name__}: {error}")

# %% [markdown]
# Without `rng` nobody can repeat the draw; without `generator` it comes from Torch's own. Half open means that
# high never occurs. On paper the usual formula sees to it: with low below high, and a random
# $0 \le u < 1$,
#
# $$
# x = \mathrm{low} + (\mathrm{high} - \mathrm{low})\,u < \mathrm{high} . \label{uniform}
# $$
#
# Computed in the tensor's own dtype, as in the article, the sum is rounded, and may be rounded up to high:

# %%
u = np.nextafter(np.float32(1), np.float32(0))  # the largest number below 1
print("float32 ", (np.float32(101) - np.float32(100)) * u + np.float32(100))
u = torch.tensor(1 - 2**-8, dtype=torch.bfloat16)
print("bfloat16", ((2.0 - 1.0) * u + 1.0).item())

many = make_tensor((9999,), dtype=torch.bfloat16, low=1, high=2, generator=source)
print("largest of make_tensor", many.max().item())

# %% tags=["hide-input"]
from attnref import show
from attnref.figures import ACCENT, CATEGORIES, Figure

u = torch.rand(100_000, generator=source)
assert (u * 2**24 == (u * 2**24).round()).all()
tail = np.arange(2**24 - 500, 2**24, dtype=np.float32) / np.float32(2**24)
one_in = 2**24 // int((tail + np.float32(100) == 101).sum())

# %% [markdown]
# In float32 Torch's `rand` gives multiples of $2^{-24}$: in the first example one draw in
# `{python} one_in` returns high. attnref draws in float64, rounds, and draws again what became high.
#
# ## Inspecting
#
# `print_matrix_info` returns whether it got an array or a tensor. An empty array has no least element, one
# without axes has, and integers are shown as they are:

# %%
for x in ([1, 2], np.zeros((0, 3)), np.array(2**24 + 1)):
    print("returned", attnref.print_matrix_info(x))

# %% [markdown]
# ## The demo, whole
#
# These are the article's constants and lines, with a seed. We compute in float64 and show float32, so that
# the digits do not depend on the machine.

# %%
N, M, DIM_WORD, DIM_V, SEQUENCE_MAX_LEN, BATCH_SIZE = 4, 20, 8, 10, 15, 1


def inputs(mode):
    source = torch.Generator().manual_seed(0)
    sizes = (N, DIM_WORD), (M, DIM_WORD), (M, DIM_V)
    return [make_tensor((BATCH_SIZE, *s), mode, generator=source) for s in sizes]


Q, K, V = (x.double() for x in inputs("rand"))
score = torch.matmul(Q, K.transpose(-2, -1)) / DIM_WORD**0.5
weights = torch.softmax(score, dim=-1)
answer = torch.matmul(weights, V)
for name, x in {"score": score, "weights": weights, "answer": answer}.items():
    attnref.print_matrix_info(x.float(), name, max_items=3)

# %% [markdown]
# Each of 4 queries has 20 scores, 20 weights, and an answer of 10 numbers. `SEQUENCE_MAX_LEN` is used
# nowhere, nor is it in the article; as a limit it would forbid the demo, with 15 for 20 keys. attnref gives
# the same answer in one line, and `"randn"` is as easy:

# %%
again = attnref.torch.attention(*inputs("rand"))
print(f"largest difference {(again - answer).abs().max():.6f}")
for mode in ("rand", "randn"):
    q, k, v = inputs(mode)
    p = attnref.torch.attention_weights(q, k)
    print(f"{mode:5} mean weight {p.mean():.4f}, largest {p.max():.4f}")

# %% [markdown]
# ## Why these numbers?
#
# The mean weight is 1/20 whatever the scores are, but for rounding, since each row adds up to 1
# ([PSUM](../d/PSUM.py)). It says nothing; look at the largest. That is small for `"rand"` because its scores
# hardly differ. A uniform $u$ has the mean 1/2, and $u^2$ the mean 1/3. Means of independent factors
# multiply, and the [variance](variance.py) is the mean square less the square of the mean. So, for $d_k$
# entries,
#
# $$
# \mathbb{E}\langle q, k\rangle = \frac{d_k}{4}, \qquad
# \operatorname{Var}\langle q, k\rangle = d_k\left(\frac{1}{3^2} - \frac{1}{4^2}\right) . \label{moments}
# $$

# %%
from fractions import Fraction

product = Fraction(1, 3) ** 2 - Fraction(1, 4) ** 2
print("exact   ", DIM_WORD * Fraction(1, 4), DIM_WORD * product, "scaled", product)
q, k = make_array((2, 100_000, 8), dtype=np.float64, rng=np.random.default_rng(1))
inner = (q * k).sum(axis=1)
for x in (inner, inner / np.sqrt(8)):
    squares = (x - x.mean()) ** 2
    mean_error, error = np.array([x.std(), squares.std()]) / np.sqrt(len(x))
    print(f"mean {x.mean():.4f} ± {mean_error:.4f}", end=", ")
    print(f"variance {squares.mean():.4f} ± {error:.4f}")

# %% [markdown]
# Scaled by $1/\sqrt{d_k}$ the mean is $\sqrt{d_k}/4 =$ `{python} f"{np.sqrt(8) / 4:.4f}"`
# ([EUNI](../d/EUNI.py)) and the variance `{python} product`, `{python} f"{float(product):.4f}"`, whatever
# $d_k$ is ([VUNI](../d/VUNI.py)). Within a row softmax sees still less,
# `{python} Fraction(1, 12) * Fraction(1, 3)` on average ([VROW](../d/VROW.py)). Standard normal entries
# have scores of mean 0 and variance 1 ([VSCL](../d/VSCL.py)).

# %% tags=["hide-input"]
normal = np.random.default_rng(2).standard_normal((2, 100_000, 8)).prod(axis=0)
spread = Figure(
    "Scores of rand and of randn",
    f"Of rand, narrow around {inner.mean() / np.sqrt(8):.2f}; of randn, wide around 0.",
    "Scores of 100 000 random pairs with 8 entries each: all close together for rand, spread around 0 "
    "with variance 1 for randn.",
    height=2.2,
)
axes = spread.axes
for x, width, colour in (
    (inner / np.sqrt(8), 0.1, ACCENT),
    (normal.sum(axis=1) / np.sqrt(8), 0.25, CATEGORIES[1]),
):
    density, edges = np.histogram(x, np.arange(-3, 3.01, width), density=True)
    kept = density > 0.003
    axes.plot(
        (edges[1:] - width / 2)[kept], density[kept], color=colour, clip_on=False
    )
axes.text(1.1, 1.4, "rand", color=ACCENT)
axes.text(-1.2, 0.35, "randn", color=CATEGORIES[1], ha="right")
axes.set(xlim=(-3.2, 3.2), ylim=(0, 2), xticks=[-2, 0, 2], yticks=[0, 1])
axes.set(xlabel="score a", ylabel="density")
show(spread)

# %% [markdown]
# ## What goes wrong
#
# **Taking statistics in float32.** The article's function converts integers first, and above $2^{24}$ float32
# has gaps. The last array above would read:

# %%
print(np.array(2**24 + 1).astype(np.float32).min().item())

# %% [markdown]
# Ours takes the ends as they are and the mean in float64. A NaN shows in all three.
#
# **Printing the tensor itself.** The scores fill `{python} len(str(score).splitlines())` lines, and none of
# them says shape or range.
#
# **Three blocks named x.** Without a name each begins with `x:`, as under *Inspecting*, and as in the article's
# demo. Pass one.
#
# ## Check yourself
#
# ??? question "With 50 keys in place of 20, what is the mean weight?"
#
#     `{python} 1 / 50`, for any scores.
#
# ??? question "With mode rand and 64 entries in place of 8, what happens to mean and variance of the scores?"
#
#     The mean is $\sqrt{64}/4 =$ `{python} int(np.sqrt(64) / 4)`. The variance stays `{python} product`.
#
# ## Where next, and sources
#
# The guide ends here. [Two articles, checked](../articles/index.py) goes through what it follows.
#
# - The demo and both functions: a Chinese article, 「把 Scaled Dot-Product Attention 展开写一遍」 (村儿网通).
# - Python's documentation of [random.uniform](https://docs.python.org/3/library/random.html#random.uniform): the
#   upper end may occur, by rounding.
