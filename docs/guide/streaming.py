# %% [markdown]
# # Streaming softmax, block by block
#
# By the end of this page you can compute attention over keys that arrive block by block, and never hold more
# than one block of scores.
#
# ## A row in four pieces
#
# The keys of a long text are read from a disk, two at a time, and one query waits for them. To see the
# scores, let $d_k = 1$ and the query be the number 1: then the score of a key is the key itself.

# %%
import numpy as np

query = np.array([[1.0]])
score = np.array([[0.5, 1.0], [2.0, 1.4], [1.2, 1.7], [0.9, 2.7]])
value = np.array([[40.0, 10.0], [20.0, 40.0], [10.0, 30.0], [40.0, 20.0]])
blocks = list(zip(score[..., None], value[..., None], strict=True))

row, m = score.ravel(), score.max()
e = np.exp(row - m)
print(f"output {e @ value.ravel() / e.sum():.3f}")

# %% [markdown]
# That is [softmax](softmax.py) as usual: subtract the largest score $m$ so that nothing overflows, take
# exponentials, divide by their sum $z$. It goes through the row **twice**. The largest score is in the last block,
# and before it is known, not one exponential can be written down. So either all scores are kept until then, for
# $L$ queries and $S$ keys an $(L, S)$ matrix, or each is computed twice.
#
# ## Guess, and correct the guess
#
# There is a third way. Let $m$ be the largest score *so far*, and keep two sums relative to it: $z$ of the
# exponentials, $n$ of the exponentials times their values. That is the state $(m, z, n)$ of
# [merged results](merging.py). If a later block has a larger score, $m$ was too small, but all earlier exponentials
# are off by *one* factor, and one multiplication puts a sum of them right.

# %%
from itertools import accumulate, pairwise

from attnref import Partial, merge, partial_attention

parts = [partial_attention(query, *block) for block in blocks]
states = list(accumulate(parts, merge, initial=Partial.empty((1, 1))))
shares = [np.exp(old.m - new.m).item() for old, new in pairwise(states)]
print(f"output {states[-1].output.item():.3f}")
print("shares", *(f"{share:.3f}" for share in shares))

# %% [markdown]
# The output is the same, and no block was read twice. A *share* is what the new $m$ leaves of older
# exponentials: nothing in block 1, where there are none, all in block 3, about half in block 4.

# %% tags=["hide-input"]
from attnref import show
from attnref.figures import ACCENT, INK, MUTED, Figure

seen = [[x.item() for x in (s.m, s.z, s.n, s.output)] for s in states[1:]]
said = ["m {:.1f}, z {:.2f}, n {:.1f}, n/z {:.1f}".format(*state) for state in seen]
walk = Figure(
    "Four blocks, one state",
    "After each block: " + "; ".join(said) + ".",
    "A column is a key: as wide as its exponential relative to the $m$ so far, as high as its value. "
    "All are $z$ wide, their area is $n$, their mean height, dashed, the output $n/z$. When $m$ rises, "
    "what came before (bracket) shrinks from the end of the dots to its share, width and area alike. "
    "Drawn from the numbers above.",
    height=4.7,
)
axes, high, gap = walk.axes, 98, [np.nan]
mean, bracket, dots = [], [], []
for b, (m, z, _, y) in enumerate(seen):
    floor, edges = -high * b, np.cumsum([0, *np.exp(row[: 2 * b + 2] - m)])
    for first, last, shade in ((0, 2 * b, 0.12), (2 * b, 2 * b + 2, 0.45)):
        x, top = np.repeat(edges[first : last + 1], 3)[1:-1], [0.0]
        for height in value.flat[first:last]:
            top += height, height, 0
        if first < last:
            fill = {"facecolor": (ACCENT, shade), "edgecolor": INK, "lw": 0.6}
            axes.fill(x, np.add(top, floor), clip_on=False, **fill)
    mean += (0, floor + y), (z, floor + y), gap * 2
    rise = ""
    if b:
        rise = " ↑" if m > seen[b - 1][0] else ""
        was, now, under = seen[b - 1][1], edges[2 * b], floor - 8
        bracket += (
            (0, floor - 3),
            (0, under),
            (now, under),
            (now, floor - 3),
            gap * 2,
        )
        dots += (now, under), (was, under), gap * 2
        axes.text(0, floor - 22, f"before × {shares[b]:.2f}", color=MUTED)
    axes.text(0, floor + 47, f"block {b + 1}: {score[b, 0]}, {score[b, 1]}")
    words = said[b].replace(",", rise + ",", 1)
    axes.text(seen[2][1], floor + 47, words, ha="right")
