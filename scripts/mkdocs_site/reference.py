"""Have mkdocstrings read our docstrings, in our templates and without a style sheet of its own."""

from typing import Any

from jinja2 import Environment, FileSystemBytecodeCache
from mkdocs.config.defaults import MkDocsConfig
from mkdocstrings import Handlers, MkdocstringsPlugin

from attnref import __version__
from mkdocs_site.pages import MEMORY
from sitebuild.memory import ROOT


def set_up(config: MkDocsConfig) -> None:
    """Set what would be a path in mkdocs.yml, and so one from whatever inherits that."""
    python: Any = _handlers(config).get_handler("python")
    python.global_options["extensions"] = [str(ROOT / "scripts" / "sitebuild" / "docstrings.py")]
    python.env.loader.searchpath.insert(0, str(ROOT / "scripts" / "templates"))
    remember_compiled(python.env)
    config.extra_css = [style for style in config.extra_css if "_mkdocstrings" not in style]


def keep_public(config: MkDocsConfig) -> None:
    """Let the inventory name what is public, and the version that it is of."""
    inventory = _handlers(config).inventory
    inventory.version = __version__
    for name in [name for name in inventory if "._" in name]:
        del inventory[name]


def remember_compiled(templates: Environment) -> None:
    """Keep compiled templates: to compile them again is a fifth of a build with nothing new."""
    folder = MEMORY / "templates"
    folder.mkdir(parents=True, exist_ok=True)
    templates.bytecode_cache = FileSystemBytecodeCache(str(folder))


def _handlers(config: MkDocsConfig) -> Handlers:
    plugin = config.plugins["mkdocstrings"]
    assert isinstance(plugin, MkdocstringsPlugin)
    return plugin.handlers
