"""The end of every executed page: how to run it, what it ran with, how to cite it."""

from pathlib import Path
from textwrap import indent
from typing import Any

from attnref import __date__, __version__
from sitebuild import provenance

TEMPLATE = """\
<div class="colophon" markdown>

## Run and cite this page

This page is a program. In a clone that `scripts/serve.py` has set up, this prints its numbers, and
derivations and figures as text:

```sh
.venv/bin/python {path}
```

It ran with {versions}.

{provenance}

{citation}

</div>
"""
FOR_A_PAGE = """\
<details markdown>
<summary>BibTeX for this page</summary>

```bibtex
{bibtex}
```

</details>"""
LANGUAGES = {"text": "Text", "bibtex": "BibTeX", "ris": "RIS", "csl-json": "CSL-JSON"}


def markdown(
    made_from: dict[str, Any], title: str, url: str, derivation: dict[str, Any] | None = None
) -> str:
    """Return the colophon of a page; a derivation's own page says how that is cited."""
    path = made_from["page"]
    for_page = FOR_A_PAGE.format(bibtex=bibtex(_name(Path(path)), title, url))
    versions = (f"{name} {version}" for name, version in made_from["versions"].items())
    return TEMPLATE.format(
        path=path,
        versions=", ".join(versions),
        provenance=provenance.markdown(made_from),
        citation=of_derivation(derivation) if derivation else for_page,
    )


def of_derivation(derivation: dict[str, Any]) -> str:
    """Return the citation of a derivation in all formats, and what became of earlier ones."""
    past = "\n".join(map(_claim, derivation["statements"]))
    forms = (_tab(LANGUAGES[name], name, form) for name, form in derivation["forms"].items())
    return "\n\n".join(["### Cite this", *forms, "Its statement, by fingerprint:", past])


def _tab(label: str, language: str, form: str) -> str:
    lexer = {"csl-json": "json", "ris": "text"}.get(language, language)
    return f'=== "{label}"\n\n' + indent(f"```{lexer}\n{form}\n```", "    ")


def _claim(statement: dict[str, str]) -> str:
    note = f", {statement['note']}" if statement["note"] else ""
    return f"- `{statement['fingerprint']}` since version {statement['version']}{note}"


def _name(path: Path) -> str:
    """Name a page by its address, so that no two are cited under one key."""
    parts = [part for part in path.with_suffix("").parts if part not in ("docs", "index")]
    return "-".join(parts) or "home"


def bibtex(name: str, title: str, url: str) -> str:
    """Return the BibTeX entry of a page; without the address of a published site, none is named."""
    fields = {
        "title": f"{{{title}}}",
        "author": "{{The attnref developers}}",
        "year": __date__[:4],
        "note": f"{{attnref {__version__}}}",
    }
    if url:
        fields["url"] = f"{{{url}}}"
    lines = [f"  {key} = {value}," for key, value in fields.items()]
    return "\n".join([f"@misc{{attnref-{name},", *lines, "}"])
