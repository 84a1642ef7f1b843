# %% [markdown]
# # Attention over several machines
#
# By the end of this page you can compute attention over keys that no machine holds alone, and say what has to
# travel between the machines.
#
# ## Five keys in three places
#
# A text can be so long that no machine holds all its keys. Then each has some of them, its *shard*. Three
# processes stand for machines here. `torch.distributed` calls the number of a process its *rank*, and does not
# care whether ranks share a computer. Folded is what each of them runs: it joins the group, and waits for work.
# `everywhere` works as `map` does, each call on another rank, and prints what comes back.

# %% tags=["fold-input"]
from attnref.torch import attention, masks, partial_attention
from attnref.torch.distributed import ring_attention, sharded_attention
import torch
import torch.distributed as dist

torch.set_default_dtype(torch.float64)
PROGRAM = """
import os, pickle, sys
from datetime import timedelta

os.environ["TORCH_CPP_LOG_LEVEL"] = "ERROR"
from attnref.torch import *
from attnref.torch.distributed import *
import torch
import torch.distributed as dist

torch.set_default_dtype(torch.float64)
store, rank = dist.FileStore(sys.argv[1], 3), int(sys.argv[2])
dist.init_process_group("gloo", None, timedelta(seconds=60), 3, rank, store)
while sys.stdin.buffer.peek():
    source, name, arguments = pickle.load(sys.stdin.buffer)
    exec(source)
    print(globals()[name](*arguments), flush=True)
"""

# %% tags=["hide-input"]
from inspect import getsource
import pickle
import subprocess
import sys
import tempfile

folder = tempfile.TemporaryDirectory()
command = [sys.executable, "-P", "-c", PROGRAM, f"{folder.name}/group"]
pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
machines = [subprocess.Popen([*command, r], **pipes) for r in "012"]  # noqa: S603


def everywhere(function, *arguments):
    for machine, own in zip(machines, zip(*arguments, strict=True), strict=True):
        pickle.dump((getsource(function), function.__name__, own), machine.stdin)
        machine.stdin.flush()
    said = [machine.stdout.readline().decode().strip() for machine in machines]
    if len(set(said)) == 1:
        print("each rank:", said[0].replace(" rank ", "\n  rank "))
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
# These are the keys of [Merging](merging.py), and no rank's own output, `n/z`, is right.
#
# ## Send what you know, not what you hold
#
# `m` is the largest score of a rank, `z` the sum of the exponentials relative to it, `n` that of exponentials
# times values. [Such states merge](merging.py#a-state-that-never-overflows), and have $2 + d_v$ numbers a query,
# however many keys went into them. Let a machine hold 65 536 keys, with $d_k = d_v = 128$, in float32. Its keys
# and values are `{python} f"{65536 * (128 + 128) * 4:,}"` bytes, a state is `{python} (2 + 128) * 4`.

# %% tags=["hide-input"]
from attnref import show
from attnref.figures import ACCENT, INK, Figure

tops = [partial_attention(*each).m.item() for each in zip(*ours, strict=True)]
told = [f"m {m:.2f}, z, n".replace("-", "−") for m in tops]
picture = Figure(
    "What travels",
    f"Above, machines with the query and some keys hand in {'; '.join(told)}, and get back the largest m and the "
    "sums. Below, machines with some queries and keys pass the keys and values on, the last to the first.",
    "Above, an all-reduce: states travel. Below, a ring: keys and values travel, one place a step. Drawn from the "
    "numbers above.",
    height=2.9,
)
axes, gap = picture.axes, [(float("nan"),) * 2]
lines = []


def arrow(*path, dx=0.0, dy=0.0):
    x, y = path[-1]
    lines.extend([*path, *gap, (x - dx - dy / 2, y - dy - dx / 2), (x, y)])
    lines.extend([(x - dx + dy / 2, y - dy + dx / 2), *gap])


