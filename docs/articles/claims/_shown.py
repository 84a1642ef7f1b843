"""Judgements as a page shows them: what is wrong first, each under an address of its own; JSON."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from claims._judgement import Judgement
from claims._verdict import VERDICTS


class Audit:
    """Judgements in groups, one a verdict: Markdown on the page, the same lines in a terminal."""

    def __init__(self, judgements: Iterable[Judgement]) -> None:
        order = {verdict: place for place, verdict in enumerate(VERDICTS)}
        self.judgements = sorted(judgements, key=lambda j: order[j.verdict])
        self.counts = Counter(j.verdict for j in self.judgements)

    def of(self, *verdicts: str) -> "Audit":
        """Return the judgements with one of these verdicts."""
        return Audit(j for j in self.judgements if j.verdict in verdicts)

    def __str__(self) -> str:
        return "\n\n".join(map(_entry, self.judgements))

    _repr_markdown_ = __str__


class Record(Audit):
    """The same, and its data: a page that shows it has them beside it as JSON."""

    def _repr_json_(self) -> list[dict[str, Any]]:
        return [_data(j) for j in self.judgements]


def _entry(judgement: Judgement) -> str:
    claim, name = judgement.claim, judgement.id
    facts = [f"*Printed:* {claim['printed']}." if claim["printed"] != "-" else ""]
    if judgement.executed:
        facts.append(f"*Executed:* {judgement.executed}.")
    if judgement.difference:
        facts.append(f"*Off by* {judgement.difference}.")
    parts = [claim["statement"] + ".", *facts, judgement.remark]
    return f"[{name}](#{name}){{ #{name} .claim }} " + " ".join(
        part for part in parts if part
    )


def _data(judgement: Judgement) -> dict[str, Any]:
    found = {
        "verdict": judgement.verdict,
        "executed": judgement.executed,
        "difference": judgement.difference,
        "remark": judgement.remark,
    }
    return {**judgement.claim, **found}
