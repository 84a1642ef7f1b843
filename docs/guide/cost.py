# %% [markdown]
# # What attention costs
#
# By the end of this page you can work out what attention costs, in operations, bytes and milliseconds, before you
# run it.
#
# ## Four times the text
#
# One head of attention with 2048 queries, as many keys and $d_k = d_v = 64$ has been timed on one thread of a
# CPU. What will 8192 of each take? No two runs take the same time, so this page times nothing. It reads
# measurements that are kept beside it, [cost.json](cost.json) and [memory.json](memory.json).

# %% tags=["hide-input"]
import json
from pathlib import Path


def table(name):
    return json.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))


cost, memory = table("cost.json"), table("memory.json")
NUMPY, TORCH, PLAIN = "attnref, NumPy", "Torch SDPA", "NumPy, whole scores"


def row(kind, S, dtype="float32", causal=False):
    wanted = {"kind": kind, "S": S, "dtype": dtype, "causal": causal}
    return next(r for r in cost["rows"] if wanted.items() <= r.items())


def ms(*case, who=NUMPY):  # of one head
    return row(*case)["ms"][who] / row(*case)["heads"]


machine = dict(cost["machine"])
print(machine.pop("cpu"))
print(*(f"{what} {which}" for what, which in machine.items()), sep=", ")
print(f"2048, forward, float32: {ms('forward', 2048):.3g} ms a head")

# %% [markdown]
# Four times the text, so four times the time? Count.
#
# ## A pair at a time
#
# All work is done where one query meets one key. Call that a *pair*. Its score takes $d_k$ multiplications and as many
# additions, then comes one exponential, and to weigh the value and add it takes $d_v$ of each. The plainest loop, with
# numbers that count what is done with them:

# %% tags=["fold-input"]
from math import exp


class Number(float):
    """Counts what is done with it."""

    done = 0

    def __mul__(self, other):
        Number.done += 1
        return Number(float(self) * other)

    def __radd__(self, other):
        Number.done += 1
        return float(self) + other


def loop(L, S, d_k, d_v, causal):
    one = Number(1)
    for t in range(L):
        n = [0.0] * d_v
        for _ in range(t + 1 if causal else S):
            e = exp(sum(q * k for q, k in [(one, one)] * d_k))
            n = [x + one * e for x in n]


for causal in False, True:
    Number.done = 0
    loop(6, 6, 4, 2, causal)
    print(f"L = S = 6, d_k 4, d_v 2: {Number.done} operations")

# %% [markdown]
# That is 12 a pair. In the second line, under a [causal mask](context.py#who-can-be-seen), the first query sees one key, the last all six:
# `{python} sum(range(1, 7))` pairs instead of `{python} 6 * 6`.
#
# ## The formula
#
# Count pairs, and multiply by the price of one. A multiplication with its addition is two operations:
#
# $$
# \begin{aligned}
# \text{forward} &= 2\,(d_k + d_v) \cdot \text{pairs} , \\
# \text{backward} &= 2\,(3 d_k + 2 d_v) \cdot \text{pairs} ,
# \end{aligned} \label{operations}
# $$
#
# with $LS$ pairs, or $L(L + 1)/2$ causal with $L = S$. Forward there are two matrix products, queries with
# keys and weights with values. The rest of a pair does not grow with the depths: an exponential, a comparison, a
# subtraction, an addition.
#
# [Backward](backward.py) there are five. Three are $d_k$ deep: scores once more, for they were not kept, and gradients
# of queries and keys. Two are $d_v$ deep: gradients of weights and values. With equal depths that
# is 5/2 of the forward pass, and both are 7/2 of it. From one known time follow the others; `ms` looks it up:


# %%
def operations(kind, L, S, causal=False, d_k=64, d_v=64):
    pairs = L * (L + 1) // 2 if causal else L * S
    deep = {"forward": d_k + d_v, "both": 4 * d_k + 3 * d_v}
    return 2 * pairs * deep[kind]


