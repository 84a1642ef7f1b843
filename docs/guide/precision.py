# %% [markdown]
# # Where floating point bites
#
# By the end of this page you can tell which rounding costs attention its digits, how many, and which
# safeguards help.
#
# ## A score of a million
#
# Two keys share two large entries, which cancel on paper ([KSHF](../d/KSHF.py)), and differ in two small ones.
# Attention as one writes it, with a dtype for each of three stages:

# %%
import numpy as np


def inner(q, k):  # one product after another, so that every CPU rounds alike
    return sum(q[:, [i]] * k[:, i] for i in range(q.shape[1]))


def attend(q, k, v, scores, exps, sums, shift=1):
    a = inner(q.astype(scores), k.astype(scores)) * q.shape[1] ** -0.5
    a = a - shift * a.max(axis=1, keepdims=True)
    e = np.exp(a.astype(exps)).astype(sums)
    return (e @ v / e.sum(axis=1, keepdims=True)).astype("f")


query = np.array([[1000, 1000, 1, 1]], "f")  # NumPy's f is float32, d is float64
key = np.array([[1000, 1000, 0, 0], [1000, 1000, 0.5, 0.56]], "f")
value = np.array([[10], [20]], "f")
ways = {
    "float32": "fff",
    "float64 sums": "ffd",
    "float64 scores": "dff",
    "float64": "ddd",
}
for way, dtypes in ways.items():
    print(f"{way:14} {attend(query, key, value, *dtypes).item():.4f}")

# %% [markdown]
# The inputs are the same each time. Better sums change nothing, better scores everything. Near two million,
# float32 numbers are `{python} np.spacing(np.float32(2e6))` apart: of the `{python} f"{key[1, 2:].sum():.2f}"` by
# which key 2 is ahead, `{python} f"{(inner(query, key) @ [-1, 1]).item():g}"` arrived.
#
# ## Absolute inside, relative outside
#
# A score stands in an exponent, where an error $\delta$ comes out as a factor: $e^{a + \delta} \approx e^{a}(1 + \delta)$.
# Rounding moves a number $a$ by up to $u\,|a|$, with the *unit roundoff* $u = 2^{-24}$ in float32. A score of 100,
# rounded once, costs its weight up to $100\,u$, and an inner product is rounded many times. Errors $\delta_{ts}$ in
# the scores move the output, to first order, by
#
# $$
# \Delta y_t = \sum_s p_{ts}\, \delta_{ts}\, (v_s - y_t) ,
# \label{moved}
# $$
#
# by the Jacobian of softmax ([SJAC](../d/SJAC.py)). What is the same for all keys leaves the sum, and the rest is 0:
# [SHFT](../d/SHFT.py) again.
#
# So **the shift is free.** Without it $e^a$ overflows above `{python} f"{np.log(65504):.2f}"` in float16,
# `{python} f"{np.log(np.finfo('f').max):.2f}"` in float32, `{python} f"{np.log(np.finfo('d').max):.2f}"` in
# float64. Take the largest score $m_t$ off the row: its rounding is the same for all keys, and that of the difference
# is at most $u\,(m_t - a_{ts})$, large only for a key that is far behind and weighs next to nothing.
#
# ## Scores before all else
#
# Three families of 1024 keys with 64 entries: normal numbers; query and key ten times as large; and 100 added to
# each entry of the keys. The largest error against float64, in units of $u \sum_s p_{ts} |v_s|$ and up to a power of two:

# %% tags=["fold-input"]
from attnref import attention

np.seterr(all="ignore")
rng, u = np.random.default_rng(9), 2.0**-24
q, k, v = (rng.standard_normal((n, 64)).astype("f") for n in (64, 1024, 1024))
families = {
    "normal": (q, k),
    "scores ~100": (10 * q, 10 * k),
    "keys + 100": (q, k + 100),
}


def about(x):  # what CPUs agree on: a bound, or the nearest power of 2
    if x < 10:
        return "< 1" if x < 1 else "< 10"
    return 2 ** round(np.log2(x)) if x < np.inf else "overflow"


def truth(q, k, v):
    return attention(*(x.astype("d") for x in (q, k, v)))


