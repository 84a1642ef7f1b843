# %% [markdown]
# # When softmax saturates
#
# By the end of this page you can tell from a row of scores whether softmax still responds to them, and which
# gradient says so.
#
# ## Two rows, one shape
#
# The article on scaling compares two rows of scores. One might come from keys of $d_k = 64$ entries, the other from
# $d_k = 1024$:

# %%
from attnref import softmax
import numpy as np

np.set_printoptions(precision=6, suppress=True)
narrow, wide = np.array([10.0, 11, 9]), np.array([40.0, 44, 36])
for name, row in (("narrow", narrow), ("wide", wide)):
    print(f"{name:6}", row, "→", softmax(row))
print("narrow / √64  ", softmax(narrow / np.sqrt(64)))
print("wide   / √1024", softmax(wide / np.sqrt(1024)))

# %% [markdown]
# Undivided, the first row is shared and the second all but decided. Divided by $\sqrt{d_k}$, they are one and
# the same. The second row is four times the first, and $\sqrt{1024}$ is four times $\sqrt{64}$: the division
# takes out what the width has put in ([Why divide by √dₖ](scaling.py)).
#
# A row is *saturated* when one weight is so near 1 that a small change of the scores changes nothing. Not
# the size of the scores decides, only the gaps between them: with 30 added to each, the first row has the weights
# `{python} ", ".join(f"{p:.3f}" for p in softmax(narrow + 30))`, as before.
#
# ## How much a weight responds
#
# Raise score $j$ a little. Weight $i$ of $m$ changes, per unit, by
#
# $$
# J_{ij} = \frac{\partial p_i}{\partial a_j} = p_i\,(\delta_{ij} - p_j) , \label{jacobian}
# $$
#
# where $\delta_{ij}$ is 1 if $i = j$ and 0 if not ([SJAC](../d/SJAC.py)). The table of all $J_{ij}$ is the
# *Jacobian*. Each of its entries is a product of two factors at most 1, and if one weight is near 1 every product
# has a factor near 0:

# %%
raw = np.array([20.0, -10, 5])


def jacobian(p):
    return np.diag(p) - np.outer(p, p)


for row in (raw, raw / 8):
    p = softmax(row)
    print("scores ", row)
    print("weights", " ".join(f"{x:.8f}" for x in p))
    print(f"largest entry of J {np.abs(jacobian(p)).max():.8f}")

# %% tags=["hide-input"]
from attnref import show
from attnref.figures import ACCENT, CATEGORIES, MUTED, Figure, WeightMap

factors = np.linspace(0, 1.2, 49)
curves = np.array([softmax(f * raw) for f in factors])
largest = curves.max(axis=1)
response = np.array([np.abs(jacobian(p)).max() for p in curves])
at = np.interp(1 / 8, factors, response)
saturating = Figure(
    "A row that saturates",
    f"The scores 20, −10, 5 times a factor from 0 to 1.2. The largest weight rises from "
    f"{largest[0]:.2f} to {largest[-1]:.4f}. The largest entry of the Jacobian is at most "
    f"{response.max():.2f} and falls to {response[-1]:.4f}.",
    "The larger the scores, the nearer the largest weight comes to 1, and the less any weight responds. "
    "Dashed: the scores as they are, and divided by 8.",
)
axes = saturating.axes
axes.plot(factors, largest, color=ACCENT)
axes.plot(factors, response, color=CATEGORIES[1])
axes.text(0.62, 0.93, "largest weight", color=ACCENT, va="top")
axes.text(0.36, 0.1, "largest entry of J", color=CATEGORIES[1])
for x, name in ((1 / 8, "÷ 8"), (1, "as they are")):
    axes.axvline(x, color=MUTED, linewidth=0.8, linestyle=(0, (4, 4)))
    axes.text(x + 0.02, 0.5, name, color=MUTED)
axes.set(xlim=(0, 1.3), ylim=(0, 1.02), xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])
axes.set(xlabel="factor of the scores", ylabel="weight, or change per unit")
show(saturating)

# %% [markdown]
# ## Nine scores, step by step
#
# The article's worked row: the query of 喜 in 我喜歡人工智能, with `[CLS]` and `[SEP]` at the end of the list.
# Divide by 8, take the exponential, divide by the sum:

