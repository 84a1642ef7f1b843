"""S83 to S92: the class, rebuilt, what it prints, and one character in two sentences."""

import inspect
import math

import attnref.torch
import torch
from torch import Tensor, nn

from claims import CLAIMS, holds, imprecise, inconsistent, wrong
from claims.softmax_row import WEIGHTS, entropy


class OneHead(nn.Module):
    """The layer of the article in few words: three linear maps, softmax, weighted sum."""

    def __init__(self, hidden_size: int = 768) -> None:
        super().__init__()
        self.d_k = hidden_size
        self.W_Q, self.W_K, self.W_V = (
            nn.Linear(hidden_size, hidden_size) for _ in range(3)
        )

    def scores(self, x: Tensor) -> Tensor:
        """Return the divided scores."""
        a: Tensor = self.W_Q(x) @ self.W_K(x).mT / math.sqrt(self.d_k)
        return a

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return output and weights."""
        weights = torch.softmax(self.scores(x), dim=-1)
        return weights @ self.W_V(x), weights


def refused(x: Tensor) -> str:
    """Return the kind of error that tokens meet, or nothing."""
    try:
        layer(x)
    except RuntimeError as error:
        return type(error).__name__
    return ""


with torch.random.fork_rng(devices=[]):
    torch.manual_seed(0)
    layer = OneHead()
    tokens = torch.randn(1, 9, 768)
    many = torch.randn(64, 9, 768)
    wo, xi, huan, ni, ai, ta = torch.randn(6, 768)
    theirs = attnref.torch.SingleHeadAttention()

output, weights = layer(tokens)
theirs.load_state_dict(layer.state_dict())
same_output, same_weights = theirs(tokens)
TWINS = torch.allclose(output, same_output, atol=1e-5) and torch.allclose(
    weights, same_weights, atol=1e-5
)
PARAMETERS = sum(p.numel() for p in layer.parameters())
SIZES = tuple(weights.shape[1:]), tuple(output.shape[1:])
FIRST_VARIANCE = layer.scores(many).var().item()
TOTAL = weights[0, 2].sum()
OFF = (weights.sum(-1) - 1).abs().max().item()
CROWD = layer(many)[1]
ENTROPY = -(CROWD * CROWD.log()).sum(-1).mean().item()
SIGNATURE = inspect.signature(attnref.torch.SingleHeadAttention)

first, second = (
    layer(torch.stack([wo, xi, ni]))[0],
    layer(torch.stack([ta, xi, ai]))[0],
)
swapped = layer(torch.stack([ni, xi, wo]))[0]
APART = ((first - second)[1].norm() / first[1].norm()).item()
SWAP = ((first - swapped)[1].abs().max()).item()
SHAPES = f"{output.shape}, {weights.shape}"

JUDGEMENTS = [
    holds(
        "S83",
        TWINS and SIGNATURE.parameters["hidden_size"].default == 768,
        "Each map has a bias, as `nn.Linear` has by default. There is no mask, "
        "no dropout and no output projection. "
        "`attnref.torch.SingleHeadAttention` with the same numbers in its maps "
        "returns the same.",
        f"{PARAMETERS:,} numbers in the three maps",
    ),
    inconsistent(
        "S84",
        layer.d_k == 768 and math.sqrt(layer.d_k) > 3 * math.sqrt(64),
        "For one head of the whole width this is right; but the text divides by "
        "8, as a head of 64 does. The layer in attnref takes `d_k` as an "
        "argument, so both can be tried.",
        f"√{layer.d_k} = {math.sqrt(layer.d_k):.4f}, √64 = {math.sqrt(64):.0f}",
    ),
    holds(
        "S85",
        SIZES == ((9, 9), (9, 768))
        and layer(tokens[0])[0].shape == (9, 768)
        and bool(refused(torch.zeros(1, 9, 64))),
        "768 stands for `hidden_size`, whatever it is. The batch may be left "
        "out. Tokens of another width are an error of the matrix product; "
        "attnref's names the argument.",
        f"x of (1, 9, 768) and of (9, 768) fit; (1, 9, 64) is a "
        f"`{refused(torch.zeros(1, 9, 64))}`",
    ),
    holds(
        "S86",
        len(layer(tokens)) == 2 and weights.shape[-1] == 9,
        "The weights come along for looking at them, rows for queries.",
        f"a tuple of {len(layer(tokens))}, shapes {SIZES[1]} and {SIZES[0]} in "
        "each sentence",
    ),
    holds("S87", CLAIMS["S87"]["printed"] == SHAPES, "", SHAPES),
    wrong(
        "S88",
        "tensor" not in f"{TOTAL}" and str(TOTAL).startswith("tensor("),
        "An f-string shows a tensor of one number as this number, 1 to within a "
        "millionth. `print` would show a tensor, and its `grad_fn` too. Readers "
        "who run the code see another line, and have made no mistake.",
        f"a sum of exactly 1 comes out as `{torch.ones(())}` in the f-string, and "
        f"as `{torch.ones((), requires_grad=True).sum()!r}` in `print`",
    ),
    imprecise(
        "S89",
        TOTAL.ndim == 0 and weights.sum(-1).shape == (1, 9),
        "It is the sum of row 2 alone. Every row does add up to 1; "
        "`weights.sum(-1)` would show all of them.",
        "`weights[0, 2].sum()` is one number, `weights.sum(-1)` has "
        f"{weights.sum(-1).numel()}",
    ),
    holds(
        "S90",
        OFF < 1e-6,
        "“About” is the right word: nine weights are rounded and then added, in "
        "float32.",
        "all nine rows add up to 1 within a millionth",
    ),
    imprecise(
        "S91",
        not torch.allclose(CROWD[0], CROWD[1], atol=1e-3)
        and ENTROPY - entropy(WEIGHTS) > math.log(9) - ENTROPY,
        "It has the shape of the sentence and nothing else of it: other random "
        "numbers give other weights. In a layer that has not learnt yet, "
        "rows are almost even; the row of the worked example is not.",
        f"mean entropy of the rows {ENTROPY:.2f}; nine equal weights have "
        f"{math.log(9):.2f}, the worked example {entropy(WEIGHTS):.2f}",
    ),
    imprecise(
        "S92",
        APART > 0.1 and SWAP < 1e-5,
        "As a rule, yes, and it is what attention is for. But without positions "
        "the layer sees which tokens are there and not where: 喜 is the same in "
        "我喜你 and in 你喜我. Position vectors tell the two apart: see [The same "
        "character in two sentences](../guide/context.py).",
        f"with two other neighbours the output moves by {APART:.2f} of its "
        "length; with its own two exchanged, by less than 10⁻⁵ in every entry",
    ),
]
