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
# These vectors agree in every entry, so each entry adds to the sum. Entries of real queries and keys
# have either sign and cancel in part. What grows then is not the inner product itself but how far it
# *spreads*, and a spread is measured by the variance: the mean squared distance from the mean.
#
# ## How far it spreads
#
# Let the entries of $q$ and $k$ be random and independent of each other. How large is the variance of
# $\langle q, k\rangle$? The derivation starts from the definition of the variance and keeps the means
# $\mu_q$ and $\mu_k$ until an assumption removes them:

# %% tags=["hide-input"]
from attnref import show
from attnref.derivations import get

show(get("VDOT").proof)

# %% [markdown]
# [VDOT](../d/VDOT.py) names every assumption and the step that needs it.
#
# So the standard deviation grows like $\sqrt{d_k}$, and dividing by $\sqrt{d_k}$ keeps it at 1 whatever
# $d_k$ is ([VSCL](../d/VSCL.py)): a factor leaves the variance as its square,
# $\operatorname{Var}(X/c) = \operatorname{Var}(X)/c^2$.
#
# ## Does it hold when one tries it?
#
# Draw 20 000 pairs of vectors with standard normal entries and compare the variance of their inner
# products with $d_k$. A variance from $N$ draws has a standard error; for normal entries it is
# $d_k\sqrt{(2 + 6/d_k)/N}$, since the sum has kurtosis $3 + 6/d_k$.

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
# *Off by* counts standard errors; within about 2 is what chance does. The proof holds for every
# $d_k$; this measurement, for five of them, could have caught us in a misreading.
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
# Undivided, the first key takes all but `{python} f"{1e7 * (1 - softmax(raw)[0]):.0f}"` parts in ten
# million. The Jacobian, $\partial p_i/\partial a_j = p_i(\delta_{ij} - p_j)$, says how the weights
# answer to a change of the scores, and here no entry is larger than that: a layer in this state can
# hardly learn to look elsewhere. Divided, the weights are
# `{python} ", ".join(f"{x:.2f}" for x in softmax(raw / 8))`, and changes get through.
#
# In a picture: 16 random keys, and the weight of the one that fits best.

# %% tags=["hide-input"]
from attnref.figures import ACCENT, CATEGORIES, MUTED, Figure

widths = 2 ** np.arange(11)
rng = np.random.default_rng(1)
divided, undivided = [], []
for d in widths:
    q, k = rng.standard_normal((500, 1, d)), rng.standard_normal((500, 16, d))
    a = (q * k).sum(axis=-1)
    divided.append(softmax(a / np.sqrt(d)).max(axis=-1).mean())
    undivided.append(softmax(a).max(axis=-1).mean())

saturation = Figure(
    "Softmax saturates as d_k grows",
    f"Mean largest weight among 16 keys for d_k from 1 to 1024. Undivided it rises from "
    f"{undivided[0]:.2f} to {undivided[-1]:.2f}; divided by √d_k it stays between "
    f"{min(divided):.2f} and {max(divided):.2f}.",
    "Undivided scores drive softmax towards a single key as $d_k$ grows; divided by $\\sqrt{d_k}$ the "
    "largest weight hardly depends on it. Mean over 500 queries with standard normal entries.",
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
# Three assumptions stand in the derivation: independence, means of zero, variances of one. Drop the
# second. Entries drawn uniformly from $[0, 1)$, as `rand` gives them, have mean ½ and variance 1/12.
# The line of VDOT that still holds the means says what an entry then adds to the variance:

# %%
from fractions import Fraction

mean, variance = Fraction(1, 2), Fraction(1, 12)
per_entry = variance * variance + mean**2 * variance + mean**2 * variance
q, k = np.random.default_rng(2).random((2, N, 64))
scaled = (q * k).sum(axis=1) / np.sqrt(64)
mean_proved = np.sqrt(64) / 4
print(f"an entry adds {per_entry}; divided by √64, 64 of them have")
print("            variance     mean")
print(f"proved      {float(per_entry):8.4f} {mean_proved:8.4f}")
print(f"measured    {scaled.var():8.4f} {scaled.mean():8.4f}")

# %% [markdown]
# Divided by $\sqrt{d_k}$, such scores spread far less than 1, and their common mean cancels in
# softmax: the weights come out nearly equal. That is what happened to the twenty keys of
# [the Z form](z-form.py#the-same-thing-three-times). The division is right for entries of mean 0 and
# variance 1; nothing in it forces a network to have such entries once it has been trained.
#
# ## Check yourself
#
# ??? question "Why not divide by d_k?"
#
#     Then the variance is $d_k/d_k^2 = 1/d_k$: at $d_k = 64$ the scores have a standard deviation of
#     `{python} 1 / np.sqrt(64)`, and softmax of 16 of them is close to the plain mean.
#
# ??? question "A model is 768 wide and has 12 heads. By what does each head divide?"
#
#     A head has $768/12 =$ `{python} 768 // 12` entries, so by
#     $\sqrt{d_k} =$ `{python} int(np.sqrt(768 // 12))`. Dividing by $\sqrt{768} \approx$
#     `{python} f"{np.sqrt(768):.1f}"`, the width of the model, is a common mistake.
#
# ??? question "Query and key are the same vector. What is the mean of its scaled score with itself?"
#
#     $\langle q, q\rangle$ is a sum of $d_k$ squares with mean 1 each, so the scaled score has the mean
#     $\sqrt{d_k}$, `{python} int(np.sqrt(64))` at $d_k = 64$. Independence is gone, and with it the 0.
#
# ## Where next
#
# [The Z form](z-form.py) is what happens to a score once it has its scale. [How to cite](../cite.py)
# tells how to refer to VDOT.
#
# ## Sources
#
# - A. Vaswani and others, *Attention Is All You Need*, 2017, [arXiv:1706.03762](https://arxiv.org/abs/1706.03762),
#   section 3.2.1 and its footnote: the variance of the dot product, for means of 0 and variances of 1.
# - The numbers 0.5, 1 and 16, the scores [20, −10, 5] and the head of 64 come from a Chinese article on
#   scaling and softmax, the seventh of a series on Transformers. For the divided scores it prints 0.76,
#   0.02 and 0.22; the formula gives `{python} ", ".join(f"{p:.2f}" for p in softmax(raw / 8))`.