axes.plot(*np.transpose(mean), color=INK, lw=1, ls=(0, (3, 2)), clip_on=False)
axes.plot(*np.transpose(bracket), color=MUTED, lw=0.8, clip_on=False)
axes.plot(*np.transpose(dots), color=MUTED, lw=0.8, ls=(0, (1, 2)), clip_on=False)
axes.set(xlim=(-0.02, seen[2][1] + 0.02), ylim=(-3 * high - 24, 58))
axes.set_axis_off()
show(walk)

# %% [markdown]
# ## The step
#
# Let a block $B$ bring the scores $a_s$ and values $v_s$ of its keys. The state $(m, z, n)$ becomes $(m', z', n')$:
#
# $$
# m' = \max\bigl(m, \max_{s \in B} a_s\bigr), \qquad
# z' = e^{m - m'} z + \sum_{s \in B} e^{a_s - m'}, \qquad
# n' = e^{m - m'} n + \sum_{s \in B} e^{a_s - m'} v_s .
# \label{step}
# $$
#
# The first term is the bracketed part of the picture, all older exponentials times the share $e^{m - m'}$. The second is what the
# block adds. This is the merging of [MSHF](../d/MSHF.py) with the state of one block
# ([MBLK](../d/MBLK.py)), from the state of no key on ([MIDN](../d/MIDN.py)). [ONLN](../d/ONLN.py) proves that
# after any number of blocks the sums are those of the whole row, and [MASS](../d/MASS.py) that blocks may be
# merged among themselves first.
#
# In NumPy, for many queries at a time, one a row:


# %%
def add(state, a, v):
    m, z, n = state
    new = np.maximum(m, a.max(axis=1))
    unit = np.where(new == -np.inf, 0, new)  # no key so far: any number will do
    share, e = np.exp(m - unit), np.exp(a - unit[:, None])
    return new, share * z + e.sum(axis=1), share[:, None] * n + e @ v


state = empty = -np.inf, 0, 0  # m, z, n
for k, v in blocks:
    state = add(state, query @ k.T, v)
print(f"output {(state[2] / state[1]).item():.3f}")

# %% [markdown]
# ## Queries in blocks too
#
# Every query has to meet every key. If queries come one by one, all keys are fetched again for each. Hold a
# block of queries instead, each with its state: then a block of keys, once fetched, serves them all. Memory near
# the arithmetic is fast and small, and trips to the rest take time. That is the
# point of *FlashAttention*: the same sums, fewer trips.


# %%
def blockwise(Q, K, V, rows, columns, causal=False):
    y, count = np.empty((len(Q), V.shape[1])), 0
    for i in range(0, len(Q), rows):
        q, state = Q[i : i + rows] / np.sqrt(Q.shape[1]), empty
        for j in range(0, len(K), columns):
            if causal and j >= i + rows:
                break  # this block and all after it are in the future
            a = q @ K[j : j + columns].T
            if causal:
                a[np.tri(*a.shape, i - j) == 0] = -np.inf
            state = add(state, a, V[j : j + columns])
            count += 1
        y[i : i + rows] = state[2] / state[1][:, None]
    return y, count


rng = np.random.default_rng(0)
Q, K, V = rng.standard_normal((3, 512, 16))

# %% [markdown]
# For 512 queries and as many keys, it fetches `{python} f"{64 * blockwise(Q, K, V, 1, 64)[1]:,}"` keys one query at a
# time, and `{python} f"{64 * blockwise(Q, K, V, 64, 64)[1]:,}"` in blocks of 64 queries.
#
# Under a [causal mask](context.py#who-can-be-seen) a query sees no key after its own place. Cut the square of scores
# into $r$ by $r$ blocks: those above the diagonal are hidden as a whole, and `break` skips them. `streaming_attention`
# does the same, with a mask that is a rule, worked out block by block:

# %%
from attnref import attention, masks, streaming_attention

for r in (2, 8, 16):
    y, count = blockwise(Q, K, V, 512 // r, 512 // r, causal=True)
    print(f"{count:3} of {r * r:3} blocks, r(r + 1)/2 = {r * (r + 1) // 2:3}")
rule = masks.Rule.causal(512, 512, offset=0)
off = y - streaming_attention(Q, K, V, mask=rule)
print(f"off by {abs(off).max():.12f}")

# %% [markdown]
# ## The workspace
#
# The state of a query is $d_v + 2$ numbers, after two keys or after a million. Python counts what is in use beside
# the output, for `attention`, which holds the matrix, and for blocks of 64 by 64:

# %% tags=["fold-input"]
import tracemalloc


def workspace(function, *inputs):
    tracemalloc.start()
    function(*inputs)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak - Q.nbytes  # as large as the output


for L in (1024, 2048):
    Q, K, V = rng.standard_normal((3, L, 16))
    assert workspace(attention, Q, K, V) > L * L * 8
    assert workspace(blockwise, Q, K, V, 64, 64) < 2**20
    print(f"L = S = {L}: > {L * L // 2**17} MiB, blocks < 1")

# %% [markdown]
# The loop holds one block, whatever the length; the package's, one a thread.
#
# ## What goes wrong
#
# **The numerator is not rescaled.** Here $z$ is right, and $n$ adds up exponentials as they came:

# %%
came = zip(blocks, states[1:], strict=True)
n = sum((np.exp(a - state.m).T @ v).item() for (a, v), state in came)
print(f"output {n / states[-1].z.item():.3f}")

# %% [markdown]
# No average is above the largest value, 40, and this one is. [ONLN](../d/ONLN.py) refuses it, and the inverse of the
# share, which the paper on FlashAttention-2 prints. Test with scores that rise: if the largest comes first, neither shows.
#
# **The maximum of the first block is kept.** On paper any $m$ will do, and in our row it does. With a large score
# later, it is infinity over infinity:

# %% tags=["expect-nan"]
for a in row, np.append(row[:-1], 1000):
    with np.errstate(over="ignore", invalid="ignore"):
        e = np.exp(a - a[:2].max())
        print(f"{e @ value.ravel() / e.sum():.3f}")

# %% [markdown]
# **The first block is empty.** Padding may hide all its keys, and then the new maximum is $-\infty$ like the old
# one. Their difference is not a number, and the factor 0 does not remove it:

# %% tags=["expect-nan"]
print("share times z", np.exp(-np.inf - -np.inf) * 0)
print("z after `add`", add(empty, np.full((1, 2), -np.inf), value[:1].T)[1])

# %% [markdown]
# The line with `unit` in `add` is there for this.
#
# ## Check yourself
#
# ??? question "From block 3 to block 4, z falls. How can a sum fall when positive numbers are added?"
#
#     It is counted in another unit. $Z = e^m z$, the sum itself, grows from
#     `{python} f"{np.exp(states[3].log_z.item()):.1f}"` to `{python} f"{np.exp(states[4].log_z.item()):.1f}"`.
#
# ??? question "Keys come one by one, in random order. How often does m rise?"
#
#     Key 2 is the larger of two half the time, key 3 the largest of three a third of the time: on average
#     1 + 1/2 + 1/3 + … times, for 2048 keys `{python} f"{sum(1 / s for s in range(1, 2049)):.1f}"`.
#
# ## Where next, and sources
#
# [The backward pass](backward.py) goes through the blocks once more. [The reference](../reference/merging.md) has
# the functions.
#
# - M. Milakov and N. Gimelshein, *Online normalizer calculation for softmax*, 2018,
#   [arXiv:1805.02867](https://arxiv.org/abs/1805.02867), section 3: score by score.
# - T. Dao and others, *FlashAttention*, 2022, [arXiv:2205.14135](https://arxiv.org/abs/2205.14135), section 3.1:
#   blocks of queries and keys.
# - T. Dao, *FlashAttention-2*, 2023, [arXiv:2307.08691](https://arxiv.org/abs/2307.08691), section 3.1: skipped
#   blocks; algorithm 1, line 10: the inverse.
