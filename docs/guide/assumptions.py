# %% [markdown]
# # What the proof needs
#
# By the end of this page you can say what variance your scores have when an assumption of
# [the proof](scaling.py) fails.
#
# ## Eight ways to draw vectors
#
# A score, $\langle q, k\rangle/\sqrt{d_k}$, has the variance 1 if the entries of query and key have means of 0
# and variances of 1, and are independent: those of one vector of each other, and the query of the key. Keep all
# that once, then break it:

# %%
import numpy as np

d, N = 64, 20_000
rng = np.random.default_rng(0)
g, h = rng.standard_normal((2, N, d))
u, w = rng.standard_normal((2, N, 1))  # one number for a whole vector
root = np.sqrt(1 / 2)
cases = {
    "as assumed": (g, h, 1),
    "means of 1": (g + 1, h + 1, 3),
    "deviations of 2": (2 * g, 2 * h, 16),
    "uniform on [0, 1)": (*rng.random((2, N, d)), 7 / 144),
    "tied entries": (u * np.ones(d), w * np.ones(d), d),
    "entries correlated": (root * (u + g), root * (w + h), 1 + (d - 1) / 4),
    "… in the query only": (root * (u + g), h, 1),
    "query equals key": (g, g, 2),
}

# %%
print("                       mean   variance ± error   proved   off by")
found = {}
for name, (q, k, proved) in cases.items():
    a = (q * k).sum(axis=1) / np.sqrt(d)
    error = np.sqrt(((a - a.mean()) ** 2).var() / N)
    found[name] = a.mean(), a.var(), error
    off = (a.var() - proved) / error
    print(f"{name:20} {a.mean():6.2f} {a.var():10.4f} ± {error:.4f}", end="")
    print(f" {proved:8.4f} {off:8.1f}")

# %% [markdown]
# *Off by* counts standard errors; within about 2 is what chance does. The sections below prove the
# numbers.

# %% tags=["hide-input"]
from attnref import show
from attnref.figures import ACCENT, INK, MUTED, Figure

rows = sorted(found, key=lambda name: cases[name][2])
broken = Figure(
    "Variance after division, by what is broken",
    f"At d_k = {d}: "
    + ", ".join(f"{name} {found[name][1]:.2f}" for name in rows)
    + ".",
    "Measured variance of the score, on a logarithmic scale; where an assumption fails, it may lie on "
    "either side of 1, or stay. Drawn from the table; the errors are smaller than the dots.",
    height=2.6,
)
axes = broken.axes
for row, name in enumerate(rows):
    kept = cases[name][2] == 1
    axes.plot([1, found[name][1]], [row, row], color=MUTED, linewidth=0.8)
    axes.plot(found[name][1], row, "o", color=INK if kept else ACCENT, markersize=5)
    axes.text(100, row, f"{found[name][1]:.3g}", va="center")
axes.axvline(1, color=MUTED, linewidth=0.8, linestyle=(0, (4, 4)))
axes.set(xscale="log", xlabel="variance of the score, ⟨q, k⟩/√dₖ")
axes.set_xticks([0.1, 1, 10], ["0.1", "1", "10"])
axes.set_xticks([], minor=True)
axes.set_yticks(range(len(rows)), rows)
axes.tick_params(axis="y", length=0)
axes.spines["left"].set_visible(False)
show(broken)

# %% [markdown]
# ## Means and variances
#
# One step before the means go, the proof says what they do ([VGEN](../d/VGEN.py)). With means $\mu_q$, $\mu_k$
# and standard deviations $\sigma_q$, $\sigma_k$ of the entries,
#
# $$
# \operatorname{Var}\!\left(\frac{\langle q, k\rangle}{\sqrt{d_k}}\right)
# = \sigma_q^2\sigma_k^2 + \mu_q^2\sigma_k^2 + \mu_k^2\sigma_q^2 . \label{means}
# $$
#
# Whatever these are, the division removes $d_k$. **Means of 1** leave $1 + 1 + 1$; **deviations of 2** leave
# $4 \cdot 4$, and only the product counts: 2 and 1/2 would leave 1. The mean score is $\sqrt{d_k}\,\mu_q\mu_k$,
# and no division by a root stops that from growing. For **numbers from [0, 1)** both fail: their mean is 1/2
# and their variance 1/12.

# %%
from fractions import Fraction

mean, variance = Fraction(1, 2), Fraction(1, 12)
over_all = variance * variance + 2 * mean**2 * variance
for_one_query = variance * (variance + mean**2)
print("over queries and keys:", over_all, " over the keys of one:", for_one_query)

