"""A record of one definition and two steps, for the tests to spoil."""

from dataclasses import replace
from typing import Any

from sympy import Eq, Expr, IndexedBase, Sum, Symbol, symbols

from attnref.derivations import Law, Quantity, Record, Source, Step, Variant
from attnref.derivations._operators import ratio, total

x, c, mean = IndexedBase("x"), Symbol("c"), Symbol("M")
i, j = symbols("i j", integer=True)
n = Symbol("n", integer=True, positive=True)


def small_record(last: Expr = n, **changes: Any) -> Record:
    """Return the record, for numbers x_1 to x_last, with some fields changed."""
    numbers = (i, 1, last)
    shifted = ratio(Sum(total(x[i], c), numbers), last)
    end = total(ratio(Sum(x[i], numbers), last), c)
    record = Record(
        tag="MEAN",
        title="The mean of shifted numbers",
        summary="A shift of all numbers shifts their mean.",
        statement=Eq(mean, end),
        symbols=(
            Quantity(mean, "mean", r"\in \mathbb{R}"),
            Quantity(x[i], "number", r"\in \mathbb{R}"),
            Quantity(c, "shift", r"\in \mathbb{R}"),
            *((Quantity(last, "length", r"\geq 1"),) if isinstance(last, Symbol) else ()),
        ),
        definitions=(Law("mean", "sum over length", (Eq(mean, shifted),)),),
        assumptions=(),
        steps=(
            Step("sum", shifted, "What a mean is.", ("mean",)),
            Step("shift", end, "The shift is added once a number."),
        ),
        variants=(
            Variant("once", "shift", "Added once.", ratio(total(Sum(x[i], numbers), c), last)),
        ),
        sources=(Source("A textbook", "page 1", False),),
        date="2026-11-29",
    )
    return replace(record, **changes)