rate = operations("forward", 2048, 2048) / ms("forward", 2048)  # a millisecond
print(f"{rate / 1e6:.0f} billion operations a second")
print("in ms, of 8192  formula measured")
for kind in "forward", "both":
    for causal in False, True:
        formula = operations(kind, 8192, 8192, causal) / rate
        measured = ms(kind, 8192, "float32", causal)
        print(f"{kind:7} {'causal' * causal:6} {formula:8.0f} {measured:8.0f}")

# %% tags=["hide-input"]
from attnref import show
from attnref.figures import ACCENT, CATEGORIES, MUTED, Figure
import numpy as np

lengths = [128, 512, 2048, 8192]
dots = {kind: [ms(kind, L) for L in lengths] for kind in ("forward", "both")}
names = {"forward": "forward", "both": "forward and backward"}
digits = {kind: [f"{float(f'{y:.2g}'):g}" for y in ys] for kind, ys in dots.items()}
told = [f"{names[kind]} {', '.join(texts)}" for kind, texts in digits.items()]
growing = Figure(
    "Time against length",
    f"Milliseconds a head for the lengths {', '.join(map(str, lengths))}: {'; '.join(told)}.",
    "Dots: measured. Lines: the formula, at the one rate above; a square has slope 2 on logarithmic axes. "
    "Short texts lie above: they pay for the call.",
)
axes = growing.axes
for kind, colour, marker in ("forward", ACCENT, "D"), ("both", CATEGORIES[1], "s"):
    line = [operations(kind, L, L) / rate for L in lengths]
    axes.plot(lengths[::3], line[::3], color=MUTED, lw=1, clip_on=False)
    above = kind == "both"
    fill = "none" if above else colour
    axes.plot(
        lengths, dots[kind], marker, color=colour, mfc=fill, ms=5, clip_on=False
    )
    axes.text(
        2048 * (0.8 if above else 1.25),
        line[2] * (1.2 if above else 0.8),
        "forward and\nbackward" if above else "forward",
        ha="right" if above else "left",
        va="bottom" if above else "top",
        color=colour,
    )
axes.set_xscale("log")
axes.set_yscale("log")
axes.set_xticks(lengths, [str(L) for L in lengths])
axes.set_yticks([0.1, 10, 1000], [0.1, 10, 1000])
axes.minorticks_off()
axes.tick_params(length=0)
axes.set(xlabel="length, L = S", ylabel="ms a head")
show(growing)

# %% [markdown]
# Four times the text is `{python} (8192 // 2048) ** 2` times the pairs; `{python} f"{ms('forward', 8192) / ms('forward', 2048):.1f}"`
# times the time were measured. Fitted from 512 on, the slope is `{python} cost["growth"]["forward"]`, and
# `{python} cost["growth"]["both"]` for both passes, which have fewer exponentials to a product, and so a rate of their own.
#
# ## The square and the block
#
# Written as on paper, attention holds $LS$ scores a head; in [blocks](streaming.py), as many as fit into a MiB. Measured,
# in MiB beyond inputs and results, one head, float32:

# %% tags=["hide-input"]
at = "512", "2048", "8192", "65536"
held = {}
for name, found in memory.items():
    held.setdefault(name.split(", of")[0], {}).update(found)
print(" " * 28, *(f"{L:>8}" for L in at))
for name, found in held.items():
    print(f"{name:28}", *(f"{found[L]:8.1f}" for L in at if L in found))

