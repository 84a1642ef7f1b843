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

np.set_printoptions(precision=4, floatmode="fixed", suppress=True)
narrow, wide = np.array([10.0, 11, 9]), np.array([40.0, 44, 36])
print("narrow, undivided", softmax(narrow))
print("wide, undivided  ", softmax(wide))
print("narrow / √64     ", softmax(narrow / np.sqrt(64)))
print("wide / √1024     ", softmax(wide / np.sqrt(1024)))

# %% [markdown]
# Undivided, the first row is shared and the second all but decided. Divided by √dₖ, they are one and
# the same: the second row is four times the first, and √1024 is four times √64. The division takes out what the
# width has put in ([Why divide by √dₖ](scaling.py)).
#
# A row is *saturated* when one weight is so near 1 that a small change of the scores changes next to nothing. Not
# the size of the scores decides, only the gaps between them: 40, 41 and 39 are as large as the second row, and have
# the weights of the first, `{python} ", ".join(f"{p:.4f}" for p in softmax(np.array([40.0, 41, 39])))`.
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
# where $\delta_{sj}$ is 1 if $s = j$ and 0 if not ([SJAC](../d/SJAC.py)). The table $J$ of all $J_{sj}$ is the
# *Jacobian*. On its diagonal stands $p_s(1 - p_s)$, elsewhere $-p_s p_j$. If one weight is near 1, all others are near
# 0, and each entry has a factor near 0: with a largest weight $P$, none is larger than $1 - P$. **Nothing
# responds, the winner neither.**

# %%
raw = np.array([20.0, -10, 5])


def jacobian(p):
    return np.diag(p) - np.outer(p, p)


def largest_entry(p):
    return np.abs(jacobian(p)).max()


for row in (raw, raw / 8):
    p = softmax(row)
    print("scores ", " ".join(f"{x:10.4f}" for x in row))
    print("weights", " ".join(f"{x:.8f}" for x in p))
    print(f"largest entry of J {largest_entry(p):.8f}")

# %% [markdown]
# The last number is per unit of the *divided* score. Per unit of the undivided one it is an eighth of that,
# `{python} f"{largest_entry(softmax(raw / 8)) / 8:.4f}"`: still about
# `{python} f"{largest_entry(softmax(raw / 8)) / 8 / largest_entry(softmax(raw)) / 1000:.0f}"` thousand times the one without
# division.

# %% tags=["hide-input"]
from attnref import show
from attnref.figures import ACCENT, CATEGORIES, MUTED, Figure, WeightMap

factors = np.geomspace(1 / 64, 2, 29)
curves = np.array([softmax(f * raw) for f in factors])
largest = curves.max(axis=1)
response = np.array([largest_entry(p) for p in curves])
assert (response <= 1 - largest + 1e-12).all()
saturating = Figure(
    "A row that saturates",
    f"The scores 20, −10, 5 times a factor from 1/64 to 2. The largest weight rises from "
    f"{largest[0]:.2f} to {largest[-1]:.4f}. The largest entry of the Jacobian is at most "
    f"{response.max():.2f} and falls to {response[-1]:.4f}.",
    "The larger the scores, the nearer the largest weight comes to 1, and the less any weight responds. "
    "Far to the left, among equals, they also respond a little less. The scores are 20, −10 and 5 times a factor; "
    "dashed: divided by 8, and as they are.",
    height=2.5,
)
axes = saturating.axes
axes.plot(factors, largest, color=ACCENT)
axes.plot(factors, response, color=CATEGORIES[1])
axes.text(0.2, 0.84, "largest weight, P", color=ACCENT)
axes.text(0.17, 0.1, "largest entry of J", color=CATEGORIES[1])
for x, name in ((1 / 8, "÷ 8"), (1, "as they are")):
    axes.axvline(x, color=MUTED, linewidth=0.8, linestyle=(0, (4, 4)))
    axes.text(x / 1.06, 0.5, name, color=MUTED, ha="right")
axes.set_xscale("log", base=2)
axes.set_xticks([1 / 64, 1 / 8, 1], ["1/64", "1/8", "1"])
axes.set(ylim=(0, 1.02), yticks=[0, 0.25, 1])
axes.set(xlabel="factor of the scores", ylabel="weight, or change per unit")
show(saturating)

# %% [markdown]
# ## Nine scores, step by step
#
# The article works through one row: nine scores, for $d_k = 64$, of the query of 喜 with the characters of 我喜歡人工智能
# and the marks `[CLS]` and `[SEP]` that BERT sets around a sentence (here they stand last). Divide by 8, raise $e$ to
# the result, divide by the sum, $Z$ ([Softmax](softmax.py)):

# %%
tokens = [*"我喜歡人工智能", "CLS", "SEP"]
nine = np.array([15.3, 22.7, 18.2, 2.1, 1.8, 3.2, 2.9, 5.6, 4.1])
scaled = nine / 8
e = np.exp(scaled)
Z = e.sum()
print("  raw   scaled      exp   weight")
for token, *row in zip(tokens, nine, scaled, e, e / Z, strict=True):
    print("{:5} {:8.4f} {:8.4f} {:8.4f} ".format(*row), token)
