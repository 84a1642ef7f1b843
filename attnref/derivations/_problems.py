"""What a record must be, apart from its steps being right."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sympy import Eq, Expr, IndexedBase, Symbol

from attnref.derivations._chains import bound_in
from attnref.derivations._derivatives import names_in
from attnref.derivations._induction import chain_problems
from attnref.derivations._operators import Partial, Place
from attnref.derivations._signs import is_nonnegative, is_positive

if TYPE_CHECKING:
    from attnref.derivations._record import Record

__all__ = ["problems_of"]


def problems_of(record: "Record") -> Iterator[str]:
    """Yield what is wrong, in words."""
    if not re.fullmatch("[A-Z0-9]{4}", record.tag):
        yield f"the tag {record.tag!r} is not four capital letters and digits"
    yield from _naming_problems(record)
    yield from _law_problems(record)
    yield from _borrowing_problems(record)
    yield from _ending_problems(record)
    yield from (f"{name} is not declared" for name in sorted(_undeclared(record)))
    yield from (f"no locator for {s.work}" for s in record.sources if not s.locator)


def _naming_problems(record: "Record") -> Iterator[str]:
    named = {
        "step": [line.step.name for line in record.lines],
        "law": [law.name for law in record.laws],
        "variant": [variant.name for variant in record.variants],
    }
    for kind, names in named.items():
        twice = [name for name, times in Counter(names).items() if times > 1]
        yield from (f"two {kind}s are called {name}" for name in twice)
        odd = [name for name in names if not re.fullmatch("[A-Za-z0-9]+([ -][A-Za-z0-9]+)*", name)]
        yield from (f"{kind} {name!r} is not called by words" for name in odd)
    for name in named["step"]:
        if not re.fullmatch("[a-z]+(-[a-z]+)*", name) or name == "statement":
            yield f"step {name!r} needs a name of lower-case words, and not 'statement'"
    yield from (f"two symbols are called {name}" for name in sorted(_clashes(record)))
    for name in record.code:
        if not re.fullmatch(r"attnref(\.[a-z_]+)+", name, re.IGNORECASE):
            yield f"the code {name!r} is no public name of attnref"


def _law_problems(record: "Record") -> Iterator[str]:
    used = {name for line in record.lines for name in line.step.using}
    for law in record.laws:
        if law.name not in used:
            yield f"law {law.name} is used in no step"
        for equality in law.equalities:
            left, right = equality.lhs, equality.rhs
            if not all(equality.has(variable) for variable in law.variables):
                yield f"law {law.name} has a variable that it lacks"
            if any(place.last.has(*law.variables) for place in equality.atoms(Place)):
                yield f"law {law.name} has a place whose range is a variable"
            if not isinstance(equality, Eq):
                continue
            if not all(left.has(variable) for variable in law.variables):
                yield f"law {law.name} has a variable that its left side lacks"
            if left.is_positive and not is_positive(right):
                yield f"law {law.name} makes positive what need not be"
            elif left.is_nonnegative and not is_nonnegative(right):
                yield f"law {law.name} makes at least 0 what need not be"


def _borrowing_problems(record: "Record") -> Iterator[str]:
    """Refuse a derivative from a record that knew less of what its symbols depend on."""
    for other in record.uses:
        taken = (bound_in(record) - bound_in(other)) & _varying(other)
        yield from (f"{name} varies freely in {other.tag}, and not here" for name in sorted(taken))


def _varying(record: "Record") -> set[str]:
    """Name what stands in a record with derivatives, and in those it uses."""
    lines = [record.statement, *(line.step.expression for line in record.lines)]
    lines += [equality for law in record.laws for equality in law.equalities]
    within = set[str]().union(*map(_varying, record.uses))
    here = any(line.has(Partial) for line in lines)
    return within.union(*map(names_in, lines)) if here or within else set()


def _ending_problems(record: "Record") -> Iterator[str]:
    yield from chain_problems(record)
    if not record.variants:
        yield "there is no wrong variant to refuse"
    for variant in record.variants:
        if variant.expression is None and not variant.withheld:
            yield f"variant {variant.name} changes nothing"


def _undeclared(record: "Record") -> set[str]:
    declared = set[str]().union(*(_names(quantity.symbol) for quantity in record.symbols))
    return {str(symbol) for symbol in _free(record)} - declared


def _clashes(record: "Record") -> set[str]:
    times = Counter((str(symbol), isinstance(symbol, IndexedBase)) for symbol in _free(record))
    return {name for (name, _), number in times.items() if number > 1}


def _free(record: "Record") -> set[Expr]:
    """List what stands free in the record: constants, indices, bases, and the ends of places."""
    free = set[Expr]().union(_symbols(record.statement))
    free = free.union(*(_symbols(line.step.expression) for line in record.lines))
    for law in record.laws:
        free |= set[Expr]().union(*map(_symbols, law.equalities)) - set(law.variables)
    return free


def _symbols(e: Expr) -> set[Expr]:
    bases: set[Expr] = e.atoms(IndexedBase)
    labels = {base.label for base in bases}
    symbols = {name for name in e.free_symbols if isinstance(name, Symbol)} - labels
    ends = (set[Expr](p.last.free_symbols) for p in symbols if isinstance(p, Place))
    return bases.union(symbols, *ends)


def _names(e: Expr) -> set[str]:
    return set(map(str, _symbols(e)))
