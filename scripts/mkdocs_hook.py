"""MkDocs drives the site: each of its events calls the module whose concern it is."""

from pathlib import Path
from typing import Any

from jinja2 import Environment
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.livereload import LiveReloadServer
from mkdocs.plugins import event_priority
from mkdocs.structure.files import Files
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page

from mkdocs_site import beside, faults, finish, pages, publish, reference, search
from sitebuild import history
from sitebuild.memory import ROOT

state: dict[str, Any] = {"command": "build"}


def on_startup(command: str, dirty: bool) -> None:
    """Note whether the site is built or served."""
    state["command"] = command
    if command == "serve":
        faults.serve()


@event_priority(-100)
def on_config(config: MkDocsConfig) -> None:
    """Set what mkdocs.yml can't say; begin anew, for a server builds many times."""
    reference.set_up(config)
    pages.drop_loader(config)
    publish.set_up(config)
    config.theme.dirs.insert(0, str(ROOT / "scripts" / "theme"))
    config.theme["icon"]["search"] = "lens"  # half the usual bytes, twice a page
    history.forget()
    faults.begin()
    finish.begin()
    beside.shown.clear()


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Run every page."""
    beside.add_changelog(files, config)
    pages.run(files, config)


def on_nav(nav: Navigation, config: MkDocsConfig, files: Files) -> None:
    """Keep the navigation, whose order llms.txt has too."""
    state["nav"] = nav


@event_priority(-100)
def on_pre_page(page: Page, config: MkDocsConfig, files: Files) -> Page:
    """Take the page back from the plugin that found it."""
    pages.give_back(page)
    return page


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return the page with its outputs."""
    return pages.markdown(markdown, page)


def on_env(env: Environment, config: MkDocsConfig, files: Files) -> None:
    """Name in the inventory what is public."""
    reference.remember_compiled(env)
    reference.keep_public(config)


def on_page_context(
    context: dict[str, Any], page: Page, config: MkDocsConfig, nav: Navigation
) -> dict[str, Any]:
    """Let the template link to what stands beside the page."""
    return context | {"beside": beside.of(page)}


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Return the page as it is published; a server puts a script of its own into it."""
    return finish.page(output, page, config, guarded=state["command"] == "build")


def on_post_template(output: str, template_name: str, config: MkDocsConfig) -> str:
    """Return the page for wrong addresses as it is published."""
    return finish.template(output, config) if template_name == "404.html" else output


def on_post_build(config: MkDocsConfig) -> None:
    """Write what belongs to the site and to no page."""
    finish.write_assets(config)
    search.tidy(config)
    beside.write(config)
    publish.write(config, state["nav"])
    faults.tell(beside.shown)


def on_serve(server: LiveReloadServer, config: MkDocsConfig, builder: Any) -> LiveReloadServer:
    """Let the server outlive a build that fails."""
    server.builder = faults.survive(server.builder, Path(config.site_dir))
    return server
