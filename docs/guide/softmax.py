# %% [markdown]
# # Softmax
#
# By the end of this page you can turn scores into weights, say what the exponential is for and what the sum, and
# choose axis and temperature knowingly.
#
# ## Shares of nine scores
#
# The article on scaling follows one row of scores: how well nine keys fit the query of the character 喜. To
# average the values of the keys one needs shares: none negative, 1 together. Why not divide by the largest
# score, or by the sum?

# %%
import numpy as np

np.set_printoptions(precision=3, floatmode="fixed", suppress=True)
np.seterr(all="ignore")  # infinities and NaN are looked at below
nine = np.array([15.3, 22.7, 18.2, 2.1, 1.8, 3.2, 2.9, 5.6, 4.1])
for name, divisor in (("largest", nine.max()), ("sum", nine.sum())):
    shares = nine / divisor
    print(f"÷ {name:8}", shares[:5], f"…  together {shares.sum():.3f}")

# %% [markdown]
# Divided by the largest, they don't add up to 1. Divided by the sum, these do well. But a score is an
# [inner product](one-query.py#the-inner-product), and can be negative or 0:

# %% tags=["expect-nan"]
others = [[20.0, -10.0, 5.0], [-1.0, -2.0, -4.0], [0.0, -1.0], [100.0, 99.0]]
print("scores              ÷ largest               ÷ sum")
for row in others:
    by_largest, by_sum = row / np.max(row), row / np.sum(row) + 0.0
    print(f"{row!s:19} {by_largest!s:23} {by_sum}")

# %% [markdown]
# The first row has negative shares, and by the sum one of $20/15$, above 1. In the second the signs turn, and the *lowest* score
# has the largest share. In the third, one rule divides by zero, and the other gives all to the lower score. The
# fourth is the third with 100 added, which should do nothing: add the same vector to every key, and all
# scores of a query move by one number ([KSHF](../d/KSHF.py)), though no key fits better than before. By the
# sum, shares of 0 and 1 become nearly equal.
#
# So shares should be positive, add up to 1, rise with the score, and depend on *differences* of scores alone.
#
# ## Differences become ratios
#
# Raise $e = 2.718\dots$ to the score. The result is positive, and as $e^{a + c} = e^c e^a$, a step of one size
# multiplies by one factor, wherever it starts. From −1.25 to 0.625 to 2.5, in steps of 1.875:

# %%
three = np.array([2.5, -1.25, 0.625])
heights = np.exp(-1.25 + 1.875 * np.arange(3))
print(heights, "  factors", heights[1:] / heights[:-1])

# %% [markdown]
# A share is a height over the sum of all heights. For $m$ scores $a_1, \dots, a_m$ the *weight* of key $s$ is
#
# $$
# p_s = \frac{e^{a_s}}{Z} , \qquad Z = \sum_{j=1}^{m} e^{a_j} , \label{share}
# $$
#
# and the row of all $p_s$ is the *softmax* of the row of scores. In the ratio of two weights $Z$ cancels:
#
# $$
# \frac{p_s}{p_j} = e^{a_s - a_j} . \label{ratio}
# $$
#
# **The difference of two scores fixes the ratio of their weights.** That is the whole rule.
#
# *The exponential* makes the weights positive, turns differences into ratios, and is smooth: a little more score is
# a little more weight, so a network can learn by small steps ([SJAC](../d/SJAC.py) has the slopes).
#
# *The sum* makes the weights add up to 1 ([PSUM](../d/PSUM.py)). What one key gains, the others lose: they
# compete. And the output is [an average of the values](weighted-sum.py).
#
# **Does it have to be exp?** Let weights be $f(a_s)/\sum_j f(a_j)$ with a positive, differentiable $f$. If a number $c$
# added to all scores leaves the ratios of weights, $f(a + c)/f(a)$ is the same for every $a$, and so is its slope
# at $c = 0$, $f'(a)/f(a)$. Call it λ. Then $f(a) = f(0)\,e^{\lambda a}$, $f(0)$ cancels, and λ is positive if
# more score is to mean more weight. In this form exp is the only choice, up to λ. (A rule of another form: all
# weight on the largest score. It isn't smooth.)
#
# ## The code


