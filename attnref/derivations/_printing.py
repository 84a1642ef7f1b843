"""Formulas as LaTeX and as plain text, from the expressions that are checked.

SymPy's printers do the work. Added here is the notation of attnref, a_ts and not a[t, s], and the
order of factors and terms, which is the one they are written in.
"""

# ruff: noqa: N802  # SymPy's printers find their methods by the names of the classes they print

import re
from collections.abc import Sequence
from typing import Any

from sympy import Expr, Pow, S, Sum
from sympy.printing.latex import LatexPrinter
from sympy.printing.precedence import PRECEDENCE, precedence_traditional
from sympy.printing.pretty.pretty_symbology import pretty_symbol
from sympy.printing.str import StrPrinter

from attnref.derivations._operators import bracketed

__all__ = ["latex", "plain", "plain_words"]

_WORDS = {
    r"\mathbb{R}": "ℝ",
    r"\mathbb{E}": "E",
    r"\operatorname{Var}": "Var",
    r"\sqrt": "√",
    r"\sum": "Σ",
    r"\sigma": "σ",
    r"\mu": "μ",
    r"\exp": "exp",
    r"\langle ": "⟨",
    r"\rangle": "⟩",
    r"\dots": "…",
    r"\in": "∈",
    r"\neq": "≠",
    r"\geq": "≥",
    r"\leq": "≤",
    r"\log": "log",
    r"\partial ": "∂",
    r"\beta": "β",
    r"\delta": "δ",
    r"\infty": "∞",
    "^2": "²",
    "$": "",
}


def latex(expression: Expr) -> str:
    """Return LaTeX, without dollar signs."""
    return str(_Latex({"order": "none"}).doprint(expression))


def plain(expression: Expr) -> str:
    """Return one line of plain text."""
    return str(_Plain({"order": "none"}).doprint(expression))


def plain_words(words: str) -> str:
    """Turn the LaTeX in a sentence into plain text; it is a few symbols, never a long formula."""
    words = re.sub(r"\\eqref\{([^}]*)\}", r"\1", words)
    for tex in sorted(_WORDS, key=len, reverse=True):  # \infty before \in
        words = words.replace(tex, _WORDS[tex])
    return words.replace("{", "").replace("}", "")


class _AsWritten:
    """Products, sums and Σ in the order they are written in. A factor 1/x closes a fraction."""

    def _sigma(self, index: str, last: str) -> str:
        raise NotImplementedError

    def _bracketed(self, formula: str) -> str:
        raise NotImplementedError

    def _fraction(self, above: str, below: Expr, *, last: bool) -> str:
        raise NotImplementedError

    def _print_Mul(self: Any, e: Expr) -> str:
        if e.args[0] == -1:
            return f"-{self._product(e.args[1:])}"
        return str(self._product(e.args))

    def _product(self: Any, factors: Sequence[Expr]) -> str:
        pieces: list[str] = []
        above: list[Expr] = []
        for place, factor in enumerate(factors, start=1):
            if isinstance(factor, Pow) and factor.exp.is_negative:
                top = self._product(above) if above else "1"
                pieces.append(self._fraction(top, 1 / factor, last=place == len(factors)))
                above = []
            else:
                above.append(factor)
        pieces += [self._factor(factor, last=factor is above[-1]) for factor in above]
        return " ".join(pieces)

    def _factor(self: Any, e: Expr, *, last: bool) -> str:
        """Bracket what is looser than a product, and a Σ that something follows."""
        loose = precedence_traditional(e) < PRECEDENCE["Mul"] or (isinstance(e, Sum) and not last)
        formula = str(self._print(e))
        return str(self._bracketed(formula)) if loose else formula

    def _print_Add(self: Any, e: Expr, order: str | None = None) -> str:
        first, *others = e.args
        if first.is_Integer and len(others) == 1 and others[0].is_Symbol and others[0].is_integer:
            first, others = others[0], [first]  # SymPy writes 1 + n where n + 1 is meant
        text = str(self._print(first))
        for term in map(self._print, others):
            text += f" - {term[1:]}" if term.startswith("-") else f" + {term}"
        return text

    def _print_Sum(self: Any, e: Sum) -> str:
        ranges = [(self._print(index), self._print(last)) for index, _, last in e.limits]
        signs = [self._sigma(*bounds) for bounds in reversed(ranges)]
        summand = self._print(e.function)
        return " ".join([*signs, self._bracketed(summand) if e.function.is_Add else summand])