# %% [markdown]
# Part of this spread is common to all keys of a query, a shift that softmax does not see. What is left within
# a row is, on average over queries, the second number ([VROW](../d/VROW.py)): a standard deviation of
# `{python} f"{float(for_one_query) ** 0.5:.2f}"`, and nearly equal weights.
#
# ## Independence
#
# Let the means be 0, the variances 1, and the query independent of the key. Multiply the square of the sum out,
# with $\mathbb{E}$ for the mean of a random number:
#
# $$
# \operatorname{Var}\!\left(\frac{\langle q, k\rangle}{\sqrt{d_k}}\right)
# = \frac{1}{d_k}\sum_{i=1}^{d_k}\sum_{j=1}^{d_k} \mathbb{E}[q_i q_j]\,\mathbb{E}[k_i k_j] . \label{pairs}
# $$
#
# Pairs with $i = j$ give 1 each. A pair $i \ne j$ counts unless one of its two factors is 0. If all entries of a
# vector are **tied**, one number repeated, all $d_k^2$ pairs count, and $d_k$ is left after division. With
# **correlations** $\mathbb{E}[q_i q_j]$ of 1/2, each pair $i \ne j$ adds 1/4. But it is enough that the entries of
# *one* of the two vectors are uncorrelated: those pairs vanish, and **in the query only** the correlation does
# nothing.
#
# **A query that equals its key** breaks the other independence. Each term is a square with mean 1, so the mean
# score is $\sqrt{d_k}$, here `{python} f"{d**0.5:.0f}"`, and for normal entries the variance is 2
# ([ECOR](../d/ECOR.py), [VCOR](../d/VCOR.py)). The distribution is *not* assumed: entries of ±1, by coin, are
# as good, measured `{python} f"{((np.sign(g) * np.sign(h)).sum(axis=1) / d**0.5).var():.2f}"`.
#
# ## A layer as Torch makes it
#
# Queries and keys come from layers, $q = W_q x + b_q$ and $k = W_k x' + b_k$, where the inputs $x$ and $x'$ are
# independent and have $d$ entries with mean 0 and variance 1. `torch.nn.Linear` draws the entries of $W$ and $b$
# uniformly between $\pm 1/\sqrt d$, which have the variance $1/(3d)$. An entry of $q$ is a sum of $d$ products and a bias, so its variance is
# $(d + 1)/(3d)$, about 1/3, and a score has the variance $(1 + 1/d)^2/9$ over layers and inputs. (The entries
# share $x$, so they are not independent; uncorrelated they are.) Ten pairs of new layers, each with 200 queries
# and 200 keys:

# %%
import attnref.torch
import torch


@torch.no_grad()
def score_variance(seed, width=768):
    torch.manual_seed(seed)
    layers = torch.nn.Linear(width, width), torch.nn.Linear(width, width)
    q, k = (layer(torch.randn(200, width)) for layer in layers)
    return attnref.torch.scores(q, k).double().var(correction=0).item()


drawn = np.array([score_variance(seed) for seed in range(10)])
error = drawn.std(ddof=1) / np.sqrt(len(drawn))
derived = (1 + 1 / 768) ** 2 / 9
print(f"measured {drawn.mean():.4f} ± {error:.4f}, derived {derived:.4f}")

# %% [markdown]
# The article on scaling says that the division brings the variance to about 1. Its own class is made of such
# layers, and starts at 1/9 ([the audit](../articles/index.py)). What the entries of a trained network are like has
# to be measured, and this page has not.
#
# ## What goes wrong
#
# **Code is tested with numbers from [0, 1).** Their scores hardly differ, and a mistake hardly shows in
# the weights. Here the scale is wrong, $1/d_k$ for $1/\sqrt{d_k}$, with 8 entries and 20 keys as in the article on
# the Z form:

# %%
import attnref

for name in ("random", "standard_normal"):
    draw = getattr(np.random.default_rng(1), name)
    q, k = draw((4, 8)), draw((20, 8))
    right = attnref.attention_weights(q, k)
    wrong = attnref.attention_weights(q, k, scale=1 / 8)
    print(f"{name:16} weights differ by up to {np.abs(right - wrong).max():.3f}")

# %% [markdown]
# A loose tolerance passes the first. Draw test data from a normal distribution instead.
#
# ## Check yourself
#
# ??? question "Only the query's entries have a mean, of 2. What are mean and variance of the score?"
#
#     The mean is 0, since $\mu_k$ is. By \eqref{means} the variance is $1 + 4$; measured with the vectors above,
#     `{python} f"{(((g + 2) * h).sum(axis=1) / d**0.5).var():.2f}"`.
#
# ??? question "Torch's MultiheadAttention draws the entries of its matrices with the variance 1/(2d). And the scores?"
#
#     The biases start at 0, so an entry of $q$ has the variance $d/(2d) = 1/2$ (drawn now:
#     `{python} f"{768 * torch.nn.MultiheadAttention(768, 12).in_proj_weight.var():.2f}"`), and a score 1/4.
#
# ## Where next, and sources
#
# [Softmax](softmax.py) is what the scores go into.
#
# - A. Vaswani and others, *Attention Is All You Need*, 2017, [arXiv:1706.03762](https://arxiv.org/abs/1706.03762),
#   section 3.2.1, footnote: the assumptions, independent with mean 0 and variance 1.
# - L. A. Goodman, *On the exact variance of products*, 1960, J. Am. Stat. Assoc. 55, 708–713: products with means.
# - PyTorch, [`torch.nn.Linear`](https://pytorch.org/docs/stable/generated/torch.nn.Linear.html): how it draws.
