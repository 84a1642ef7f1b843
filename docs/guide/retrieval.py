# %% [markdown]
# # Retrieval, and what softmax does not do
#
# By the end of this page you can say where attention is like a look-up, and where it is not.
#
# ## A dictionary, and an average
#
# A dictionary returns one value, that of the key you ask for. Give attention the same three pairs, with
# rows of numbers for keys, and the key of "blue" as the query:

# %%
from attnref import attention, attention_weights
import numpy as np

stored = {"red": 10.0, "blue": 20.0, "green": 60.0}
key, value = np.eye(3), np.array([[10.0], [20.0], [60.0]])
query = key[[1]]
print("dictionary", stored["blue"])
print("weights   ", attention_weights(query, key).round(4))
print("attention ", attention(query, key, value).round(4))

# %% [markdown]
# The fit is perfect, and the answer is a number that nobody stored. Attention scores one query $q$ with each of
# $m$ keys $k_s$ by their [inner product](one-query.py), makes weights $p_s$ of the scores $a_s$, and adds up
# all the values $v_s$:
#
# $$
# a_s = \beta\,\langle q, k_s\rangle, \quad p_s = \frac{e^{a_s}}{\sum_{j=1}^{m} e^{a_j}}, \quad
# y = \sum_{s=1}^{m} p_s v_s . \label{retrieval}
# $$
#
# The *scale* β is $1/\sqrt{d_k}$ for vectors of $d_k$ entries unless one chooses another
# ([The Z form](z-form.py)).
#
# People explain attention by a library: a question comes in, and the text that fits best is the answer. So
# does the article on the Z form ([the audit](../articles/index.py)). Three things in that picture are
# right: the query meets every key, each key has a value, a better fit means a larger weight. Four are
# not, and follow here.
#
# ## It never picks one
#
# An exponential is positive: on paper every weight of finite scores is positive, and with two keys or more
# none is 1. How far ahead must a key be for, say, 99 % of the weight? Let its inner product exceed all
# others by Δ, and let those be equal. Then its weight is
#
# $$
# p = \frac{1}{1 + (m-1)\,e^{-\beta\Delta}}, \quad\text{so}\quad
# \beta\Delta = \log(m-1) + \log\frac{p}{1-p} . \label{lead}
# $$
#
# [LOGP](../d/LOGP.py) and [LOGN](../d/LOGN.py) prove both. Equal others are the worst case: any further
# behind leave it more.


# %%
def lead(p, m):
    return np.log(m - 1) + np.log(p / (1 - p))


for m in (2, 20, 1000, 1_000_000):
    print(f"{m:9,} keys: half at {lead(0.5, m):5.2f}, 99 % at {lead(0.99, m):5.2f}")

# %% tags=["hide-input"]
from attnref import show, softmax
from attnref.figures import ACCENT, CATEGORIES, MUTED, Figure

assert np.isclose(softmax(np.append(lead(0.99, 1000), np.zeros(999)))[0], 0.99)
limit = np.sqrt(8)
m = np.array([2, 3, 4, 6, 10, 30, 1e6])
needed = Figure(
    "The lead that a key needs",
    f"From 2 to a million keys the lead for 99 % rises from {lead(0.99, 2):.1f} to "
    f"{lead(0.99, 1e6):.1f}. Dashed: {limit:.2f}.",
    "The lead in score that one key needs over all others, by \\eqref{lead}: a logarithm of their "
    "number, and a constant.",
    height=2.5,
)
axes = needed.axes
for p, colour in ((0.5, CATEGORIES[1]), (0.99, ACCENT)):
    axes.plot(m, lead(p, m), color=colour, clip_on=False)
    axes.text(1.3e6, lead(p, 1e6), f"{p:.0%}", color=colour, va="center")
axes.plot([2, 1e6], [limit] * 2, "--", color=MUTED, linewidth=0.8, clip_on=False)
axes.text(1e6, limit + 0.4, "limit in the demo", color=MUTED, ha="right")
axes.set_xscale("log")
axes.minorticks_off()
axes.set_xticks([10, 1000, 100_000], ["10", "1000", "100 000"])
axes.set(ylim=(0, 19.5), yticks=[0, 10])
axes.set(xlabel="number of keys m", ylabel="lead in score, βΔ")
show(needed)

