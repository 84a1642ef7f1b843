"""Figures drawn by Matplotlib: its SVG, bare, in the page's own colours and type."""

import io
import re
from typing import Any
from xml.etree import ElementTree

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.rcsetup import cycler

from attnref.figures._frame import CATEGORIES, INK, MUTED, SVG, Framed, framed

STYLE: dict[Any, Any] = {  # Matplotlib types its keys one by one
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.prop_cycle": cycler(color=CATEGORIES),
    "figure.constrained_layout.use": True,
    "font.size": 10,
    "legend.frameon": False,
    "lines.linewidth": 1.5,
    "svg.fonttype": "none",
    "svg.hashsalt": "attnref",
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
}
GEOMETRY = {"d", "x", "y", "transform"}
LINK = "{http://www.w3.org/1999/xlink}href"


class Figure(Framed):
    """A drawing with what a reader needs around it: a title, a description and a caption.

    Arguments:
        title: what it is, a few words; the accessible name.
        description: what it shows, with its numbers, for those who can't see it.
        caption: what to see, then how it was made; Markdown.
        width: in inches.
        height: in inches.

    Draw on `axes`, then `show` the figure.

    Source: W3C, SVG 2, section 5.8 (title and desc).

    >>> figure = Figure("A line", "It rises from 0 to 1.", "A rising line.", width=4, height=2)
    >>> _ = figure.axes.plot([0, 1], [0, 1])
    >>> print(figure)
    [Figure: A line. It rises from 0 to 1.]
    """

    def __init__(
        self, title: str, description: str, caption: str, *, width: float = 4.6, height: float = 2.8
    ) -> None:
        super().__init__(title, description, caption)
        with rc_context(STYLE):
            self.canvas = Canvas(figsize=(width, height))
            self.axes: Axes = self.canvas.add_subplot()

    def svg(self) -> str:
        """Return the figure as one SVG element: titled, described, in CSS variables."""
        file = io.StringIO()
        with rc_context(STYLE):
            self.canvas.savefig(file, format="svg", transparent=True, metadata={"Date": None})
        root = ElementTree.fromstring(file.getvalue())  # noqa: S314  # written a line ago
        _place(root)
        _bare(root)
        _flat(root)
        return framed(root, self.title, self.description)


def _place(root: ElementTree.Element) -> None:
    """Draw every mark where it is used: `use` is a link, and a theme's script trips over it."""
    marks = {element.get("id"): element for element in root.findall(".//*[@id]")}
    for use in root.findall(f".//{{{SVG}}}use"):
        mark = marks[use.attrib.pop(LINK).removeprefix("#")]
        x, y = use.attrib.pop("x"), use.attrib.pop("y")
        style = _declared(use) | _declared(mark)
        use.tag = mark.tag
        use.attrib |= {
            "d": mark.attrib["d"],
            "style": "; ".join(f"{name}: {value}" for name, value in style.items()),
            "transform": f"translate({x} {y})",
        }
    for definitions in root.iter(f"{{{SVG}}}defs"):
        for mark in definitions.findall(f"{{{SVG}}}path"):
            definitions.remove(mark)


def _declared(element: ElementTree.Element) -> dict[str, str]:
    """Return what an element's style says."""
    pairs = (pair.split(":", 1) for pair in element.get("style", "").split(";") if pair.strip())
    return {name.strip(): value.strip() for name, value in pairs}


def _bare(root: ElementTree.Element) -> None:
    """Drop what no reader sees: metadata, the global style, ids that nothing refers to."""
    for parent in (root, *root.findall(f"{{{SVG}}}defs")):
        for child in list(parent):
            if child.tag in (f"{{{SVG}}}metadata", f"{{{SVG}}}style"):
                parent.remove(child)
    used = set(re.findall(r"#([\w-]+)", ElementTree.tostring(root, encoding="unicode")))
    for element in root.iter():
        element.text, element.tail = ((text or "").strip() for text in (element.text, element.tail))
        if element.get("id") not in used:
            element.attrib.pop("id", None)
        _shorten(element.attrib)


def _shorten(attributes: dict[str, str]) -> None:
    """Drop digits below a tenth of a point, and styles that are the default or the page's."""
    for name in sorted(GEOMETRY & attributes.keys()):
        short = re.sub(r"(\d\.\d)\d+", r"\1", attributes.pop(name))
        if short := re.sub(r"rotate\(-0 [^)]*\)", "", short):
            attributes[name] = " ".join(short.split())
    if style := attributes.get("style"):
        style = re.sub(r" font-family: [^;]+;|; stroke-linejoin: miter", "", style)
        attributes["style"] = re.sub(r"(\d\.\d\d)\d+", r"\1", style)


def _flat(element: ElementTree.Element) -> None:
    """Take the children out of groups that say nothing, and drop paths that paint nothing."""
    children = list(element)
    element[:] = []
    for child in children:
        _flat(child)
        if child.tag == f"{{{SVG}}}g" and not child.attrib:
            element.extend(child)
        elif child.tag == f"{{{SVG}}}defs" and not len(child):
            continue
        elif child.get("style") != "fill: none":
            element.append(child)
