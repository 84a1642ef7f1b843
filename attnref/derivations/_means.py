"""Weights of a row, means by them, and the first step of a derivative of log Z."""

from sympy import Expr, IndexedBase, Sum

from attnref.derivations._operators import Partial, Place, product, ratio
from attnref.derivations._record import Step
from attnref.derivations.z_form import Z, keys, n, s

__all__ = ["by_logarithm", "expected", "p", "t"]

p, t = IndexedBase("p", positive=True), Place("t", n)


def by_logarithm(x: Expr) -> Step:
    """Return the first step of each derivative of log Z."""
    reason = "The derivative of a logarithm is the derivative over the thing itself."
    return Step("logarithm", ratio(Partial(Z[t], x), Z[t]), reason)


def expected(*factors: Expr) -> Expr:
    """Return a mean over the keys."""
    return Sum(product(p[t, s], *factors), keys)
