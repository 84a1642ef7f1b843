# %% [markdown]
# # One query and one key
#
# By the end of this page you can compare a query with a key, and say what attention makes of one key and
# of two.
#
# ## A question, a label, an answer
#
# Think of a small library in which every book has a label of two numbers. The first says how much the
# book is about food, the second how much about places; a negative number says that it stays away from
# the subject. The label is the book's *key*. What you want is two numbers of the same kind, the *query*:
# here much food, and some places. What you get from a book is its *value*, on this page one number.
#
# A key is compared with the query number by number: multiply, and add up.

# %%
import numpy as np

query = np.array([2.0, 1.0])
guide = np.array([1.0, 2.0])  # restaurants of a far city
atlas = np.array([-1.0, 2.0])  # places, and nothing to eat
algebra = np.array([-2.0, -1.0])  # neither

for name, key in (("guide", guide), ("atlas", atlas), ("algebra", algebra)):
    print(f"{name:8} {query * key}  adds up to {query @ key:4}")

# %% [markdown]
# Where both numbers have the same sign, the product is positive and speaks for the book; where the signs
# differ, it speaks against. Query, key and value each are a list of numbers, a *vector*, and the numbers
# are its entries. In a trained network nobody says what an entry stands for: all three are computed from
# the text by [matrices that are learned](self-attention.py). The comparison is the same.
#
# ## The inner product
#
# The sum of the products is the *inner product*. For a query $q$ and a key $k$ with $d_k$ entries each,
#
# $$
# \langle q, k\rangle = \sum_{i=1}^{d_k} q_i k_i . \label{inner}
# $$
#
# With two entries it can be drawn:

# %% tags=["hide-input"]
from attnref import show
from attnref.figures import ACCENT, INK, MUTED, Figure

drawn = {"guide": guide, "atlas": atlas, "algebra": algebra}
products = {name: float(query @ key) for name, key in drawn.items()}
plane = Figure(
    "A query and three keys",
    "Arrows from one point. The inner products with the query are "
    + ", ".join(f"{product:g} for {name}" for name, product in products.items())
    + ".",
    "All keys that end on one dashed line have the same inner product with the query, written below it. The "
    "lines are at a right angle to the query; the one through its origin has 0. Drawn from the numbers above.",
    height=3.2,
)
axes = plane.axes
across = np.array([-query[1], query[0]]) / np.linalg.norm(query)
for name, key in drawn.items():
    foot = (query @ key) / (query @ query) * query
    ends = np.array([foot - 2.4 * across, foot + 2.4 * across])
    axes.plot(*ends.T, color=MUTED, linewidth=0.8, linestyle=(0, (4, 4)))
    text = f"{products[name]:g}".replace("-", "−")
    axes.text(*(foot - 2.75 * across), text, color=MUTED, ha="center", va="center")