# %% [markdown]
# The article's aim is to find the most important key. Its demo draws 20 keys of 8 entries uniformly
# from [0, 1). What does the most important one get, over many such rows?

# %%
rng = np.random.default_rng(0)
queries, keys = rng.random((20_000, 1, 8)), rng.random((20_000, 20, 8))
largest = attention_weights(queries, keys).max(axis=-1)
error = largest.std() / np.sqrt(20_000)
print(f"mean of the largest weight {largest.mean():.5f} ± {error:.5f}")

# %% [markdown]
# That is `{python} f"{largest.mean():.3f}"`, with its standard error; an equal share is `{python} 1 / 20`. No
# key can get most. Such inner products lie from 0 to $d_k$, so no key is further behind than
# $\sqrt{d_k} =$ `{python} f"{limit:.2f}"`, and with all of the others there the best would get
# `{python} f"{1 / (1 + 19 * np.exp(-limit)):.2f}"` by \eqref{lead}.
#
# ## It is not the nearest
#
# Of these two keys, one equals the query; the other is long and far off.

# %%
query, key = np.array([[1.0, 0]]), np.array([[1.0, 0], [3, 3]])
lengths, inner = np.linalg.norm(key, axis=1), key @ query[0]
weight = attention_weights(query, key)[0]
print("distance     ", np.linalg.norm(key - query, axis=1).round(4))
print("cosine       ", (inner / (lengths * np.linalg.norm(query))).round(4))
print("inner product", inner)
print("weight       ", weight.round(4))

# %% [markdown]
# Key 1 has the distance 0 and the cosine 1, and neither can be bettered. Key 2 gets
# `{python} f"{weight[1]:.0%}"`. An inner product is the cosine times *both* lengths: a key twice as long
# has twice the score.

# %% tags=["hide-input"]
plane = Figure(
    "The longer key wins",
    f"Query and key 1 at (1, 0), key 2 at (3, 3), on lines of the inner products {inner[0]:g} and "
    f"{inner[1]:g}. Shortened to length 1, key 2 has {inner[1] / lengths[1]:.2f}.",
    "On a dashed line the inner product with the query is the same. Key 2 is further off and further "
    "right. Shortened to the length of key 1, it loses.",
    height=2.4,
)
axes, orange = plane.axes, CATEGORIES[1]
for x, dx, side in ((1, -0.08, "right"), (3, 0.08, "left")):
    axes.plot([x, x], [0, 3.2], "--", color=MUTED, linewidth=0.8, clip_on=False)
    axes.text(x + dx, 2.2, f"⟨q, k⟩ = {x}", ha=side)
axes.plot([0, 3], [0, 3], color=orange, linewidth=0.8, clip_on=False)
axes.text(*key[1], "●", color=orange, ha="center", va="center")
axes.text(*key[1] / lengths[1], "○", color=orange, ha="center", va="center")
axes.text(*key[0], "●", color=ACCENT, ha="center", va="center")
axes.text(1.15, 0.2, "query = key 1", color=ACCENT)
axes.text(2.8, 3, "key 2", color=orange, ha="right", va="center")
axes.text(0.55, 0.8, "shortened", color=orange, ha="right")
axes.set(xlim=(-0.9, 4.3), ylim=(0, 3.3), xticks=[0, 1, 3], yticks=[3])
axes.set(xlabel="first entry", ylabel="second entry", aspect="equal")
show(plane)
unit = key / lengths[:, np.newaxis]
by_distance = softmax(-((unit - query) ** 2).sum(axis=1) / (2 * np.sqrt(2)))
assert np.allclose(by_distance, attention_weights(query, unit)[0])

