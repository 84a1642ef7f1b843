# %% [markdown]
# # The same character in two sentences
#
# By the end of this page you can say when attention gives a token another vector in another sentence,
# and when it can't.
#
# ## 喜 twice
#
# In 我喜歡人工智能, "I like artificial intelligence", 喜 is half of the word for liking. In 雙喜臨門, "two joys
# come to the door", it is joy. A table of [embeddings](self-attention.py) has one row for both, and in both
# the character stands at index 2, behind [CLS] and one other. So it enters attention with the same numbers:

# %%
import attnref.torch
import torch

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)  # keeps rounding small
known = ["[CLS]", *"我喜歡人工智能雙臨門你", "dog", "bites", "man", "[SEP]"]
table = {token: torch.randn(768) for token in known}
place = torch.randn(20, 768)  # a row for each place, added to the token's
layer = attnref.torch.SingleHeadAttention(768, d_k=64).requires_grad_(False)


def enter(sentence, places=True):
    x = torch.stack([table[token] for token in ["[CLS]", *sentence, "[SEP]"]])
    return x + place[: len(x)] if places else x


def vector(sentence, places=True, layer=layer):
    return layer(enter(sentence, places))[0][2]


like, joy = "我喜歡人工智能", "雙喜臨門"
print(f"before {(enter(like)[2] - enter(joy)[2]).norm():6.3f}")
print(f"after  {(vector(like) - vector(joy)).norm():6.3f}")
print(f"length {vector(like).norm():6.3f} and {vector(joy).norm():.3f}")

# %% [markdown]
# These are distances between the two vectors of 喜, the root of the summed squares of their differences:
# none before attention, about the length of the vectors themselves after. The layer is random, from a seed,
# and knows nothing of joy. It shows what attention lets through, not what training makes of it.
#
# ## Where the difference comes from
#
# The query $q_t$, key $k_t$ and value $v_t$ of a token are made from its own row alone. Others enter in
# two places of the output, by their scores and by their values:
#
# $$
# y_t = \frac1{Z_t} \sum_s e^{a_{ts}} v_s , \qquad a_{ts} = \frac{\langle q_t, k_s\rangle}{\sqrt{d_k}} , \qquad
# Z_t = \sum_s e^{a_{ts}} . \label{output}
# $$
#
# Even the share that 喜 keeps for itself, $e^{a_{tt}}/Z_t$, depends on the others, for they are all in $Z_t$.
# Now change one thing at a time and see how far the vector of 喜 moves:

# %%
import copy

blind = copy.deepcopy(layer)
blind.W_V.weight.zero_()  # values are b_V, whatever the token

reordered = "能喜智工人歡我"
moved = {
    "another sentence": vector(joy) - vector(like),
    "one other character": vector("你喜歡人工智能") - vector(like),
    "others reordered": vector(reordered) - vector(like),
    "… without places": vector(reordered, False) - vector(like, False),
    "no values": vector(joy, layer=blind) - vector(like, layer=blind),
}
for case, difference in moved.items():
    print(f"{case:20} {difference.norm():.9f}")

# %% tags=["hide-input"]
from attnref import show
from attnref.figures import ACCENT, MUTED, Figure

far = {case: float(difference.norm()) for case, difference in moved.items()}
length = float(vector(like).norm())
figure = Figure(
    "How far the vector of 喜 moves",
    "Bars: " + "; ".join(f"{case} {d:.2f}" for case, d in far.items()) + ".",
    "A whole new sentence moves the vector of 喜 most; two changes don't move it at all. Distance from its "
    "vector in 我喜歡人工智能, one layer, seed 0, the numbers above.",
    height=2.0,
)
for row, d in enumerate(far.values()):
    figure.axes.barh(row, d, height=0.6, facecolor=(ACCENT, 0.5))
    figure.axes.text(d + 0.1, row, f"{d:.2f}", va="center", color=MUTED)
figure.axes.set_yticks(range(len(far)), far)
figure.axes.invert_yaxis()
figure.axes.set(
    xlim=(0, max(far.values()) * 1.12),
    xlabel="distance between the two vectors, ‖y − y′‖",
)
show(figure)
assert min(list(far.values())[:3]) > 1 > 1e-9 > max(list(far.values())[3:])
assert max(far.values()) == far["another sentence"]
assert abs(far["another sentence"] / length - 1) < 0.2

# %% [markdown]
# Three of them move it. Two don't, beyond rounding, and each says something about attention.
#
# ## Without places, order is invisible
#
# Let $\pi$ reorder the tokens, so that the new row $t$ is the old row $\pi(t)$. Then new queries, keys and
# values are the old ones reordered, and the new output is
#
# $$
# y'_t = \frac{\sum_s e^{a_{\pi(t)\pi(s)}}\, v_{\pi(s)}}{\sum_s e^{a_{\pi(t)\pi(s)}}} = y_{\pi(t)} , \label{reordered}
# $$
#
# since $\pi(s)$ runs over all tokens as $s$ does, and a sum has no order. This proves two things for every
# layer of this kind. Reorder all tokens, and the outputs are reordered alike (*equivariance*). Reorder the
# others, with $\pi(t) = t$, and the vector of $t$ stays. A row for each place ends this: it gives the same
# character another key and another value elsewhere. At one reordering of nine tokens:

