# %% [markdown]
# # The weighted sum
#
# By the end of this page you can turn weights and values into an output, and say what is in it.
#
# ## Nine weights, three values
#
# The article on scaling follows 喜, one of nine tokens of 我喜歡人工智能 between `[CLS]` and `[SEP]`. Its nine
# scores, divided by $\sqrt{64} = 8$, become weights. The article shows three of the nine values, and of each the
# first three entries, those of 我, 喜 and 歡:

# %%
from attnref import softmax
import numpy as np

np.set_printoptions(precision=4, suppress=True)
tokens = ["我", "喜", "歡", "人", "工", "智", "能", "CLS", "SEP"]
scores = np.array([15.3, 22.7, 18.2, 2.1, 1.8, 3.2, 2.9, 5.6, 4.1])
weights = softmax(scores / 8)
value = np.array([[0.31, -0.12, 0.45], [0.42, 0.15, -0.08], [0.05, 0.28, -0.18]])

for token, p, v in zip(tokens, weights, value, strict=False):
    print(token, f"{p:.4f} ·", v, "=", p * v)
partial = weights[:3] @ value
print("together", partial)

# %% [markdown]
# Multiply each value by its weight and add up: that is the whole step. For query $t$, with weights $p_{ts}$ and
# values $v_s$ of $m$ keys,
#
# $$
# y_t = \sum_{s=1}^{m} p_{ts}\, v_s . \label{weighted-sum}
# $$
#
# Three terms are not the sum of nine. The article prints an output, and with it one can ask what the six values
# that it leaves out must add:

# %%
printed = np.array([0.215, 0.142, -0.018])
rest = printed - partial
print("the six must add    ", rest)
print("their weights add to", weights[3:].sum().round(4))
print("so their average is ", rest / weights[3:].sum())

# %% [markdown]
# Nothing forbids it. But a reader can't check the printed sum, and the six are not negligible: they hold
# `{python} f"{weights[3:].sum():.0%}"` of the weight. With the article's weights of two digits, the three terms
# add up to `{python} ", ".join(f"{x:.4f}" for x in weights[:3].round(2) @ value)`, near what is above.
#
# ## An average stays among the values
#
# The weights are positive and add up to 1, so $y_t$ is an average: no entry of it can be above the largest entry
# of the values, or below the smallest. In two dimensions the outputs of three values fill the triangle
# between them, and can't leave it:

# %% tags=["hide-input"]
from attnref import show
from attnref.figures import ACCENT, CATEGORIES, MUTED, Figure

corners = np.array([[0.0, 0.0], [1.0, 0.2], [0.35, 0.9]])
three = scores[:3] / 8
factors = np.array([0, 0.25, 0.5, 1, 2, 4, 8, 40])
path = np.array([softmax(f * three) @ corners for f in factors])
inside = path[factors == 1][0]
triangle = Figure(
    "Outputs stay between the values",
    f"Three values at the corners of a triangle. With equal weights the output is its centre "
    f"({path[0][0]:.2f}, {path[0][1]:.2f}); with the weights of the scores it is at "
    f"({inside[0]:.2f}, {inside[1]:.2f}); with scores 40 times as large it is at value 2.",
    "The output of three values, for the first three scores above times a growing factor: from the centre, "
    "where all weights are equal, to the corner of the largest score.",
    height=2.4,
)
axes = triangle.axes
axes.plot(*corners[[0, 1, 2, 0]].T, color=MUTED, linewidth=0.8)
axes.plot(*path.T, color=ACCENT, clip_on=False)
for n, (x, y) in enumerate(corners, 1):
    axes.text(x, y, "●", color=CATEGORIES[1], ha="center", va="center")
    side = "left" if n == 2 else "right"
    axes.text(
        x + (0.04 if n == 2 else -0.04), y, f"value {n}", ha=side, va="center"
    )
axes.text(*path[0], "○", ha="center", va="center", color=ACCENT)
axes.text(path[0][0], path[0][1] + 0.06, "equal weights", ha="center")
axes.text(*inside, "●", ha="center", va="center", color=ACCENT)
axes.text(inside[0], inside[1] - 0.1, "these scores", ha="center", color=ACCENT)
axes.set(xlim=(-0.3, 1.3), ylim=(-0.05, 1), xticks=[], yticks=[])
axes.set(xlabel="first entry", ylabel="second entry", aspect="equal")
show(triangle)

