# %% [markdown]
# # Why divide by $\sqrt{d_k}$
#
# By the end of this page you can say what the division does, prove it, and name what the proof needs.
#
# ## Longer vectors, larger scores
#
# Take a query and a key with all $d_k$ entries equal to 0.5. Their inner product is $d_k/4$:

# %%
import numpy as np

for d in (2, 4, 64):
    print(f"d_k = {d:2}   ⟨q, k⟩ = {np.full(d, 0.5) @ np.full(d, 0.5):4}")

# %% [markdown]
# These vectors agree in every entry, so each entry adds to the sum. Suppose instead that entries have
# either sign and cancel in part. What grows then is not the inner product itself but how far it
# *spreads*, and a spread is measured by the *variance*, the mean squared distance from the mean.
#
# ## How far it spreads
#
# Let the entries of $q$ and $k$ be random and independent of each other. How large is the variance of
# $\langle q, k\rangle$? Write $\mathbb{E}[X]$ for the mean of a random number $X$, and $\delta_{ij}$ for
# 1 where $i = j$ and 0 elsewhere. The derivation starts from the definition of the variance and keeps
# the means $\mu_q$ and $\mu_k$ until an assumption removes them:

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("VDOT").proof)

# %% [markdown]
# [VDOT](../d/VDOT.py) names every assumption and the step that needs it.
#
# Under these assumptions the standard deviation grows like $\sqrt{d_k}$, and dividing by $\sqrt{d_k}$
# brings it to 1 whatever $d_k$ is ([VSCL](../d/VSCL.py)): a factor leaves the variance as its square,
# $\operatorname{Var}(X/c) = \operatorname{Var}(X)/c^2$.
#
# ## Does it hold when one tries it?
#
# Draw 20 000 pairs of vectors with standard normal entries and compare the variance of their inner
# products with $d_k$. Another 20 000 pairs would give another number; the *standard error* says how
# different, and for normal entries and $N$ pairs it is about $d_k\sqrt{(2 + 6/d_k)/N}$.

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
for a in (raw, raw / 8):
    p = softmax(a)
    jacobian = np.diag(p) - np.outer(p, p)
    print("scores          ", " ".join(f"{x:10.4f}" for x in a))
    print("weights         ", " ".join(f"{x:10.8f}" for x in p))
    print(f"largest Jacobian {np.abs(jacobian).max():10.8f}")

# %% [markdown]
# Raise score $j$ a little. How much does weight $i$ change, per unit? That is entry $(i, j)$ of the
# *Jacobian*, $\partial p_i/\partial a_j = p_i(\delta_{ij} - p_j)$. Undivided, the first key takes all but
# `{python} f"{1e7 * (1 - softmax(raw)[0]):.0f}"` parts in ten million, and no entry is larger than that:
# a gradient on its way back through these weights all but vanishes. Divided, the weights are
# `{python} ", ".join(f"{x:.2f}" for x in softmax(raw / 8))`.
#
# Now take 16 random keys, and look at the weight of the one that fits best.

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
    "largest weight hardly depends on it. Mean over 500 queries with standard normal entries; the "
    f"standard errors are below {np.ceil(100 * max(errors)) / 100}.",
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
# Besides independence, the last two steps of the derivation need means of zero and variances of one.
# Drop both: entries drawn uniformly from $[0, 1)$, as `rand` gives them, have mean 1/2 and variance
# 1/12. The step before still holds, and says what each entry adds to the variance:

# %%
from fractions import Fraction

mean, variance = Fraction(1, 2), Fraction(1, 12)
from_variances, from_means = variance**2, 2 * mean**2 * variance
proved = from_variances + from_means
print(
    f"from the variances {from_variances}, from the means {from_means}, in all {proved}"
)

q, k = np.random.default_rng(2).random((2, N, 64))
scaled = (q * k).sum(axis=1) / np.sqrt(64)
error = np.sqrt(((scaled - scaled.mean()) ** 2).var() / N)
print(
    f"÷√64: proved {float(proved):.4f}, measured {scaled.var():.4f} ± {error:.4f}"
)

queries, keys = np.random.default_rng(3).random((2, 1000, 64))
one_query = (queries @ keys.T / np.sqrt(64)).var(axis=1)
print(
    f"over the keys of one query: {one_query.mean():.3f}, mean of {len(one_query)}"
)

# %% [markdown]
# So scores of `rand` vectors spread far less than 1. And part of that spread, as well as their mean,
# moves all scores of one query together and cancels in softmax; the last line measures what is left.
# That is why the weights of [the Z form](z-form.py#the-same-thing-five-times) stayed near 1/20. With
# means of zero and other variances the division still removes $d_k$, and $\sigma_q^2\sigma_k^2$ is left.
# What a trained network's entries are like has to be measured; this page has not.
#
# ## Check yourself
#
# ??? question "Why not divide by dₖ?"
#
#     Then the variance is $d_k/d_k^2 = 1/d_k$: at $d_k = 64$ the scores have a standard deviation of
#     `{python} 1 / np.sqrt(64)`, and the largest of 16 weights is about
#     `{python} f"{softmax(np.random.default_rng(4).standard_normal((N, 16)) / 8).max(axis=1).mean():.2f}"`,
#     where equal ones are `{python} f"{1 / 16:.2f}"`.
#
# ??? question "A model is 768 numbers wide and cuts its vectors into 12 heads. What does each divide by?"
#
#     Attention runs on each piece, called a *head*, by itself. A head has $768/12 =$
#     `{python} 768 // 12` entries and divides by $\sqrt{d_k} =$ `{python} int(np.sqrt(768 // 12))`, not
#     by the root of the whole width, `{python} f"{np.sqrt(768):.1f}"`.
#
# ??? question "Query and key are the same vector. What is the mean of its scaled score with itself?"
#
#     For independent vectors with means of 0 it is 0. Here $\langle q, q\rangle$ is a sum of $d_k$
#     squares with mean 1 each, so it is $\sqrt{d_k}$, `{python} int(np.sqrt(64))` at $d_k = 64$.
#
# ## Where next
#
# [How to cite](../cite.py) tells how to refer to VDOT or to any equation here.
#
# ## Sources
#
# - A. Vaswani and others, *Attention Is All You Need*, 2017, [arXiv:1706.03762](https://arxiv.org/abs/1706.03762),
#   section 3.2.1 and its footnote: the variance of the dot product, for means of 0 and variances of 1.
# - The numbers 0.5, 1 and 16, the scores [20, −10, 5] and the head of 64 come from a Chinese article on
#   scaling and softmax, the seventh of a series on Transformers. For the divided scores it prints 0.76,
#   0.02 and 0.22; the formula gives `{python} ", ".join(f"{p:.2f}" for p in softmax(raw / 8))`.
