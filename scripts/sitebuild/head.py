"""What a page's head tells programs: whose it is, and how to refer to it.

Highwire's meta tags are what reference managers and Scholar read, schema.org's JSON-LD the rest.
Both are data: nothing here runs. An address stands in them only where the site has one.
"""

import html
import json
from typing import Any

from attnref import __date__, __version__

AUTHOR = "The attnref developers"
LICENCE = "https://creativecommons.org/licenses/by/4.0/"


def of_page(title: str, url: str) -> str:
    """Return what the head of a page says that is no derivation."""
    work = {"title": title, "author": AUTHOR, "version": __version__, "date": __date__, "url": url}
    return _meta(work) + _json_ld("TechArticle", work)


def of_derivation(work: dict[str, str]) -> str:
    """Return what the head of a derivation's page says; to Highwire it is a technical report."""
    report = {
        "citation_technical_report_institution": "attnref",
        "citation_technical_report_number": work["tag"],
    }
    marks = [
        {"@type": "PropertyValue", "propertyID": name, "value": work[name]}
        for name in ("tag", "statement")
    ]
    return _meta(work, report) + _json_ld("ScholarlyArticle", work, identifier=marks)


def _meta(work: dict[str, str], more: dict[str, str] | None = None) -> str:
    tags = {
        "citation_title": work["title"],
        "citation_author": work["author"],
        "citation_publication_date": work["date"].replace("-", "/"),
        "citation_language": "en",
        **(more or {}),
        **({"citation_public_url": work["url"]} if work["url"] else {}),
    }
    return "".join(
        f'<meta name="{name}" content="{html.escape(content)}">' for name, content in tags.items()
    )


def _json_ld(kind: str, work: dict[str, str], **more: Any) -> str:
    data = {
        "@context": "https://schema.org",
        "@type": kind,
        "headline": work["title"],
        "author": {"@type": "Organization", "name": work["author"]},
        "datePublished": work["date"],
        "version": work["version"],
        "isPartOf": {"@type": "WebSite", "name": "attnref"},
        "inLanguage": "en",
        "license": LICENCE,
        **more,
        **({"url": work["url"]} if work["url"] else {}),
    }
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", r"\u003c")
    return f'<script type="application/ld+json">{text}</script>'
