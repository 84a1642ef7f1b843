"""The operators of the derivations that SymPy lacks, and products that stay as they are written.

Each operator knows how it is printed, in LaTeX and as plain text, and nothing else: what it means
is said by the definitions of a record, or, for the expectation, by the laws of the judge.
"""

from typing import Any

from sympy import Add, Expr, Function, IndexedBase, Mul, Pow, Symbol

__all__ = [
    "Expectation",
    "Inner",
    "RandomVariable",
    "RandomVector",
    "Softmax",
    "Variance",
    "bracketed",
    "difference",
    "is_random",
    "product",
    "ratio",
    "total",
]


class RandomVariable(Symbol):  # type: ignore[misc]  # SymPy has no types: its classes are Any
    """A random number. Every other Symbol is a constant."""


class RandomVector(IndexedBase):  # type: ignore[misc]  # as above
    """A random vector; its components are random numbers."""


class _Operator(Function):  # type: ignore[misc]  # as above
    """A function without rules of its own: a name, and its arguments in brackets."""

    _name_latex: str
    _name_plain: str
    _brackets: tuple[str, str] = ("(", ")")

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        inside = bracketed(", ".join(map(printer._print, self.args)), *self._brackets)
        return f"{self._name_latex}{inside}" + (f"^{{{exp}}}" if exp else "")

    def _plain(self, printer: Any) -> str:
        left, right = self._brackets
        return f"{self._name_plain}{left}{', '.join(map(printer._print, self.args))}{right}"


class Expectation(_Operator):
    """E[X], linear; what is not random comes out."""

    nargs = 1
    _name_latex, _name_plain = r"\mathbb{E}", "E"
    _brackets = ("[", "]")


class Variance(_Operator):
    """Var(X)."""

    nargs = 1
    _name_latex, _name_plain = r"\operatorname{Var}", "Var"


class Inner(_Operator):
    """⟨q, k⟩, the inner product of two vectors."""

    nargs = 2

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        left, right = map(printer._print, self.args)
        return rf"\langle {left}, {right} \rangle" + (f"^{{{exp}}}" if exp else "")

    def _plain(self, printer: Any) -> str:
        left, right = map(printer._print, self.args)
        return f"⟨{left}, {right}⟩"


class Softmax(_Operator):
    """softmax_s(a): the weight of place s in a row of scores a."""

    nargs = 2

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        row, place = map(printer._print, self.args)
        power = f"^{{{exp}}}" if exp else ""
        return rf"\operatorname{{softmax}}_{{{place}}}{power}{bracketed(row)}"

    def _plain(self, printer: Any) -> str:
        row, place = map(printer._print, self.args)
        return f"softmax_{place}({row})"


def bracketed(tex: str, left: str = "(", right: str = ")") -> str:
    """Put LaTeX in brackets, in ones that grow if what they hold is tall."""
    if r"\frac" in tex or r"\sum" in tex:
        return rf"\left{left}{tex}\right{right}"
    return f"{left}{tex}{right}"


def is_random(expression: Expr) -> bool:
    """Say whether the value depends on chance; an expectation and a variance are plain numbers."""
    if isinstance(expression, Expectation | Variance):
        return False
    if isinstance(expression, RandomVariable | RandomVector):
        return True
    return any(is_random(arg) for arg in expression.args)


def product(*factors: Expr) -> Expr:
    """Multiply, and keep the factors in the order the page shows them in."""
    return Mul(*factors, evaluate=False)


def ratio(above: Expr, below: Expr) -> Expr:
    """Divide, and keep the fraction as it is written."""
    return Mul(above, Pow(below, -1, evaluate=False), evaluate=False)


def total(*terms: Expr) -> Expr:
    """Add, and keep the terms in the order the page shows them in."""
    return Add(*terms, evaluate=False)


def difference(left: Expr, right: Expr) -> Expr:
    """Subtract, and keep both sides as they are written."""
    return Add(left, Mul(-1, right, evaluate=False), evaluate=False)
