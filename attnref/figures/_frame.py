"""What every figure has: a title, a description, a caption, and colours that a page can set.

A figure is drawn in a few marker colours, and each becomes a CSS variable with the marker as its
fallback: so it follows the page's colour scheme, and still has colours where no style sheet is.
"""

import re
import textwrap
import zlib
from xml.etree import ElementTree

INK = "#1b1b1a"
"""What is read: lines and letters, the colour of the text."""

MUTED = "#6b6a66"
"""What stands back: axes, ticks, grids."""

ACCENT = "#0b6e6e"
"""What this figure is about, "this row"."""

CATEGORIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
"""Kinds that are told apart, by Okabe and Ito's colours; none by colour alone."""

SVG = "http://www.w3.org/2000/svg"


class Framed:
    """A figure with its words; a class that draws says what `svg` returns."""

    def __init__(self, title: str, description: str, caption: str) -> None:
        self.title, self.description, self.caption = title, description, caption

    def __str__(self) -> str:
        """Say in a terminal what the page shows."""
        return textwrap.fill(f"[Figure: {self.title}. {self.description}]", 80)

    def svg(self) -> str:
        """Return the figure as one SVG element."""
        raise NotImplementedError

    def _repr_markdown_(self) -> str:
        return f"<figure>{self.svg()}</figure>\n\n{self.caption}\n{{ .caption }}"


def framed(root: ElementTree.Element, title: str, description: str) -> str:
    """Return a drawing as SVG that names and describes itself, in the page's colours."""
    slug = re.sub(r"\W+", "-", title.lower()).strip("-")
    _rename(root, slug)
    for attribute in ("width", "height", "version"):
        root.attrib.pop(attribute, None)
    root.attrib |= {
        "color": INK,
        "fill": "currentColor",  # what is drawn in no colour of its own, text above all
        "font-family": "sans-serif",
        "role": "img",
        "aria-labelledby": f"{slug}-title {slug}-desc",
    }
    for position, (tag, text) in enumerate((("title", title), ("desc", description))):
        element = ElementTree.Element(f"{{{SVG}}}{tag}", {"id": f"{slug}-{tag}"})
        element.text = text
        root.insert(position, element)
    ElementTree.register_namespace("", SVG)
    return _coloured(ElementTree.tostring(root, encoding="unicode"))


def _rename(root: ElementTree.Element, slug: str) -> None:
    """Give each id a name of this figure, so that no two figures of a page share one."""
    mark = f"f{zlib.crc32(slug.encode()) % 46656:x}"
    given = [element.attrib["id"] for element in root.findall(".//*[@id]")]
    names = {name: f"{mark}-{n}" for n, name in enumerate(given)}
    for element in root.iter():
        for attribute, text in element.attrib.items():
            new = names[text] if attribute == "id" else _referring(text, names)
            element.set(attribute, new)


def _referring(text: str, names: dict[str, str]) -> str:
    return re.sub(r"#([\w-]+)", lambda found: f"#{names.get(found[1], found[1])}", text)


def _coloured(svg: str) -> str:
    for ink in (INK, "#000000"):
        svg = svg.replace(f": {ink}", ": currentColor")
    names = {MUTED: "muted", ACCENT: "accent"}
    names |= {colour: f"category-{n}" for n, colour in enumerate(CATEGORIES, 1)}
    for colour, name in names.items():
        svg = svg.replace(colour, f"var(--figure-{name}, {colour})")
    return svg
