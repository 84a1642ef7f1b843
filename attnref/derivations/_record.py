"""A derivation as data: what is claimed, from what, by which steps, and what it must refuse.

A record is read like mathematics and checked by `verify`. Its status is computed, never typed, and
what it shows to a reader is generated from the expressions that are checked.
"""

from dataclasses import dataclass

from sympy import Eq, Expr, Le, Symbol

from attnref.derivations import _citing, _fingerprint, _markdown, _printing, _text
from attnref.derivations._chains import Chain, Line, chains_of, places_of

__all__ = ["Induction", "Law", "Proof", "Quantity", "Record", "Source", "Step", "Variant"]


@dataclass(frozen=True)
class Quantity:
    r"""A symbol of the derivation.

    Arguments:
        symbol: as it is written, y_t say.
        meaning: in words.
        domain: in LaTeX, what follows the symbol: `\in \mathbb{R}`, `\geq 1`.
    """

    symbol: Expr
    meaning: str
    domain: str

    @property
    def letter(self) -> str:
        """The symbol in LaTeX."""
        return _printing.latex(self.symbol)


@dataclass(frozen=True)
class Law:
    """A definition or an assumption: equalities that a step may use once it names them.

    Arguments:
        name: a word or two, unique in the record.
        words: what the equalities say.
        equalities: each is used from left to right; of a ≤ b a step "<=" may use b − a ≥ 0.
        variables: the symbols it holds for all values of.
    """

    name: str
    words: str
    equalities: tuple[Eq | Le, ...]
    variables: tuple[Symbol, ...] = ()


@dataclass(frozen=True)
class Step:
    """The next expression, equal to the one before it, or at least as large.

    Arguments:
        name: a word, part of the step's address.
        expression: what the line before is equal to, or at most.
        reason: why, in words.
        using: the names of the laws this step may use; an unnamed law can't help it.
        relation: "=" or "<=", between the line before and this one.
    """

    name: str
    expression: Expr
    reason: str
    using: tuple[str, ...] = ()
    relation: str = "="


@dataclass(frozen=True)
class Induction:
    """Two proofs in the place of one: of P(0), and of P(n + 1) from P(n); P is the statement.

    Arguments:
        variable: n, a whole number, at least 0.
        base: from the left to the right side of P(0).
        step: from the left to the right side of P(n + 1); the law "hypothesis" is P(n).
    """

    variable: Symbol
    base: tuple[Step, ...]
    step: tuple[Step, ...]


@dataclass(frozen=True)
class Variant:
    """A mistake that people make, and that the check must refuse.

    Arguments:
        name: a few words.
        step: the step it goes wrong in.
        why: what is wrong about it, and who printed it.
        expression: put in the place of the step's own, if it is another one.
        withheld: laws the step is to do without.
    """

    name: str
    step: str
    why: str
    expression: Expr | None = None
    withheld: tuple[str, ...] = ()


@dataclass(frozen=True)
class Source:
    """Where the result stands in the literature; checked: seen there, in a transcription."""

    work: str
    locator: str
    checked: bool


@dataclass(frozen=True)
class Record:
    """A derivation: the statement's left side turns into its right side, step by step.

    Arguments:
        tag: four characters, permanent.
        title: a few words.
        summary: one sentence.
        statement: what is proved.
        symbols: every symbol that stands free in the record.
        definitions: laws that name things.
        assumptions: laws that may fail to hold.
        steps: from the statement's left side to its right side; none if there is an induction.
        variants: what must be refused.
        sources: the literature.
        date: of the last change, ISO.
        uses: records whose statements the steps may use, by their tags.
        remark: what else a reader should know, where more is assumed than needed, say.
        induction: the proof, if it is one by induction.
        code: the public names that are this formula, "attnref.softmax" say.
    """

    tag: str
    title: str
    summary: str
    statement: Eq | Le
    symbols: tuple[Quantity, ...]
    definitions: tuple[Law, ...]
    assumptions: tuple[Law, ...]
    steps: tuple[Step, ...]
    variants: tuple[Variant, ...]
    sources: tuple[Source, ...]
    date: str
    uses: tuple["Record", ...] = ()
    remark: str = ""
    induction: Induction | None = None
    code: tuple[str, ...] = ()

    @property
    def laws(self) -> tuple[Law, ...]:
        """All that a step may name; the statement of a used record goes by its tag."""
        quoted = (Law(r.tag, r.title, (r.statement,), places_of(r)) for r in self.uses)
        return (*self.definitions, *self.assumptions, *quoted)

    @property
    def hypothesis(self) -> Law:
        """The statement as a law, for the step of an induction: for this $n$ and no other."""
        return Law("hypothesis", "the statement, for this number alone", (self.statement,))

    @property
    def chains(self) -> tuple[Chain, ...]:
        """The lines that prove the statement: one chain, or those of an induction."""
        return chains_of(self)

    @property
    def lines(self) -> tuple[Line, ...]:
        """The lines of all chains."""
        return tuple(line for chain in self.chains for line in chain.lines)

    @property
    def fingerprint(self) -> str:
        """Twelve hexadecimal digits that change when the statement or what it rests on changes."""
        return _fingerprint.fingerprint(self)

    @property
    def citation(self) -> str:
        """How to cite this derivation, as it stands in this version."""
        return _citing.cite(self)

    @property
    def proof(self) -> "Proof":
        """The steps alone, to be shown where a page tells the rest in words of its own."""
        return Proof(self)

    def __str__(self) -> str:
        return _text.text(self)

    def _repr_markdown_(self) -> str:
        return _markdown.markdown(self)


@dataclass(frozen=True)
class Proof:
    """The steps of a record, without what they rest on."""

    record: Record

    def __str__(self) -> str:
        return _text.proof(self.record)

    def _repr_markdown_(self) -> str:
        return _markdown.proof(self.record)
