"""The site's Markdown as it stands by itself: links to Markdown, names with their docstrings."""

import re
from functools import cache
from typing import Any

import griffe

from sitebuild.convert import fence
from sitebuild.memory import ROOT

CODE_OR_LINK = re.compile(
    r"^ *(?P<fence>`{3,}|~{3,}).*?^ *(?P=fence)[`~]*$"
    r"|(?<!`)(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`)"
    r"|(?P<link>(?:\]\(|^\[[^]\n]+\]: *)(?![a-z]+:)[^)\s]*)\.py(?=[#)\s])",
    re.MULTILINE | re.DOTALL,
)
ENTRY = re.compile(r"^::: (?P<name>[\w.]+)\n(?: {4}.*\n)*", re.MULTILINE)


def link_to_markdown(text: str) -> str:
    """Let links to pages lead to their Markdown; code that looks like a link is code."""
    return CODE_OR_LINK.sub(lambda m: f"{m['link']}.md" if m["link"] else m[0], text)


def spell_out(text: str) -> str:
    """Put in place of each line `::: name` what its docstring says."""
    return ENTRY.sub(lambda entry: _entry(entry["name"]), text)


def _entry(name: str) -> str:
    thing = _package()
    for part in name.split(".")[1:]:
        thing = thing.members[part]
    thing = thing.final_target if thing.is_alias else thing
    methods = [
        m for m in thing.members.values() if thing.is_class and m.is_function and m.is_public
    ]
    parts = [f"## {name}", *_said(thing), *(p for m in methods for p in _said(m))]
    return "\n\n".join(parts) + "\n"


def _said(thing: Any) -> list[str]:
    code = [fence(thing.signature(), "python")] if thing.is_function or thing.is_class else []
    said = [fence(thing.docstring.value, "text")] if thing.docstring else []
    names = "\n".join(f"- `{name}`" for name in thing.exports or () if thing.is_module)
    return [*code, *said, *([names] if names else [])]


@cache
def _package() -> Any:
    return griffe.load("attnref", search_paths=[str(ROOT)])
