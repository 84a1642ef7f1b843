"""Make the search index readable and light."""

import json
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig

from sitebuild.equations import as_text

INDEX = "search/search_index.json"
CITING = {"run-and-cite-this-page", "cite-this"}
PROOF = {"symbols", "definitions", "assumptions", "steps", "refused", "sources"}
SIGNATURE = re.compile(r"<pre>.*?</pre> ?", re.DOTALL)


def tidy(config: MkDocsConfig) -> None:
    """Show formulas as they are seen, and leave out what nobody looks for.

    A site that is opened from a folder may load scripts and nothing else: there the index is one.
    """
    index = Path(config.site_dir, INDEX)
    if not index.exists():
        return
    found = json.loads(index.read_text(encoding="utf-8"))
    found["docs"] = [entry for entry in found["docs"] if _sought(entry["location"])]
    for entry in found["docs"]:
        entry |= {part: as_text(entry[part]) for part in ("title", "text")}
        if entry["location"].startswith("reference/"):  # its list of arguments says the same
            entry["text"] = SIGNATURE.sub("", entry["text"])
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    if config.use_directory_urls:
        index.write_text(text, encoding="utf-8")
    else:
        index.unlink()
        index.with_suffix(".js").write_text(f"var __index = {text}", encoding="utf-8")


def _sought(location: str) -> bool:
    """Say whether a part of a page is worth finding; each one makes the index heavier.

    Of a derivation that is its statement and where it is used. The mistakes have a page.
    """
    page, _, anchor = location.partition("#")
    return anchor not in CITING and not (page.startswith("d/") and anchor in PROOF)