# %% [markdown]
# One matrix for 8192 has `{python} 8192**2 * 4 // 2**20` MiB, and the plain way holds
# `{python} f"{memory['all scores at once, NumPy']['8192'] / (8192**2 * 4 / 2**20):.0f}"`; one for 65 536 has
# `{python} 65_536**2 * 4 // 2**30` GiB. `attention` is made for [digits](precision.py), and works in float64.
#
# ## One token at a time
#
# A model that writes keeps keys and values of all tokens so far, the *KV cache*. With 32 layers, 8 heads of
# keys, 128 deep, and two bytes a number, that is `{python} 2 * 32 * 8 * 128 * 2 // 2**10` KiB a token,
# `{python} 2 * 32 * 8 * 128 * 2 * 65_536 // 2**30` GiB for 65 536. A new token has one query a head, and for it all of this has to come
# to the processor. If each number has $w$ bytes, fetched or written once, the depths cancel:
#
# $$
# \frac{\text{operations}}{\text{bytes}} = \frac{2}{w} \cdot \frac{L S}{L + S} .
# \label{intensity}
# $$
#
# The *roofline* model: no work ends before its operations are done, nor before its bytes have
# come. The fastest of the next section did:

# %% tags=["hide-input"]


def per_byte(L, S, width=4):
    return 2 / width * L * S / (L + S)


def fastest(S):
    return min(row("forward", S)["ms"].values()) / row("forward", S)["heads"]


done = operations("forward", 2048, 2048) / fastest(2048)  # a millisecond
wanted = operations("forward", 1, 16_384)
come = wanted / per_byte(1, 16_384) / fastest(16_384)
print(f"{done / 1e6:3.0f} billion operations a second, 2048 queries and keys")
print(f"{come / 1e6:3.0f} billion bytes a second, one query and 16,384 keys")
print(f"{done / come:5.1f} operations in the time of a byte")
slower = fastest(16_384) / (wanted / done)

# %% [markdown]
# The first has `{python} f"{per_byte(2048, 2048):.0f}"` operations a byte by \eqref{intensity}: arithmetic
# decides. The second has `{python} f"{per_byte(1, 16_384):.1f}"`: traffic does. At the first rate its operations would take
# `{python} f"{1 / slower:.0%}".replace("%", " %")` of its time; for the rest the processor waits. A faster one would not help. Fewer
# bytes do: fewer bits, or heads of keys that several of queries share. A batch helps the rest of a model,
# whose weights its texts share, but not attention: each has its own cache.
#
# ## Against others
#
# Time relative to Torch's `scaled_dot_product_attention`, SDPA: below 1 is faster. 8 heads of 2048 queries and keys;
# *one query* has 16 384 keys; *short* is one head of 128. One thread, depths 64, medians of
# `{python} cost["rounds"]` turns, good to about a tenth; a blank was not measured.

# %% tags=["hide-input"]
others = [name for name in row("forward", 2048)["ratio"] if name != TORCH]
cells = ("{:23}" + " {:>7}" * len(others)).format
parts = [name.removesuffix(" scores").replace(",", "").split() for name in others]
print(cells("", *(words[0] for words in parts)))
print(cells("", *(" ".join(words[1:]) for words in parts)).rstrip())
cases = {
    f"{kind} {dtype}{' causal' * causal}": row(kind, 2048, dtype, causal)
    for kind in ("forward", "both")
    for dtype in ("float32", "float64")
    for causal in (False, True)
    if dtype == "float32" or not causal
}
cases |= {
    f"one query {d}": row("forward", 16_384, d) for d in ("float32", "float64")
}
cases["short float32"] = short = row("forward", 128)
for name, case in cases.items():
    ratios = (case["ratio"].get(other, "") for other in others)
    print(cells(name, *(x and f"{x:.2f}" for x in ratios)).rstrip())


def against(name):
    ratio = cases[name]["ratio"][NUMPY]
    return f"{abs(ratio - 1) * 100:.0f} % {'more' if ratio > 1 else 'less'}"


in_torch = [case["ratio"]["attnref, Torch"] for case in cases.values()]