# %% [markdown]
# Write $\lVert x\rVert$ for the length of $x$, multiply out $\lVert q - k_s\rVert^2$, solve for the inner
# product, and take the exponential:
#
# $$
# e^{\beta\langle q, k_s\rangle} = e^{\beta\lVert q\rVert^2/2}\; e^{\beta\lVert k_s\rVert^2/2}\;
# e^{-\beta\lVert q - k_s\rVert^2/2} . \label{kernel}
# $$
#
# The first factor is the same for every key and cancels in the weights. The last, a *Gaussian kernel*, falls
# with the distance if β is positive. The middle one favours long keys ([KRNL](../d/KRNL.py)). With keys
# of equal length it cancels too, and the nearest gets the largest weight ([KGAU](../d/KGAU.py)):
# `{python} f"{by_distance[0]:.0%}"` for key 1, by distance or by inner product, once key 2 is shortened.
#
# ## It never says that nothing was found
#
# A dictionary without the key raises an error. The weights of attention add up to 1 whatever the query
# is ([PSUM](../d/PSUM.py)). Ask the first three keys with a query that fits one, with zeros, and with a query
# opposed to all:

# %%
key, query = np.eye(3), np.array([[0.0, 5, 0], [0, 0, 0], [-5, -5, -5]])
print(attention_weights(query, key).round(4))
sink = attention_weights(query, key, sink=0.0)
print("with a sink, sums", sink.sum(axis=1).round(4))
masked = attention_weights(query, key, mask=np.zeros((3, 3), bool))
print("all masked, sums ", masked.sum(axis=1))

# %% [markdown]
# Zeros and opposition give the same thirds, because softmax sees only differences between scores
# ([SHFT](../d/SHFT.py)). A *sink* is one more score, here 0, which takes weight and has no value: the
# output is multiplied by what is left to the keys ([SINK](../d/SINK.py)) and fades where none fits. A mask
# forbids keys before any comparison. Where it forbids all, attnref's weights and output are 0; others
# [decide otherwise](../contract.py#masked-is-absent).
#
# ## Equal keys share, and sharpness is bought
#
# A dictionary holds a key once. To attention, $r$ copies of a key have equal weights, and together
# weigh as much as one whose score is higher by $\log r$ ([DUPL](../d/DUPL.py)). Other than that, one can come
# close to a look-up: raise the scale, and the weight in \eqref{lead} goes to 1 ([TGAP](../d/TGAP.py)). The
# limit is *hardmax*: all weight on the largest inner product, shared evenly by keys that tie. The price:
# [gradients vanish](saturation.py) near a weight of 1.
#
# ## What goes wrong
#
# **Raising the scale to find the nearest key.** Take the two keys again, and a copy of the second:

# %%
query, key = np.array([[1.0, 0]]), np.array([[1.0, 0], [3, 3], [3, 3]])
for scale in (0.0, 0.5, 2.0, 8.0):
    print(f"β = {scale:3}", attention_weights(query, key, scale=scale)[0].round(4))

# %% [markdown]
# Attention gets surer, and no nearer: less and less goes to the key that equals the query.
#
# ## Check yourself
#
# ??? question "One of 4096 keys has a score 5 higher than all the others. What weight does it get?"
#
#     If the others are equal, `{python} f"{1 / (1 + 4095 * np.exp(-5)):.3f}"` by \eqref{lead}, else
#     more. For half, it has to lead by `{python} f"{lead(0.5, 4096):.2f}"`.
#
# ??? question "Make a query three times as long. Can another key become its nearest? The heaviest?"
#
#     The nearest, yes. The heaviest, no: every score is multiplied by 3, and the order stays.
#
# ## Where next, and sources
#
# [Making and inspecting arrays](tools.py) runs the article's demo whole.
#
# - A. Vaswani and others, *Attention Is All You Need*, 2017, [arXiv:1706.03762](https://arxiv.org/abs/1706.03762),
#   section 3.2: a query, key–value pairs, and a weighted sum.
# - A. Graves and others, *Neural Turing Machines*, 2014, [arXiv:1410.5401](https://arxiv.org/abs/1410.5401),
#   equations 5 and 6: softmax of the cosine instead.
