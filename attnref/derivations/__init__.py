"""Derivations that are checked by the machine and cited by their tags.

A record says what is claimed, from what and by which steps; `verify` proves each step from the one
before it, by the laws it names, for all sizes. NumPy and Torch are not involved.
"""

from attnref.derivations._record import Law, Proof, Quantity, Record, Source, Step, Variant
from attnref.derivations._verify import NotProvedError, Verdict, check, verify
from attnref.derivations.dot_product_variance import RECORD as _VDOT
from attnref.derivations.scaled_variance import RECORD as _VSCL
from attnref.derivations.z_form import RECORD as _ZFRM

__all__ = [
    "RECORDS",
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

RECORDS: tuple[Record, ...] = (_ZFRM, _VDOT, _VSCL)
"""Every derivation, in the order of the story."""


def get(tag: str) -> Record:
    """Return the derivation with a tag.

    Arguments:
        tag: four characters, upper or lower case.

    Returns:
        The record.

    Raises:
        ValueError: no derivation has this tag; the message lists those there are.

    >>> get("ZFRM").title
    'The Z form'
    """
    for record in RECORDS:
        if record.tag == tag.upper():
            return record
    known = ", ".join(record.tag for record in RECORDS)
    raise ValueError(f"no derivation has the tag {tag!r}; there are {known}")
