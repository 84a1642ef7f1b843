"""The slips of a pen: everything that one small mistake makes of an expression."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from sympy import Add, Expr, Indexed, IndexedBase, Mul, Pow, Sum, Symbol, exp, log

from attnref.derivations import Record
from attnref.derivations._chains import Line, bound_in
from attnref.derivations._operators import Expectation, Partial
from attnref.derivations._printing import plain
from attnref.derivations._proof import Outcome
from attnref.derivations._verify import judged

Slips = Iterator[tuple[str, Expr]]
"""The kind of each slip, and the expression after it."""


def survivors(record: Record, line: Line) -> list[str]:
    """Check every slip of a line, and return those that are proved, though they are no weaker."""
    proved = []
    for kind, slip in slips(record, line.step.expression):
        wrong = replace(line, step=replace(line.step, expression=slip))
        outcome = judged(record, wrong).outcome
        assert outcome is not Outcome.OUTSIDE, (kind, plain(slip), judged(record, wrong).detail)
        if outcome is Outcome.PROVED and not _is_weaker(record, wrong, line.step.expression):
            proved.append(plain(slip))
    return proved


def _is_weaker(record: Record, line: Line, bound: Expr) -> bool:
    """Say whether a line that is above another one is above the bound that was meant, too."""
    above = line.step.relation == "<="
    return above and judged(record, replace(line, before=bound)).outcome is Outcome.PROVED


def turned(line: Line) -> Line:
    """Return the line read from right to left: a ≤ b as b ≤ a."""
    return replace(
        line, before=line.step.expression, step=replace(line.step, expression=line.before)
    )


def slips(record: Record, e: Expr) -> Slips:
    """Yield each expression that one slip makes of a line of the record."""
    symbols = _symbols(record)
    indices = [s for s in symbols if s.is_integer and not s.is_nonnegative]
    writer = _Writer(indices, [s for s in symbols if not s.is_integer], bound_in(record))
    yield from ((kind, slip) for kind, slip in writer.anywhere(e) if slip != e)


def _symbols(record: Record) -> list[Symbol]:
    lines = [record.statement, *(line.step.expression for line in record.lines)]
    labels = {base.label for line in lines for base in line.atoms(IndexedBase)}
    return sorted(set[Symbol]().union(*(line.atoms(Symbol) for line in lines)) - labels, key=str)


@dataclass(frozen=True)
class _Writer:
    """Somebody who may take one index, or one number, for another."""

    indices: list[Symbol]
    numbers: list[Symbol]
    bound: Collection[str]

    def anywhere(self, e: Expr) -> Slips:
        yield from self.here(e)
        if isinstance(e, Sum):
            yield from ((kind, Sum(slip, *e.limits)) for kind, slip in self.anywhere(e.function))
        elif isinstance(e, Partial):
            yield from self._in_a_derivative(*e.args)
        elif not isinstance(e, Indexed | IndexedBase | Symbol):
            for place, arg in enumerate(e.args):
                slips = self._in_an_exponent(arg) if isinstance(e, exp) else self.anywhere(arg)
                yield from ((kind, _with(e, place, slip)) for kind, slip in slips)

    def here(self, e: Expr) -> Slips:
        if isinstance(e, Add):
            yield from _in_a_sum(e)
        elif isinstance(e, Mul):
            yield from _in_a_product(e)
        elif isinstance(e, Pow):
            yield "change a constant", Pow(e.base, e.exp + 1)
            yield "invert a ratio", Pow(e.base, -e.exp)
        elif isinstance(e, exp | log | Expectation | Partial):
            yield "drop a function", e.args[0]
        elif isinstance(e, Indexed):
            yield from self._in_an_index(e)
        elif isinstance(e, Sum):
            yield from _in_a_range(e)
        elif e.is_Rational:
            yield "change a constant", e + 1
        elif isinstance(e, Symbol):
            yield from self._in_a_symbol(e)

    def _in_an_exponent(self, e: Expr) -> Slips:
        for kind, slip in self.anywhere(e):
            shift = kind == "drop a term" and len(e.args) == len(Add.make_args(slip)) + 1
            yield ("drop the shift" if shift else kind), slip

    def _in_a_derivative(self, f: Expr, x: Expr) -> Slips:
        yield from ((kind, Partial(slip, x)) for kind, slip in self.anywhere(f))
        others = self._in_an_index(x) if isinstance(x, Indexed) else self._in_a_symbol(x)
        for _, other in others:
            if str(other) not in self.bound:
                yield "wrong variable", Partial(f, other)

    def _in_an_index(self, e: Indexed) -> Slips:
        for place in range(len(e.indices)):
            for other in self.indices:
                indices = (*e.indices[:place], other, *e.indices[place + 1 :])
                yield "swap an index", Indexed(e.base, *indices)

    def _in_a_symbol(self, e: Symbol) -> Slips:
        if e.is_nonnegative:
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
