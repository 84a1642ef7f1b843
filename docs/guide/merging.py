# %% [markdown]
# # Merging partial results
#
# By the end of this page you can split the keys of one query over blocks, machines or time, and put the
# pieces together as if they had never been apart.
#
# ## Two shelves
#
# The library has grown, and its keys stand on two shelves, each with a librarian who sees no other. Both are
# asked the same question. Each compares it with the keys of one shelf and returns an answer. What do you
# make of two answers?

# %%
from attnref import attention
import numpy as np

query = np.array([[1.0, 2.0]])
key = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [2.0, 1.0], [-1.0, 0.0]])
value = np.array([[10.0], [20.0], [30.0], [40.0], [50.0]])

first, second = slice(0, 3), slice(3, 5)
whole = attention(query, key, value)
answers = [attention(query, key[part], value[part]) for part in (first, second)]
print("all five keys   ", whole.round(4))
print("each shelf alone", *(y.round(4) for y in answers))
print("their average   ", np.mean(answers, axis=0).round(4))

# %% [markdown]
# The average is wrong: it gives each shelf the same say, whether its keys fit or not. An answer alone does
# not tell how well they fitted. The librarian who knows has divided by the normaliser, and thrown it away.
#
# ## Keep the sum and what it was divided by
#
# The [Z form](z-form.py) writes the output of query $t$ as a quotient of two sums over the keys,
#
# $$
# y_t = \frac{N_t}{Z_t}, \qquad N_t = \sum_s e^{a_{ts}} v_s, \qquad Z_t = \sum_s e^{a_{ts}} .
# \label{quotient}
# $$
#
# A sum over two shelves is the sum over one plus the sum over the other. So let both return $N$ and $Z$, add
# them up, and divide at the end:

# %%
score = query @ key.T / np.sqrt(2)
N = [np.exp(score[:, part]) @ value[part] for part in (first, second)]
Z = [np.exp(score[:, part]).sum() for part in (first, second)]
print("Z of each shelf ", np.round(Z, 4))
print("sum N / sum Z   ", (sum(N) / sum(Z)).round(4))

# %% tags=["hide-input"]
from attnref import show
from attnref.figures import ACCENT, INK, MUTED, Figure

lengths = np.exp(score[0])
parts = {"first": lengths[first], "second": lengths[second]}
bar = Figure(
    "Two bars make one",
    f"The bar of the first shelf has the length {Z[0]:.2f}, that of the second {Z[1]:.2f}; end to end "
    f"they have the length {sum(Z):.2f}, that of all five keys.",
    "Each shelf lays its exponentials end to end. Put one bar behind the other, and you have the bar of all "
    "keys, cut into the same pieces. Drawn from the numbers above.",
    height=1.7,
)
left = 0.0
for row, (name, pieces) in enumerate(parts.items()):
    for y, start in ((1 - row, 0.0), (-1.4, left)):
        at = start
        for piece in pieces:
            shade = (ACCENT, 0.15 if name == "first" else 0.4)
            bar.axes.barh(
                y, piece, 0.7, left=at, facecolor=shade, edgecolor=INK, lw=0.8
            )
            at += piece
    bar.axes.text(
        pieces.sum() + 0.2, 1 - row, f"{name}, Z = {pieces.sum():.2f}", va="center"
    )
    left += pieces.sum()
bar.axes.text(0, -2.3, f"both, Z = {left:.2f}", color=MUTED)
bar.axes.set(xlim=(0, left), ylim=(-2.5, 1.5), yticks=[], xticks=[])
for side in ("left", "bottom"):
    bar.axes.spines[side].set_visible(False)
show(bar)

# %% [markdown]
# ## A state that never overflows
#
# $e^{a}$ overflows for large scores, so each part subtracts a reference exponent $m_t$ of its own, the largest
# score that it has seen. Its state is $(m, z, n)$ with
#
# $$
# z_t = \sum_s e^{a_{ts} - m_t}, \qquad n_t = \sum_s e^{a_{ts} - m_t} v_s ,
# \label{state}
# $$
#
# and two states $A$ and $B$ are added once they have one exponent:
#
# $$
# m = \max(m_A, m_B), \quad z = e^{m_A - m} z_A + e^{m_B - m} z_B, \quad
# n = e^{m_A - m} n_A + e^{m_B - m} n_B .
# \label{merge}
# $$
#
# [MSHF](../d/MSHF.py) proves that any other $m$ would do on paper. The order does not matter
# ([MCOM](../d/MCOM.py)), nor what is merged first ([MASS](../d/MASS.py)), and the state of no key at all,
# $z = 0$, changes nothing ([MIDN](../d/MIDN.py)). In one word, states are a *commutative monoid*. The package
# has it by these names:

