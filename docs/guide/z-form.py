# %% [markdown]
# # The Z form
#
# By the end of this page you can write attention for one query as a sum divided by one number, $Z$,
# and see that it is the formula everybody prints.
#
# ## One query, four keys
#
# [One key](one-query.py) leaves nothing to choose, and with two only a difference counts. Now take one query,
# four keys of $d_k = 4$ numbers each, and values that are single numbers:

# %%
import numpy as np

query = np.array([1.0, 2.0, 0.0, 1.0])
key = np.array([[1, 1, 0, 0], [0, 2, 1, 1], [2, 0, 1, 0], [-1, 0, 2, 1]])
value = np.array([10.0, 20.0, 30.0, 40.0])

score = key @ query / np.sqrt(len(query))
print("scores ", score)

# %% [markdown]
# The [inner product](one-query.py#the-inner-product) of the query with key $s$, divided by $\sqrt{d_k}$ for a
# reason that has [a page of its own](scaling.py), is the *score* $a_s = \langle q, k_s\rangle / \sqrt{d_k}$.
# It can be negative, so it can't be a share yet. Raise $e$ to it: the result is positive, and larger for a
# larger score. Divide by the sum $Z$, and the shares add up to 1.

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

shares = ", ".join(f"{w:.0%}" for w in weight)
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
        facecolor=(ACCENT, 0.1 + 0.6 * w),
        edgecolor=INK,
        lw=0.8,
    )
    name = f"key {s}" if s == 1 else f"{s}"
    bar.axes.text(left + length / 2, 0.62, name, ha="center", color=MUTED)
    bar.axes.text(left + length / 2, 0, f"{w:.0%}", ha="center", va="center")
    left += length
bar.axes.set(xlim=(0, Z), ylim=(-0.5, 0.9), yticks=[])
bar.axes.set_xticks([0, Z], ["0", f"Z = {Z:.2f}"])
bar.axes.spines["left"].set_visible(False)
show(bar)

# %% [markdown]
# These steps are called *softmax*. No key is picked: the best one gets `{python} f"{weight.max():.0%}"`
# of the say, and the output, `{python} f"{output:.2f}"`, is an average in which all four values take
# part.
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
# Step by step, each line checked against the one before:

# %% tags=["hide-input"]
from attnref.derivations import get

show(get("ZFRM").proof)

# %% [markdown]
# [ZFRM](../d/ZFRM.py) has the assumptions, and wrong versions that the check refuses.
#
# Everybody prints $\operatorname{softmax}(QK^{\mathsf T}/\sqrt{d_k})\,V$. Stack queries, keys and
# values as the rows of $Q$, $K$ and $V$: row $t$ of $QK^{\mathsf T}$ holds the inner products of query
# $t$ with every key, softmax makes weights of the scaled row, and their product with $V$ is the sum of
# the values with these weights, which is $y_t$.
#
# ## The same thing, five times
#
# Here is \eqref{z-form} as one would write it down, for 4 queries of 8 numbers and 20 keys with values
# of 10 numbers, drawn uniformly from $[0, 1)$:

# %%
rng = np.random.default_rng(0)
Q, K, V = rng.random((1, 4, 8)), rng.random((1, 20, 8)), rng.random((1, 20, 10))


def one_query(q, keys, values):
    exponentials = [np.exp(q @ k / np.sqrt(len(q))) for k in keys]
    Z = sum(exponentials)
    return sum(e * v for e, v in zip(exponentials, values, strict=True)) / Z, Z


y, Z = zip(*(one_query(q, K[0], V[0]) for q in Q[0]), strict=True)
print("Z_t of the four queries:", np.round(Z, 4))

# %% [markdown]
# The package has plain loops too, with the edge cases decided, and the
# matrix form. Torch's own function computes it as well:

# %%
import attnref
import attnref.torch
import torch

loops = attnref.expanded_attention(Q, K, V)
q, k, v = map(torch.from_numpy, (Q, K, V))
others = {
    "the loop on this page": np.stack(y)[np.newaxis],
    "attnref.attention": attnref.attention(Q, K, V),
    "attnref.torch.attention": attnref.torch.attention(q, k, v),
    "Torch's own": torch.nn.functional.scaled_dot_product_attention(q, k, v),
}
for name, other in others.items():
    print(f"{name:24} differs by {np.abs(np.asarray(other) - loops).max():.14f}")

weights = attnref.attention_weights(Q, K)
print(
    f"weights from {weights.min():.3f} to {weights.max():.3f} around {weights.mean():.3f}"
)

# %% [markdown]
# What is left is rounding. Why the weights stay near 1/20, [a later page](assumptions.py#means-and-variances)
# says.
#
# ## What goes wrong
#
# **The exponential overflows.** A score of 1000 is no trouble on paper. For NumPy, $e^{1000}$ is
# infinite, and infinity over infinity is not a number:

# %% tags=["expect-nan"]
large = np.array([1000.0, 999.0, 998.0])
with np.errstate(over="ignore", invalid="ignore"):
    print("as written", np.exp(large) / np.exp(large).sum())
shifted = np.exp(large - large.max())
print("shifted   ", (shifted / shifted.sum()).round(4))

# %% [markdown]
# Subtracting one number from every score of a row divides $e^{a_{ts}}$ and $Z_t$ by the same factor,
# which cancels in \eqref{z-form}. On paper any number will do; in a computer, the largest score keeps
# every exponential at 1 or below, and one of them at 1.
#
# **The sum runs over the wrong axis.** Normalising over the queries gives numbers of the right shape,
# no error message, and rows that don't add up to 1:

# %%
a = attnref.scores(Q, K)[0]
wrong = np.exp(a) / np.exp(a).sum(axis=0)
print("row sums", wrong.sum(axis=1).round(4))

# %% [markdown]
# ## Check yourself
#
# ??? question "Add 1 to every score of one query. What happens to its Z, its weights, its output?"
#
#     $Z_t$ is multiplied by $e$, and so is every $e^{a_{ts}}$. Weights and output stay as they are:
#     the first weight above is `{python} f"{weight[0]:.4f}"` before and
#     `{python} f"{attnref.softmax(score + 1)[0]:.4f}"` after.
#
# ??? question "To mask a key is to forbid a query to use it. Is that the same as a score of 0?"
#
#     No. A score of 0 adds $e^0 = 1$ to $Z$, and the key takes part: key 4 has the score `{python} f"{score[3]:.0f}"` and the
#     weight `{python} f"{weight[3]:.4f}"`. Masked, it is absent, with the weight
#     `{python} f"{attnref.softmax(score, mask=np.arange(4) < 3)[3]:.0f}"`, and the weight of key 2 rises
#     from `{python} f"{weight[1]:.4f}"` to
#     `{python} f"{attnref.softmax(score, mask=np.arange(4) < 3)[1]:.4f}"`.
#
# ## Where next, and sources
#
# [How far numbers spread](variance.py) leads to the root in the score.
#
# - A. Vaswani and others, *Attention Is All You Need*, 2017, [arXiv:1706.03762](https://arxiv.org/abs/1706.03762),
#   equation 1: the matrix form.
# - The path follows a Chinese article, 「把 Scaled Dot-Product Attention 展开写一遍」 (村儿网通), which
#   [the audit](../articles/z-form.py) goes through.