for name, tip in {"query": query, **drawn}.items():
    colour = ACCENT if name == "query" else INK
    arrow = {"arrowstyle": "->", "color": colour, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", tip, (0, 0), arrowprops=arrow)
    side = "left" if tip[0] > 0 else "right"
    axes.text(*(1.07 * tip), name, color=colour, ha=side, va="center")
axes.axhline(0, color=MUTED, linewidth=0.4)
axes.axvline(0, color=MUTED, linewidth=0.4)
axes.text(3.7, 0.12, "food", color=MUTED, ha="right")
axes.text(-0.12, 2.8, "places", color=MUTED, ha="right")
axes.set(xlim=(-4.2, 3.7), ylim=(-3.5, 3.1), aspect="equal")
axes.axis("off")
show(plane)

# %% [markdown]
# So the inner product asks how far the key goes in the direction of the query. Write $\|q\|$ for the
# length $\sqrt{\langle q, q\rangle}$ of a vector, and $\theta$ for the angle between two. Their squared
# distance is, multiplied out,
#
# $$
# \|q - k\|^2 = \|q\|^2 + \|k\|^2 - 2\langle q, k\rangle , \label{distance}
# $$
#
# and by the law of cosines it is $\|q\|^2 + \|k\|^2 - 2\|q\|\|k\|\cos\theta$. Compare the two:
#
# $$
# \langle q, k\rangle = \|q\|\,\|k\|\cos\theta . \label{angle}
# $$
#
# It is **large** where the vectors are long and point the same way, **0** where they stand at a right
# angle (the query says nothing about this key), and **negative** where they point away from each other.
#
# The *score* $a$ of a key is this inner product divided by $\sqrt{d_k}$, here $\sqrt 2$. What the root is
# for [has a page of its own](scaling.py).
#
# ## One key: nothing to choose
#
# Attention turns scores into *weights*, and returns the mean of the values under these weights. A weight
# is a share: positive, and all weights add up to 1. To get there, raise $e = 2.718\dots$ to each score,
# which makes it positive and keeps the order, and divide by the sum. That is *softmax*, and has
# [its own page](softmax.py) too.


# %%
def attend(scores, values):
    exponentials = np.exp(scores)
    weights = exponentials / exponentials.sum()
    return weights, weights @ values


for key in (guide, atlas, algebra):
    score = query @ key / np.sqrt(2)
    weights, output = attend(np.array([score]), np.array([10.0]))
    print(f"score {score:7.4f}   weight {weights[0]}   output {output}")

# %% [markdown]
# One key alone gets $e^a/e^a = 1$, whatever its score, and the output is its value. A share says how a key
# compares with the *other* keys, and there are none.
#
# ## Two keys: only the difference counts
#
# Take the guide with the value 10 and the atlas with the value 20:

# %%
values = np.array([10.0, 20.0])
scores = np.array([guide, atlas]) @ query / np.sqrt(2)
weights, output = attend(scores, values)
print("scores ", scores.round(4))
print("weights", weights.round(4))
print("output ", output.round(4))

# %% [markdown]
# Neither is picked. The output is a mean of both values, nearer to the value of the key with the higher
# score. How much nearer? Divide the weight $p_1$ of the first key above and below by $e^{a_1}$:
#
# $$
# p_1 = \frac{e^{a_1}}{e^{a_1} + e^{a_2}} = \frac{1}{1 + e^{-(a_1 - a_2)}} , \qquad p_2 = 1 - p_1 .
# \label{logistic}
# $$
#
# What is left is how far the first score is ahead, and the curve is called the *logistic function*:

# %% tags=["hide-input"]
ahead = scores[0] - scores[1]
x = np.linspace(-6, 6, 41)
curve = Figure(
    "The weight of the first of two keys",
    f"An S-shaped curve from 0 to 1, one half where the scores are equal. The guide is ahead by {ahead:.2f} "
    f"and has the weight {weights[0]:.2f}.",
    "Equal scores share equally; far behind, a weight is small and never 0. The point is the guide next to "
    "the atlas.",
    height=2.4,
)
axes = curve.axes
axes.plot(x, 1 / (1 + np.exp(-x)), color=ACCENT)
axes.plot(
    [ahead, ahead, -6], [0, weights[0], weights[0]], color=MUTED, linewidth=0.8
)
axes.plot(ahead, weights[0], "o", color=INK, markersize=5)
axes.text(ahead + 0.3, weights[0] - 0.11, f"ahead by {ahead:.2f}: {weights[0]:.2f}")
axes.set(xlim=(-6, 6), ylim=(0, 1.03), yticks=[0, 0.5, 1], xticks=[-6, -3, 0, 3, 6])
axes.set(xlabel="difference of the scores, a₁ − a₂", ylabel="weight, p₁")
show(curve)

# %% [markdown]
# A number added to both scores changes nothing ([SHFT](../d/SHFT.py) proves it for any number of keys): with
# 100 added to each, the guide still has `{python} f"{attend(scores + 100, values)[0][0]:.4f}"`.
#
# ## What goes wrong
#
# **A score is taken for a probability.** A probability lies between 0 and 1; the scores above go from
# `{python} f"{query @ algebra / np.sqrt(2):.2f}".replace("-", "−")` to `{python} f"{scores.max():.2f}"`.
#
# **A score is taken for a similarity.** A cosine lies between −1 and 1 and does not see lengths. A score
# does: a key twice as long has twice the score, further up if it is positive and further down if it is
# negative. Here is a query with two keys, of which the first equals the query:

# %%
q = np.array([1.0, 0.0])
keys = np.array([[1.0, 0.0], [3.0, 3.0]])
a = keys @ q / np.sqrt(2)
p, _ = attend(a, values)
print("key      distance   cosine    score   weight")
for k, score, weight in zip(keys, a, p, strict=True):
    distance, cosine = np.linalg.norm(q - k), q @ k / np.linalg.norm(k)
    print(f"{k} {distance:8.4f} {cosine:8.4f} {score:8.4f} {weight:8.4f}")

# %% [markdown]
# The first key could not be nearer, and gets `{python} f"{p[0]:.0%}"`. The second goes
# `{python} f"{a[1] / a[0]:.0f}"` times as far in the query's direction, and a score does not see how far it strays
# sideways. The article on the Z form
# describes attention as finding the nearest entry and answering with it. Both halves of
# that picture need a correction ([the audit](../articles/index.py)): the highest score need not belong to
# the nearest key, and all keys answer, each with its weight. If all keys are equally
# long, \eqref{distance} says that nearest and highest agree.
#
# ## Check yourself
#
# ??? question "The query is all zeros. What are the weights of the guide and the atlas?"
#
#     Both scores are 0, so the difference is 0, and each has
#     `{python} attend(np.array([guide, atlas]) @ np.zeros(2), values)[0][0]`. The output is the plain mean.
#
# ??? question "How far must key 1 be ahead to get nine tenths of the weight?"
#
#     In \eqref{logistic}, $p_1/p_2 = e^{a_1 - a_2}$. Nine tenths to one is 9, so $a_1 - a_2 = \log 9$, about `{python} f"{np.log(9):.2f}"`. `attend` agrees: the
#     scores $\log 9$ and 0 have the weights
#     `{python} " and ".join(f"{w:.1f}" for w in attend(np.log([9.0, 1.0]), values)[0])`.
#
# ## Where next, and sources
#
# [The Z form](z-form.py) does the same for any number of keys, and gives the sum in the denominator a name.
#
# - A. Vaswani and others, *Attention Is All You Need*, 2017, [arXiv:1706.03762](https://arxiv.org/abs/1706.03762),
#   section 3.2: query, key, value, output.
# - G. Strang, *Introduction to Linear Algebra*, 5th edition, 2016, section 1.2: lengths, angles and the inner
#   product, there called dot product.
