# %% [markdown]
# # When softmax saturates
#
# By the end of this page you can tell from a row of scores whether softmax still responds to them, and which
# gradient says so.
#
# ## Two rows, one shape
#
# The article on scaling compares two rows of scores. One might come from keys of $d_k = 64$ entries, the other from
# keys of 1024:

# %%
from attnref import softmax
import numpy as np

np.set_printoptions(precision=4, floatmode="fixed", suppress=True)
narrow, wide = np.array([10.0, 11, 9]), np.array([40.0, 44, 36])
print("narrow      ", softmax(narrow))
print("wide        ", softmax(wide))
print("narrow / √64", softmax(narrow / np.sqrt(64)))
print("wide / √1024", softmax(wide / np.sqrt(1024)))

# %% [markdown]
# Undivided, the second row is all but decided. Divided by √dₖ, the two are one and
# the same: the second row is four times the first, and √1024 is four times √64. The division undoes what the
# width has done ([Why divide by √dₖ](scaling.py)).
#
# A row is *saturated* when one weight is so near 1 that a small change of the scores changes next to nothing. Only
# the gaps decide: 40, 41 and 39 are as large as the second row, and have the weights of the first,
# `{python} ", ".join(f"{p:.4f}" for p in softmax(np.array([40.0, 41, 39])))`.
#
# ## How much a weight responds
#
# Raise the score $a_j$ a little. The weight $p_s$ changes, per unit, by
#
# $$
# J_{sj} = \frac{\partial p_s}{\partial a_j} = p_s\,(\delta_{sj} - p_j) , \qquad
# J = \operatorname{diag}(p) - p\,p^{\mathsf T} , \label{jacobian}
# $$
#
# where $\delta_{sj}$ is 1 on the diagonal and 0 elsewhere ([SJAC](../d/SJAC.py)). This table is the *Jacobian*. If one weight
# is near 1, all others are near 0, and each entry has a factor near 0: with a largest weight $P$, none exceeds $1 - P$
# in size. **Nothing responds, the winner neither.** Training moves numbers along such slopes, and where they vanish it
# stands still. Three more scores from the article, as they are and divided by 8:

# %%
raw = np.array([20.0, -10, 5])


def largest_entry(p):
    return np.abs(np.diag(p) - np.outer(p, p)).max()


for row in (raw, raw / 8):
    p = softmax(row)
    print(f"largest weight {p.max():.8f}, entry of J {largest_entry(p):.8f}")

# %% [markdown]
# Divided, the scores are `{python} ", ".join(f"{a:g}" for a in raw / 8).replace("-", "−")`, the weights `{python} ", ".join(f"{p:.4f}" for p in softmax(raw / 8))`. Per unit of the
# *undivided* score the entry is an eighth of the last number, still about
# `{python} f"{largest_entry(softmax(raw / 8)) / 8 / largest_entry(softmax(raw)) / 1000:.0f}"` thousand times the first.

# %% tags=["hide-input"]
from attnref import show
from attnref.figures import ACCENT, CATEGORIES, Figure, WeightMap

factors = np.geomspace(1 / 32, 1, 16)
curves = np.array([softmax(f * raw) for f in factors])
largest = curves.max(axis=1)
response = np.array([largest_entry(p) for p in curves])
assert (response <= 1 - largest + 1e-12).all()
saturating = Figure(
    "A row that saturates",
    "For factors from 1/32 to 1 the largest weight rises from "
    f"{largest[0]:.2f} to {largest[-1]:.4f}. The largest entry of the Jacobian is at most "
    f"{response.max():.2f} and falls to {response[-1]:.4f}.",
    "As the scores grow, the largest weight goes to 1, and the response to 0. "
    "The scores 20, −10 and 5 times a factor: at 1 as they are, at 1/8 divided.",
    height=2.5,
)
axes = saturating.axes
axes.plot(factors, largest, color=ACCENT)
axes.plot(factors, response, color=CATEGORIES[1])
axes.text(0.17, 0.84, "largest weight, P", color=ACCENT)
axes.text(0.17, 0.1, "largest entry of J", color=CATEGORIES[1])
axes.set_xscale("log", base=2)
axes.set_xticks([1 / 32, 1 / 8, 1], ["1/32", "1/8", "1"])
axes.set(ylim=(0, 1.02), yticks=[0, 0.25, 1])
axes.set(xlabel="factor of the scores", ylabel="weight, or change per unit")
show(saturating)

# %% [markdown]
# ## Nine scores, step by step
#
# The article works through nine scores: the query of 喜 with the seven characters of its sentence and the
# marks CLS and SEP that BERT adds. Divide by 8, raise $e$ to the result, divide by the sum, $Z$
# ([Softmax](softmax.py)):

# %%
tokens = [*"我喜歡人工智能", "CLS", "SEP"]
nine = np.array([15.3, 22.7, 18.2, 2.1, 1.8, 3.2, 2.9, 5.6, 4.1])
scaled = nine / 8
e = np.exp(scaled)
Z = e.sum()
print("  raw   scaled      exp   weight")
for token, *row in zip(tokens, nine, scaled, e, e / Z, strict=True):
    print("{:5} {:8.4f} {:8.4f} {:8.4f} ".format(*row), token)