class _Latex(_AsWritten, LatexPrinter):  # type: ignore[misc]  # SymPy has no types
    def _sigma(self, index: str, last: str) -> str:
        return rf"\sum_{{{index}=1}}^{{{last}}}"

    def _bracketed(self, formula: str) -> str:
        return bracketed(formula)

    def _fraction(self, above: str, below: Expr, *, last: bool) -> str:
        return rf"\frac{{{above}}}{{{self._print(below)}}}"

    def _add_parens(self, s: str) -> str:
        return bracketed(s)

    def _print_Indexed(self, e: Expr) -> str:
        return f"{self._print(e.base)}_{{{' '.join(map(self._print, e.indices))}}}"

    def _print_ExpBase(self, e: Expr, exp: str | None = None) -> str:
        return rf"\exp{bracketed(self._print(e.args[0]))}"


class _Plain(_AsWritten, StrPrinter):  # type: ignore[misc]  # as above
    printmethod = "_plain"  # not "_sympystr", by which Indexed prints itself as a[t, s]

    def _sigma(self, index: str, last: str) -> str:
        return f"Σ_{{{index}=1}}^{last}" if len(last) == 1 else f"Σ_{{{index}=1}}^{{{last}}}"

    def _bracketed(self, formula: str) -> str:
        return f"({formula})"

    def _fraction(self, above: str, below: Expr, *, last: bool) -> str:
        fraction = f"{above}/{self.parenthesize(below, PRECEDENCE['Pow'], strict=True)}"
        return fraction if last else f"({fraction})"

    def _print_Indexed(self, e: Expr) -> str:
        return f"{self._print(e.base)}_{''.join(map(self._print, e.indices))}"

    def _print_IndexedBase(self, e: Expr) -> str:
        return str(self._print(e.label))

    def _print_KroneckerDelta(self, e: Expr) -> str:
        return f"δ_{''.join(map(self._print, e.args))}"

    def _print_Index(self, e: Expr) -> str:
        """Print the index of a normal form: i′, j′, deeper sums i″."""
        return str("ijklmnop"[e.place] + "′" * e.level)

    def _print_Exponential(self, e: Expr) -> str:
        return f"exp({self._print(e.args[0])})"

    def _print_Logarithm(self, e: Expr) -> str:
        return f"log({self._print(e.args[0])})"

    def _print_LessThan(self, e: Expr) -> str:
        return f"{self._print(e.lhs)} ≤ {self._print(e.rhs)}"

    def _print_Equality(self, e: Expr) -> str:
        return f"{self._print(e.lhs)} = {self._print(e.rhs)}"

    def _print_Symbol(self, e: Expr) -> str:
        head, _, subscript = e.name.partition("_")
        return f"{pretty_symbol(head)}_{subscript}" if subscript else str(pretty_symbol(head))

    def _print_Pow(self, e: Expr, rational: bool = False) -> str:
        if e.exp.is_negative:
            return self._fraction("1", 1 / e, last=True)
        if e.exp == S.Half:
            return f"√{self.parenthesize(e.base, PRECEDENCE['Atom'], strict=True)}"
        power = {2: "²", 3: "³"}.get(e.exp, f"^{self._print(e.exp)}")
        base = str(self._print(e.base))
        loose = precedence_traditional(e.base) <= PRECEDENCE["Pow"]
        return (self._bracketed(base) if loose else base) + power
