# %% [markdown]
# # How far numbers spread
#
# By the end of this page you can compute a variance by hand, say which of two variances a library prints,
# and see the scores of longer vectors spread.
#
# ## Two lists with nearly the same mean
#
# How far are the numbers of these lists from their mean?

# %%
wide, narrow = [1, 100], [49, 50, 51]
for numbers in (wide, narrow):
    print(f"{numbers!s:14} mean {sum(numbers) / len(numbers)}")

# %% [markdown]
# The first two are far away, the other three close. To say it in one number: distances, taken with their sign,
# add up to 0, so square them first. The mean of the squares is the *variance*. Its square root, in the unit of the
# numbers again, is the *standard deviation*:

# %%
numbers = [1, 2, 3, 4, 5]
mean = sum(numbers) / len(numbers)
squares = [(x - mean) ** 2 for x in numbers]
mean_square = sum(squares) / len(numbers)
print("mean", mean)
print("squared distances", squares)
print(f"variance {mean_square}, standard deviation {mean_square**0.5:.6f}")

# %% tags=["hide-input"]
from attnref import show
from attnref.figures import ACCENT, CATEGORIES, INK, MUTED, Figure

boxes = Figure(
    "The variance as an area",
    f"Squares of areas {', '.join(f'{s:g}' for s in squares)}; beside them one of their mean, {mean_square:g}.",
    "Each number makes a square with the mean, whose area is the squared distance. The mean area is the "
    "variance, and the side of a square that large is the standard deviation. Drawn from the numbers above.",
    height=2.0,
)
axes = boxes.axes
for x, area in zip(numbers, squares, strict=True):
    side, left = abs(x - mean), min(x, mean)
    axes.bar(
        left,
        side,
        side,
        align="edge",
        facecolor=(ACCENT, 0.16),
        edgecolor=INK,
        lw=0.5,
    )
    if area:
        axes.text(x, side + 0.12, f"{area:g}", ha="center")
side = mean_square**0.5
axes.bar(
    6.6, side, side, align="edge", facecolor=(ACCENT, 0.3), edgecolor=INK, lw=0.5
)
axes.text(6.6 + side / 2, side / 2, f"{mean_square:g}", ha="center", va="center")
axes.text(6.6 + side / 2, side + 0.12, "mean area", ha="center", color=MUTED)
axes.set(xlim=(0.8, 8.4), ylim=(0, 2.5), yticks=[], xticks=numbers, aspect="equal")
axes.spines["left"].set_visible(False)
axes.set_xlabel("number, x", loc="left")
show(boxes)

# %% [markdown]
# ## The formula, and a tool
#
# For $N$ numbers $x_1, \dots, x_N$ with the mean $\bar x$,
#
# $$
# \operatorname{Var}(x) = \frac{1}{N}\sum_{i=1}^{N} (x_i - \bar x)^2 . \label{variance}
# $$
#
# As a function, with an option `ddof` that the next section explains:


# %%
def variance(numbers, ddof=0):
    """Return the mean squared distance from the mean, over N − ddof."""
    numbers = [float(x) for x in numbers]
    count = len(numbers)
    if count <= ddof:
        raise ValueError(f"ddof={ddof} needs more than {ddof} numbers, not {count}")
    mean = sum(numbers) / count
    return sum((x - mean) ** 2 for x in numbers) / (count - ddof)


for some in (numbers, wide, narrow):
    print(f"{some!s:16} {variance(some):10.4f}   root {variance(some) ** 0.5:8.4f}")

# %% [markdown]
# Put $c x_i$ for $x_i$ in \eqref{variance}: each distance is multiplied by $c$, each square by $c^2$, and so
# $\operatorname{Var}(cX) = c^2\operatorname{Var}(X)$. Ten times our five numbers have the variance
# `{python} f"{variance([10 * x for x in numbers]):.0f}"`. Put $x_i + c$: the mean moves along, and the variance stays
# at `{python} f"{variance([x + 10 for x in numbers]):.0f}"`. Remember the square: it is why attention divides by a root.
#
# ## Two libraries, two answers
#
# Ask NumPy and Torch for the variance of the five numbers:

# %%
import attnref.torch  # noqa: F401
import numpy as np
import torch

x = np.array(numbers, dtype=float)
t = torch.tensor(x)
print(f"NumPy {x.var():.6f}, root {x.std():.6f}")
print(f"Torch {t.var():.6f}, root {t.std():.6f}")
print("ours ", variance(x), variance(x, ddof=1))

# %% [markdown]
# Both are right. NumPy divides by $N$ unless told otherwise (`ddof=0`): the variance *of these numbers*. Torch
# divides by $N - 1$ (`correction=1`): an estimate for something larger, of which they are a *sample*. A sample lies nearer to its own mean than to the true one,
# so dividing by $N$ comes out too small on average. Take all `{python} len(numbers) ** 2` ways to draw one of
# the five numbers, put it back, and draw another:

# %%
from itertools import product

samples = list(product(numbers, repeat=2))
for ddof in (0, 1):
    estimates = [variance(sample, ddof) for sample in samples]
    print(f"ddof={ddof}: mean estimate {sum(estimates) / len(estimates)}")

# %% [markdown]
# The truth is `{python} variance(numbers)`. Over $N$, two numbers see half of it; over $N - 1$, all of it on
# average. For five numbers the two differ by the factor
# `{python} variance(numbers, 1) / variance(numbers)`, for thousands by next to nothing. This guide divides by $N$, as NumPy does.
#
# ## Vectors of halves
#
# Attention makes [inner products](one-query.py#the-inner-product) of a query and a key. The article on scaling
# starts from vectors with all $d_k$ entries equal to 0.5, whose inner product is $d_k/4$:

