# %% [markdown]
# # The backward pass
#
# By the end of this page you can write the gradients of attention by hand, and compute them block by block.
#
# ## Two queries, three keys
#
# Which way does the loss go if an input moves a little? Two queries meet three keys, whose values are
# single numbers. Both outputs should be 3, and the loss is half their squared distance from it. The plain way is to
# move each number up and down:

# %%
from attnref import attention
import numpy as np

query = np.array([[1.0, 2, 0, 1], [0, -1, 2, 1]])
key = np.array([[1.0, 1, 0, 0], [0, 2, 1, 1], [2, 0, 1, 0]])
value = np.array([[3.0], [1.0], [5.0]])
inputs = query, key, value

# %% tags=["fold-input"]
np.set_printoptions(precision=4, floatmode="fixed", suppress=True)


def loss(q=query, k=key, v=value):
    return ((attention(q, k, v) - 3) ** 2).sum() / 2


def by_moving(name, x, h=1e-6):
    steps = h * np.eye(x.size).reshape(-1, *x.shape)
    ups = [loss(**{name: x + step}) - loss(**{name: x - step}) for step in steps]
    return np.reshape(ups, x.shape) / (2 * h)


moved = [by_moving(*one) for one in zip("qkv", inputs, strict=True)]
print("outputs", attention(*inputs).ravel())
print("slopes in the keys", moved[1], sep="\n")

# %% [markdown]
# Two forward passes for each of `{python} sum(x.size for x in inputs)` numbers. All slopes together can cost as
# little as two or three.
#
# ## Everything from log Z
#
# Raise a score, and log Z rises by the weight of the key ([LZGR](../d/LZGR.py)):
#
# $$
# \frac{\partial \log Z_t}{\partial a_{ts}} = p_{ts} .
# \label{weight}
# $$
#
# The rest is this line, used again. Let $g_t$ be the slope of the loss in output $t$, here $y_t - 3$. For small
# moves the loss changes as $\sum_t \langle g_t, y_t\rangle$, with g held fixed. That is a slope of log Z too: tilt the
# row, adding $\tau \langle g_t, v_s\rangle$ to each score, and log Z rises by $\langle g_t, y_t\rangle$ per unit of τ
# ([AGRD](../d/AGRD.py)). So the slope of the loss in a score, $\mathrm{d}a_{ts}$, is a *second* derivative of log Z.
# Take it first by the score, then by τ:
#
# $$
# \mathrm{d}a_{ts} = \frac{\partial p_{ts}}{\partial \tau}
# = p_{ts} \bigl(\langle g_t, v_s\rangle - \delta_t\bigr), \qquad \delta_t = \langle g_t, y_t\rangle .
# \label{pull}
# $$
#
# **The gradient in the scores is how the weights move when the row is tilted.** Is it?

# %%
from attnref import scores, softmax

a, y, tau = scores(query, key), attention(*inputs), 1e-6
p, g = softmax(a), y - 3
gv, delta = g @ value.T, g * y
da = p * (gv - delta)
tilted = (softmax(a + tau * gv) - softmax(a - tau * gv)) / (2 * tau)
print(da, "as the weights move:", np.allclose(da, tilted, atol=1e-8))

# %% tags=["hide-input"]
from attnref import show
from attnref.figures import ACCENT, INK, Figure

told = [f"{x:+.2f}".replace("-", "−") for x in da[0]]
pulls = Figure(
    "The pull on each score",
    f"Columns of the areas {', '.join(told)}.",
    "Query 1. A column is as wide as its weight and as high as $\\langle g_t, v_s\\rangle - \\delta_t$; its area is the "
    "slope, and the areas add up to 0. Training goes against it, and raises the scores with ↑. Drawn from the numbers above.",
    height=2.4,
)
axes, left = pulls.axes, 0.0
for s, (width, height) in enumerate(zip(p[0], (gv - delta)[0], strict=True)):
    shade = {"facecolor": (ACCENT, 0.3), "edgecolor": INK}
    axes.bar(left, height, width, align="edge", clip_on=False, **shade)
    up, middle = height > 0, left + width / 2
    above, below = {"y": 0.1, "va": "bottom"}, {"y": -0.1, "va": "top"}
    end, zero = (above, below) if up else (below, above)
    end["y"] += height
    axes.text(middle, s=f"{told[s]} {'↓' if up else '↑'}", ha="center", **end)
    axes.text(middle, s=f"key {s + 1}", ha="center", **zero)
    left += width
