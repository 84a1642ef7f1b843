# %% [markdown]
# # The Z form
#
# By the end of this page you can write attention for one query as a sum divided by one number, $Z$,
# and show that it is the formula everybody prints.
#
# ## One query, four keys
#
# A *query* is a vector that asks. Each *key* is a vector that says what its entry is about, and each
# *value* is what that entry has to give. Take one query and four keys with $d_k = 4$ entries each,
# and let the values be plain numbers:

# %%
import numpy as np

query = np.array([1.0, 2.0, 0.0, 1.0])
key = np.array(
    [
        [1.0, 1.0, 0.0, 0.0],
        [0.0, 2.0, 1.0, 1.0],
        [2.0, 0.0, 1.0, 0.0],
        [-1.0, 0.0, 2.0, 1.0],
    ]
)
value = np.array([10.0, 20.0, 30.0, 40.0])

score = key @ query / np.sqrt(4)
print("scores ", score)

# %% [markdown]
# The *score* $a_s = \langle q, k_s\rangle / \sqrt{d_k}$ says how well key $s$ fits the query. Scores
# can be negative or zero, so they can't be shares yet. Three steps make shares of them: exponentiate,
# add up, divide.

# %%
exponential = np.exp(score)
Z = exponential.sum()
weight = exponential / Z
output = (weight * value).sum()

print("exp    ", exponential.round(4))
print("Z      ", Z.round(4))
print("weights", weight.round(4))
print("output ", output.round(4))

# %% tags=["hide-input"]
from attnref import show
from attnref.figures import ACCENT, INK, MUTED, Figure

shares = ", ".join(f"{w:.2f}" for w in weight)
bar = Figure(
    "Z, cut into weights",
    f"A bar of length Z = {Z:.2f} in four pieces with the shares {shares}.",
    "The whole bar is $Z$; the piece of key $s$ is $e^{a_s}$ long, and its share of the bar is the "
    "weight of value $s$. Drawn from the numbers above.",
    height=1.1,
)
left = 0.0
for s, (length, w) in enumerate(zip(exponential, weight, strict=True), 1):
    bar.axes.barh(
        0,
        length,
        left=left,
        color=ACCENT,
        alpha=0.15 + 0.8 * w,
        edgecolor=INK,
        linewidth=0.8,
    )
    name = f"key {s}" if s == 1 else f"{s}"
    bar.axes.text(left + length / 2, 0.62, name, ha="center", color=MUTED)
    bar.axes.text(
        left + length / 2, 0, f"{w:.2f}", ha="center", va="center", color=INK
    )
    left += length
bar.axes.set(xlim=(0, Z), ylim=(-0.5, 0.9), yticks=[])
bar.axes.set_xticks([0, Z], ["0", f"Z = {Z:.2f}"])
bar.axes.spines["left"].set_visible(False)
show(bar)

# %% [markdown]
# No key is picked: the best one gets `{python} f"{weight[1]:.0%}"` of the say, and the output,
# `{python} f"{output:.2f}"`, is an average in which all four values take part.
#
# ## The formula
#
# Now number the queries $t = 1, \dots, n$ and the keys $s = 1, \dots, m$. Query $t$ has the score
# $a_{ts} = \langle q_t, k_s\rangle/\sqrt{d_k}$ with key $s$, and a *normaliser* of its own,
#
# $$
# Z_t = \sum_{s=1}^{m} e^{a_{ts}} . \label{normaliser}
# $$
#
# The index says what $Z_t$ depends on. It is the same for every key, so it may leave the sum over $s$;
# it differs from query to query, so it is no constant of the whole computation. The output is
#
# $$
# y_t = \frac{1}{Z_t} \sum_{s=1}^{m} e^{a_{ts}} v_s . \label{z-form}
# $$
#
# In the usual notation this is row $t$ of $\operatorname{softmax}(QK^{\mathsf T}/\sqrt{d_k})\,V$,
# where softmax runs along the keys. Step by step, with each line proved from the one before:

# %% tags=["hide-input"]
from attnref.derivations import get

show(get("ZFRM").proof)

# %% [markdown]
# [ZFRM](../d/ZFRM.py) has what this rests on, and the wrong versions that the same check refuses.
#
# ## The same thing, three times
#
# Here is \eqref{z-form} as one would write it down, for 4 queries of 8 entries and 20 keys with
# values of 10 entries, drawn uniformly from $[0, 1)$:

