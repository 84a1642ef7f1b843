"""A derivation as data: what is claimed, from what, by which steps, and what it must refuse.

A record is read like mathematics and checked by `verify`. Its status is computed, never typed, and
what it shows to a reader is generated from the expressions that are checked.
"""

from dataclasses import dataclass

from sympy import Eq, Expr, Symbol

from attnref.derivations import _fingerprint, _markdown, _text

__all__ = ["Law", "Proof", "Quantity", "Record", "Source", "Step", "Variant"]


@dataclass(frozen=True)
class Quantity:
    r"""A symbol of the derivation.

    Arguments:
        symbol: as it is written, y_t say.
        meaning: in words.
        domain: in LaTeX, what follows the symbol: "\in \mathbb{R}", "\geq 1".
    """

    symbol: Expr
    meaning: str
    domain: str


@dataclass(frozen=True)
class Law:
    """A definition or an assumption: equalities that a step may use once it names them.

    Arguments:
        name: a word or two, unique in the record.
        words: what the equalities say.
        equalities: each is used from left to right.
        variables: the symbols it holds for all values of.
    """

    name: str
    words: str
    equalities: tuple[Eq, ...]
    variables: tuple[Symbol, ...] = ()


@dataclass(frozen=True)
class Step:
    """The next expression, equal to the one before it.

    Arguments:
        name: a word, part of the step's address.
        expression: what the line before is equal to.
        reason: why, in words.
        using: the names of the laws this step may use; an unnamed law can't help it.
    """

    name: str
    expression: Expr
    reason: str
    using: tuple[str, ...] = ()


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
        steps: from the statement's left side to its right side.
        variants: what must be refused.
        sources: the literature.
        date: of the last change, ISO.
        uses: records whose statements the steps may use, by their tags.
        remark: what else a reader should know, where more is assumed than needed, say.
    """

    tag: str
    title: str
    summary: str
    statement: Eq
    symbols: tuple[Quantity, ...]
    definitions: tuple[Law, ...]
    assumptions: tuple[Law, ...]
    steps: tuple[Step, ...]
    variants: tuple[Variant, ...]
    sources: tuple[Source, ...]
    date: str
    uses: tuple["Record", ...] = ()
    remark: str = ""

    @property
    def laws(self) -> tuple[Law, ...]:
        """All that a step may name; the statement of a used record goes by its tag."""
        quoted = (Law(other.tag, other.title, (other.statement,)) for other in self.uses)
        return (*self.definitions, *self.assumptions, *quoted)

    @property
    def fingerprint(self) -> str:
        """Twelve hexadecimal digits that change when the statement or what it rests on changes."""
        return _fingerprint.fingerprint(self)

    @property
    def citation(self) -> str:
        """How to cite this derivation, as it stands in this version."""
        return _text.citation(self)

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
