# %% [markdown]
# # Why divide by $\sqrt{d_k}$
#
# By the end of this page you can say what the division does, prove it, and see what softmax makes of it.
#
# ## Longer vectors, larger scores
#
# Draw a query and five keys at random, with entries of either sign, and take the inner products:

# %%
import numpy as np

rng = np.random.default_rng(0)
for d in (4, 64, 1024):
    query, keys = rng.standard_normal(d), rng.standard_normal((5, d))
    print(f"d_k = {d:4}  ", " ".join(f"{a:8.2f}" for a in keys @ query))

# %% [markdown]
# There are more terms, they cancel only in part, and what is left [spreads further](variance.py).
#
# ## How far it spreads
#
# Let the entries of $q$ and $k$ be random and independent of each other, with means of 0 and variances of 1.
# Then each product $q_i k_i$ has mean 0 and variance 1 as well, and variances of independent terms add: $d_k$
# terms, variance $d_k$. The derivation does the same from the definition of the variance, and keeps the means
# $\mu_q$ and $\mu_k$ until an assumption removes them. $\mathbb{E}[X]$ is the mean of a random number $X$, and
# $\delta_{ij}$ is 1 where $i = j$ and 0 elsewhere:

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("VDOT").proof)

# %% [markdown]
# [VDOT](../d/VDOT.py) names every assumption and the step that needs it.
#
# The standard deviation grows like $\sqrt{d_k}$. A factor leaves the variance as its square, so dividing by
# $\sqrt{d_k}$ divides the variance by $d_k$ and brings it to 1, whatever $d_k$ is ([VSCL](../d/VSCL.py)).
#
# ## Does it hold when one tries it?
#
# Draw $N$ pairs of vectors with standard normal entries and compare the variance of their inner products with
# $d_k$. Other pairs would give another number; the *standard error* says how different, and for normal entries
# it is about $d_k\sqrt{(2 + 6/d_k)/N}$.

# %%
N = 20_000
rng = np.random.default_rng(0)
print(" d_k   measured   standard error   off by   after ÷√d_k")
for d in (2, 4, 16, 64, 256):
    q, k = rng.standard_normal((2, N, d))
    measured = (q * k).sum(axis=1).var()
    error = d * np.sqrt((2 + 6 / d) / N)
    off = (measured - d) / error
    print(f"{d:4} {measured:10.2f} {error:16.2f} {off:8.1f}   {measured / d:12.3f}")

# %% [markdown]
# *Off by* counts standard errors; within about 2 is what chance does. The proof holds for every $d_k$,
# the measurement for these five.
#
# ## What a spread does to softmax
#
# Three scores as they might come from $d_k = 64$, before and after dividing by $\sqrt{64} = 8$:

# %%
from attnref import softmax

raw = np.array([20.0, -10.0, 5.0])
printed = [0.76, 0.02, 0.22]  # in the article on scaling
for a in (raw, raw / 8):
    p = softmax(a)
    jacobian = np.diag(p) - np.outer(p, p)
    print("scores ", " ".join(f"{x:10.4f}" for x in a))
    print("weights", " ".join(f"{x:10.8f}" for x in p))
    print(f"largest Jacobian {np.abs(jacobian).max():.8f}")

# %% [markdown]
# Raise score $j$ a little. How much does weight $i$ change, per unit? That is entry $(i, j)$ of the
# *Jacobian*, $\partial p_i/\partial a_j = p_i(\delta_{ij} - p_j)$ ([SJAC](../d/SJAC.py)). Undivided, the first key
# takes all but `{python} f"{1e7 * (1 - softmax(raw)[0]):.0f}"` parts in ten million, and no entry is larger than
# that: a gradient on its way back through these weights [all but vanishes](saturation.py). Divided, the weights are
# `{python} ", ".join(f"{x:.2f}" for x in softmax(raw / 8))`, where the article on scaling prints
# `{python} ", ".join(map(str, printed))` ([the audit](../articles/index.py)); its point stands.
#
# Three scores can be chosen to suit. So take 16 random keys, and look at the weight of the best:

# %% tags=["hide-input"]
from attnref.figures import ACCENT, CATEGORIES, MUTED, Figure

widths = 2 ** np.arange(11)
rng = np.random.default_rng(1)
divided, undivided, errors = [], [], []
for d in widths:
    q, k = rng.standard_normal((500, 1, d)), rng.standard_normal((500, 16, d))
    a = (q * k).sum(axis=-1)
    for scores, means in ((a / np.sqrt(d), divided), (a, undivided)):
        largest = softmax(scores).max(axis=-1)
        means.append(largest.mean())
        errors.append(largest.std() / np.sqrt(len(largest)))

