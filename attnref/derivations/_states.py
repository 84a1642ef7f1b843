"""Partial states (m, Z, N) and how they merge.

A state stands for the sums e^m Z and e^m N over its keys; m may be any finite number. Z and each
component of N follow one rule, and X stands for either where both are meant.
"""

from sympy import Eq, Expr, IndexedBase, exp, symbols

from attnref.derivations._operators import Merged, difference, product, total
from attnref.derivations._record import Law, Quantity, Source

__all__ = [
    "EITHER",
    "ONLINE",
    "OTHER",
    "REFERENCE",
    "STATE",
    "A",
    "B",
    "C",
    "N",
    "X",
    "Z",
    "both",
    "m",
    "merged",
    "merging",
    "represented",
    "rescaled",
    "y",
]

A, B, C = symbols("A B C", integer=True)
m, N, X, y = (IndexedBase(name) for name in "mNXy")
Z = IndexedBase("Z", positive=True)
both = Merged(A, B)


def rescaled(x: IndexedBase, state: Expr, reference: Expr) -> Expr:
    """Return a sum of a state, taken to another reference exponent."""
    return product(exp(difference(m[state], reference)), x[state])


def merged(x: IndexedBase, left: Expr, right: Expr) -> Expr:
    """Return a sum of two states at the reference exponent of the merged state."""
    reference = m[Merged(left, right)]
    return total(rescaled(x, left, reference), rescaled(x, right, reference))


def represented(x: IndexedBase, *states: Expr) -> Expr:
    """Return the sum that some states stand for, whatever their reference exponents."""
    parts = [product(exp(m[state]), x[state]) for state in states]
    return parts[0] if len(parts) == 1 else total(*parts)


def merging(x: IndexedBase, name: str) -> Law:
    """Return the rule of merging for one of the sums."""
    words = "both sums, taken to the reference exponent of the merged state"
    return Law(name, words, (Eq(x[both], merged(x, A, B)),), (A, B))


STATE = Quantity(A, "a state", "= (m_A, Z_A, N_A)")
OTHER = Quantity(B, "another state", "= (m_B, Z_B, N_B)")
REFERENCE = Quantity(m[A], "reference exponent, any finite number", r"\in \mathbb{R}")
EITHER = Quantity(X[A], "Z, or one component of N", r"\in \mathbb{R}")
ONLINE = Source("Milakov and Gimelshein 2018, arXiv:1805.02867", "section 3.1", False)
