"""Derivations that are checked by the machine and cited by their tags.

A record says what is claimed, from what and by which steps; `verify` proves each step from the one
before it, by the laws it names, for all sizes. NumPy and Torch are not involved.
"""

from attnref.derivations import _register, _story
from attnref.derivations._record import (
    Induction,
    Law,
    Proof,
    Quantity,
    Record,
    Source,
    Step,
    Variant,
)
from attnref.derivations._verify import NotProvedError, Verdict, check, verify

__all__ = [
    "RECORDS",
    "Induction",
    "Law",
    "NotProvedError",
    "Proof",
    "Quantity",
    "Record",
    "Source",
    "Step",
    "Variant",
    "Verdict",
    "check",
    "get",
    "verify",
]

RECORDS: tuple[Record, ...]
"""Every derivation, in the order of the story; they are loaded when this is asked for."""


def __getattr__(name: str) -> tuple[Record, ...]:
    if name == "RECORDS":
        return _story.records()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def get(tag: str) -> Record:
    """Return the derivation with a tag.

    Arguments:
        tag: four characters, upper or lower case.

    Returns:
        The record.

    Raises:
        ValueError: the tag was withdrawn, with the reason and what took its place; or it was never
            given, with the nearest one.

    >>> get("ZFRM").title
    'The Z form'
    """
    record = _story.find(tag.upper())
    if record is None:
        known = [known for tags in _story.STORY.values() for known in tags]
        raise ValueError(_register.why_not(tag, known, _register.register()))
    return record
