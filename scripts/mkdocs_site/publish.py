"""What others find a site by; cards, a feed and a sitemap only where it has an address."""

import html
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.nav import Navigation, Section
from mkdocs.structure.pages import Page
from mkdocs.utils import get_relative_url

from mkdocs_site import beside, pages
from sitebuild import cards, feed, llms

FEED = "feed.xml"


def set_up(config: MkDocsConfig) -> None:
    """Let pages follow each other in place where a sitemap tells the theme which there are."""
    if not config.site_url:
        config.theme["features"].remove("navigation.instant")


def told(page: Page) -> tuple[str, str]:
    """Return what a page is called in the navigation, and what it is for."""
    return html.unescape(str(page.title)), html.unescape(page.meta["description"])


def places(page: Page, config: MkDocsConfig) -> dict[str, str]:
    """Return the addresses of a page, of the picture that a link to it has, and of the feed."""
    return {
        "page": page.canonical_url or "",
        "picture": f"{config.site_url}{_card(page)}",
        "feed": get_relative_url(FEED, page.url),  # the theme looks there for a sitemap as well
    }


def write(config: MkDocsConfig, navigation: Navigation) -> None:
    """Write llms.txt; then, for a site with an address, the feed and the cards."""
    site = Path(config.site_dir)
    listed = llms.text(
        config.site_name, config.site_description or "", _sections(config, navigation)
    )
    (site / "llms.txt").write_text(listed, encoding="utf-8")
    if not config.site_url:
        for empty in ("sitemap.xml", "sitemap.xml.gz"):
            (site / empty).unlink(missing_ok=True)
        return
    _write_feed(config)
    for page in beside.shown.values():
        target = site / _card(page)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(cards.draw(*told(page), pages.MEMORY / "cards"))


def _card(page: Page) -> str:
    return Path("assets/cards", page.file.src_uri).with_suffix(".png").as_posix()


def _write_feed(config: MkDocsConfig) -> None:
    text = beside.CHANGELOG.read_text(encoding="utf-8")
    described = f"What changed in {config.site_name}."
    news = feed.rss(text, title=config.site_name, description=described, site=config.site_url or "")
    Path(config.site_dir, FEED).write_bytes(news)


def _sections(config: MkDocsConfig, navigation: Navigation) -> list[tuple[str, list[llms.Entry]]]:
    """Return the pages as the navigation has them, and then those that it does not."""
    top = [item for item in navigation.items if isinstance(item, Page)]
    parts = [("Start", top)]
    for item in navigation.items:
        if isinstance(item, Section):
            parts.append((item.title, [c for c in item.children if isinstance(c, Page)]))
    named = {page.file.src_uri for _, listed in parts for page in listed}
    rest = [page for name, page in sorted(beside.shown.items()) if name not in named]
    parts.append(("Optional", rest))
    return [
        (title, [_entry(page, config) for page in listed if page.file.src_uri in beside.shown])
        for title, listed in parts
    ]


def _entry(page: Page, config: MkDocsConfig) -> llms.Entry:
    return llms.Entry(f"{config.site_url or ''}{beside.of(page).markdown}", *told(page))
