# %% [markdown]
# # Several heads
#
# By the end of this page you can cut attention into heads, say what each head computes, and match
# Torch's own layer.
#
# ## One row of weights is one average
#
# Take "dog bites man". For *bites* we want two things at once: who does it, from *dog*, and to whom, from
# *man*. Give each word a value of two numbers, the first to be read if the word does it, the second if it
# is done to it. We want the first number of *dog* and the second of *man*:

# %%
import numpy as np

words = ["dog", "bites", "man"]
value = np.array([[1.0, 4.0], [2.0, 3.0], [3.0, 2.0]])
wanted = np.array([value[0, 0], value[2, 1]])
print("values add up to", value.sum(axis=1))
print(wanted, "adds up to", wanted.sum())

# %% [markdown]
# One row of weights makes one average of whole values. Every value here adds up to 5, so every average
# does, and what we want adds up to 3: no weights reach it. Two rows, each for a number of its own, do:

# %%
from attnref import softmax

weights = softmax(np.array([[9.0, 0.0, 0.0], [0.0, 0.0, 9.0]]))
output = np.array([weights[0] @ value[:, 0], weights[1] @ value[:, 1]])
print("two heads ", output.round(2))

# %% tags=["hide-input"]
from attnref import show
from attnref.figures import WeightMap

one = np.array([0.5, 0, 0.5])
assert np.allclose(one @ value, wanted + 1)
heads = WeightMap(
    "Two heads and one, for bites",
    [*weights, one],
    "Head 1 reads the first number of each value, head 2 the second, and each looks where it has to. One "
    "head alone has to share out its weight: an even split is as near as it gets to what we want. The scores "
    "are made up.",
    queries=["head 1: who", "head 2: whom", "one head"],
    keys=words,
)
show(heads)

# %% [markdown]
# One head's even split returns `{python} one @ value`, off by
# `{python} f"{np.linalg.norm(one @ value - wanted):.2f}"`. It carries something of both words, but each only
# with its share, and the shares of a row add up to 1. A second head has a second row.
#
# ## Cut the vectors, not the sentence
#
# Tokens of $d$ numbers have queries, keys and values of $d$ numbers, by tables $W_Q$, $W_K$, $W_V$, as in
# [self-attention](self-attention.py). Now cut each of these vectors into $H$ pieces of $d_k = d/H$ numbers.
# Piece $h$ of every query, key and value belongs to *head* $h$, and attention runs in each head by itself:
#
# $$
# a_{hts} = \frac{\langle q_{ht}, k_{hs}\rangle}{\sqrt{d_k}} , \qquad
# y_{ht} = \sum_s \frac{e^{a_{hts}}}{Z_{ht}}\, v_{hs} , \qquad
# Z_{ht} = \sum_s e^{a_{hts}} . \label{head}
# $$
#
# Then the pieces are put end to end, and one more table mixes what the heads have found:
#
# $$
# y_t = W_O\,(y_{1t}, \dots, y_{Ht}) + b_O . \label{mix}
# $$
#
# BERT's base model has $d = 768$ and $H = 12$: pieces of `{python} 768 // 12`, a divisor of
# `{python} int(np.sqrt(768 // 12))`. Every head sees all tokens, and every head's piece is made from all 768
# numbers of a token, by its 64 rows of the table.
#
# ## The code
#
# In an array the heads become an axis, the third from last, where matrix products leave it alone: it counts
# as a batch.

# %%
import attnref.torch
import torch


def split(x, H):  # (batch, tokens, H·d_k) to (batch, H, tokens, d_k)
    return x.unflatten(-1, (H, -1)).transpose(-3, -2)


def multi_head(layer, x, H):
    q, k, v = (split(W(x), H) for W in (layer.W_Q, layer.W_K, layer.W_V))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    weights = scores.softmax(dim=-1)
    y = (weights @ v).transpose(-3, -2).flatten(-2)
    return layer.W_O(y), weights


# %% [markdown]
# Does Torch mean the same by it? Take its layer, copy its tables, and compare attnref's layer and
# the function above with it. (Unasked, Torch
# returns the mean of the heads' weights, which is what no head does.)

# %%
torch.manual_seed(0)
x = torch.randn(2, 9, 768, dtype=torch.float64)
theirs = torch.nn.MultiheadAttention(768, 12, batch_first=True, dtype=x.dtype)
layer = attnref.torch.MultiHeadAttention.from_torch(theirs)
with torch.no_grad():
    expected = theirs(x, x, x, average_attn_weights=False)
    for found in (layer(x), multi_head(layer, x, 12)):
        off = [(a - b).abs().max() for a, b in zip(found, expected, strict=True)]
        print(f"outputs differ by {off[0]:.12f}, weights by {off[1]:.12f}")
print("output", *found[0].shape, "  weights", *found[1].shape)