saturation = Figure(
    "Softmax saturates as d_k grows",
    f"Mean largest weight among 16 keys for d_k from {widths[0]} to {widths[-1]}. Undivided it rises from "
    f"{undivided[0]:.2f} to {undivided[-1]:.2f}; divided by √d_k it stays between "
    f"{min(divided):.2f} and {max(divided):.2f}.",
    "Undivided scores drive softmax towards a single key as $d_k$ grows; divided by $\\sqrt{d_k}$ the "
    "largest weight hardly depends on it. Mean over 500 queries with standard normal entries, "
    f"standard errors below {np.ceil(100 * max(errors)) / 100}.",
)
axes = saturation.axes
axes.plot(widths, undivided, color=CATEGORIES[1])
axes.plot(widths, divided, color=ACCENT)
axes.text(
    widths[-1] * 1.15, undivided[-1], "undivided", color=CATEGORIES[1], va="center"
)
axes.text(widths[-1] * 1.15, divided[-1], "÷ √dₖ", color=ACCENT, va="center")
axes.axhline(1 / 16, color=MUTED, linewidth=0.8, linestyle=(0, (4, 4)))
axes.text(1, 1 / 16 + 0.02, "all 16 equal", color=MUTED)
axes.set_xscale("log", base=2)
axes.set_xticks(widths[::2], [str(d) for d in widths[::2]])
axes.set(
    ylim=(0, 1.02),
    yticks=[0, 0.5, 1],
    xlabel="number of entries dₖ",
    ylabel="mean largest weight, max p",
)
show(saturation)

# %% [markdown]
# ## What the proof needs
#
# It needs means of 0, variances of 1, and entries that are independent of each other, or a little less than that.
# [A page of its own](assumptions.py) breaks each of these once, by execution, and says what the variance is then.
#
# ## What goes wrong
#
# **The width of the model is taken for that of the head.** A model is often wider than the vectors that meet in a
# score: it cuts its queries and keys into pieces, called [heads](multi-head.py). In BERT's base model 12 heads
# share 768 entries. Each head compares pieces of $768/12 =$ `{python} 768 // 12` entries and divides by the root of
# that, `{python} f"{np.sqrt(768 // 12):.0f}"`. Too large a divisor leaves weights that are too equal:

# %%
rng = np.random.default_rng(2)
q, k = rng.standard_normal((2000, 1, 64)), rng.standard_normal((2000, 16, 64))
products = (q * k).sum(axis=-1)
for name, divisor in (("√64", 8), ("√768", np.sqrt(768)), ("64", 64)):
    a = products / divisor
    largest = softmax(a).max(axis=-1).mean()
    print(f"÷{name:4}  variance {a.var():.3f}   mean largest weight {largest:.3f}")

# %% [markdown]
# Sixteen equal weights would be `{python} 1 / 16` each.


# %% tags=["hide-input"]
def trace(scores):
    return (1 - (softmax(scores) ** 2).sum(axis=-1)).mean()


def largest_entry(scores):
    p = softmax(scores)
    return (p * (1 - p)).max(axis=-1)


# %% [markdown]
# ## Check yourself
#
# ??? question "Why divide by √dₖ before softmax? (The article on scaling asks this.)"
#
#     It answers: the variance of a score is proportional to $d_k$; undivided, softmax saturates, the gradient
#     vanishes, and the model can't learn. More exactly: *if* the entries are independent with means of 0 and
#     variances of 1, the variance is $d_k$, and the root brings it to 1. Undivided, less gradient passes: for the `{python} len(products)` queries above, the diagonal of the Jacobian adds up to
#     `{python} f"{trace(products):.2f}"` on average, divided to `{python} f"{trace(products / 8):.2f}"`. For
#     `{python} f"{(largest_entry(products) < 1e-3).mean():.0%}"` of the queries no entry is above `{python} 1e-3`; divided, for
#     `{python} f"{(largest_entry(products / 8) < 1e-3).mean():.0%}"`. Weaker gradients, then, and for some queries next to
#     none. That nothing can be learned does not follow.
#
# ??? question "Why not divide by dₖ?"
#
#     Then the variance is $d_k/d_k^2 = 1/d_k$, and scores get too close together: the last line above.
#
# ## Where next, and sources
#
# [What the proof needs](assumptions.py), then [Softmax](softmax.py).
#
# - A. Vaswani and others, *Attention Is All You Need*, 2017, [arXiv:1706.03762](https://arxiv.org/abs/1706.03762),
#   section 3.2.1 and its footnote: the variance of the dot product, for means of 0 and variances of 1. What it
#   says of gradients is, there, a suspicion.
# - The Chinese article on scaling and softmax: the three scores, and the 12 heads of 768 entries.
