"""The article on scaling, S34–S45: the division by √dₖ, and what it does to the gradient."""

from math import comb

from attnref import scores, softmax
import attnref.torch  # noqa: F401  # before torch: its error says what to install
import numpy as np
from numpy.typing import NDArray
import torch

from claims import holds, imprecise, numbers, wrong
from claims.scaling_saturation import WIDE, loss_gradient
from claims.scaling_spread import ERRORS, HEADS, HIDDEN, VARIANCES, WIDTH
from claims.softmax_row import jacobian

Floats = NDArray[np.float64]

SCALED = WIDE / np.sqrt(WIDTH)


def at_start(sequences: int = 64) -> tuple[float, float]:
    """Return the scaled scores' variance in the article's class as Torch starts it, and its error."""
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(0)
        w_q, w_k = torch.nn.Linear(HIDDEN, HIDDEN), torch.nn.Linear(HIDDEN, HIDDEN)
        x = torch.randn(sequences, 9, HIDDEN)
        found = (w_q(x) @ w_k(x).mT / HIDDEN**0.5).double().numpy()
    squares = ((found - found.mean()) ** 2).mean(axis=(1, 2))
    return float(squares.mean()), float(squares.std() / np.sqrt(sequences))


def trace(a: Floats) -> float:
    """Return the mean trace of the Jacobian of softmax over rows, Σ p (1 − p)."""
    p = softmax(a)
    return float((p * (1 - p)).sum(axis=-1).mean())


def divided(deviation: float) -> Floats:
    """Return rows of 9 divided scores from entries with this standard deviation."""
    rng = np.random.default_rng(5)
    q, k = (deviation * rng.standard_normal((2000, n, WIDTH)) for n in (1, 9))
    return np.asarray(scores(q, k)[:, 0])


RNG = np.random.default_rng(4)
Q, K = RNG.standard_normal((3, WIDTH)), RNG.standard_normal((5, WIDTH))

STARTED, STARTED_ERROR = at_start()
UNIT, UNIT_ERROR = VARIANCES[WIDTH] / WIDTH, ERRORS[WIDTH] / WIDTH

NORMAL = np.random.default_rng(5).standard_normal((2000, 9))
TRACES = {s: trace(s * NORMAL) for s in (1, 8, 32)}
TRIPLE = trace(divided(3.0))
ABOVE = {s: float((softmax(s * NORMAL).max(axis=-1) > 0.99).mean()) for s in (1, 8)}

REACHED = (
    sum(comb(64, plus) for plus in range(65) if abs(2 * plus - 64) >= 20) / 2**64
)

LARGEST = [np.abs(loss_gradient(WIDE, target)).max() for target in (1, 2, 3)]
FLAT = np.abs(jacobian(softmax(WIDE))).max()

P, ONCE = softmax(SCALED), [0.76, 0.02, 0.22]  # executed and printed
GAP = SCALED[0] - SCALED[2]
assert SCALED[2] - SCALED[1] == GAP
IN_RAW = loss_gradient(SCALED, 1)[0] / np.sqrt(WIDTH)
THOUSANDS = IN_RAW / loss_gradient(WIDE, 1)[0] / 1000