print(f"  Z = {Z:19.4f} {(e / Z).sum():8.4f}  together")

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
# The article also has a script for the first five of them, undivided and divided:

# %%
five = nine[:5]
printed = [0.001, 0.997, 0.002]
print("unscaled", softmax(five))
print("scaled  ", softmax(five / 8))

# %% [markdown]
# Its comment for the unscaled row begins `{python} ", ".join(map(str, printed))`; the code gives
# `{python} ", ".join(f"{p:.4f}" for p in softmax(five)[:3])`. The third weight is
# `{python} f"{softmax(five)[2] / printed[2]:.1f}"` times what is printed, and as both rows add up to 1, a look at the sum
# doesn't tell. The point stands: unscaled, this is nearly *argmax*, all weight on the largest.
# [The audit](../articles/index.py) has every such number. Does the gradient vanish here, as it says? It shrinks. Per
# unit of the undivided score the largest entry of $J$ is `{python} f"{largest_entry(softmax(five)):.4f}"`, and with the
# division `{python} f"{largest_entry(softmax(five / 8)) / 8:.4f}"`. Saturation is a matter of degree.
#
# ## What goes wrong
#
# **Two gradients are taken for one.** To show that a saturated softmax has no gradient, the article says that the
# first class is right, and subtracts: $p - y$, where its $y$ is 1 for the right class and 0 for the others. That is
# the gradient, with respect to the scores, of a *loss*, the cross-entropy $-\log p_r = \log Z - a_r$ for the right
# class $r$ ([LZGR](../d/LZGR.py)). Let each class be right in turn:

# %%
p = softmax(raw)
print(f"largest entry of J                   {largest_entry(p):.8f}")
for r, y in enumerate(np.eye(3), 1):
    print(f"largest |p − y| if class {r} is right  {np.abs(p - y).max():.8f}")
    assert np.allclose(jacobian(p) @ (-y / p), p - y, rtol=0, atol=1e-12)

# %% [markdown]
# If the first class is right, $p - y$ is small because there is *little left to learn*. If another one is, it is
# almost 1, as large as it gets: the loss pulls a saturated softmax back with full force. $J$ is the same three
# times. No contradiction: the slope of the loss in $p_r$ is $-1/p_r$, and undoes the small factor $p_r$ in
# \eqref{jacobian}. The last line of the code multiplies the two.
#
# Attention has no right class and no logarithm. A loss sees its weights only in an average of values, and a
# gradient that comes back to the scores passes through $J$, which vanishes whichever key leads. Take the values
# 10, 20, 30, and as loss half the squared distance of the output from 20. Key 2 has what is wanted. These are the
# slopes in the undivided scores ([BWDS](../d/BWDS.py)):

# %%
value = np.array([10.0, 20.0, 30.0])
for name, scale in (("undivided", 1), ("÷ 8", 1 / 8)):
    p = softmax(scale * raw)
    output = p @ value
    slope = scale * p * (value - output) * (output - 20)
    print(f"{name:9}  output {output:.4f}  slopes {slope}")

# %% [markdown]
# Undivided, the output is farther from 20, and the scores learn next to nothing. So the article's conclusion
# is right for the scores, and $J$ is its reason; $p - y$ is not.
#
# **Every gradient is said to vanish.** The scores' does, and with it what query and key learn from this row. But the
# slope of the output in value $s$ is $p_s$, `{python} f"{softmax(raw)[0]:.7f}"` for the key that leads: its value learns on.
#
# ## Check yourself
#
# ??? question "Two keys, one ahead by a gap g. For which gap do the weights respond most, and how much?"
#
#     For $g = 0$: $p(1 - p)$ is largest at $p = 1/2$, where it is
#     `{python} largest_entry(softmax(np.zeros(2)))`. With a gap of 5 it is
#     `{python} f"{largest_entry(softmax(np.array([5.0, 0]))):.4f}"`, with 10
#     `{python} f"{largest_entry(softmax(np.array([10.0, 0]))):.6f}"`.
#
# ??? question "Nine keys. What lead of one key leaves at most 0.001 to the other eight together?"
#
#     Divided by the leader's exponential, each of the others is at most $e^{-\text{lead}}$, so together they have at
#     most $8\,e^{-\text{lead}}$ ([TGAP](../d/TGAP.py)). A lead of $\log(8/0.001)$, about
#     `{python} f"{np.log(8 / 0.001):.1f}"`, is enough, whatever the scores are. By $1 - P$, no entry of $J$ is then
#     above 0.001.
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
#   section 3.2.1: the authors *suspect* that large products push softmax where its gradients are small.
# - I. Goodfellow, Y. Bengio and A. Courville, *Deep Learning*, 2016, section 6.2.2.3: the logarithm of the loss undoes
#   the exponential of softmax.
# - The rows of scores come from the article on scaling, the seventh of a Chinese series on Transformers.
