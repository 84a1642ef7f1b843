"""What two articles say, claim by claim, and what becomes of each when it is computed.

    claims.toml    the claims: id, article, kind, statement, inputs, what is printed
    _verdict.py    the rule: printed numeral + executed value → verdict
    _judgement.py  one claim with its verdict and what that rests on
    _shown.py      judgements as a page shows them, and as JSON
    z_form.py …    the claims themselves, executed

A page of this folder imports it; it is no page.
"""

from claims._judgement import (
    CLAIMS,
    Judgement,
    holds,
    imprecise,
    inconsistent,
    numbers,
    unknown,
    wrong,
)
from claims._shown import Audit, Counts, Grouped
from claims._verdict import VERDICTS

__all__ = [
    "CLAIMS",
    "VERDICTS",
    "Audit",
    "Counts",
    "Grouped",
    "Judgement",
    "holds",
    "imprecise",
    "inconsistent",
    "numbers",
    "unknown",
    "wrong",
]