axes.set(xlim=(0, 1), ylim=(-3.5, 1.6))
axes.set_axis_off()
show(pulls)

# %% [markdown]
# Output 1 is too low. The value of key 2 drags it down, so its score is to fall. The areas add up to 0 because the
# weights stay 1 together ([BWDR](../d/BWDR.py)).
#
# The mean δ seems to need the row. But
# $\sum_s p_{ts} \langle g_t, v_s\rangle = \langle g_t, y_t\rangle$: **one inner product with the output replaces a row of
# weights.**
#
# ## The formula
#
# Values reach the outputs by weights, queries and keys by scores:
#
# $$
# \mathrm{d}v_s = \sum_t p_{ts}\, g_t, \qquad
# \mathrm{d}q_t = \beta \sum_s \mathrm{d}a_{ts}\, k_s, \qquad
# \mathrm{d}k_s = \beta \sum_t \mathrm{d}a_{ts}\, q_t .
# \label{gradients}
# $$
#
# Proved, with \eqref{pull}: [BWDV](../d/BWDV.py), [BWDS](../d/BWDS.py), [BWDQ](../d/BWDQ.py),
# [BWDK](../d/BWDK.py). A score has β once, and so have they.


# %%
def backward(q, k, v, g, beta):
    a = beta * q @ k.T
    e = np.exp(a - a.max(axis=1, keepdims=True))
    p = e / e.sum(axis=1, keepdims=True)
    delta = (g * (p @ v)).sum(axis=1, keepdims=True)
    da = p * (g @ v.T - delta)
    return beta * da @ k, beta * da.T @ q, p.T @ g


# %% [markdown]
# ## What the forward pass keeps
#
# This function holds matrices with an entry for each query and key: with 65 536 of both, in float32, each
# `{python} f"{65536**2 * 4 / 2**30:.0f}"` GiB. But a weight, $e^{a_{ts} - m_t}/z_t$, can be made again at any time. So
# keep m and z of the [state](merging.py#a-state-that-never-overflows), and the output for δ. Compute the scores
# again, block by block, and forget each block. Memory grows with queries and keys, not with their product: the
# idea of *FlashAttention*.


# %%
def blockwise(q, k, v, g, beta, state, size):
    m, z = state.m[:, None], state.z[:, None]
    delta = (g * state.output).sum(axis=1, keepdims=True) / z
    g = g / z  # so that no weight is divided
    dq, dk, dv = (np.zeros_like(x) for x in (q, k, v))
    for j in range(0, len(k), size):
        block = slice(j, j + size)
        e = np.exp(beta * q @ k[block].T - m)
        da = e * (g @ v[block].T - delta)
        dq += beta * da @ k[block]
        dk[block], dv[block] = beta * da.T @ q, e.T @ g
    return dq, dk, dv


# %%
from attnref import Partial, attention_gradients, partial_attention

ours = backward(*inputs, g, 1 / 2)
blocks = blockwise(*inputs, g, 1 / 2, partial_attention(*inputs), 2)
package = attention_gradients(*inputs, g)[:3]
for other in moved, blocks, package:
    pairs = zip(ours, other, strict=True)
    print(*(abs(x - y).max() < 1e-8 for x, y in pairs))

# %% [markdown]
# The ten lines agree with moving, with the blocks, and with the package, which takes queries in blocks too
# ([Streaming](streaming.py)). To train, take `attnref.torch.streaming_attention`: to autograd one function, with this
# backward pass.
#
# ## Why not log Z
#
# Most kernels keep $\log Z_t = m_t + \log z_t$, and make the weight again as $e^{a_{ts} - \log Z_t}$. On
# paper that is as good ([MSHF](../d/MSHF.py)). In a computer log Z is rounded, and with it all weights of the row,
# by one factor that nothing divides out again. Here scores are exact in float32, whatever is added to them, and no
# gradient should change. The largest error in the keys' gradient, over its largest entry, to a power of ten and no
# less than `1e-06`:

# %% tags=["fold-input"]
rng, single = np.random.default_rng(1), np.float32
wide = rng.integers(-4, 5, (4, 64, 16)) / 2
true = attention_gradients(*wide).key
q, k, v, gy = wide.astype(single)


def off(state):
    dk = attention_gradients(q, k, v, gy, bias=bias, state=state).key
    power = np.log10(abs(dk - true).max() / abs(true).max())
    return f"{10.0 ** max(round(power), -6):.0e}"


