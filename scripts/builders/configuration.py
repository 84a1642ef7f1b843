"""What mkdocs.yml says, as other builders are to read it: written when needed, kept nowhere."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mkdocs.utils.yaml import yaml_load

from terminal import ROOT

Settings = dict[str, Any]

OURS = "mkdocs-jupyter"
PAGE = re.compile(r"\.py$", re.MULTILINE)


def read() -> Settings:
    """Return what mkdocs.yml says; a setting that is empty is none."""
    with (ROOT / "mkdocs.yml").open(encoding="utf-8") as file:
        return {name: value for name, value in yaml_load(file).items() if value != ""}


def plain(settings: Settings, templates: Path) -> Settings:
    """Return the settings for a tree of Markdown: no hook, no plugin that runs pages."""
    kept = {name: value for name, value in settings.items() if name != "hooks"}
    for name in ("nav", "not_in_nav"):
        kept[name] = _to_markdown(settings[name])
    plugins = [plugin for plugin in settings["plugins"] if OURS not in plugin]
    kept["plugins"] = [_reading_ours(plugin, templates) for plugin in plugins]
    return kept


def without(settings: Settings, pages: Iterable[str]) -> Settings:
    """Return the settings for the site without some pages, to be read from any folder."""
    excluded = settings["exclude_docs"] + "".join(f"/{page}\n" for page in pages)
    hooks = [str(ROOT / hook) for hook in settings["hooks"]]
    return settings | {
        "exclude_docs": excluded,
        "docs_dir": str(ROOT / "docs"),
        "hooks": hooks,
    }


def write(settings: Settings, file: Path) -> None:
    """Write settings as JSON, which is YAML too."""
    file.write_text(json.dumps(settings, ensure_ascii=False, indent=1), encoding="utf-8")


def _to_markdown(entry: Any) -> Any:
    """Let every page that the navigation names be one of Markdown."""
    if isinstance(entry, dict):
        return {title: _to_markdown(inside) for title, inside in entry.items()}
    if isinstance(entry, list):
        return [_to_markdown(inside) for inside in entry]
    return PAGE.sub(".md", entry)


def _reading_ours(plugin: Any, templates: Path) -> Any:
    """Let mkdocstrings find what the hook gives it today: package, docstrings, templates."""
    if "mkdocstrings" not in plugin:
        return plugin
    python = plugin["mkdocstrings"]["handlers"]["python"]
    extensions = [str(ROOT / "scripts" / "sitebuild" / "docstrings.py")]
    options = python["options"] | {"extensions": extensions}
    handlers = {"python": python | {"paths": [str(ROOT)], "options": options}}
    return {
        "mkdocstrings": plugin["mkdocstrings"]
        | {"handlers": handlers, "custom_templates": str(templates)}
    }