# %%
tokens = ["我", "喜", "歡", "人", "工", "智", "能", "CLS", "SEP"]
nine = np.array([15.3, 22.7, 18.2, 2.1, 1.8, 3.2, 2.9, 5.6, 4.1])
scaled = nine / 8
Z = np.exp(scaled).sum()
print("token    score     ÷ 8     exp   weight  undivided")
for token, *row in zip(
    tokens,
    nine,
    scaled,
    np.exp(scaled),
    np.exp(scaled) / Z,
    softmax(nine),
    strict=True,
):
    print(f"{token:5}", " ".join(f"{x:8.4f}" for x in row))
print(f"Z = {Z:.4f}")

# %% tags=["hide-input"]
rows = np.array([softmax(nine), softmax(scaled)])
show(
    WeightMap(
        "The nine weights, undivided and divided",
        rows,
        "Undivided, one key has nearly all. Divided by 8, the same key still leads, and the others are heard.",
        queries=["undivided", "÷ 8"],
        keys=tokens,
    )
)

# %% [markdown]
# The order of the keys is the same in both rows. Division never changes it; what changes is how much the lead
# counts.
#
# The article also has a script for the first five of them. Here it is, and what it prints in its comments:

# %%
five = nine[:5]
printed = [0.001, 0.997, 0.002]
print("unscaled", softmax(five))
print("scaled  ", softmax(five / 8))

# %% [markdown]
# Its comment for the unscaled row begins `{python} ", ".join(map(str, printed))`; the code gives
# `{python} ", ".join(f"{p:.3f}" for p in softmax(five)[:3])`. The third weight is
# `{python} f"{softmax(five)[2] / printed[2]:.1f}"` times what is printed. The point it makes stands: unscaled, this is
# nearly *argmax*, the choice of the largest. [The audit](../articles/index.py) has every such number.
#
# ## What goes wrong
#
# **Two gradients are taken for one.** To show that a saturated softmax has no gradient, the article says that the
# first class is right, and subtracts: $p - y$, where $y$ is 1 for the right class and 0 for the others. That is the
# gradient of a *loss*, $-\log p_r$ for the right class $r$, with respect to the scores. Let each class be right in turn:

# %%
p = softmax(raw)
print(f"largest entry of J                 {np.abs(jacobian(p)).max():.8f}")
for right, y in enumerate(np.eye(3), 1):
    print(f"largest |p − y| if class {right} is right  {np.abs(p - y).max():.8f}")

# %% [markdown]
# If the first class is right, $p - y$ is small because there is *nothing left to learn*. If another one is, it is
# almost 1, as large as it gets: the loss pulls a saturated softmax back with full force. The loss takes a logarithm, and
# its slope $1/p_r$ undoes the small factor $p_r$ in \eqref{jacobian}.
#
# Attention has no right class, and no logarithm. Its weights go into an average of values, and a gradient that
# comes back passes through the Jacobian alone. That one vanishes whichever key leads. So the article's conclusion is
# right, and $J$ is its reason; $p - y$ is not.
#
# **Every gradient is said to vanish.** The scores' does, and with it what query and key learn from this row. The
# values learn on: $\partial y/\partial v_s = p_s$ is `{python} f"{p[0]:.7f}"` for the key that leads.
#
# ## Check yourself
#
# ??? question "Two keys, one ahead by a gap g. For which gap do the weights respond most, and how much?"
#
#     For $g = 0$: $p(1 - p)$ is largest at $p = 1/2$, where it is
#     `{python} jacobian(softmax(np.zeros(2)))[0, 0]`. With a gap of 5 it is
#     `{python} f"{jacobian(softmax(np.array([5.0, 0])))[0, 0]:.4f}"`, with 10
#     `{python} f"{jacobian(softmax(np.array([10.0, 0])))[0, 0]:.6f}"`.
#
# ??? question "What is the sum of a row of the Jacobian, and what does it mean?"
#
#     0: `{python} f"{abs(jacobian(softmax(scaled)).sum(axis=1)).max():.4f}"` for the nine weights. Adding one number to
#     all scores changes no weight.
#
# ??? question "Does the division make a row that never saturates?"
#
#     No. It takes out the growth with $d_k$, and nothing else. Entries three times as large make scores nine
#     times as large: for the nine the largest weight goes from `{python} f"{softmax(scaled).max():.2f}"` to
#     `{python} f"{softmax(9 * scaled).max():.4f}"`.
#
# ## Where next, and sources
#
# [The weighted sum](weighted-sum.py) is what the weights are for.
#
# - A. Vaswani and others, *Attention Is All You Need*, 2017, [arXiv:1706.03762](https://arxiv.org/abs/1706.03762),
#   section 3.2.1: large products push softmax where its gradients are small.
# - The rows of scores come from the article on scaling, the seventh of a Chinese series on Transformers.
