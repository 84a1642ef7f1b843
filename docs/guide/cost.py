# %% [markdown]
# # What attention costs
#
# By the end of this page you can work out what attention costs, in operations, bytes and milliseconds, before you
# run it.
#
# ## Four times the text
#
# One head of attention has 2048 queries, as many keys, and $d_k = d_v = 64$. Its time is known. What will
# 8192 of each take? No two runs take the same time, so this page times nothing. It reads times from two files that
# were measured once and are kept beside it, [cost.json](cost.json) and [memory.json](memory.json).

# %%
import json
from pathlib import Path

here = Path(__file__).parent
cost, memory = (
    json.loads((here / f"{name}.json").read_text(encoding="utf-8"))
    for name in ("cost", "memory")
)
machine, OURS = cost["machine"], "attnref, NumPy"


def row(kind, S, dtype="float32", causal=False):
    wanted = (kind, S, dtype, causal)
    names = ("kind", "S", "dtype", "causal")
    return next(r for r in cost["rows"] if tuple(map(r.get, names)) == wanted)


def ms(*case, who=OURS):  # of one head
    return row(*case)["ms"][who] / row(*case)["heads"]


print(machine["cpu"], "one thread", f"NumPy {machine['numpy']}", sep=", ")
print(f"2048 queries, forward, float32: {ms('forward', 2048):.1f} ms a head")

# %% [markdown]
# Twice the text, twice the time? To know, count.
#
# ## A pair at a time
#
# All work happens where one query meets one key. Call that a *pair*. The score of a pair takes $d_k$ multiplications and
# as many additions. Then comes one exponential. To bring in the value takes $d_v$ of each again. Let numbers
# count for themselves, in the plainest loop:

# %%
from collections import Counter
from math import exp

count = Counter()


class Number(float):
    def __mul__(self, other):
        count["×"] += 1
        return Number(float(self) * other)

    def __radd__(self, other):
        count["+"] += 1
        return Number(float(self) + other)


def attend(L, S, d_k, d_v, causal):
    q, k, v = [Number(0.1)] * d_k, [Number(0.2)] * d_k, [Number(0.3)] * d_v
    for t in range(L):
        z, n = 0.0, [0.0] * d_v
        for _ in range(t + 1 if causal else S):
            e = Number(exp(sum(x * y for x, y in zip(q, k, strict=True))))
            count["exp"] += 1
            z, n = z + float(e), [float(x) + e * y for x, y in zip(n, v, strict=True)]


for *sizes, causal in (3, 5, 4, 2, False), (6, 6, 4, 2, False), (6, 6, 4, 2, True):
    count.clear()
    attend(*sizes, causal)
    print("L {}, S {}, d_k {}, d_v {}".format(*sizes), "causal" * causal, dict(count))
