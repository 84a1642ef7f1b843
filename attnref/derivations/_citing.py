"""How to cite a derivation: as text, BibTeX, RIS and CSL-JSON.

To all four it is a report: the one kind of work that has a number, here the tag, and a body that
issues it, here attnref. The package knows no address of a site; whoever asks may give one.
"""

import json
from dataclasses import dataclass
from datetime import date
from importlib.metadata import metadata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attnref.derivations._record import Record

__all__ = ["FORMATS", "Citation", "cite"]

_LATEX = str.maketrans(
    {mark: rf"\{mark}" for mark in "&%$#_"}
    | {"{": r"\textbraceleft{}", "}": r"\textbraceright{}"}  # BibTeX counts braces, \{ included
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"–": "--", "—": "---", "‘": "`", "’": "'", "“": "``", "”": "''", "√": r"$\surd$"}
    | {"⟨": r"$\langle$", "⟩": r"$\rangle$", "∂": r"$\partial$", "∞": r"$\infty$"}
    | {"≤": r"$\leq$", "≥": r"$\geq$", "×": r"$\times$", "−": "$-$", "·": r"$\cdot$"}
    | {"β": r"$\beta$", "δ": r"$\delta$", "λ": r"$\lambda$", "μ": r"$\mu$", "σ": r"$\sigma$"}
    | {"τ": r"$\tau$", "Σ": r"$\Sigma$", "²": "$^2$", "³": "$^3$"}
    | {"₀₁₂₃₄₅₆₇₈₉"[digit]: f"$_{digit}$" for digit in range(10)}
)
_MONTHS = ("", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


@dataclass(frozen=True)
class Citation:
    """What names a derivation as it stands in one version.

    Arguments:
        tag: which derivation.
        title: its title in this version.
        author: who stands for it.
        version: of attnref.
        date: of the derivation's last change.
        statement: the fingerprint of what it claims.
        url: of its page, empty where no site is known.
    """

    tag: str
    title: str
    author: str
    version: str
    date: date
    statement: str
    url: str

    @property
    def key(self) -> str:
        """The name in a bibliography: the page's address, which never changes."""
        return f"attnref-d-{self.tag}"


def cite(record: "Record", form: str = "text", *, site: str = "") -> str:
    """Return the citation of a record in one of FORMATS; site: the address of a published site."""
    return FORMATS[form](citation(record, site=site))


def citation(record: "Record", *, site: str = "") -> Citation:
    """Collect what a citation of a record says."""
    package = metadata("attnref")
    return Citation(
        record.tag,
        record.title,
        package["Author"],
        package["Version"],
        date.fromisoformat(record.date),
        record.fingerprint,
        f"{site.rstrip('/')}/d/{record.tag}/" if site else "",
    )


def text(work: Citation) -> str:
    """Return one line."""
    address = f" {work.url}" if work.url else ""
    return (
        f"{work.author}. {work.title}. Derivation {work.tag}, attnref {work.version}, {work.date}. "
        f"Statement {work.statement}.{address}"
    )


def bibtex(work: Citation) -> str:
    """Return an entry that BibTeX and BibLaTeX read; braces keep the capitals of names."""
    fields = {
        "title": f"{{{{{in_latex(work.title)}}}}}",
        "author": f"{{{{{in_latex(work.author)}}}}}",
        "institution": "{attnref}",
        "type": "{Derivation}",
        "number": f"{{{work.tag}}}",
        "year": f"{{{work.date.year}}}",
        "month": _MONTHS[work.date.month],
        "note": f"{{Version {work.version}, statement {work.statement}}}",
    }
    if work.url:
        fields["url"] = f"{{{work.url}}}"
    lines = (f"  {name} = {value}," for name, value in fields.items())
    return "\n".join([f"@techreport{{{work.key},", *lines, "}"])


def ris(work: Citation) -> str:
    """Return a record for reference managers; SN is a report's number, M3 its kind."""
    fields = [
        ("TY", "RPRT"),
        ("ID", work.key),
        ("AU", work.author),
        ("TI", work.title),
        ("PB", "attnref"),
        ("M3", "Derivation"),
        ("SN", work.tag),
        ("ET", work.version),
        ("PY", f"{work.date.year}"),
        ("DA", f"{work.date:%Y/%m/%d}"),
        ("N1", f"Statement {work.statement}"),
        *([("UR", work.url)] if work.url else []),
        ("ER", ""),
    ]
    return "\n".join(f"{name}  - {value}" for name, value in fields)


def csl_json(work: Citation) -> str:
    """Return a list of one item, as citation processors read it."""
    item: dict[str, Any] = {
        "id": work.key,
        "type": "report",
        "title": work.title,
        "author": [{"literal": work.author}],
        "publisher": "attnref",
        "genre": "Derivation",
        "number": work.tag,
        "version": work.version,
        "issued": {"date-parts": [[work.date.year, work.date.month, work.date.day]]},
        "note": f"Statement {work.statement}",
    }
    if work.url:
        item["URL"] = work.url
    lines = (f"  {json.dumps(name)}: {json.dumps(item[name], ensure_ascii=False)}" for name in item)
    return "[{\n" + ",\n".join(lines) + "\n}]"


FORMATS = {"text": text, "bibtex": bibtex, "ris": ris, "csl-json": csl_json}


def in_latex(words: str) -> str:
    """Write words so that LaTeX sets them as they are; letters with accents it reads itself."""
    return words.translate(_LATEX)
