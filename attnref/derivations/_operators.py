"""The operators of the derivations that SymPy lacks, and products that stay as they are written.

Each operator knows how it is printed, in LaTeX and as plain text, and nothing else: what it means
is said by the definitions of a record, or, for the expectation, by the laws of the judge.
"""

from typing import Any

from sympy import Add, Expr, Function, IndexedBase, Le, Mul, Pow, Symbol
from sympy.printing.precedence import PRECEDENCE

__all__ = [
    "Expectation",
    "Inner",
    "Merged",
    "Partial",
    "Place",
    "RandomVariable",
    "RandomVector",
    "Softmax",
    "Variance",
    "at_most",
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


class Place(Symbol):  # type: ignore[misc]  # as above
    """An index from 1 to last that stands free in a line: one of the places of a sum."""

    last: Expr

    def __new__(cls, name: str, last: Expr) -> "Place":
        """Name a place, and say where the places end."""
        place: Place = Symbol.__xnew__(cls, name, integer=True)
        place.last = last
        return place

    def _hashable_content(self) -> tuple[object, ...]:
        return (*super()._hashable_content(), self.last)


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


class Merged(_Operator):
    """A ⊕ B, the state that two partial states merge into: an index of its m, Z and N."""

    nargs = 2

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        inner = (printer._print(arg) for arg in self.args)
        return r" \oplus ".join(
            f"({tex})" if isinstance(arg, Merged) else tex
            for arg, tex in zip(self.args, inner, strict=True)
        )

    def _plain(self, printer: Any) -> str:
        return f"({'⊕'.join(map(printer._print, self.args))})"


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


class Partial(_Operator):
    """∂f/∂x, the derivative of f when x alone is moved; x is a symbol or an indexed symbol."""

    nargs = 2
    precedence = PRECEDENCE["Mul"]

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        above, below = map(printer._print, self.args)
        if self.args[0].is_Symbol or self.args[0].is_Indexed:
            tex = rf"\frac{{\partial {above}}}{{\partial {below}}}"
        else:
            tex = rf"\frac{{\partial}}{{\partial {below}}} {bracketed(above)}"
        return rf"\left({tex}\right)^{{{exp}}}" if exp else tex

    def _plain(self, printer: Any) -> str:
        above, below = map(printer._print, self.args)
        whole = self.args[0].is_Symbol or self.args[0].is_Indexed
        return f"∂{above}/∂{below}" if whole else f"∂({above})/∂{below}"


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


def at_most(left: Expr, right: Expr) -> Le:
    """State left ≤ right, and keep both sides even where SymPy sees that it is true."""
    return Le(left, right, evaluate=False)