def units(q, k, *way):
    off = abs(attend(q, k, v, *way) - truth(q, k, v))
    return (off / truth(q, k, abs(v))).max() / u


ways = {"unshifted": (*"fff", 0)} | ways
found = {w: [units(*x, *ways[w]) for x in families.values()] for w in ways}
print(" " * 14, *(f"{family:>12}" for family in families))
for way, errors in found.items():
    print(f"{way:14}", *(f"{about(error):>12}" for error in errors))

# %% tags=["hide-input"]
from attnref import show
from attnref.figures import CATEGORIES, Figure

lines = Figure(
    "What float64 gains",
    "The table, drawn: float64 sums move nothing, float64 scores bring all below 10, "
    "float64 throughout all below 1.",
    "Float64 sums leave large errors where they are; float64 scores bring the families "
    "together. Drawn from the table, a bound at its half.",
    height=2,
)
axes = lines.axes
for f, family in enumerate(families):
    told = [about(found[way][f]) for way in ways if way != "unshifted"]
    at = [{"< 1": 0.5, "< 10": 5}.get(error, error) for error in told]
    style = {"color": CATEGORIES[f], "clip_on": False}
    axes.plot(at, [4, 3, 2, 1], **style)
    axes.text(at[0], 4.2, family, ha=("center", "left", "center")[f], **style)
axes.set_xscale("log")
axes.set_xticks([1, 10, 100, 1000], ["1", "10", "100", "1000"])
axes.set_xticks([], minor=True)
axes.set_yticks([4, 3, 2, 1], list(ways)[1:])
axes.tick_params(length=0)
axes.set(xlim=(0.08, 3000), ylim=(0.8, 4.5), xlabel="largest error, in units of u")
show(lines)

# %% [markdown]
# Shifted or not, normal data lose a few units. The others lose a thousand and a hundred, and float64 sums win none of
# it back. Float64 scores do, though `exp` and sums are float32 still. To stay below one unit, work in float64
# and round once, as [attnref does](../contract.py#precision).
#
# ## log Z, or m and z
#
# [Merging](merging.py) keeps $m$ and $z$, not $\log Z = m + \log z$. Stored, $\log Z$ is off by up to half
# the gap between its neighbours, and all weights $e^{a - \log Z}$ of the row by that factor. Nobody divides by
# their sum again, so it does not cancel: they add up to 1 plus that error. With scores that are exact at each offset:

# %%
exact = rng.integers(-4096, 4097, (64, 256)) / 1024
for offset in (0, 100, 1000, 8192):
    a = (exact + offset).astype("f")
    m = a.max(axis=1, keepdims=True)
    e = np.exp(a - m)
    z = e.sum(axis=1, keepdims=True)
    log_z = m + np.log(z)
    weights = np.exp(a - log_z), e / z
    off = [abs(p.sum(axis=1, dtype="d") - 1).max() / u for p in weights]
    print(f"{offset:4}: log Z {about(off[0]):>4} u, (m, z) {about(off[1])} u")

# %% [markdown]
# The last error is half a gap: `{python} f"{np.log2(np.spacing(log_z).max() / 2 / u):.0f}"` of 24 bits are
# gone, as if the weights were float16. A weight is the
# slope of $\log Z$ ([LZGR](../d/LZGR.py)): a [backward pass](backward.py) that remakes it from a stored $\log Z$
# has the error in every gradient. How $m$ is rounded never shows ([MSHF](../d/MSHF.py)).
#
# ## Half precision
#
# float16 ends at `{python} int(np.finfo("float16").max)`, and its gaps are wide:

# %% tags=["expect-nan"]
half, ones = np.full((1, 64), 32, "float16"), np.ones((4096, 1), "float16")
print("64 times 32·32   ", inner(half, half).item())
print("sum of 4096 ones ", np.cumsum(ones)[-1].item())
print("their mean       ", np.cumsum(ones / 4096)[-1].item())
print("attnref          ", attention(half, half.repeat(4096, 0), ones).item())

