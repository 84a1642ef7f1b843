"""The slips of a pen: everything that one small mistake makes of an expression."""

from collections.abc import Iterator
from dataclasses import dataclass

from sympy import Add, Expr, Indexed, IndexedBase, Mul, Pow, Sum, Symbol, exp

from attnref.derivations import Record
from attnref.derivations._operators import Expectation

Slips = Iterator[tuple[str, Expr]]
"""The kind of each slip, and the expression after it."""


def slips(record: Record, e: Expr) -> Slips:
    """Yield each expression that one slip makes of a line of the record."""
    symbols = _symbols(record)
    indices = [s for s in symbols if s.is_integer and not s.is_positive]
    writer = _Writer(indices, [s for s in symbols if not s.is_integer])
    yield from ((kind, slip) for kind, slip in writer.anywhere(e) if slip != e)


def _symbols(record: Record) -> list[Symbol]:
    lines = [record.statement, *(step.expression for step in record.steps)]
    labels = {base.label for line in lines for base in line.atoms(IndexedBase)}
    return sorted(set[Symbol]().union(*(line.atoms(Symbol) for line in lines)) - labels, key=str)


@dataclass(frozen=True)
class _Writer:
    """Somebody who may take one index, or one number, for another."""

    indices: list[Symbol]
    numbers: list[Symbol]

    def anywhere(self, e: Expr) -> Slips:
        yield from self.here(e)
        if isinstance(e, Sum):
            yield from ((kind, Sum(slip, *e.limits)) for kind, slip in self.anywhere(e.function))
        elif not isinstance(e, Indexed | IndexedBase | Symbol):
            for place, arg in enumerate(e.args):
                yield from ((kind, _with(e, place, slip)) for kind, slip in self.anywhere(arg))

    def here(self, e: Expr) -> Slips:
        if isinstance(e, Add):
            yield from _in_a_sum(e)
        elif isinstance(e, Mul):
            yield from _in_a_product(e)
        elif isinstance(e, Pow):
            yield "change a constant", Pow(e.base, e.exp + 1)
            yield "invert a ratio", Pow(e.base, -e.exp)
        elif isinstance(e, exp | Expectation):
            yield "drop a function", e.args[0]
        elif isinstance(e, Indexed):
            yield from self._in_an_index(e)
        elif isinstance(e, Sum):
            yield from _in_a_range(e)
        elif e.is_Integer:
            yield "change a constant", e + 1
        elif isinstance(e, Symbol):
            yield from self._in_a_symbol(e)

    def _in_an_index(self, e: Indexed) -> Slips:
        for place in range(len(e.indices)):
            for other in self.indices:
                indices = (*e.indices[:place], other, *e.indices[place + 1 :])
                yield "swap an index", Indexed(e.base, *indices)

    def _in_a_symbol(self, e: Symbol) -> Slips:
        if e.is_positive:
            yield "change a constant", 4 * e  # so that its root is in the language, too
        for kind in (self.indices, self.numbers):
            yield from (("swap a symbol", other) for other in kind if e in kind)


def _in_a_sum(e: Add) -> Slips:
    for place, arg in enumerate(e.args):
        yield "drop a term", _without(e, place)
        yield "flip a sign", _with(e, place, -arg)


def _in_a_product(e: Mul) -> Slips:
    for place, arg in enumerate(e.args):
        yield "drop a factor", _without(e, place)
        if abs(arg) != 1:
            yield "invert a ratio", _with(e, place, Pow(arg, -1, evaluate=False))


def _in_a_range(e: Sum) -> Slips:
    (index, first, last), *outer = e.limits
    yield "change a length", Sum(e.function, (index, first, last + 1), *outer)
    yield "drop a sum", Sum(e.function, *outer) if outer else e.function


def _without(e: Expr, place: int) -> Expr:
    return e.func(*e.args[:place], *e.args[place + 1 :], evaluate=False)


def _with(e: Expr, place: int, arg: Expr) -> Expr:
    args = (*e.args[:place], arg, *e.args[place + 1 :])
    return e.func(*args, evaluate=False) if isinstance(e, Add | Mul | Pow) else e.func(*args)
