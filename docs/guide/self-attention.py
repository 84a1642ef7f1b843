# %% [markdown]
# # Self-attention of one sentence
#
# By the end of this page you can take a sentence to one new vector a token, and say the shape of
# everything on the way.
#
# ## Nine tokens
#
# The sentence is 我喜歡人工智能, "I like artificial intelligence". Attention needs numbers. A *token* is a piece
# of text that gets a number; here each character is one. BERT, a well-known model, puts [CLS] before a
# sentence and [SEP] behind it:

# %%
import attnref.torch
import torch

tokens = ["[CLS]", *"我喜歡人工智能", "[SEP]"]
ids = {"[CLS]": 101, "[SEP]": 102, "我": 2769, "喜": 1599}
ids |= {token: n for n, token in enumerate("歡人工智能", 1)}

print(dict(enumerate(tokens)))
print([ids[token] for token in tokens])

# %% [markdown]
# Seven characters and two more make `{python} len(tokens)` tokens. Counting starts at 0, with [CLS], so 喜
# has index `{python} tokens.index("喜")`. The ids of [CLS], [SEP], 我 and 喜 are BERT's, as public code prints
# them; the others are ours. Any will do: an id only says which row of a table to read.
#
# ## What a token brings along
#
# Each id picks a row of 768 numbers, the token's *embedding*. A trained model has learned these rows;
# ours are random, from a seed. So far 喜 has the same row wherever it stands. To tell places apart, a
# second row is added that depends on the place alone: sines and cosines of many speeds, as in the first
# Transformer. (BERT learns these rows too.)

# %%
torch.manual_seed(0)
width = 768
embedding = torch.randn(3000, width)[[ids[token] for token in tokens]]

angle = torch.arange(9)[:, None] * 10000.0 ** (-torch.arange(0, width, 2) / width)
position = torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2)

x = torch.nn.functional.layer_norm(embedding + position, (width,))
print(tuple(x.shape), f"mean square of row 2: {x[2].square().mean():.2f}")

# %% [markdown]
# The last step, *layer normalisation*, shifts and scales each row to a mean of 0 and a mean square of 1.
# BERT does so too.
#
# ## Everyone asks, everyone answers
#
# Write $x_t$ for row $t$. In *self*-attention queries, keys and values all come from the same tokens, by
# three tables of numbers $W$ and three vectors $b$, all learned:
#
# $$
# q_t = W_Q x_t + b_Q , \qquad k_s = W_K x_s + b_K , \qquad v_s = W_V x_s + b_V . \label{projections}
# $$
#
# The query says what token $t$ looks for, the key what token $s$ is to be found by, the value what it
# hands over. The rest is [the Z form](z-form.py), for every $t$ at once: scores $a_{ts}$, divided by
# $\sqrt{d_k}$ for queries of $d_k$ entries, weights $p_{ts}$, and outputs $y_t$. In Torch, a `Linear` is
# one table with its vector:

# %%
W_Q, W_K, W_V = (torch.nn.Linear(width, entries) for entries in (64, 64, width))
with torch.no_grad():  # we only compute, and train nothing
    Q, K, V = W_Q(x), W_K(x), W_V(x)
    scores = Q @ K.mT / Q.shape[-1] ** 0.5
    weights = scores.softmax(dim=-1)
    y = weights @ V

print("Q", *Q.shape, "  K", *K.shape, "  V", *V.shape)
print("scores", *scores.shape, "  weights", *weights.shape, "  y", *y.shape)

# %% [markdown]
# Nine queries meet nine keys, so scores and weights are 9 × 9, however wide the vectors are. Row $t$ is the
# query, column $s$ the key: what 喜 takes from 歡 stands at `weights[2, 3]`, and its new vector is `y[2]`.
# Three of the rows:

# %% tags=["hide-input"]
from attnref import show
from attnref.figures import WeightMap

assert (weights - 1 / 9).abs().max() < 0.15
rows = WeightMap(
    "Weights of an untrained layer",
    weights[1:4],
    "What three tokens (rows, with their index) take from all nine (columns) before "
    f"training. Little stands out: equal weights would be {1 / 9:.2f} each.",
    queries=[f"{t} {tokens[t]}" for t in (1, 2, 3)],
    keys=tokens,
)
show(rows)
printed = [101, 2769, 4263]  # the first three ids in the article

# %% [markdown]
# ## Why the map is so even
#
# Let $d$ be the width, 768. Torch draws the entries of a `Linear` uniformly between $\pm 1/\sqrt d$: mean 0,
# variance $1/(3d)$. An entry of a query adds up $d$ of them, times entries of $x_t$ with a mean square of
# 1, and one of $b_Q$. Its variance is $\frac13 + \frac1{3d}$, and so is a key's, from a table of its own.
# Independent and with means of 0, they give a score the product of their variances, whatever $d_k$ is
# ([VGEN](../d/VGEN.py), divided by $d_k$):
#
# $$
# \operatorname{Var}(a_{ts}) = \left(\frac13 + \frac1{3d}\right)^2 \approx \frac19 . \label{ninth}
# $$
#
# That is over the draws of a layer. For the 1 of [the page on scaling](scaling.py) queries and keys would need
# a variance of 1; these start with a third. Such scores leave the *entropy* $-\sum_s p_{ts} \log p_{ts}$ of a
# row near its largest, the $\log 9$ of nine equal weights. Measured over 100 layers:

