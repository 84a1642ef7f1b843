"""Judgements as a page shows them: what is wrong first, each under an address of its own; JSON."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from claims._judgement import Judgement
from claims._verdict import MEANING, VERDICTS


class Audit:
    """Judgements in groups, one a verdict: Markdown on the page, the same lines in a terminal."""

    def __init__(self, judgements: Iterable[Judgement]) -> None:
        self.judgements = sorted(judgements, key=_place)
        self.counts = Counter(j.verdict for j in self.judgements)
        self.said = ", ".join(
            f"{self.counts[v]} {v}" for v in VERDICTS if self.counts[v]
        )

    def of(self, *verdicts: str) -> "Audit":
        """Return the judgements with one of these verdicts."""
        return Audit(j for j in self.judgements if j.verdict in verdicts)

    def __str__(self) -> str:
        return "\n\n".join(map(_entry, self.judgements))

    def _repr_markdown_(self) -> str:
        return str(self)


class Grouped(Audit):
    """The same with a heading for each verdict that occurs: none can be left out."""

    def __str__(self) -> str:
        groups = ((v, self.of(v)) for v in VERDICTS if self.counts[v])
        return "\n\n".join(
            f"## {verdict.capitalize()}\n\n{MEANING[verdict]}\n\n{group}"
            for verdict, group in groups
        )


class Counts(Audit):
    """How many of each verdict, by article; a page that shows it has all the data beside it."""

    def __str__(self) -> str:
        found = Counter((j.verdict, j.claim["article"]) for j in self.judgements)
        articles = ("z-form", "scaling")
        counts = {v: [found[v, article] for article in articles] for v in VERDICTS}
        counts["all"] = [
            sum(column) for column in zip(*counts.values(), strict=True)
        ]
        head = "| verdict | the Z form | scaling | both |\n|:---|---:|---:|---:|\n"
        rows = (
            f"| {name} | {z} | {s} | {z + s} |" for name, (z, s) in counts.items()
        )
        return head + "\n".join(rows)

    def _repr_json_(self) -> list[dict[str, Any]]:
        return [_data(j) for j in self.judgements]


def _place(judgement: Judgement) -> tuple[bool, int]:
    """Order as the articles do: the Z form first."""
    return judgement.name[0] != "Z", int(judgement.name[1:])


def _entry(judgement: Judgement) -> str:
    claim, name = judgement.claim, judgement.name
    facts = [f"*Printed:* {claim['printed']}." if claim["printed"] else ""]
    if judgement.executed:
        facts.append(f"*Executed:* {judgement.executed}.")
    if judgement.difference.strip("0, "):
        facts.append(f"*Off by* {judgement.difference}.")
    found = " ".join([claim["statement"] + ".", *filter(None, facts)])
    remark = f"  \n{judgement.remark}" if judgement.remark else ""
    return f"[{name}](#{name}){{ #{name} .claim }} {found}{remark}"


def _data(judgement: Judgement) -> dict[str, Any]:
    found = {
        "verdict": judgement.verdict,
        "executed": judgement.executed,
        "difference": judgement.difference,
        "remark": judgement.remark,
    }
    return {**judgement.claim, **found}
