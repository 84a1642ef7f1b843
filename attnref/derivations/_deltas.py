"""δ_ij a_i = δ_ij a_j: under a δ that stays, one name stands for all the indices it makes equal."""

from collections.abc import Callable, Iterable

from sympy import Add, Expr, Integer, KroneckerDelta, Mul, Symbol

__all__ = ["collapsed"]

Deltas = frozenset[Expr]
Form = Callable[[Expr], Expr]


def collapsed(monomials: list[Expr], normal_form: Form) -> Expr:
    """Add monomials up, those under the same δ together."""
    groups: dict[Deltas, list[Expr]] = {}
    for monomial in monomials:
        deltas = frozenset(filter(_is_delta, map(_base, Mul.make_args(monomial))))
        groups.setdefault(deltas, []).append(monomial)
    if not any(groups):
        return Add(*monomials)
    parts: dict[Expr, Expr] = {}
    for deltas, members in groups.items():
        names = _names(deltas)
        mark = Mul(*(KroneckerDelta(name, index) for index, name in names.items()))
        part = Add(*(_without(deltas, member).xreplace(names) for member in members))
        parts[mark] = parts.get(mark, Integer(0)) + part
    return Add(*(_under(mark, normal_form(part)) for mark, part in parts.items()))


def _under(mark: Expr, part: Expr) -> Expr:
    return Add(*(mark * term for term in Add.make_args(part)))


def _base(factor: Expr) -> Expr:
    base, power = factor.as_base_exp()
    return base if power.is_Integer and power > 0 else factor


def _is_delta(e: Expr) -> bool:
    return isinstance(e, KroneckerDelta) and all(arg.is_Symbol or arg.is_Integer for arg in e.args)


def _names(deltas: Iterable[Expr]) -> dict[Expr, Expr]:
    """Give every index one name for all that are equal to it: a number, or the first letter."""
    classes: list[set[Expr]] = []
    for delta in deltas:
        members = set(delta.args[:2])
        for other in [other for other in classes if other & members]:
            members |= other
            classes.remove(other)
        classes.append(members)
    firsts = [(min(members, key=_order), members) for members in classes]
    return {index: first for first, members in firsts for index in members if index != first}


def _order(index: Expr) -> tuple[bool, str]:
    return isinstance(index, Symbol), str(index)


def _without(deltas: Deltas, monomial: Expr) -> Expr:
    return Mul(*(factor for factor in Mul.make_args(monomial) if _base(factor) not in deltas))