# %%
rng = np.random.default_rng(0)
Q, K, V = rng.random((1, 4, 8)), rng.random((1, 20, 8)), rng.random((1, 20, 10))


def one_query(q, keys, values):
    exponentials = [np.exp(q @ k / np.sqrt(len(q))) for k in keys]
    Z = sum(exponentials)
    return sum(e / Z * v for e, v in zip(exponentials, values, strict=True)), Z


y, Z = zip(*(one_query(q, K[0], V[0]) for q in Q[0]), strict=True)
print("Z_t of the four queries:", np.round(Z, 4))

# %% [markdown]
# Four queries, four normalisers. The package has this loop as `expanded_attention`, with the edge
# cases decided, and the matrix form as `attention`. Torch's own function computes it too. All agree:

# %%
import torch

import attnref
import attnref.torch

loops = attnref.expanded_attention(Q, K, V)
tensors = [torch.from_numpy(x) for x in (Q, K, V)]
others = {
    "the loop on this page": np.stack(y)[np.newaxis],
    "attnref.attention": attnref.attention(Q, K, V),
    "attnref.torch.attention": attnref.torch.attention(*tensors).numpy(),
    "Torch's own function": torch.nn.functional.scaled_dot_product_attention(
        *tensors
    ).numpy(),
}
print("shape of the output:", loops.shape)
for name, other in others.items():
    print(f"{name:24} differs by {np.abs(other - loops).max():.14f}")

# %% [markdown]
# Zero to fourteen decimals: what is left is the rounding of 64-bit numbers. And the weights of
# uniform inputs are nearly equal, 1 in 20 each; [the next page](scaling.py#what-the-proof-needs)
# says why.
#
# ## What goes wrong
#
# **The exponential overflows.** A score of 1000 is no trouble on paper:

# %%
import math

try:
    math.exp(1000)
except OverflowError as error:
    print("exp(1000):", error)

large = np.array([1000.0, 999.0, 998.0])
shifted = np.exp(large - large.max())
print("shifted:  ", (shifted / shifted.sum()).round(4))

# %% [markdown]
# Subtracting one number $m$ from every score of a row multiplies $e^{a_{ts}}$ and $Z_t$ by the same
# $e^{-m}$, which cancels in \eqref{z-form}. Any $m$ will do; the largest score keeps every
# exponential at 1 or below.
#
# **The sum runs over the wrong axis.** Normalising over the queries gives columns that add up to 1,
# numbers of the right shape, and no error message:

# %%
a = attnref.scores(Q, K)[0]
wrong = np.exp(a) / np.exp(a).sum(axis=0)
print("row sums, over keys:   ", attnref.softmax(a).sum(axis=1).round(4))
print("row sums, over queries:", wrong.sum(axis=1).round(4))

# %% [markdown]
# ## Check yourself
#
# ??? question "Add 1 to every score of one query. What happens to its Z, its weights, its output?"
#
#     $Z_t$ is multiplied by $e$, and so is every $e^{a_{ts}}$. Weights and output stay as they are:
#     the first weight above is `{python} f"{weight[0]:.4f}"` before and
#     `{python} f"{attnref.softmax(score + 1)[0]:.4f}"` after.
#
# ??? question "Is masking a key the same as giving it the score 0?"
#
#     No. A score of 0 adds $e^0 = 1$ to $Z$, and the key still takes part. A masked key is absent.
#     Key 4 has the score 0 and the weight `{python} f"{weight[3]:.4f}"`; masked, its weight is
#     `{python} f"{attnref.softmax(score, mask=np.arange(4) < 3)[3]:.4f}"` and the weight of key 2 rises
#     from `{python} f"{weight[1]:.4f}"` to
#     `{python} f"{attnref.softmax(score, mask=np.arange(4) < 3)[1]:.4f}"`.
#
# ## Where next
#
# [Why divide by √dₖ](scaling.py) explains the root in the score.
#
# ## Sources
#
# - A. Vaswani and others, *Attention Is All You Need*, 2017, [arXiv:1706.03762](https://arxiv.org/abs/1706.03762),
#   equation 1: the matrix form.
# - M. Rabe and C. Staats, *Self-attention Does Not Need O(n²) Memory*, 2021,
#   [arXiv:2112.05682](https://arxiv.org/abs/2112.05682), section 2: the sum and its normaliser kept apart.
# - The path from one query to $Z$ follows a Chinese article,
#   「把 Scaled Dot-Product Attention 展开写一遍」 (村儿网通). It calls $Z$ a constant; \eqref{normaliser}
#   says of what.
