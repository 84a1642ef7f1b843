"""What a site with an address has for others to find it by, and what stands beside its pages."""

import hashlib
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image

import pages
from sitebuild import cards, feed, llms, plain

ADDRESS = "https://example.org/papers/"
NAMES = "See [names](names.md) and [all](index.py#run-and-cite-this-page)."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a small site with an address: a page that runs, and one of the reference."""
    folder = tmp_path_factory.mktemp("published")
    (folder / "docs").mkdir()
    pages.page(
        folder / "docs", "import attnref\nprint(6 * 7)", prose=pages.prose(NAMES), name="index"
    )
    names = "# Names\n\nWhat they mean & do.\n\n::: attnref.scores\n"
    (folder / "docs" / "names.md").write_text(names, encoding="utf-8")
    build = pages.site(folder, site_url=ADDRESS, edit_uri="https://example.org/edit/docs/")
    assert build.returncode == 0, build.stderr
    return folder


def _read(folder: Path, name: str) -> str:
    return (folder / "site" / name).read_text(encoding="utf-8")


def test_head_names_the_page_its_picture_and_the_feed(folder: Path) -> None:
    """A link that is shown elsewhere has a title, a sentence and a picture that exists."""
    html = _read(folder, "names/index.html")
    properties = dict(re.findall(r'<meta property="(og:\w+)" content="([^"]*)">', html))
    assert properties == {
        "og:type": "article",
        "og:title": "Names",
        "og:description": "What they mean &amp; do.",
        "og:url": f"{ADDRESS}names/",
        "og:image": f"{ADDRESS}assets/cards/names.png",
    }
    assert f'<link rel="canonical" href="{ADDRESS}names/">' in html
    assert 'type="application/rss+xml" title="What changed" href="../feed.xml"' in html
    with Image.open(folder / "site" / "assets" / "cards" / "names.png") as card:
        assert card.size == (1200, 630)


def test_sitemap_and_llms_list_every_page(folder: Path) -> None:
    """Programs find each page, and its Markdown."""
    places = re.findall(r"<loc>(.*?)</loc>", _read(folder, "sitemap.xml"))
    assert set(places) == {ADDRESS, f"{ADDRESS}names/", f"{ADDRESS}changelog/"}
    listed = re.findall(rf"\]\({re.escape(ADDRESS)}(.*?)\)", _read(folder, "llms.txt"))
    assert set(listed) == {"index.md", "names.md", "changelog.md"}
    assert all((folder / "site" / name).exists() for name in listed)


def test_feed_has_an_item_for_each_release_that_leads_to_it(folder: Path) -> None:
    """Each link of the feed leads to the heading of its release."""
    channel = ElementTree.fromstring(_read(folder, "feed.xml"))[0]  # noqa: S314  # our own
    links = [item.findtext("link") or "" for item in channel.findall("item")]
    changelog = (pages.ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert len(links) == len(re.findall(r"^## \d", changelog, re.MULTILINE)) > 1
    html = _read(folder, "changelog/index.html")
    for link in links:
        assert f'id="{link.partition("#")[2]}"' in html


def test_provenance_names_script_commit_and_versions(folder: Path) -> None:
    """The JSON has the hash of the very script; the page has the beginnings, folded."""
    made_from = json.loads(_read(folder, "index.provenance.json"))
    script = (folder / "docs" / "index.py").read_bytes()
    assert made_from["sha256"] == hashlib.sha256(script).hexdigest()
    assert made_from["versions"]["attnref"]
    assert made_from["files"]["index.py"] == made_from["sha256"]
    html = _read(folder, "index.html")
    fold = html.partition("What this page was made from</summary>")[2].partition("</details>")[0]
    assert made_from["sha256"][:16] in fold
    assert made_from["commit"][:12] in fold


def test_program_stands_beside_its_page(folder: Path) -> None:
    """What is downloaded is what ran, byte for byte; what is edited is its source."""
    assert (folder / "site" / "index.py").read_bytes() == (
        folder / "docs" / "index.py"
    ).read_bytes()
    html = _read(folder, "index.html")
    assert '<a href="index.py" download>' in html
    assert '<a href="https://example.org/edit/docs/index.py">Edit this page</a>' in html


def test_markdown_stands_beside_each_page(folder: Path) -> None:
    """It holds the outputs, leads to Markdown, and says what docstrings say."""
    text = _read(folder, "index.md")
    assert "\n42\n" in text
    assert "[names](names.md) and [all](index.md#run-and-cite-this-page)" in text
    assert '<a href="../names.md">Markdown</a>' in _read(folder, "names/index.html")
    names = _read(folder, "names.md")
    assert ":::" not in names
    assert "scores(query: Floats, key: Floats, *, scale: float | None = None" in names
    assert "Compare every query with every key." in names


def test_policy_stands_in_every_page_and_no_script_does(folder: Path) -> None:
    """Each script is a file of the site; the policy comes before all that loads anything."""
    for page in (folder / "site").rglob("*.html"):
        html = page.read_text(encoding="utf-8")
        policy = html.index('http-equiv="Content-Security-Policy"')
        assert policy < html.index("<link")
        assert "script-src 'self';" in html
        assert not re.search(r"<script(?![^>]* (?:src|type)=)|\son\w+=[\"']", html), page
        for source in re.findall(r'<script src="([^"]*)"', html):
            base = folder / "site" if source.startswith("/") else page.parent
            assert (base / source.removeprefix("/papers/")).exists(), (page, source)


def test_wrong_address_is_told_where_else_to_look(folder: Path) -> None:
    """The page works at any depth, so its links start at the root of the site."""
    html = _read(folder, "404.html")
    links = re.findall(r'href="([^"]*)"', html.partition("<article")[2].partition("</article>")[0])
    assert {"/papers/d/", "/papers/reference/", "/papers/notation/"} <= set(links)
    assert all(link.startswith("/papers/") for link in links)


def test_feed_leaves_out_what_is_not_released() -> None:
    """Only a heading with a date is a release."""
    text = "# Changelog\n\n## Unreleased\n\nSoon.\n\n## 0.1.0 (2026-01-02)\n\n- *First.*\n"
    rss = feed.rss(text, title="t", description="d", site=ADDRESS).decode()
    assert "Soon" not in rss
    assert "<pubDate>Fri, 02 Jan 2026 00:00:00 +0000</pubDate>" in rss
    assert "&lt;em&gt;First.&lt;/em&gt;" in rss


def test_card_holds_a_text_of_any_length(tmp_path: Path) -> None:
    """The same words make the same bytes; words that do not fit end in an ellipsis."""
    long = " ".join(["attention"] * 200)
    assert cards.draw(long, long, tmp_path) == cards.draw(long, long, tmp_path / "other")
    assert cards.draw(long, "", tmp_path) != cards.draw(f"{long} more", "", tmp_path / "x")[:-1]


def test_list_for_programs_leaves_out_empty_sections() -> None:
    """A section without pages says nothing."""
    entry = llms.Entry("a.md", "A", "")
    assert (
        llms.text("n", "p", [("One", [entry]), ("Two", [])])
        == "# n\n\n> p\n\n## One\n\n- [A](a.md)\n"
    )


def test_spelled_out_class_has_its_methods() -> None:
    """A class says what it takes, and what each public method does."""
    text = plain.spell_out("::: attnref.torch.KeyValueCache\n    options:\n      a: b\n")
    assert text.startswith("## attnref.torch.KeyValueCache\n")
    assert "options" not in text
    assert "```python\nlength" in text or "```python\nKeyValueCache(" in text