# %% [markdown]
# ## What it costs
#
# Four square tables and four vectors hold $4(d^2 + d)$ numbers, here `{python} 4 * (768**2 + 768)`, and
# cutting a vector needs no more. What differs is how wide a query is:

# %%
for H in (1, 2, 12):
    layer = attnref.torch.MultiHeadAttention(768, H)
    count = sum(numbers.numel() for numbers in layer.parameters())
    print(f"H = {H:2}  d_k = {layer.head_dim:3}  {count} parameters")

# %% [markdown]
# **Shared keys.** A model that writes one token after another keeps all keys and values it has seen. *Grouped
# queries* let neighbouring heads share them, down to one set for all heads:

# %%
print("heads of keys   kept a token   parameters")
for shared in (12, 4, 1):
    layer = attnref.torch.MultiHeadAttention(768, 12, num_kv_heads=shared)
    cache = attnref.torch.KeyValueCache()
    layer(torch.randn(9, 768), cache=cache)
    kept = (cache.key.numel() + cache.value.numel()) // cache.length
    count = sum(numbers.numel() for numbers in layer.parameters())
    print(f"{shared:13} {kept:14} {count:12}")

# %% [markdown]
# Each query head still has its own row of weights. [GQAG](../d/GQAG.py) derives what a shared key learns from.
#
# ## What goes wrong
#
# **Reshaping without transposing.** Going straight to (heads, tokens, numbers) has the right shape and the
# wrong content. Three tokens of four numbers, each number named by its token and place:

# %%
small = torch.tensor([[0, 1, 2, 3], [10, 11, 12, 13], [20, 21, 22, 23]])
print("right, head 0:", split(small, 2)[0].tolist())
print("wrong, head 0:", small.reshape(2, 3, 2)[0].tolist())

# %% [markdown]
# The wrong head has the whole of token 0 and half of token 1, posing as three tokens, and never sees token 2. A
# causal mask over such rows hides the wrong things.
#
# **Dividing by the root of the whole width.** Keys of 64 entries and a divisor of $\sqrt{768}$ make every score
# smaller by $\sqrt{12}$, and the weights flatter:

# %%
q, k = torch.randn(2, 1000, 9, 64)
for width in (64, 768):
    a = attnref.torch.scores(q, k, scale=width**-0.5)
    largest = a.softmax(dim=-1).amax(dim=-1).mean()
    print(f"÷√{width:<3}  spread {a.std():.2f}  mean largest weight {largest:.2f}")

# %% [markdown]
# The article on scaling calls the divisor of its class the width of a head, and has 768 there: right for its
# one head, wrong as soon as that is cut into twelve ([the audit](../articles/index.py)).
#
# **A mask for each sentence, without an axis for heads.** Take two sentences and two heads; the last token of
# the second sentence is padding. A mask of shape (2, 3, 3) lines up with the heads instead, and no error says
# so. In which sentence (row) and head (column) is token 2 hidden?

# %%
layer, x = attnref.torch.MultiHeadAttention(4, 2), torch.randn(2, 3, 4)
mask = torch.ones(2, 3, 3, dtype=torch.bool)
mask[1, :, 2] = False
for given in (mask, mask[:, None]):
    _, weights = layer(x, mask=given)
    print(tuple(given.shape), (weights == 0).all(dim=-2)[..., 2].tolist())

# %% [markdown]
# The first hides it in one head of both sentences. With three sentences the shapes would not fit, and that is an
# error. Write (batch, 1, queries, keys).
#
# ## Check yourself
#
# ??? question "A model is 1024 wide and has 16 heads. What does each divide by?"
#
#     By $\sqrt{1024/16} =$ `{python} int(np.sqrt(1024 // 16))`, as BERT does: its heads are as wide.
#
# ??? question "With one head, what does this layer have that `SingleHeadAttention` has not?"
#
#     $W_O$ and $b_O$: `{python} 768**2 + 768` numbers more at 768. With one head they add nothing that $W_V$
#     could not learn, for $W_O W_V$ is one table.
#
# ??? question "Do the heads have an order?"
#
#     Only as far as the tables agree. Reorder the heads' rows of $W_Q$, $W_K$, $W_V$ and likewise the columns of
#     $W_O$, and \eqref{mix} adds up the same terms.
#
# ## Where next, and sources
#
# [The same character in two sentences](context.py) asks what all this tells a token about its neighbours.
#
# - A. Vaswani and others, *Attention Is All You Need*, 2017, [arXiv:1706.03762](https://arxiv.org/abs/1706.03762),
#   section 3.2.2.
# - J. Devlin and others, *BERT*, 2018, [arXiv:1810.04805](https://arxiv.org/abs/1810.04805), section 3: 768 and 12.
# - N. Shazeer, *Fast Transformer Decoding*, 2019, [arXiv:1911.02150](https://arxiv.org/abs/1911.02150): one set of keys.
# - J. Ainslie and others, *GQA*, 2023, [arXiv:2305.13245](https://arxiv.org/abs/2305.13245): groups.