for offset in (0, 4096, 65536):
    bias = np.full((1, 1), offset, single)
    kept = partial_attention(q, k, v, bias=bias)
    log_z = Partial(kept.log_z, np.ones(64, single), kept.output)
    print(f"{offset:5} added: log Z {off(log_z)}, (m, z) {off(kept)}")

# %% [markdown]
# Up to half a gap between neighbours of log Z goes into all gradients of the row: near 65 536 one part in
# `{python} f"{2 / np.spacing(single(65536)):.0f}"`. Rounded scores bring [errors of that size](precision.py) anyway;
# (m, z) adds none.
#
# ## A loss that sees log Z
#
# A loss may look at log Z: the *z-loss* $c\,(\log Z_t)^2$ keeps normalisers near 1, and
# [merged](merging.py) outputs depend on those of the parts. With the slope γ there (ℓ in the records) a
# score gets $p_{ts} \gamma_t$ more, by \eqref{weight}: put $\delta_t = \langle g_t, y_t\rangle - \gamma_t$, and no
# other line changes. A *sink* is a key of value 0: its gradient is its weight times −δ. Rows then add up to γ:

# %%
extra = {"sink": np.zeros(2), "bias": np.zeros((2, 3))}  # a bias's slope is da
found = attention_gradients(*inputs, g, grad_log_z=np.array([1.0, 2.0]), **extra)
print("sums of the rows", found.bias.sum(axis=1) + found.sink)

# %% [markdown]
# Kernels that return log Z and drop γ on the way back take it for a constant.
#
# ## What goes wrong
#
# **δ is forgotten,** or **β comes twice** to the keys, where code has scaled the query already:

# %%
print("right    ", da[0])
print("without δ", (p * gv)[0], f"sum {(p * gv)[0].sum():.4f}")
print("β twice  ", (da.T @ (query / 2) / 2 / ours[1])[0], "of the keys' slope")

# %% [markdown]
# Without δ training would raise every score of the row, which changes nothing. With β twice the keys learn at another
# rate. Neither crashes: check sums of rows, and hold gradients against differences, β not being 1.
#
# **NaN is swept up afterwards.** Hide key 3, and from query 2 all keys. Softmax over its empty row is 0/0. `where`
# makes the output 0, and hands back 0; but the weights are NaN still, and so is 0 times NaN. The sum over queries
# takes it to *all* values:

# %% tags=["expect-nan"]
mask = np.array([[1, 1, 0], [0, 0, 0]], bool)
e = np.exp(a) * mask
with np.errstate(invalid="ignore"):
    dv = (e / e.sum(axis=1, keepdims=True)).T @ (g * [[1], [0]])
print("where     ", dv.ravel())
print("nan_to_num", np.nan_to_num(dv).ravel())
bad = [np.where([[0], [0], [1]], np.nan, x) for x in (key, value)]
right = attention_gradients(query, *bad, g, mask=mask)
print("attnref   ", right.value.ravel(), "query 2", right.query[1])

# %% [markdown]
# `nan_to_num` silences query 1 with it. The package *selects*, before it divides: masked keys and empty rows get no
# gradient and give none, even if they are NaN, as key 3 in the last line.
#
# ## Check yourself
#
# ??? question "All values are equal. What do the queries learn?"
#
#     Nothing, each value is the mean: `{python} np.allclose(backward(query, key, np.ones((3, 1)), g, 1 / 2)[0], 0)`.
#
# ??? question "The loss is the sum of all log Z. What is its gradient in a query?"
#
#     Here g is 0 and γ is 1, so it is β times the mean key ([LZGQ](../d/LZGQ.py)):
#     `{python} np.allclose(attention_gradients(*inputs, 0 * g, grad_log_z=np.ones(2)).query, p @ key / 2)`.
#     Its own slope is β² times the covariance of the keys ([LZHS](../d/LZHS.py)).
#
# ## Where next, and sources
#
# [Several machines](machines.py) can share the keys. [The reference](../reference/merging.md) has the functions.
#
# - T. Dao and others, *FlashAttention*, 2022, [arXiv:2205.14135](https://arxiv.org/abs/2205.14135), appendix B.2;
#   T. Dao, *FlashAttention-2*, 2023, [arXiv:2307.08691](https://arxiv.org/abs/2307.08691), algorithm 2, from log Z.
# - A. Chowdhery and others, *PaLM*, 2022, [arXiv:2204.02311](https://arxiv.org/abs/2204.02311), section 5: z-loss.