# %% [markdown]
# What attnref takes in NumPy, and why:
#
# - **Forward:** `{python} against("forward float32")` time than Torch in float32, `{python} against("forward float64")` in
#   float64. Both leave the products to libraries that know the processor. Then Torch goes over a block of scores twice, in
#   loops written for it, in float32 with a quick exponential of fewer digits; NumPy goes over it for the largest, the
#   difference, the exponential, the sum. In float64 its exponential is the faster one.
# - **Both ways:** `{python} against("both float32")`, and `{python} against("both float64")`. More products to an
#   exponential: it matters less who does the rest.
# - **One query:** `{python} against("one query float32")`, and `{python} against("one query float64")`. All wait for
#   the same bytes.
# - **Short:** `{python} against("short float32")`. Of `{python} f"{short['ms'][NUMPY]:.2f}"` ms its pairs take
#   `{python} f"{operations('forward', 128, 128) / rate:.2f}"` at the rate above. The rest is Python; the plain way takes
#   `{python} f"{short['ms'][PLAIN]:.2f}"` in all.
#
# In Torch the same steps take `{python} f"{min(in_torch):.1f}"` to `{python} f"{max(in_torch):.1f}"` times SDPA: for rules,
# sinks and slopes of log Z, not for speed. The plain way, *eager* or *whole*, sends the matrix to memory and back at each step.
#
# `python scripts/benchmarks/speed.py` makes the table. Run it: other processors, other ratios.
#
# ## What goes wrong
#
# **A mask is built to hide half the square.** For 65 536 of both:

# %%
from attnref import attention, masks

n = 65_536
print(f"booleans {n * n // 2**30} GiB, float32 {4 * n * n // 2**30} GiB")
print(masks.Rule.causal(n, n))

# %% [markdown]
# A rule is worked out block by block. And a mask saves nothing, for what it hides is computed first. Both ways, eager
# Torch takes `{python} f"{ms('both', 2048, 'float32', True, who='Torch, eager') / ms('both', 2048, who='Torch, eager'):.2f}"`
# times as long with a causal mask as without; attnref, with a rule,
# `{python} f"{ms('both', 2048, 'float32', True) / ms('both', 2048):.2f}"` times.
#
# **A root widens everything.** `np.sqrt` of an integer is a float64 number, and dividing by it makes all scores float64:

# %%
import math

for root in np.sqrt(64), math.sqrt(64):
    print((np.ones(2, np.float32) / root).dtype)

# %% [markdown]
# Nothing warns. Forward, float64 takes
# `{python} f"{ms('forward', 2048, 'float64') / ms('forward', 2048):.1f}"` times as long. Take the root from `math`.
#
# **Keys are copied for heads that share them.** Here four heads of queries share one:

# %%
q, k = np.ones((32, 1, 64)), np.ones((8, 512, 64))
for key in k, np.repeat(k, 4, axis=0):
    print(key.nbytes // 2**20, "MiB, heads", len(attention(q, key, key)))

# %% [markdown]
# One token costs these bytes, so a copy gives away what sharing is for. All functions here take fewer heads of keys.
#
# ## Check yourself
#
# ??? question "A layer of width D also has four products with D × D matrices. From which length on does attention cost more?"
#
#     They take $8 L D^2$ operations, all heads together $4 L^2 D$: from $L = 2D$ on, causal from $4D$. For
#     D = 4096, `{python} 2 * 4096` and `{python} 4 * 4096` tokens.
#
# ??? question "Causal attention shows 1.8 times the operations a second that a processor can do. How?"
#
#     The square was counted, and half of it skipped: `{python} f"{1.8 / 2:.1f}"` of the peak.
#
# ## Where next, and sources
#
# [The reference](../reference/blocks.md) has attention in blocks, and its gradients.
#
# - T. Dao and others, *FlashAttention*, 2022, [arXiv:2205.14135](https://arxiv.org/abs/2205.14135), theorem 1:
#   operations and memory; section 3.2: traffic.
# - S. Williams, A. Waterman and D. Patterson, *Roofline*, 2009,
#   [doi:10.1145/1498765.1498785](https://doi.org/10.1145/1498765.1498785).