for r, (keys, state) in enumerate(
    zip(("s 1, 2", "s 3, 4", " 5"), told, strict=True)
):
    x = 4.4 * r
    for y in (4.7, 0):
        right, top = x + 3.4, y + 1.8
        lines += (x, y), (right, y), (right, top), (x, top), (x, y), *gap
    for text, y, color in (
        ("query", 5.8, INK),
        (f"key{keys}", 5.1, INK),
        (f"query{keys}".replace("ys", "ies"), 1.1, INK),
        (f"key{keys}", 0.4, ACCENT),
    ):
        axes.text(x + 0.2, y, text, color=color)
    axes.text(x + 1.9, 4.17, state, color=ACCENT)
    arrow((x + 1.6, 4.3), (x + 1.6, 3.9), dy=-0.2)
    arrow((x + 1.6, 4.3), (x + 1.6, 4.7), dy=0.2)
    if r < 2:
        arrow((x + 3.4, 0.5), (x + 4.4, 0.5), dx=0.2)
arrow((10.4, 0), (10.4, -0.7), (1.6, -0.7), (1.6, 0), dy=0.2)
lines += (0, 3), (12.2, 3), (12.2, 3.9), (0, 3.9), (0, 3)
axes.plot(*zip(*lines, strict=True), lw=0.8, color=INK, clip_on=False)
axes.text(6.1, 3.3, f"largest m {max(tops):.2f}, sums of z and n", ha="center")
axes.text(6.1, -0.5, "keys and values", ha="center", color=ACCENT)
axes.set(xlim=(-0.05, 13), ylim=(-0.8, 6.6))
axes.set_axis_off()
show(picture)

# %% [markdown]
# ## The formula
#
# Let rank $r$ have the state $(m_{tr}, z_{tr}, n_{tr})$ for query $t$. Over all ranks
#
# $$
# m_t = \max_r m_{tr}, \quad z_t = \sum_r e^{m_{tr} - m_t} z_{tr}, \quad
# n_t = \sum_r e^{m_{tr} - m_t} n_{tr}, \quad y_t = \frac{n_t}{z_t} .
# \label{ranks}
# $$
#
# First the largest, which puts all exponentials into one unit ([MSHF](../d/MSHF.py)), then the sums, in any order
# ([MASS](../d/MASS.py)); both are proved. An *all-reduce* does it: every rank gives a tensor, and gets the
# sum, or the largest, of all.
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
# Every rank has the answer, and no key has moved. Begin a file of your own with
# `dist.init_process_group("gloo")`, and `torchrun --nproc-per-node 3 file.py` starts it three times.
#
# `sharded_attention` does the same in blocks, with masks, sinks and gradients. A rank may have no key: its state
# is empty, and changes nothing ([MIDN](../d/MIDN.py)). By hand, `amax` fails there, and the others wait. A
# [causal mask](context.py#who-can-be-seen) comes as a *rule*, and each rank takes the `part` for its keys. Here
# are five queries, and three, no and two keys:

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
# Query 1 sees key 1 alone: its output is 10, even on the rank without keys.
#
# A model that writes has one new query a word, and a growing cache of keys and values: the case of
# `{python} (2 + 128) * 4` bytes. Split the cache, send the query to all, put a new key where there is room. But
# \eqref{ranks} does not ask for machines: on one GPU, kernels cut the cache into pieces to give all cores work,
# and merge. This is *split-KV*, or *Flash-Decoding*.
#
# ## The ring
#
# In training, queries are as many as keys. In a *ring* they are split as well, and stay, while keys and values go
# round. At each step a rank attends to the shard that is there, and merges; meanwhile the shard travels on. Of
# $R$ ranks, each has seen all keys after $R - 1$ steps.


# %%
def ringed(query, key, value, start):
    rule = masks.Rule.causal(len(query), 5, offset=start)
    return ring_attention(query, key, value, mask=rule).ravel()


everywhere(ringed, queries.split((2, 2, 1)), *ours[1:], (0, 2, 4))