# %% [markdown]
# A running sum stalls where 1 is half a gap, and so
# does the output over equal keys. One habit cures both: **multiply and add in float32 or wider, round at the end.**
#
# ## A bound for any order
#
# The worst of every rounding, put into \eqref{moved}, makes a bound, [`error_bound`](../reference/testing.md), by which
# `assert_close` judges. No order of the sums breaks it; a way through $\log Z$ does. With the value 1 for each key of
# the last row above, the output is the sum of the weights. Worst error over bound:

# %%
from attnref import streaming_attention
from attnref.testing import error_bound

worst = 0
for x in families.values():
    tries = [streaming_attention(*x, v, block_size=n) for n in (1, 16, 256)]
    off_by = abs(np.array([attend(*x, v, *"fff"), *tries]) - truth(*x, v))
    worst = max(worst, (off_by / error_bound(*x, v)).max())
print("whole or in blocks <", 10.0 ** np.ceil(np.log10(worst)))
one = np.ones((256, 1), "f")
bound = error_bound(one[:1], a[0][:, None], one).item() / u
print("from log Z          ", about(off[0] / bound))
print("from (m, z)        ", about(off[1] / bound))

# %% [markdown]
# ## What goes wrong
#
# **Safeguards that guard nothing.** Two keys of values 10 and 20, scores one apart, in float64: as they
# should be, then with what people add.


# %% tags=["expect-nan"]
from attnref import softmax


def guarded(a, shift=0.0, extra=0.0):
    e = np.exp(a - shift)
    return (e / (e.sum() + extra) @ [10, 20]).round(2)


a, masked, least = np.array([[0, -1], [-np.inf] * 2, [-1e9] * 2])
print("right        ", guarded(a))
print("sum + 1e-9   ", guarded(a - 25, extra=1e-9))
print("as a sink    ", (softmax(a - 25, sink=np.log(1e-9)) @ [10, 20]).round(2))
print("clipped to 50", guarded((a + 61).clip(-50, 50)))
print("nan_to_num   ", np.nan_to_num(guarded(a + 1000)))
print("all masked: right 0")
print("sum + 1e-9   ", guarded(masked, -np.inf, 1e-9))
print("-1e9 for -inf", guarded(least, -1e9))
half = np.array([-1e9, np.finfo("f").min]).astype("float16")
print("in float16   ", guarded(half, half.max()))

# %% [markdown]
# - **1e-9 in the sum** is a sink ([SINK](../d/SINK.py)), a key without a value, of score
#   `{python} f"{np.log(1e-9):.1f}".replace("-", "−")`. After the shift the sum is at least 1, and in float32 1e-9 changes nothing: `{python} np.float32(1) + np.float32(1e-9) == 1`.
#   A row of −∞ gets its `{python} int(guarded(masked, extra=1e-9))` unshifted only; shifted it is NaN before the sum.
# - **Clipping** makes equal what softmax is to tell apart.
# - **nan_to_num** turns a visible accident into a plausible number.
# - **−1e9** does while one key is left. If none is, the shift takes it off again, and forbidden values are averaged.
#   float16 makes it −∞, and float32's least number too; −∞ minus −∞ is NaN.
#
# What helps: shift by the maximum, *select* by the mask and let it say which rows are empty, work wider,
# keep $m$ and $z$.
#
# ## Check yourself
#
# ??? question "Keys have mean 100. Is there a cure within float32?"
#
#     Subtract the mean key; the output stays ([KSHF](../d/KSHF.py)). The error falls from about
#     `{python} about(found["float32"][2])` to `{python} about(units(q, k + 100 - (k + 100).mean(axis=0), *"fff"))` units.
#
# ??? question "A kernel stores log Z in float32, near 30. What do its weights lose?"
#
#     Half a gap is `{python} f"{np.spacing(np.float32(30)) / 2 / u:.0f}"` $u$: up to
#     `{python} f"{np.log2(np.spacing(np.float32(30)) / 2 / u):.0f}"` of 24 bits.
#
# ## Where next, and sources
#
# [Streaming](streaming.py) works block by block within the same bound.
#
# - N. J. Higham, *Accuracy and Stability of Numerical Algorithms*, 2002, section 2.2: the model of rounding.
# - P. Blanchard, D. J. Higham, N. J. Higham,
#   [*Accurately computing the log-sum-exp and softmax functions*](https://doi.org/10.1093/imanum/draa038),
#   2021: the shift is safe.