# %% tags=["fold-input"]
import math

found = []
for _ in range(100):
    layer = attnref.torch.SingleHeadAttention(width)
    with torch.no_grad():
        a = attnref.torch.scores(layer.W_Q(x), layer.W_K(x))
    p = a.softmax(dim=-1)
    found.append([a.square().mean(), -(p * p.log()).sum(dim=-1).mean()])
for name, v in zip(("variance", "entropy"), torch.tensor(found).T, strict=True):
    print(f"{name:8} {v.mean():.3f} ± {v.std() / len(found) ** 0.5:.3f}")
print(f"expected {(1 / 3 + 1 / 3 / width) ** 2:.3f}, at most {math.log(9):.3f}")

# %% [markdown]
# ## The code
#
# All of it is one function, for a sentence or a batch. `SingleHeadAttention` is the layer of the article on
# scaling, which feeds it random numbers. With the same tables, both agree:


# %%
def self_attention(x, W_Q, W_K, W_V):
    Q, K, V = W_Q(x), W_K(x), W_V(x)
    scores = Q @ K.mT / math.sqrt(Q.shape[-1])
    weights = scores.softmax(dim=-1)
    return weights @ V, weights


x = torch.randn(1, 9, 768)
layer = attnref.torch.SingleHeadAttention(768)
with torch.no_grad():
    output, weights = layer(x)
    ours, _ = self_attention(x, layer.W_Q, layer.W_K, layer.W_V)
print(output.shape, weights.shape)
print(f"sum of row 2 {weights[0, 2].sum():.4f}")
print(f"ours differs by {(output - ours).abs().max():.5f}")

# %% [markdown]
# **64 or 768?** The article's example has $d_k = 64$ and divides by 8, as each of BERT's twelve
# [heads](multi-head.py) does. Its class has $d_k = 768$ and divides by the root of that. Each is right for
# its own queries, and the layer takes either:

# %%
for d_k in (768, 64):
    layer = attnref.torch.SingleHeadAttention(768, d_k=d_k)
    count = sum(numbers.numel() for numbers in layer.parameters())
    print(
        f"d_k = {d_k:3}  √d_k = {math.sqrt(layer.d_k):5.2f}  {count:7} parameters"
    )

# %% [markdown]
# The first count is $3(768^2 + 768) =$ `{python} 3 * (768**2 + 768)`: three square tables, three vectors.
#
# ## What goes wrong
#
# **Counting without [CLS].** The article prints `[0, 1]` of the output as the new vector of 喜. But its ids
# start `{python} ", ".join(map(str, printed))`, with [CLS], and index 1 is `{python} tokens[1]`. Every shape
# is right, so no error says so. (The third id is another slip: public code prints `{python} printed[2]` for
# 爱, "love", and `{python} ids["喜"]` for 喜. And the article lists the scores of 喜 with [CLS] and [SEP] last.
# Any order will do, if ids, rows and columns share it.)
#
# **Expecting `tensor(…)` from an f-string.** The article puts the sum of a row into an f-string and
# shows what only `print` writes. Take a sum that ends one rounding step below 1, as it well may:

# %%
total = torch.tensor(1 - 2**-24)
print(total, f"{total}", f"{total:.4f}")

# %% [markdown]
# **Reading meaning into an untrained layer.** The article finds grammar in its row of weights for 喜. That row
# is given, not computed: the tables of its program are random ([the audit](../articles/index.py)).
#
# ## Check yourself
#
# ??? question "Which entry of the weights says how much 歡 takes from 喜?"
#
#     Row 歡, column 喜: `weights[3, 2]`. What 喜 takes from 歡 is `[2, 3]`, another number: in the random
#     batch `{python} f"{weights[0, 3, 2]:.3f}"` and `{python} f"{weights[0, 2, 3]:.3f}"`.
#
# ??? question "The sentence gets twice as long. What grows, and how much?"
#
#     The scores, from `{python} 9**2` to `{python} 18**2`: four times as many. Queries, keys, values and outputs
#     double. The parameters stay.
#
# ## Where next, and sources
#
# [Several heads](multi-head.py) runs this twelve times side by side; [The same character in two
# sentences](context.py) asks what the new vector of 喜 knows.
#
# - A. Vaswani and others, *Attention Is All You Need*, 2017, [arXiv:1706.03762](https://arxiv.org/abs/1706.03762),
#   sections 3.2.1 and 3.5 (sines and cosines).
# - J. Devlin and others, *BERT*, 2018, [arXiv:1810.04805](https://arxiv.org/abs/1810.04805), section 3.
# - [langml](https://github.com/4AI/langml), `tests/test_tokenizer.py`: the ids 101, 102, 2769 and 1599. We have
#   not seen the vocabulary itself.
# - Sentence and layer come from the article on scaling, seventh of a Chinese series on Transformers.
