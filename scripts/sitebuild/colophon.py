"""The end of every executed page: how to run it, what it ran with, how to cite it."""

from pathlib import Path

from attnref import __date__, __version__
from sitebuild.memory import short

TEMPLATE = """\
<div class="colophon" markdown>

## Run and cite this page

This page is a program. In a clone that `scripts/serve.py` has set up, this prints its numbers, and
derivations and figures as text:

```sh
.venv/bin/python {path}
```

It ran with {versions}.

<details markdown>
<summary>BibTeX for this page</summary>

{bibtex}

</details>

</div>
"""


def markdown(page: Path, title: str, versions: dict[str, str], url: str) -> str:
    """Return the colophon of a page."""
    path = Path(page.name) if short(page).is_absolute() else short(page)
    return TEMPLATE.format(
        path=path.as_posix(),
        versions=", ".join(f"{name} {version}" for name, version in versions.items()),
        bibtex=f"```bibtex\n{bibtex(_name(path), title, url)}\n```",
    )


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