JUDGEMENTS = [
    numbers("S34", [HIDDEN // HEADS, np.sqrt(HIDDEN // HEADS)]),
    holds(
        "S35",
        np.allclose(scores(Q, K), Q @ K.T / np.sqrt(WIDTH), rtol=1e-12),
        "Vaswani and others, section 3.2.1. `attnref.scores` takes any other `scale` too.",
        "`attnref.scores` and `Q @ K.T / √dₖ` agree at 3 by 5 scores",
    ),
    imprecise(
        "S36",
        abs(UNIT - 1) < 3 * UNIT_ERROR and abs(STARTED - 1 / 9) < 0.01,
        "It is, as long as entries have mean 0 and variance 1 and are independent. The "
        "article's own class does not begin there: Torch starts a linear layer with "
        "outputs of variance 1/3, so scaled scores have about 1/9, as in "
        "`attnref.torch.SingleHeadAttention`.",
        f"variance {UNIT:.2f} ± {UNIT_ERROR:.2f} for normal entries, {STARTED:.3f} ± "
        f"{STARTED_ERROR:.3f} for three linear layers at the start",
    ),
    imprecise(
        "S37",
        TRACES[1] > 0.7 and TRACES[8] < 0.25 and TRIPLE < 0.25,
        "For independent entries of variance 1 it is favourable, on average. “Always” is too "
        "strong: the division removes dₖ and nothing else, and entries with standard "
        "deviation 3 saturate softmax after it. Nothing in the formula keeps them at 1; see "
        "[What the proof needs](../guide/assumptions.py).",
        f"mean trace of the Jacobian {TRACES[1]:.2f} at scores of standard deviation 1, "
        f"{TRACES[8]:.2f} at 8, {TRACES[32]:.2f} at 32, of {1 - 1 / 9:.2f} at most; {TRIPLE:.2f} for entries of "
        "standard deviation 3, divided",
    ),
    holds(
        "S38",
        0.01 < REACHED < 0.05,
        "That is two and a half standard deviations of 8. The sum can be any even number "
        f"from −{WIDTH} to {WIDTH}.",
        f"|sum| ≥ 20 for {100 * REACHED:.1f} of 100 draws of 64 signs",
    ),
    numbers(
        "S39",
        softmax(WIDE),
        "To four digits these are 1.0000, 0.0000 and 0.0000. The printed 0.0001 is about "
        f"{1e-4 / softmax(WIDE)[2]:.0f} times the weight.",
    ),
    numbers(
        "S40",
        loss_gradient(WIDE, 1),
        "The first is smaller still, and it is small because the right key has won: with the "
        f"second key right, p − y has an entry of −{-loss_gradient(WIDE, 2)[1]:.2f}.",
    ),
    wrong(
        "S41",
        LARGEST[0] < 1e-6 and min(LARGEST[1:]) > 0.99 and FLAT < 1e-6,
        "p − y is the gradient of a cross-entropy taken at the weights, and tells whether the "
        "answer is right: for either other target it has entries near 1. What vanishes at an extreme softmax, "
        "whatever the target, is the Jacobian, through which every gradient of the output "
        "passes on its way to the scores. So the conclusion stands, on another ground. See "
        "[When softmax saturates](../guide/saturation.py).",
        f"largest entry of |p − y| for the targets 1, 2, 3: {LARGEST[0]:.2g}, "
        f"{LARGEST[1]:.2f}, {LARGEST[2]:.2f}; of the Jacobian {FLAT:.2g}",
    ),
    numbers("S42", SCALED),
    numbers(
        "S43",
        P,
        f"Both gaps between the scores are {GAP}, so the first weight must be to the third "
        f"as the third to the second, {np.exp(GAP):.1f} to 1, at whatever scale; printed "
        f"are {ONCE[0] / ONCE[2]:.1f} and {ONCE[2] / ONCE[1]:.0f} to 1. What they are to "
        "show holds: distinct, not extreme.",
    ),
    numbers(
        "S44",
        loss_gradient(SCALED, 1),
        "The subtraction is right, the weights are those of [S43](scaling.py#S43). This is the "
        "gradient in the divided scores; in the raw ones it is an eighth of it, "
        f"−{-IN_RAW:.4f} for the first, and still {THOUSANDS:.0f} thousand times the one "
        "without scaling.",
    ),
    holds(
        "S45",
        ABOVE[1] < 0.001 and ABOVE[8] > 0.3,
        "Under the article's own assumption, entries of mean 0 and variance 1. Without any, "
        "a smaller scale still makes weights more even ([ENTD](../d/ENTD.py)); how even "
        "depends on the entries.",
        f"greatest of nine weights above 0.99 in {100 * ABOVE[8]:.0f} of 100 rows at "
        f"standard deviation 8, in {100 * ABOVE[1]:.0f} of 100 at 1",
    ),
]
