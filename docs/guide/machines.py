# %% [markdown]
# # Attention over several machines
#
# By the end of this page you can compute attention over keys that no machine holds alone, and say what has to
# travel between the machines.
#
# ## Five keys in three places
#
# A text can be so long that no machine holds all its keys and values. Then each has some of them, its
# *shard*. Three processes stand for machines here. `torch.distributed` calls the number of a process its *rank*;
# whether ranks share a computer or a continent makes no difference to a program. The folded code starts
# them. `everywhere` works as `map` does, each call on another rank, and prints what comes back.

# %% tags=["fold-input"]
from inspect import getsource
import os
import pickle
import subprocess
import sys
import tempfile

from attnref.torch import attention, masks, partial_attention
from attnref.torch.distributed import ring_attention, sharded_attention
import torch
import torch.distributed as dist

PROGRAM = """
from contextlib import suppress
from datetime import timedelta
from pickle import dump, load
import sys

from attnref.torch import attention, masks, partial_attention
from attnref.torch.distributed import ring_attention, sharded_attention
import torch
import torch.distributed as dist

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)
store, limit = dist.FileStore(sys.argv[2], 3), timedelta(seconds=60)
dist.init_process_group(
    "gloo", store=store, rank=int(sys.argv[1]), world_size=3, timeout=limit
)
with suppress(EOFError):  # no more work
    while True:
        source, name, arguments = load(sys.stdin.buffer)
        exec(source)
        dump(str(globals()[name](*arguments)), sys.stdout.buffer)
        sys.stdout.flush()
dist.destroy_process_group()
"""
torch.set_default_dtype(torch.float64)
os.environ["TORCH_CPP_LOG_LEVEL"] = "ERROR"
folder = tempfile.TemporaryDirectory()
machines = [
    subprocess.Popen(  # noqa: S603  # the program above
        [sys.executable, "-P", "-c", PROGRAM, rank, f"{folder.name}/group"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    for rank in "012"
]


def everywhere(function, *arguments):
    for machine, own in zip(machines, zip(*arguments, strict=True), strict=True):
        pickle.dump((getsource(function), function.__name__, own), machine.stdin)
        machine.stdin.flush()
    said = [pickle.load(machine.stdout) for machine in machines]  # noqa: S301  # ours
    if len(set(said)) == 1:
        print("each rank:", said[0])
    else:
        print(*(f"rank {r}: {text}" for r, text in enumerate(said)), sep="\n")


# %%
query = torch.tensor([[1.0, 2]])
key = torch.tensor([[1.0, 0], [0, 1], [0.5, 0.5], [2, 1], [-1, 0]])
value = torch.tensor([[10.0], [20], [30], [40], [50]])
ours = [query] * 3, key.split((2, 2, 1)), value.split((2, 2, 1))


def alone(*arguments):
    state = partial_attention(*arguments)
    m, z, n, y = (x.item() for x in (state.m, state.z, state.n, state.output))
    return f"m {m:+.2f}, z {z:.2f}, n {n:.2f}, n/z {y:.2f}"


everywhere(alone, *ours)
print(f"in one: {attention(query, key, value).item():.2f}")

# %% [markdown]
# These are the keys of [Merging](merging.py), and no rank's own output, $n/z$, is right.
#
# ## Send what you know, not what you hold
#
# $m$ is the largest score of a rank, $z$ the sum of its exponentials relative to $m$, $n$ the sum
# of exponentials times values. [Such states merge](merging.py#a-state-that-never-overflows), and have
# $2 + d_v$ numbers a query, however many keys went into them. Let a
# machine hold 65 536 keys, with $d_k = d_v = 128$, in float32:

# %%
own, d_k, d_v, size = 65_536, 128, 128, 4  # keys of a machine, bytes of a number
print(f"keys and values: {own * (d_k + d_v) * size:>10,} bytes")
print(f"one state:       {(2 + d_v) * size:>10,} bytes")

# %% tags=["hide-input"]
from attnref import show
from attnref.figures import ACCENT, INK, MUTED, Figure

tops = [partial_attention(*each).m.item() for each in zip(*ours, strict=True)]
told = [f"{m:.2f}".replace("-", "−") for m in tops]
picture = Figure(
    "What travels between three machines",
    "Above, each machine holds the same query q and some of the keys 1 to 5, and hands in m, z and n; the largest "
    f"of {', '.join(told)}, {max(tops):.2f}, and the sums come back to all. Below, each holds some of the "
    "queries and keys, and passes keys and values to the next, the last to the first.",
    "Above, an all-reduce: the query (circle) is everywhere, and states travel. Below, a ring: each machine has its "
    "own queries, and keys and values (squares) travel, one place a step. The $m$ are those above.",
    height=3.4,
)
axes, gap = picture.axes, [(float("nan"),) * 2]
frames, squares, circles, lines, names = [], [], [], [], {}
for r, keys in enumerate(("12", "34", "5")):
    x = 4.4 * r
    for y, seen in ((5, "q"), (0, keys)):
        right, top = x + 3.2, y + 1.9
        frames += (x, y), (right, y), (right, top), (x, top), (x, y), *gap
        at = [(x + 0.6 + 0.9 * place, y) for place in range(2)]
        squares += [(a, b + 0.5) for a, b in at[: len(keys)]]
        circles += [(a, b + 1.4) for a, b in at[: len(seen)]]
        names |= dict(zip(squares[-len(keys) :], keys, strict=True))
        names |= dict(zip(circles[-len(seen) :], seen, strict=True))
    lines += (x + 1.6, 5), (x + 1.6, 4.2), *gap
    axes.text(x + 1.8, 4.5, f"m {told[r]}, z, n", fontsize=9)
    axes.text(x, 7.05, f"machine {r}", color=MUTED)
    if r < 2:
        lines += (x + 3.2, 0.5), (x + 4.4, 0.5), *gap
frames += (0, 3.3), (12, 3.3), (12, 4.2), (0, 4.2), (0, 3.3)
lines += (10.4, 0), (10.4, -0.7), (1.6, -0.7), (1.6, 0)
solid = {"color": INK, "clip_on": False}
axes.plot(*zip(*frames, strict=True), color=MUTED, lw=0.8, clip_on=False)
axes.plot(*zip(*lines, strict=True), lw=1, **solid)
for marker, *heads in (
    ("^", (1.6, 4.85), (6, 4.85), (10.4, 4.85), (1.6, -0.15)),
    ("v", (1.6, 4.35), (6, 4.35), (10.4, 4.35)),
    (">", (4.25, 0.5), (8.65, 0.5)),
):
    axes.plot(*zip(*heads, strict=True), marker, ms=5, mew=0, **solid)
for marker, places, fill in (("s", squares, 0.3), ("o", circles, 0)):
    style = {"mfc": (ACCENT, fill), "mec": INK, "mew": 0.8, "clip_on": False}
    axes.plot(*zip(*places, strict=True), marker, ms=13, **style)
middle = {"ha": "center", "va": "center"}
for (x, y), name in names.items():
    axes.text(x, y, name, **middle)
axes.text(6, 3.72, f"m {max(tops):.2f}, the largest; z and n, the sums", **middle)
axes.text(6, -0.4, "keys and values", **middle)
axes.set(xlim=(-0.05, 12.9), ylim=(-0.8, 7.5))
axes.set_axis_off()
show(picture)

# %% [markdown]
# ## The formula
#
# Let rank $r$ have the state $(m_{tr}, z_{tr}, n_{tr})$ for query $t$. Over all ranks
#
# $$
# m_t = \max_r m_{tr}, \qquad z_t = \sum_r e^{m_{tr} - m_t} z_{tr}, \qquad
# n_t = \sum_r e^{m_{tr} - m_t} n_{tr}, \qquad y_t = \frac{n_t}{z_t} .
# \label{ranks}
# $$
#
# First the largest, then two sums, with factors that put all exponentials into one unit
# ([MSHF](../d/MSHF.py)). What is added first does not matter ([MASS](../d/MASS.py)). Both are proved, so a
# network may add as it likes, in an *all-reduce*: every rank gives a tensor, and gets the sum, or the largest, of all.
#
# ## The code
#
# Ten lines, two all-reduces:


# %%
def by_hand(query, key, value):
    a = query @ key.T / key.shape[1] ** 0.5
    own = a.amax(dim=1, keepdim=True)
    e = torch.exp(a - own)
    sums = torch.cat([e.sum(dim=1, keepdim=True), e @ value], dim=1)  # z, n
    m = own.clone()
    dist.all_reduce(m, dist.ReduceOp.MAX)
    sums *= torch.exp(own - m)
    dist.all_reduce(sums)
    return sums[:, 1:] / sums[:, :1]


everywhere(by_hand, *ours)

# %% [markdown]
# Every rank has the answer, and no key has left its place. In a file of your own, begin with
# `dist.init_process_group("gloo")`; `torchrun --nproc-per-node 3 file.py` starts it three times.
#
# `sharded_attention` does the same in blocks, with masks, sinks and gradients. A rank may have no key: its
# state is the empty one, which changes nothing ([MIDN](../d/MIDN.py)). By hand, `amax` fails there, and the others wait.
# A [causal mask](context.py#who-can-be-seen) is a *rule*, of which each rank takes the `part` for its
# keys. Here are five queries, and three, no and two keys:

# %%
queries = torch.tensor([[1.0, 2], [0, 1], [2, 0], [-1, 1], [1, 1]])


def causal(query, key, value, start):
    rule = masks.Rule.causal(5, 5, offset=0).part(start, start + len(key))
    return sharded_attention(query, key, value, mask=rule).ravel()


uneven = key.split((3, 0, 2)), value.split((3, 0, 2)), (0, 3, 3)
everywhere(causal, [queries] * 3, *uneven)
mask = masks.causal(5, 5, offset=0)
print("in one:   ", attention(queries, key, value, mask=mask).ravel())

# %% [markdown]
# Query 1 sees key 1 alone, so its output is 10, on the rank without keys too.
#
# ## The ring
#
# In training, queries are as many as keys, too many to hold all on each machine. In a *ring* they are
# split as well, and stay, while keys and values go
# round. At each step a rank attends to the shard that is there, and merges the state; meanwhile the shard travels
# on to the next rank. Of $R$ ranks, each has seen all keys after $R - 1$ steps.


# %%
def ringed(query, key, value, start):
    rule = masks.Rule.causal(len(query), 5, offset=start)
    return ring_attention(query, key, value, mask=rule).ravel()


everywhere(ringed, queries.split((2, 2, 1)), *ours[1:], (0, 2, 4))

# %% [markdown]
# The same outputs, each on the rank of its query. A mask is now for a rank's own queries and all keys.
#
# A ring has two shards in hand, one at work and one on its way, and keeps its own to go backward. With as
# many queries as keys, and the numbers above, in MiB:

# %%
rows, shard = (own * (d_k + x) * size / 2**20 for x in (2 + d_v, d_v))
for R in (3, 48):
    print(
        f"{R:2} machines: {R * rows + shard:6.1f}, in a ring {rows + 3 * shard:.1f}"
    )

# %% [markdown]
# So twice the machines take twice the text. Not that less would travel: a rank of 48 hands in
# `{python} f"{48 * own * (2 + d_v) * size / 2**20:,.0f}"` MiB of states, or passes on
# `{python} f"{47 * shard:,.0f}"` MiB of keys and values. But these travel while the rank computes.
#
# ## Backward
#
# The [gradient of a score](backward.py#everything-from-log-z) takes $m_t$, $z_t$, $y_t$ and the slope of the
# loss in $y_t$, which every rank knows, and one key and value. So these get their
# gradients where they are ([BWDK](../d/BWDK.py)). That of a query is a sum
# over keys ([BWDQ](../d/BWDQ.py)), so over ranks: one more all-reduce. If the loss is the output, a value's gradient
# is its weight:


# %%
def trained(query, key, value, function=sharded_attention):
    inputs = [x.clone().requires_grad_() for x in (query, key, value)]
    function(*inputs).sum().backward()
    q, _, v = (x.grad.numpy().round(3).ravel() for x in inputs)
    return f"query {q}, values {v}"


everywhere(trained, *ours)
print("in one:", trained(query, key, value, attention))

# %% [markdown]
# The query's gradient is whole on each rank. Weights that make queries have all of theirs, weights that make keys
# a part on each rank: treat both alike, and one is off by a factor. In a ring all are parts, and
# the gradients of keys travel with them until they are home.
#
# ## A cache on several machines
#
# A model that writes has one new query a word, and a growing cache of keys and values: the case of
# `{python} (2 + d_v) * size` bytes. Split the cache, send the query to all, put a new key where there is room.
# Nothing in \eqref{ranks} asks for machines, though: on one GPU, kernels cut the cache into pieces, so that all
# cores have work, and merge. This is *split-KV*, or *Flash-Decoding*.
#
# ## What goes wrong
#
# **Outputs are averaged,** as gradients often are. **Sums are added with different $m$,** each
# in a unit of its own:


# %%
def wrong(*arguments):
    state = partial_attention(*arguments)
    y, z, n = state.output, state.z, state.n
    for x in (y, z, n):
        dist.all_reduce(x)
    return f"averaged {y.item() / 3:.2f}, added {(n / z).item():.2f}"


everywhere(wrong, *ours)

# %% [markdown]
# Neither crashes, neither is far off. Where scores are equal, and shards of one size, both are right: test
# with others.
#
# **A sink is given as a key on every rank.** A *sink* is one more key, of value 0. Put in front of each shard, it
# counts three times. `sink=` counts once ([MSNK](../d/MSNK.py)):


# %%
def sunk(query, key, value):
    sink, zero = torch.tensor([[2**0.5, 0.0]]), torch.zeros(1, 1)  # of score 1
    more = torch.cat([sink, key]), torch.cat([zero, value])
    y = (
        sharded_attention(query, *more),
        sharded_attention(query, key, value, sink=1),
    )
    return f"as a key {y[0].item():.2f}, as a sink {y[1].item():.2f}"


everywhere(sunk, *ours)
print(f"in one: {attention(query, key, value, sink=1).item():.2f}")


# %% [markdown]
# **One rank has another query,** after another seed, or dropout. By hand, the sums answer neither
# query. The package compares checksums first, and *every* rank raises, so that none waits:


# %%
def strayed(*arguments):
    try:
        sharded_attention(*arguments)
    except ValueError as error:
        return str(error).replace(": ", ":\n  ").replace(", rank", "\n  rank")


everywhere(strayed, [query, query, query + 1], *ours[1:])

# %% tags=["hide-input"]
for machine in machines:
    machine.communicate()
folder.cleanup()

# %% [markdown]
# ## Check yourself
#
# ??? question "All scores are capped at c = 30. How many all-reduces are needed?"
#
#     One. Any $m$ that all ranks share will do, and $c$ is known beforehand. No exponential is
#     below $e^{-2c}$, about `{python} f"{torch.tensor(-60.0).exp():.0e}"`, which float32 still holds.
#
# ??? question "Three ranks in a ring, twelve places in order, a causal mask. Who works most?"
#
#     Of the pairs that are seen, the ranks have
#     `{python} ", ".join(f"{sum(range(s, s + 4)) / 78:.0%}" for s in (1, 5, 9))`, and two wait for the last. *Striped*
#     attention deals places out like cards, 1, 4, 7 and 10 to the first:
#     `{python} ", ".join(f"{sum(range(s, 13, 3)) / 78:.0%}" for s in (1, 2, 3))`.
#
# ## Where next, and sources
#
# [Streaming](streaming.py) is the same sum over time. [The reference](../reference/torch-distributed.md)
# has both functions.
#
# - H. Liu, M. Zaharia and P. Abbeel, *Ring Attention*, 2023,
#   [arXiv:2310.01889](https://arxiv.org/abs/2310.01889), section 3: the ring and its memory.
# - T. Dao and others, *Flash-Decoding*, 2023,
#   [Stanford CRFM](https://crfm.stanford.edu/2023/10/12/flashdecoding.html): a cache in pieces.
# - V. Shyam and others, *Tree Attention*, 2024, [arXiv:2408.04093](https://arxiv.org/abs/2408.04093), algorithm 3: a
#   cache on several machines.
# - W. Brandon and others, *Striped Attention*, 2023, [arXiv:2311.09431](https://arxiv.org/abs/2311.09431).
