"""What stands beside each page: its Markdown, its program, its provenance; and when it changed."""

import shutil
from pathlib import Path
from typing import NamedTuple

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from mkdocs_site import pages
from sitebuild import history, plain, provenance
from sitebuild.memory import ROOT, short

CHANGELOG = ROOT / "CHANGELOG.md"


class Beside(NamedTuple):
    """The places of what stands beside a page, from the site's root."""

    markdown: str
    program: str
    provenance: str
    changed: str


shown: dict[str, Page] = {}


def add_changelog(files: Files, config: MkDocsConfig) -> None:
    """Give the changelog a page; it stands at the top of the repository, where one looks for it."""
    if files.get_file_from_path("changelog.md") is None:
        file = File.generated(config, "changelog.md", abs_src_path=str(CHANGELOG))
        file.edit_uri = None
        files.append(file)


def of(page: Page) -> Beside:
    """Return what stands beside a page, for its template."""
    shown[page.file.src_uri] = page
    page.update_date = changed(page) or page.update_date
    path = Path(page.file.src_uri)
    runs = page.file.src_uri in pages.records
    return Beside(
        markdown=path.with_suffix(".md").as_posix(),
        program=path.as_posix() if runs else "",
        provenance=path.with_suffix(".provenance.json").as_posix() if runs else "",
        changed=changed(page),
    )


def changed(page: Page) -> str:
    """Return the day of a page's last change, where it is known."""
    return history.changes().get(short(Path(page.file.abs_src_path or "")).as_posix(), "")


def write(config: MkDocsConfig) -> None:
    """Write all of it."""
    for name, page in shown.items():
        markdown = plain.spell_out(plain.link_to_markdown(page.markdown or ""))
        _target(config, of(page).markdown).write_text(markdown, encoding="utf-8")
        if name in pages.records:
            source = Path(page.file.abs_src_path or "")
            made_from = provenance.of(source, pages.records[name], history.commit())
            shutil.copyfile(source, _target(config, name))
            _target(config, of(page).provenance).write_text(provenance.as_json(made_from))


def _target(config: MkDocsConfig, name: str) -> Path:
    target = Path(config.site_dir, name)
    target.parent.mkdir(parents=True, exist_ok=True)
    return target