# %%
order = torch.tensor([3, 0, 8, 1, 5, 7, 2, 6, 4])
for name, places in (("without places", False), ("with places", True)):
    tokens = enter(like, places=False)
    added = place[:9] if places else 0
    difference = layer(tokens[order] + added)[0] - layer(tokens + added)[0][order]
    print(f"{name:14} {difference.abs().max():.9f}")

# %% [markdown]
# ## Without values, weights change nothing
#
# In the last case the other sentence meets a layer whose table $W_V$ is zero: every value is $b_V$. An average of equal vectors is that vector,
# since the weights add up to 1 ([PSUM](../d/PSUM.py)). Scores and weights still differ from sentence to
# sentence; what 喜 receives doesn't:

# %%
for sentence in (like, joy):
    output, weights = blind(enter(sentence))
    off = (output[2] - blind.W_V.bias).abs().max()
    print(f"weight on itself {weights[2, 2]:.3f}, output − b_V {off:.9f}")

# %% [markdown]
# ## Who can be seen
#
# A *causal* mask lets a token see itself and those before it, as in models that write text from left to right.
# Then the first token has no context, and 喜 knows nothing of what follows. How far does each
# token move, from index 0 on?

# %%
mask = attnref.torch.masks.causal(9, 9, offset=0)
first, second = (layer(enter(s), mask=mask)[0] for s in (like, "我喜智能人工歡"))
print(*(f"{distance:.2f}" for distance in (first - second).norm(dim=-1)))

# %% [markdown]
# The two sentences part at index 3, and so do the vectors. [CLS], at index 0, has the weight 1 on itself in every
# sentence.
#
# ## What goes wrong
#
# **Expecting order without places.** Without them, attention reads a bag of words. To *bites*, at index 2 of
# both, it makes no difference who bites whom:

# %%
one, other = ["dog", "bites", "man"], ["man", "bites", "dog"]
for places in (False, True):
    difference = vector(one, places) - vector(other, places)
    print(f"places: {places!s:5}  moved by {difference.norm():.3f}")

# %% [markdown]
# **Comparing before with after.** The article on scaling shows the vector of 喜 before and after attention, and
# takes the change for context. But a token that is all alone changes too, into its own value:

# %%
x = enter(like)[2:3]  # 喜 and nobody else
y, weight = layer(x)
print("weight", weight.item())
print(f"y − x {(y - x).norm():6.3f}   y − v {(y - layer.W_V(x)).norm():.3f}")

# %% [markdown]
# Context is what differs between two sentences, as at the top of this page. The article's claim that the same
# character gets different vectors holds there, and fails in the cases with bars of zero
# ([the audit](../articles/index.py)).
#
# ## Check yourself
#
# ??? question "All queries are zero. Does 喜 still get different vectors in the two sentences?"
#
#     Yes. All scores are 0, so every token gets the plain mean of the values, and the sentences have other
#     values. Here the means are `{python} f"{(layer.W_V(enter(like)).mean(0) - layer.W_V(enter(joy)).mean(0)).norm():.3f}"`
#     apart. Context needs values, and makes do without scores.
#
# ??? question "人 stands twice in 人人. Do both get the same vector?"
#
#     Without places yes: same query, same keys, same values. They differ by
#     `{python} f"{layer(enter('人人', False))[0][1:3].diff(dim=0).norm():.3f}"`, and with places by
#     `{python} f"{layer(enter('人人'))[0][1:3].diff(dim=0).norm():.3f}"`.
#
# ??? question "Is a causal mask of any use to a layer without places?"
#
#     It brings an order of its own: *bites* sees *dog* in one sentence and *man* in the other. The vectors
#     differ by `{python} f"{(layer(enter(one, False), mask=mask[:5, :5])[0] - layer(enter(other, False), mask=mask[:5, :5])[0])[2].norm():.3f}"`.
#
# ## Where next, and sources
#
# [Retrieval, and what softmax does not do](retrieval.py) asks whether the best key wins.
#
# - A. Vaswani and others, *Attention Is All You Need*, 2017, [arXiv:1706.03762](https://arxiv.org/abs/1706.03762),
#   section 3.5: why places are added.
# - A. Haviv and others, *Transformer Language Models without Positional Encodings Still Learn Positional
#   Information*, 2022, [arXiv:2203.16634](https://arxiv.org/abs/2203.16634): causal models without places.
# - J. Lee and others, *Set Transformer*, 2019, [arXiv:1810.00825](https://arxiv.org/abs/1810.00825), section 3:
#   attention for sets, where order must not matter.
