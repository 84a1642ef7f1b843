"""The check of a record: each step from the one before it, by the laws it names and no others."""

import time
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from sympy import Expr, Sum, Symbol

from attnref.derivations._chains import Line, bound_in
from attnref.derivations._problems import problems_of
from attnref.derivations._proof import Finding, Outcome, prove

if TYPE_CHECKING:
    from attnref.derivations._record import Record, Variant

__all__ = ["NotProvedError", "Result", "Verdict", "check", "judged", "verify"]

_REFUSALS = frozenset(Outcome) - {Outcome.PROVED, Outcome.OUTSIDE}
"""A variant that is merely outside the language has not been refused for being wrong."""


class NotProvedError(AssertionError):
    """A record that its own check does not accept."""


@dataclass(frozen=True)
class Result:
    """What became of a step (good: proved) or of a wrong variant (good: refused)."""

    name: str
    good: bool
    finding: Finding


@dataclass(frozen=True)
class Verdict:
    """The result of checking a record.

    Arguments:
        tag: the record's.
        steps: one result a step.
        variants: one result a wrong variant.
        problems: what else is wrong with the record, in words.
        sizes: the sizes the proof holds for all values of.
        general: no sum has a number for its length.
        seconds: how long the check took.
    """

    tag: str
    steps: tuple[Result, ...]
    variants: tuple[Result, ...]
    problems: tuple[str, ...]
    sizes: tuple[Symbol, ...]
    general: bool
    seconds: float

    @property
    def proved(self) -> bool:
        """Every step proved, every wrong variant refused, nothing else amiss."""
        return not self.problems and all(result.good for result in self.steps + self.variants)

    @property
    def failures(self) -> tuple[str, ...]:
        """What is wrong, a line each."""
        steps = (
            f"step {r.name} is not proved: {_line(r.finding)}" for r in self.steps if not r.good
        )
        variants = (
            f"variant {r.name} is not refused: {_line(r.finding)}"
            for r in self.variants
            if not r.good
        )
        return (*self.problems, *steps, *variants)


@cache  # a page shows the record, its status and its citation; records and expressions are frozen
def verify(record: "Record") -> Verdict:
    """Check a record. A wrong one is reported, not raised.

    Arguments:
        record: any record.

    Returns:
        The verdict, step by step.

    >>> from attnref.derivations import get
    >>> verify(get("ZFRM")).proved
    True
    """
    start = time.perf_counter()
    steps = tuple(_check_line(record, line) for line in record.lines)
    variants = tuple(_check_variant(record, variant) for variant in record.variants)
    unproved = (f"{used.tag} is not proved" for used in record.uses if not verify(used).proved)
    problems = (*problems_of(record), *unproved)
    sizes = tuple(quantity.symbol for quantity in record.symbols if _is_size(quantity.symbol))
    general = not any(last.is_Number for sigma in _sums(record) for *_, last in sigma.limits)
    seconds = time.perf_counter() - start
    return Verdict(record.tag, steps, variants, problems, sizes, general, seconds)


def check(record: "Record") -> Verdict:
    """Check a record, and raise unless it is proved.

    Arguments:
        record: any record.

    Returns:
        The verdict, step by step.

    Raises:
        NotProvedError: a step is not proved, a variant not refused, or the record not whole.

    >>> from attnref.derivations import get
    >>> check(get("VDOT")).proved
    True
    """
    verdict = verify(record)
    if not verdict.proved:
        raise NotProvedError("\n".join((f"{record.tag} is not proved:", *verdict.failures)))
    return verdict


def _check_line(record: "Record", line: Line) -> Result:
    finding = judged(record, line)
    return Result(line.address, finding.outcome is Outcome.PROVED, finding)


def _check_variant(record: "Record", variant: "Variant") -> Result:
    line = next((line for line in record.lines if line.step.name == variant.step), None)
    if line is None:
        outside = Finding(Outcome.OUTSIDE, f"there is no step {variant.step}")
        return Result(variant.name, False, outside)
    expression = line.step.expression if variant.expression is None else variant.expression
    using = tuple(name for name in line.step.using if name not in variant.withheld)
    wrong = replace(line, step=replace(line.step, expression=expression, using=using))
    finding = judged(record, wrong)
    return Result(variant.name, finding.outcome in _REFUSALS, finding)


def judged(record: "Record", line: Line) -> Finding:
    """Check one line of a record, or one that is put in its place."""
    step = line.step
    laws = {law.name: law for law in line.laws}
    unknown = [name for name in step.using if name not in laws]
    if unknown:
        return Finding(Outcome.OUTSIDE, f"it uses {', '.join(unknown)}, which no law is called")
    used = [laws[name] for name in step.using]
    bound = bound_in(record)
    return prove(line.before, step.expression, used, bound=bound, relation=step.relation)


def _sums(record: "Record") -> set[Sum]:
    # The base of an induction has one size by nature, and is a proof for none but that one.
    lines = (line for chain in record.chains if chain.part != "base" for line in chain.lines)
    expressions = [record.statement, *(line.step.expression for line in lines)]
    expressions += [equality for law in record.laws for equality in law.equalities]
    return set[Sum]().union(*(expression.atoms(Sum) for expression in expressions))


def _is_size(symbol: Expr) -> bool:
    return isinstance(symbol, Symbol) and bool(symbol.is_integer and symbol.is_nonnegative)


def _line(finding: Finding) -> str:
    return f"{finding.outcome.value}: {finding.detail}" if finding.detail else finding.outcome.value