print(f"  Z = {Z:19.4f} {(e / Z).sum():8.4f}")

# %% tags=["hide-input"]
rows = np.array([softmax(nine), softmax(scaled)])
show(
    WeightMap(
        "The nine weights, undivided and divided",
        rows,
        "Undivided, one key has nearly all. Divided by 8, the keys keep their order, and the others are heard.",
        queries=["undivided", "÷ 8"],
        keys=tokens,
    )
)

# %% [markdown]
# The article also has a script for the first five of them, undivided and divided:

# %%
five = nine[:5]
printed = [0.001, 0.997, 0.002]
print("unscaled", softmax(five))
print("scaled  ", softmax(five / 8))

# %% [markdown]
# Its comment for the unscaled row begins `{python} ", ".join(map(str, printed))`; the code gives
# `{python} ", ".join(f"{p:.4f}" for p in softmax(five)[:3])`. Both add up to 1, so the sum doesn't tell
# ([the audit](../articles/index.py)). The point stands: this is nearly *argmax*, all weight on the largest. Does
# the gradient vanish here, as it says? It shrinks. Per unit of the undivided score the largest entry of $J$ is
# `{python} f"{largest_entry(softmax(five)):.4f}"`, and with the division
# `{python} f"{largest_entry(softmax(five / 8)) / 8:.4f}"`. Saturation is a matter of degree.
#
# ## What goes wrong
#
# **Two gradients are taken for one.** To show a vanishing gradient, the article lets the first class be right
# and subtracts: $p - y$, where its $y$ is 1 for the right class and 0 for the others. That is the gradient, in the scores,
# of a *loss*, the cross-entropy $-\log p_r = \log Z - a_r$ for the right class $r$ ([LZGR](../d/LZGR.py)). Let each
# class be right in turn, and print the largest entries:

# %%
p = softmax(raw)
print(f"in J             {largest_entry(p):.8f}")
for r, y in enumerate(np.eye(3), 1):
    print(f"in p − y, r = {r}  {np.abs(p - y).max():.8f}")
    J = np.diag(p) - np.outer(p, p)
    assert np.allclose(J @ (-y / p), p - y, rtol=0, atol=1e-12)

# %% [markdown]
# If the first class is right, $p - y$ is small because there is *little left to learn*. If another one is, it is
# almost 1, as large as it gets: the loss pulls a saturated softmax back with full force. $J$ is the same each
# time. No contradiction: the slope of the loss in $p_r$ is $-1/p_r$, which undoes the small factor $p_r$
# in $J$; the code multiplies the two.
#
# Attention has no right class, and no logarithm that makes up for a small weight. A loss sees its weights only in an
# average of values, and a gradient on its way to the scores passes through $J$, and vanishes whichever key leads.
# Take the values 10, 20, 30, and as loss half the squared distance of the output from 20, the value of key 2. Here are
# the output and the slopes in the undivided scores ([BWDS](../d/BWDS.py)):

# %%
value = np.array([10.0, 20.0, 30.0])
for name, scale in (("undivided", 1), ("÷ 8", 1 / 8)):
    p = softmax(scale * raw)
    output = p @ value
    slope = scale * p * (value - output) * (output - 20)
    print(f"{name:9} {output:.2f} {slope}")
assert softmax(raw) @ value < output < 20

# %% [markdown]
# Undivided, the output is farther from 20, and the scores learn next to nothing. So the article's conclusion
# is right for the scores, and its reason is $J$, not $p - y$.
#
# **Every gradient is said to vanish.** The scores' does, and with it what query and key learn from this row. But the
# slope of the output in value $s$ is $p_s$, `{python} f"{softmax(raw)[0]:.7f}"` for the key that leads: its value learns on.
#
# ## Check yourself
#
# ??? question "Nine keys. What lead of one leaves at most 0.001 to all others?"
#
#     A lead of $g$ leaves the eight at most $8\,e^{-g}$ ([TGAP](../d/TGAP.py)), so the logarithm of 8/0.001 is enough, about
#     `{python} f"{np.log(8 / 0.001):.1f}"`, whatever the scores are. No entry of $J$ is then above 0.001.
#
# ??? question "Does the division make a row that never saturates?"
#
#     No. It takes out the growth with $d_k$ alone. Entries three times as large make scores nine
#     times as large: for the nine the largest weight goes from `{python} f"{softmax(scaled).max():.2f}"` to
#     `{python} f"{softmax(9 * scaled).max():.4f}"`.
#
# ## Where next, and sources
#
# [The weighted sum](weighted-sum.py) is what the weights are for.
#
# - A. Vaswani and others, *Attention Is All You Need*, 2017, [arXiv:1706.03762](https://arxiv.org/abs/1706.03762),
#   section 3.2.1: the authors *suspect* that large products push softmax where its gradients are small.
# - The rows of scores are those of the article on scaling.