# %%
from functools import reduce

from attnref import Partial, merge, partial_attention

one_by_one = [
    partial_attention(query, key[[s]], value[[s]]) for s in (4, 0, 3, 1, 2)
]
state = reduce(merge, one_by_one, Partial.empty((1, 1)))
print("m", state.m.round(4), " z", state.z.round(4), " n", state.n.round(4))
print("output", state.output.round(4), " log Z", state.log_z.round(4))

# %% [markdown]
# Five keys, one by one, in another order, from an empty state: the same output as in one go. This is how
# attention streams through a long text block by block, how many machines share one query, and how a model
# that writes word by word goes on from what it has cached.
#
# ## What goes wrong
#
# **The exponents are forgotten.** Each part has its own $m$; adding $n$ and $z$ as they are compares
# exponentials in different units:

# %%
a, b = (partial_attention(query, key[p], value[p]) for p in (first, second))
print("without exponents", ((a.n + b.n) / (a.z + b.z)[..., None]).round(4))
print("merged           ", merge(a, b).output.round(4))

# %% [markdown]
# **Only the output and log Z are kept.** On paper that is enough, for $Z$ follows from its logarithm. But a
# computer stores $\log Z = m + \log z$ in one number, and where scores are large the digits of $\log z$ fall off
# its end. Take two keys, one a shelf, with the scores $2^{16}$ and 0.3 less, and hold the weight of the first
# against its value to 40 digits, in units of the roundoff $u = 2^{-53}$:

# %%
from decimal import Decimal, getcontext
from math import exp, log

getcontext().prec = 40
m, gap, u = 2.0**16, 0.3, 2.0**-53
exact = 1 / (1 + (-Decimal(gap)).exp())
z = 1 + exp(-gap)
log_z = m + log(z)
for name, weight in {"(m, z)": 1 / z, "log Z ": exp(m - log_z)}.items():
    off = float(abs(Decimal(weight) / exact - 1)) / u
    print(f"weight from {name}: off by about {float(f'{max(off, 1):.1g}'):,.0f} u")

# %% [markdown]
# Kernels that save $\log Z$ for the backward pass, as most do, pay this there. `Partial` keeps both numbers.
#
# **The sink is counted twice.** A sink is one more key that has no value. Give it with one part only
# ([MSNK](../d/MSNK.py)):

# %%
options = {"sink": 1.0}
true = attention(query, key, value, **options)
with_sink = [
    partial_attention(query, key[p], value[p], **options) for p in (first, second)
]
print(
    "once ", merge(with_sink[0], b).output.round(4), " all at once", true.round(4)
)
print("twice", merge(*with_sink).output.round(4))

# %% [markdown]
# ## Check yourself
#
# ??? question "One shelf has the normaliser 1, the other 3. How much say does each answer get?"
#
#     A quarter and three quarters: $y = (Z_A y_A + Z_B y_B)/(Z_A + Z_B)$. Above, the first shelf gets
#     `{python} f"{Z[0] / sum(Z):.0%}"` and the second `{python} f"{Z[1] / sum(Z):.0%}"`, and
#     `{python} f"{Z[0] / sum(Z):.4f}"` · `{python} f"{answers[0].item():.4f}"` +
#     `{python} f"{Z[1] / sum(Z):.4f}"` · `{python} f"{answers[1].item():.4f}"` =
#     `{python} f"{whole.item():.4f}"`.
#
# ??? question "All keys of one shelf are masked. What does it return, and what does it change?"
#
#     The empty state, $z = 0$ and $n = 0$. Merged, it changes no bit:
#     `{python} np.array_equal(merge(Partial.empty((1, 1)), a).n, a.n)`.
#
# ??? question "Could one merge the weights too?"
#
#     Yes, at the end. The weight of a key is $e^{a_{ts} - m_t}/z_t$ with the $m$ and $z$ of all keys, so each shelf
#     can work out its own once it is told these two numbers. Key 4 gets
#     `{python} f"{(np.exp(score[0, 3] - state.m) / state.z).item():.4f}"`.
#
# ## Where next, and sources
#
# [The reference](../reference/merging.md) has the functions, in NumPy and Torch.
#
# - M. Milakov and N. Gimelshein, *Online normalizer calculation for softmax*, 2018,
#   [arXiv:1805.02867](https://arxiv.org/abs/1805.02867): the normaliser, kept with a running maximum.
# - T. Dao and others, *FlashAttention*, 2022, [arXiv:2205.14135](https://arxiv.org/abs/2205.14135), section 3.1:
#   the same with the values, block by block.