# %% [markdown]
# So one query can't double a value, or subtract one from another. What comes out may still be anything, since
# the values themselves are made by a matrix that is learned.
#
# ## All queries at once
#
# Stack the weights of all queries as rows, and the values as rows: \eqref{weighted-sum} for every $t$ is one
# matrix product. In BERT each of the nine tokens has 768 numbers:

# %%
rng = np.random.default_rng(0)
P = softmax(rng.standard_normal((1, 9, 9)))
V = rng.standard_normal((1, 9, 768))
Y = P @ V
print(P.shape, "@", V.shape, "=", Y.shape)
order = ["CLS", *tokens[:7], "SEP"]
for row in (1, 2):
    print(f"Y[0, {row}, :3] is of {order[row]}:", Y[0, row, :3].round(3))

# %% [markdown]
# The nine weights of row $t$ meet the nine values; how many numbers a value has is free, and need not be the
# $d_k$ of a key. Mind the order of the tokens: `[CLS]` comes first, so 我 has index 1 and 喜 index 2. The article
# prints row 1 and calls it 喜, which holds in the order in which it lists the scores and not in that of the
# sentence ([the audit](../articles/index.py)).
#
# The output is linear in the values. Twice the values give twice the output, and a constant added to all of
# them is added to the output, because the weights sum to 1 ([PSUM](../d/PSUM.py)):

# %%
print(f"twice the values: off by {abs(P @ (2 * V) - 2 * Y).max():.12f}")
print(f"values plus 7:    off by {abs(P @ (V + 7) - (Y + 7)).max():.12f}")

# %% [markdown]
# ## What goes wrong
#
# **A share of weight is taken for a share of content.** The new vector of 喜, one reads, has
# `{python} f"{weights[0]:.0%}"` of 我 in it, and `{python} f"{weights[2]:.0%}"` of 歡. These are shares of
# *weight*. What a key adds is $p_s v_s$, and a short value adds little:

# %%
added = np.linalg.norm(weights[:3, np.newaxis] * value, axis=1)
for token, p, length in zip(tokens, weights, added, strict=False):
    print(f"{token}  weight {p:.3f}  length of what it adds {length:.3f}")
assert weights[0] < weights[2]
assert added[0] > added[2]

# %% [markdown]
# In the three entries that we know, 我 has less weight than 歡 and adds more. What a vector *means* to the layers
# above is another question again, and needs a trained network.
#
# **The product the wrong way round.** With as many queries as keys, and values as wide, every order of factors
# has a legal shape, and only one is attention:

# %%
p, v = softmax(rng.standard_normal((3, 3))), rng.standard_normal((3, 3))
print(f"rows of weights   sum to {p.sum(axis=1).round(4)}")
print(f"transposed weights sum to {p.T.sum(axis=1).round(4)}")
print(f"p.T @ v differs from p @ v by {abs(p.T @ v - p @ v).max():.2f}")
print(f"v @ p   differs from p @ v by {abs(v @ p - p @ v).max():.2f}")

# %% [markdown]
# Check with sizes that differ, as the tests of attnref do: then the wrong order is an error.
#
# ## Check yourself
#
# ??? question "Whose information is in the new vector of 喜?"
#
#     All nine tokens', and most of all its own: 喜 has `{python} f"{weights[1]:.1%}"` of the weight, then 歡
#     `{python} f"{weights[2]:.1%}"`, 我 `{python} f"{weights[0]:.1%}"`, and each of 人, 工, 智 and 能 about
#     `{python} f"{weights[3:7].mean():.1%}"`. The article's answer names 我 and 歡, and leaves out the largest.
#
# ??? question "All values are the same vector v. What is the output, whatever the weights?"
#
#     $v$, for $\sum_s p_{ts} v = v$. With `{python} value[1].tolist()` for each of the nine:
#     `{python} (weights @ np.tile(value[1], (9, 1))).round(4).tolist()`.
#
# ??? question "The values have 10 entries and the keys 8. Is that allowed?"
#
#     Yes. The keys decide the weights, the values what is averaged. The shape is
#     `{python} (softmax(rng.standard_normal((4, 8)) @ rng.standard_normal((8, 20))) @ rng.standard_normal((20, 10))).shape`
#     for 4 queries and 20 keys.
#
# ## Where next, and sources
#
# [Self-attention of one sentence](self-attention.py) makes queries, keys and values of the tokens themselves.
#
# - A. Vaswani and others, *Attention Is All You Need*, 2017, [arXiv:1706.03762](https://arxiv.org/abs/1706.03762),
#   section 3.2: an output is a weighted sum of the values.
# - The scores and the three values come from the article on scaling, the seventh of a Chinese series on
#   Transformers.
