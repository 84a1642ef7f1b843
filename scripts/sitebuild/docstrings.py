"""What this package's docstrings have beyond Google's sections, for mkdocstrings to show.

A formula is a paragraph that ends without a full stop, an example one that begins with >>>. Both
are code to Markdown, which would make emphasis and quotations of them; neither is searched for.
"""

import re
from textwrap import dedent
from typing import Any

from griffe import Extension, Module, Object

PARAGRAPHS = re.compile(r"\n{2,}")
SECTION = re.compile(r"(?:Arguments|Raises|Returns|Yields):\n")
FLAG = re.compile(r" *# doctest:.*")
FENCE = "``` {{ .{} .no-copy data-search-exclude='' }}\n{}\n```"


class Docstrings(Extension):
    """Lets mkdocstrings read every docstring of a package as its authors wrote it."""

    def on_package(self, *, pkg: Module, **_: Any) -> None:
        """Rewrite the docstring of the package itself, which is no object to Griffe."""
        self.on_object(obj=pkg)

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Rewrite the docstring of a module, class, function or attribute."""
        if obj.docstring:
            obj.docstring.value = as_markdown(obj.docstring.value)


def as_markdown(docstring: str) -> str:
    """Return a docstring with its formulas and examples fenced, and its source marked."""
    return "\n\n".join(map(_paragraph, PARAGRAPHS.split(docstring)))


def _paragraph(text: str) -> str:
    if text.startswith(">>>"):
        return FENCE.format("pycon", FLAG.sub("", text))
    if text.startswith("    "):
        return FENCE.format("text .letters", dedent(text))
    if text.startswith("Source:"):
        return f"{text}\n{{: .source }}"
    if SECTION.match(text) or text.endswith((".", ":")):
        return text
    return FENCE.format("text .formula", text)