# %%
for d in (2, 4, 64, 768):
    a = np.full(d, 0.5) @ np.full(d, 0.5)
    print(f"d_k = {d:3}   ⟨q, k⟩ = {a:5}   ÷√d_k = {a / d**0.5:.4f}")

# %% [markdown]
# Longer vectors, larger products, the article says, and so it is. It is not yet a reason to divide by
# $\sqrt{d_k}$. One query with one key gives one number, and one number has the variance
# `{python} f"{variance([a]):.0f}"`: nothing spreads. Nor does the division stop the growth, as
# $\sqrt{d_k}/4$ is left. What the halves show is a *mean* that is not 0, added up $d_k$ times
# ([the audit](../articles/index.py)).
#
# A spread needs entries that vary. Let each be 0.5 or −0.5, and take all queries with all keys:

# %%
for d in (1, 2, 4):
    vectors = np.array(list(product((-0.5, 0.5), repeat=d)))
    a = (vectors @ vectors.T).ravel()
    undivided, divided = variance(a), variance(a / d**0.5)
    print(f"d_k = {d}   variance {undivided:.4f}   of ÷√d_k {divided:.4f}")

# %% [markdown]
# The variance is $d_k/16$, and after division stays at 1/16. This growth is what the root takes away. Entries from a normal distribution, which
# clusters around 0 and can have any size, show the same:

# %% tags=["hide-input"]
N = 20_000
rng = np.random.default_rng(0)
widths = (1, 4, 16, 64)
pairs = {d: rng.standard_normal((2, N, d)) for d in widths}
drawn = {d: (q * k).sum(axis=1) for d, (q, k) in pairs.items()}
roots = {d: (a.std(), (a / d**0.5).std()) for d, a in drawn.items()}
spread = Figure(
    "How scores spread as vectors get longer",
    "One row for each d_k. Standard deviations undivided: "
    + ", ".join(f"{roots[d][0]:.1f} at {d}" for d in widths)
    + "; divided by √d_k: "
    + ", ".join(f"{roots[d][1]:.2f}" for d in widths)
    + ".",
    "Undivided inner products (line) spread further with every row; divided by $\\sqrt{d_k}$ (filled) they "
    f"spread alike; at the right, standard deviations. {N} pairs of vectors with standard normal entries, counted in bins, each row drawn to the same height.",
    height=3.4,
)
axes = spread.axes
x = np.arange(-3, 3.1, 0.375)
for base, (d, a) in zip((3, 2, 1, 0), drawn.items(), strict=True):
    counts, _ = np.histogram(a / d**0.5, np.append(x, 3.375) - 0.1875)
    height = base + 0.8 * counts / counts.max()
    axes.fill(x, height, facecolor=(ACCENT, 0.3))
    axes.plot(x * d**0.5, height, color=CATEGORIES[1])
    axes.text(-23.8, base + 0.42, f"dₖ = {d}")
    axes.text(23.8, base + 0.42, "{:.1f} → {:.2f}".format(*roots[d]), ha="right")
axes.set(xlim=(-24, 24), ylim=(0, 4), yticks=[], xticks=[-16, 0, 16])
axes.set_xlabel("inner product, ⟨q, k⟩")
axes.spines["left"].set_visible(False)
show(spread)

# %% [markdown]
# [The next page](scaling.py) proves that after division the variance is 1, for every $d_k$. The shape
# comes closer to a bell ([KURT](../d/KURT.py)).
#
# ## What goes wrong
#
# **Two variances meet in one program.** Layer normalisation, a neighbour of attention in most Transformers,
# subtracts the mean of a row and divides by its standard deviation. Written with Torch's default, it disagrees
# with Torch's own:

# %%
by_hand = (t - t.mean()) / t.std()
own = torch.nn.functional.layer_norm(t, t.shape)
for name, row in (("by hand", by_hand), ("Torch's", own)):
    print(name, " ".join(f"{x:7.4f}" for x in row))

# %% [markdown]
# `layer_norm` divides by $N$. On a row of 768 entries the slip, `{python} f"{(768 / 767) ** 0.5 - 1:.2%}"`, hides; on a
# short one it does not. Name the rule you mean: `ddof=` in NumPy, `correction=` in Torch.
#
# ## Check yourself
#
# ??? question "How large is “large”, for 1 and 100? And for 49, 50 and 51?"
#
#     The variances are `{python} f"{variance(wide):.2f}"` and `{python} f"{variance(narrow):.4f}"`; the
#     standard deviations are `{python} variance(wide) ** 0.5` and `{python} f"{variance(narrow) ** 0.5:.2f}"`.
#
# ??? question "Scores have the variance 64. What has to divide them to bring it to 1?"
#
#     A factor leaves the variance as its square, so the number whose square is 64:
#     `{python} f"{64**0.5:.0f}"`.
#
# ## Where next, and sources
#
# [Why divide by √dₖ](scaling.py) proves what the last figure shows.
#
# - G. Casella and R. L. Berger, *Statistical Inference*, 2nd edition, 2002, theorem 5.2.6: dividing by $N - 1$ is
#   right on average.
# - NumPy, [`numpy.var`](https://numpy.org/doc/stable/reference/generated/numpy.var.html), and PyTorch,
#   [`torch.var`](https://pytorch.org/docs/stable/generated/torch.var.html): the defaults.
# - The lists and the halves are from the Chinese article on scaling and softmax; what it prints for 1 to 5 is right.