# %% tags=["expect-nan"]
def softmax(a, axis=-1):
    e = np.exp(a - a.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


for row in map(np.array, [*others, [1000.0, 1001.0]]):
    as_written = np.exp(row) / np.exp(row).sum()
    print(softmax(row), "  as written", as_written)

# %% [markdown]
# The function takes the largest score off first. That changes no weight ([SHFT](../d/SHFT.py)), and exp meets no
# number above 0. As written, 1000 is too much: infinity over infinity is not a number.
#
# ## Temperature
#
# Divide all scores by a *temperature* $T > 0$ first; λ is $1/T$. Attention divides
# [by √dₖ](scaling.py). With a large $T$ the weights go to $1/m$ each ([TZER](../d/TZER.py)), with a small one all goes to
# the largest score ([TGAP](../d/TGAP.py)). If several are
# largest, they share:

# %%
tie = np.array([5.0, 5.0, 1.0])
for T in (0.01, 1, 100):
    print(f"T = {T:6}", softmax(three / T), "  tie", softmax(tie / T))

# %% tags=["hide-input"]
from attnref import show
from attnref.figures import ACCENT, CATEGORIES, MUTED, Figure

T = np.geomspace(1 / 8, 32, 21)
rows = softmax(three / T[:, np.newaxis])
entropy = -(rows * np.log(np.maximum(rows, 1e-300))).sum(axis=1) + 0.0
assert (np.diff(entropy) > 0).all()
warm = Figure(
    "Warmer and more even",
    f"From T = 1/8 to 32 the weights go from {', '.join(f'{x:.2f}' for x in rows[0])} to "
    f"{', '.join(f'{x:.2f}' for x in rows[-1])}, the entropy over log 3 from "
    f"{entropy[0] / np.log(3):.2f} to {entropy[-1] / np.log(3):.2f}.",
    "The weights of the three scores, and their entropy over its maximum, log 3. The scores are 20, −10 and 5 "
    "over 8: at $T = 1/8$ the division is undone.",
)
axes = warm.axes
labels = [(0.14, 0.91), (4, 0.1), (2.1, 0.355)]
for s, colour in enumerate((ACCENT, CATEGORIES[1], CATEGORIES[0])):
    axes.plot(T, rows[:, s], color=colour)
    axes.text(*labels[s], f"a = {three[s]:g}".replace("-", "−"), color=colour)
axes.plot(T, entropy / np.log(3), "--", color=MUTED)
axes.text(4.5, 0.86, "entropy / log 3", color=MUTED)
axes.set_xscale("log")
axes.minorticks_off()
axes.set_xticks([1 / 8, 1, 8], ["1/8", "1", "8"])
axes.set(xlim=(1 / 8, 32), ylim=(0, 1.02), yticks=[0, 0.5, 1])
axes.set(xlabel="temperature, T", ylabel="weight, p")
assert np.allclose(three * 8, others[0])
show(warm)

# %% [markdown]
# The *entropy* $-\sum_s p_s \log p_s$ says how even a row is: 0 if one key has all, $\log m$ if all have the
# same. It never falls as $T$ grows ([ENTD](../d/ENTD.py)).
#
# ## What goes wrong
#
# **A function for a row gets a table.** The article's softmax names no axis. Given two rows, it divides by the
# sum of all:

# %%
table = np.array([[1.0, 2.0], [3.0, 4.0]])
e = np.exp(table - np.max(table))
print("no axis, row sums", (e / e.sum()).sum(axis=1))
print("axis −1, row sums", softmax(table).sum(axis=1))

# %% [markdown]
# The keys are the last axis, and each query has a $Z$ of its own.
#
# **A weight is trusted to be positive.** On paper it is. In a computer a small one is 0, and its logarithm
# infinite, where $a_s - \log Z$ is the same logarithm, and finite:

# %% tags=["expect-nan"]
far = np.array([0.0, -200.0], dtype=np.float32)
p = softmax(far)[1]
print("second weight", p.item(), " its logarithm", np.log(p).item())
print("a − log Z    ", (far - np.log(np.exp(far).sum()))[1].item())

# %% [markdown]
# **Exp is said to make the strong stronger and the weak weaker,** in the article too. Of its nine scores,
# take the lowest and the highest:

# %%
weights = softmax(nine / 8)
for s in (4, 1):
    share = nine[s] / nine.sum()
    print(f"score {nine[s]:4}  ÷ sum {share:.4f}  weight {weights[s]:.4f}")
    assert weights[s] > share

# %% [markdown]
# Both gained. Softmax doesn't see the ratio of two scores, only their difference in units of $T$, here 8.
#
# ## Check yourself
#
# ??? question "What are the two operations of softmax, and what does each do? (The article on scaling asks this.)"
#
#     Its answer: exp amplifies differences; dividing by the sum makes all weights positive, with the sum 1.
#     But the sum makes no number positive ([the audit](../articles/index.py)). The scores 20, −10 and 5 over
#     their sum are `{python} ", ".join(f"{x:.2f}" for x in np.array(others[0]) / sum(others[0]))`, and add up to 1. Exp
#     makes them positive.
#
# ??? question "Which scores have the weights 0.5, 0.3 and 0.2?"
#
#     By \eqref{share} $\log p_s$ is $a_s$ less a constant. So their logarithms,
#     `{python} ", ".join(f"{x:.4f}" for x in np.log([0.5, 0.3, 0.2]))`, and any number added: with 7 more, softmax gives
#     `{python} ", ".join(f"{x:.4f}" for x in softmax(np.log([0.5, 0.3, 0.2]) + 7))`.
#
# ## Where next, and sources
#
# [When softmax saturates](saturation.py): what large differences do.
#
# - A. Vaswani and others, *Attention Is All You Need*, 2017, [arXiv:1706.03762](https://arxiv.org/abs/1706.03762),
#   equation 1.
# - I. Goodfellow, Y. Bengio and A. Courville, *Deep Learning*, 2016, section 4.1: overflow and underflow.
# - The nine scores, and 20, −10, 5, are those of the Chinese article on scaling and softmax.
