"""∂f/∂x by the rules of calculus, and what must be known of a symbol before they apply.

    linear      ∂(f + g) = ∂f + ∂g,  ∂Σ_i f_i = Σ_i ∂f_i
    product     ∂(fg) = f ∂g + g ∂f
    power       ∂f^r = r f^(r − 1) ∂f, for whole r, and for r = 1/2 where f is a positive symbol
    exp, log    ∂ exp f = exp(f) ∂f,  ∂ log f = ∂f / f
    indexed     ∂a_i/∂a_j = δ_ij
    constants   ∂f = 0

x has to vary freely: no law of the record says what it is, and none binds it. A constant is a
number, a size, an index, or a symbol without x that no law says anything about. Of what a law does
say something about, Z_t say, ∂Z_t/∂a_tj is neither 0 nor anything else before a step names the law
that opens Z_t: it stays as it is. Everything that is named is taken to be differentiable.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from sympy import (
    Add,
    Eq,
    Expr,
    Function,
    Indexed,
    IndexedBase,
    Integer,
    KroneckerDelta,
    Mul,
    Pow,
    Sum,
    Symbol,
    exp,
    log,
)
from sympy.logic.boolalg import Boolean

from attnref.derivations._atoms import Exponential, Logarithm
from attnref.derivations._operators import Partial, is_random
from attnref.derivations._rational import OutsideLanguageError

__all__ = ["bound_by", "differentiated", "names_in"]

Form = Callable[[Expr], Expr]


def differentiated(e: Expr, defined: Collection[str], normal_form: Form) -> Expr:
    """Work out each ∂f/∂x in an expression in normal form; defined: what laws speak of."""
    if not e.has(Partial):
        return e
    if isinstance(e, Sum):
        return Sum(differentiated(e.function, defined, normal_form), *e.limits)
    if isinstance(e, Partial):
        f, x = e.args
        f = normal_form(differentiated(f, defined, normal_form))
        return _Rules(_variable(x, defined), frozenset(defined)).derivative(f)
    return e.func(*(differentiated(arg, defined, normal_form) for arg in e.args))


def names_in(e: Expr) -> set[str]:
    """Name what an expression speaks of: symbols, bases, and functions without rules."""
    names = {str(atom.label if isinstance(atom, IndexedBase) else atom) for atom in _named(e)}
    return names | {f.func.__name__ for f in e.atoms(Function) if not isinstance(f, _RULED)}


def bound_by(equality: Boolean, *, defines: bool) -> set[str]:
    """Name what an equality fixes: what it defines, or else all that it speaks of."""
    left = equality.lhs if isinstance(equality, Eq) else None
    if isinstance(left, Symbol | Indexed):
        return {str(_name(left))}
    if defines and isinstance(left, Function) and not isinstance(left, _RULED):
        return {left.func.__name__}
    return names_in(equality.lhs) | names_in(equality.rhs)


_RULED = (exp, log, Exponential, Logarithm, KroneckerDelta, Partial)


def _named(e: Expr) -> set[Expr]:
    return {atom for atom in e.atoms(Symbol, IndexedBase) if not atom.is_integer}


def _variable(x: Expr, defined: Collection[str]) -> Expr:
    if not isinstance(x, Symbol | Indexed) or x.is_integer or is_random(x):
        raise OutsideLanguageError(f"a derivative with respect to {x}, which is no variable")
    if bound := names_in(x) & set(defined):
        raise OutsideLanguageError(f"a derivative with respect to {bound.pop()}, which a law binds")
    return x


@dataclass(frozen=True)
class _Rules:
    """The derivative with respect to one variable."""

    x: Expr
    defined: frozenset[str]

    def derivative(self, e: Expr) -> Expr:
        if isinstance(e, Add):
            return Add(*map(self.derivative, e.args))
        if isinstance(e, Mul):
            return Add(*(_with(e, arg, self.derivative(arg)) for arg in e.args))
        if isinstance(e, Pow):
            return e.exp * e.base ** (e.exp - 1) * self.derivative(e.base)
        if isinstance(e, Exponential):
            return e * self.derivative(e.args[0])
        if isinstance(e, Logarithm):
            return self.derivative(e.args[0]) / e.args[0]
        if isinstance(e, Sum):
            return Sum(self.derivative(e.function), *e.limits)
        return self._of_atom(e)

    def _of_atom(self, e: Expr) -> Expr:
        if e == self.x:
            return Integer(1)
        if isinstance(e, Indexed) and isinstance(self.x, Indexed) and e.base == self.x.base:
            return self._of_entry(e)
        if names_in(e) & (names_in(self.x) | self.defined):
            return Partial(e, self.x)
        return Integer(0)

    def _of_entry(self, e: Expr) -> Expr:
        """Differentiate another entry of the same array."""
        if len(e.indices) != len(self.x.indices):
            raise OutsideLanguageError(f"{e} and {self.x} have different numbers of indices")
        return Mul(*map(KroneckerDelta, e.indices, self.x.indices))


def _name(e: Expr) -> str | None:
    if isinstance(e, Indexed):
        return str(e.base.label)
    return str(e) if isinstance(e, Symbol) else None


def _with(e: Mul, arg: Expr, other: Expr) -> Expr:
    return Mul(*(other if factor is arg else factor for factor in e.args))
