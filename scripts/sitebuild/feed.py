"""The changelog as RSS: an item for each release."""

import re
from datetime import UTC, datetime
from email.utils import format_datetime
from xml.etree import ElementTree as Xml

from markdown import markdown
from markdown.extensions.toc import slugify

RELEASE = re.compile(
    r"^## (?P<name>(?P<version>\S+) \((?P<date>[\d-]+)\))\n(?P<notes>.*?)(?=^## |\Z)", re.M | re.S
)


def rss(changelog: str, *, title: str, description: str, site: str) -> bytes:
    """Return the feed of a site with an address; what is not released is no news."""
    feed = Xml.Element("rss", version="2.0")
    channel = Xml.SubElement(feed, "channel")
    _fill(channel, title=title, link=site, description=description)
    for release in RELEASE.finditer(changelog):
        address = f"{site}changelog/#{slugify(release['name'], '-')}"
        day = datetime.fromisoformat(release["date"]).replace(tzinfo=UTC)
        notes = markdown(release["notes"], extensions=["tables"])
        _fill(
            Xml.SubElement(channel, "item"),
            title=f"attnref {release['version']}",
            link=address,
            guid=address,
            pubDate=format_datetime(day),
            description=notes,
        )
    return bytes(Xml.tostring(feed, encoding="utf-8", xml_declaration=True))


def _fill(element: Xml.Element, **texts: str) -> None:
    for name, text in texts.items():
        Xml.SubElement(element, name).text = text
