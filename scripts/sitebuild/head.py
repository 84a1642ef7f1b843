"""What a page's head tells programs: whose it is, and how to refer to it.

Every page has Highwire's meta tags, which reference managers and Scholar read; a derivation's page
has schema.org's JSON-LD too, for what they can't say: version, tag and fingerprint. All of it is
data, and nothing runs. An address stands there only where the site has one.
"""

import html
import json
from typing import Any

from attnref import __date__

AUTHOR = "The attnref developers"
FEED = (
    '<meta name="twitter:card" content="summary_large_image">'
    '<link rel="alternate" type="application/rss+xml" title="What changed" href="{}">'
)
LICENCE = "https://creativecommons.org/licenses/by/4.0/"


def shared(title: str, description: str, places: dict[str, str]) -> str:
    """Return what is shown of a link to the page elsewhere, by Open Graph, and where news are."""
    properties = {
        "og:type": "article",
        "og:title": title,
        "og:description": description,
        "og:url": places["page"],
        "og:image": places["picture"],
    }
    tags = (f'<meta property="{k}" content="{html.escape(v)}">' for k, v in properties.items())
    return "".join([*tags, FEED.format(html.escape(places["feed"]))])


def of_page(title: str, url: str) -> str:
    """Return what the head of a page says that is no derivation."""
    return _meta({"title": title, "author": AUTHOR, "date": __date__, "url": url})


def of_derivation(work: dict[str, str]) -> str:
    """Return what the head of a derivation's page says; to Highwire it is a technical report."""
    report = {
        "citation_technical_report_institution": "attnref",
        "citation_technical_report_number": work["tag"],
    }
    return _meta(work, report) + _json_ld(work)


def _meta(work: dict[str, str], more: dict[str, str] | None = None) -> str:
    tags = {
        "citation_title": work["title"],
        "citation_author": work["author"],
        "citation_publication_date": work["date"].replace("-", "/"),
        **(more or {}),
        **({"citation_public_url": work["url"]} if work["url"] else {}),
    }
    return "".join(
        f'<meta name="{name}" content="{html.escape(content)}">' for name, content in tags.items()
    )


def _json_ld(work: dict[str, str]) -> str:
    marks = [
        {"@type": "PropertyValue", "propertyID": name, "value": work[name]}
        for name in ("tag", "statement")
    ]
    data: dict[str, Any] = {
        "@context": "https://schema.org",
        "@type": "ScholarlyArticle",
        "headline": work["title"],
        "author": {"@type": "Organization", "name": work["author"]},
        "datePublished": work["date"],
        "version": work["version"],
        "identifier": marks,
        "isPartOf": {"@type": "WebSite", "name": "attnref"},
        "inLanguage": "en",
        "license": LICENCE,
        **({"url": work["url"]} if work["url"] else {}),
    }
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", r"\u003c")
    return f'<script type="application/ld+json">{text}</script>'