# %% [markdown]
# The same outputs, each on the rank of its query; the mask is for its own queries and all keys.
#
# A ring has two shards in hand, one at work and one on its way, and keeps its own to go backward. With a query for
# each key, and the numbers above, that makes
# `{python} f"{65536 * (4 * 128 + 2 + 4 * 128) * 4 / 2**20:.0f}"` MiB, however many machines there are. Without a
# ring, 48 need `{python} f"{65536 * (48 * (128 + 2 + 128) + 128 + 128) * 4 / 2**20:,.0f}"` MiB each, for all queries
# and states. What travels is no less, but travels while ranks compute.
#
# ## Backward
#
# The [gradient of a score](backward.py#everything-from-log-z) takes what every rank now has of the query, if the loss
# is the same on all, and one key and value. So these get their gradients where they are ([BWDK](../d/BWDK.py)). That
# of a query is a sum over keys ([BWDQ](../d/BWDQ.py)), so over ranks: one more all-reduce. If the loss is the output,
# a value's gradient is its weight:


# %%
def trained(query, key, value, function=sharded_attention):
    inputs = [x.clone().requires_grad_() for x in (query, key, value)]
    function(*inputs).sum().backward()
    q, _, v = (x.grad.numpy().round(3).ravel() for x in inputs)
    return f"query {q}, values {v}"


everywhere(trained, *ours)
print("in one:", trained(query, key, value, attention))

# %% [markdown]
# So a layer that makes queries has its whole gradient on each rank, one that makes keys a part: treated alike, one
# is off by a factor. In a ring all are parts, and gradients of keys travel with them until they are home.
#
# ## What goes wrong
#
# **Outputs are averaged,** as gradients often are. **Sums are added with different $m$,** each in a unit of its
# own. **A sink is given as a key on every rank:** a *sink* is one more key, of value 0, and counts three times; with
# `sink=` it counts once ([MSNK](../d/MSNK.py)).


# %%
def wrong(query, key, value):
    state = partial_attention(query, key, value)
    y, z, n = state.output, state.z, state.n
    for x in (y, z, n):
        dist.all_reduce(x)
    sink = torch.tensor([[2**0.5, 0.0]])  # of score 1
    more = torch.cat([sink, key]), torch.cat([torch.zeros(1, 1), value])
    once = sharded_attention(query, key, value, sink=1)
    found = map(float, (y / 3, n / z, sharded_attention(query, *more), once))
    said = "averaged {:.2f}, added {:.2f}, sink as a key {:.2f}, sink= {:.2f}"
    return said.format(*found)


everywhere(wrong, *ours)
right = [attention(query, key, value, sink=s).item() for s in (None, 1)]
print("right: {:.2f}, with a sink {:.2f}".format(*right))

# %% [markdown]
# None crashes, all look like averages. With equal scores, and shards of one size, the first two are right: test with
# others.
#
# **One rank has another query,** after another seed, or dropout. By hand, the sums answer neither query.
# The package compares checksums first, and *every* rank raises, so that none waits:


# %%
def strayed(*arguments):
    try:
        sharded_attention(*arguments)
    except ValueError as error:
        return error


everywhere(strayed, [query, query, query + 1], *ours[1:])

# %% tags=["hide-input"]
for machine in machines:
    machine.kill()
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
#     The last: the ranks have `{python} ", ".join(f"{sum(range(s, s + 4)) / 78:.0%}" for s in (1, 5, 9))`
#     of the pairs that are seen. *Striped* attention deals places out like cards:
#     `{python} ", ".join(f"{sum(range(s, 13, 3)) / 78:.0%}" for s in (1, 2, 3))`.
#
# ## Where next, and sources
#
# [Streaming](streaming.py) is the same sum over time. [The reference](../reference/torch-distributed.md) has both
# functions.
#
# - H. Liu and others, *Ring Attention*, 2023, [arXiv:2310.01889](https://arxiv.org/abs/2310.01889), section 3: the
#   ring and its memory.
# - T. Dao and others, *Flash-Decoding*, 2023, [Stanford CRFM](https://crfm.stanford.edu/2023/10/12/flashdecoding.html): a cache in pieces.
# - W. Brandon and others, *Striped Attention*, 2023, [arXiv:2311.09431](https://arxiv.org/abs/2311.09431).
