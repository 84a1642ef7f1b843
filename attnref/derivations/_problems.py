"""What a record must be, apart from its steps being right."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sympy import Expr, IndexedBase, Symbol

from attnref.derivations._proof import is_positive

if TYPE_CHECKING:
    from attnref.derivations._record import Record

__all__ = ["problems_of"]


def problems_of(record: "Record") -> Iterator[str]:
    """Yield what is wrong, in words."""
    if not re.fullmatch("[A-Z0-9]{4}", record.tag):
        yield f"the tag {record.tag!r} is not four capital letters and digits"
    yield from _naming_problems(record)
    yield from _law_problems(record)
    yield from _ending_problems(record)
    yield from (f"{name} is not declared" for name in sorted(_undeclared(record)))
    yield from (f"no locator for {s.work}" for s in record.sources if not s.locator)


def _naming_problems(record: "Record") -> Iterator[str]:
    named = {
        "step": [step.name for step in record.steps],
        "law": [law.name for law in record.laws],
        "variant": [variant.name for variant in record.variants],
    }
    for kind, names in named.items():
        twice = [name for name, times in Counter(names).items() if times > 1]
        yield from (f"two {kind}s are called {name}" for name in twice)
        odd = [name for name in names if not re.fullmatch("[A-Za-z0-9]+([ -][A-Za-z0-9]+)*", name)]
        yield from (f"{kind} {name!r} is not called by words" for name in odd)
    for step in record.steps:
        if not re.fullmatch("[a-z]+(-[a-z]+)*", step.name) or step.name == "statement":
            yield f"step {step.name!r} needs a name of lower-case words, and not 'statement'"


def _law_problems(record: "Record") -> Iterator[str]:
    used = {name for step in record.steps for name in step.using}
    for law in record.laws:
        if law.name not in used:
            yield f"law {law.name} is used in no step"
        for equality in law.equalities:
            if not all(equality.lhs.has(variable) for variable in law.variables):
                yield f"law {law.name} has a variable that its left side lacks"
            if equality.lhs.is_positive and not is_positive(equality.rhs):
                yield f"law {law.name} makes positive what need not be"


def _ending_problems(record: "Record") -> Iterator[str]:
    end = record.steps[-1].expression if record.steps else record.statement.lhs
    if end != record.statement.rhs:
        yield "the last step is not the right side of the statement"
    if not record.variants:
        yield "there is no wrong variant to refuse"
    for variant in record.variants:
        if variant.expression is None and not variant.withheld:
            yield f"variant {variant.name} changes nothing"


def _undeclared(record: "Record") -> set[str]:
    declared = set[str]().union(*(_names(quantity.symbol) for quantity in record.symbols))
    used = _names(record.statement).union(*(_names(step.expression) for step in record.steps))
    for law in record.laws:
        bound = {str(variable) for variable in law.variables}
        used |= set[str]().union(*map(_names, law.equalities)) - bound
    return used - declared


def _names(e: Expr) -> set[str]:
    """Name what stands free: constants, indices, and the bases of indexed symbols."""
    bases = e.atoms(IndexedBase)
    labels = {base.label for base in bases}
    free = {name for name in e.free_symbols if isinstance(name, Symbol)} - labels
    return {str(name) for name in bases | free}
