"""The picture that a link to a page is shown with elsewhere: its title, and what it is for.

It is the site's one raster: those who show it take no SVG.
"""

import hashlib
import importlib.util
import io
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from sitebuild import memory

# Found, not imported: all that is wanted of Matplotlib is the fonts in its wheel.
_MATPLOTLIB = importlib.util.find_spec("matplotlib")
FONTS = Path(_MATPLOTLIB.origin or "" if _MATPLOTLIB else "").parent / "mpl-data" / "fonts" / "ttf"
SIZE = (1200, 630)
MARGIN = 90
PAPER, INK, MUTED, ACCENT = "#fdfcf8", "#1b1b1a", "#62605a", "#0b6e6e"


def draw(title: str, purpose: str, folder: Path) -> bytes:
    """Return a page's card as PNG; one that was drawn before is remembered."""
    state = "\0".join([title, purpose, Path(__file__).read_text(encoding="utf-8")])
    entry = folder / f"{hashlib.sha256(state.encode()).hexdigest()}.png"
    return memory.load_or_make(entry, lambda: _draw(title, purpose))


def _draw(title: str, purpose: str) -> bytes:
    card = Image.new("RGB", SIZE, PAPER)
    pen = ImageDraw.Draw(card)
    pen.rectangle((0, 0, 18, SIZE[1]), fill=ACCENT)
    below = _write(pen, title, MARGIN, _font("DejaVuSerif-Bold", 64), INK, lines=3)
    _write(pen, purpose, below + 34, _font("DejaVuSerif", 34), MUTED, lines=5)
    name = _font("DejaVuSerif-Bold", 34)
    pen.text((MARGIN, SIZE[1] - MARGIN), "attnref", font=name, fill=ACCENT, anchor="ls")
    file = io.BytesIO()
    card.quantize(32).save(file, "PNG", optimize=True)
    return file.getvalue()


def _write(
    pen: ImageDraw.ImageDraw,
    text: str,
    top: int,
    font: ImageFont.FreeTypeFont,
    colour: str,
    *,
    lines: int,
) -> int:
    """Write a text in at most so many lines, and return where it ends."""
    broken = _break(text, font, SIZE[0] - 2 * MARGIN)
    if len(broken) > lines:
        broken = [*broken[: lines - 1], f"{broken[lines - 1]} …"]
    height = round(font.size * 1.35)
    for number, line in enumerate(broken):
        pen.text((MARGIN, top + number * height), line, font=font, fill=colour)
    return top + len(broken) * height


def _break(text: str, font: ImageFont.FreeTypeFont, width: int) -> list[str]:
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if font.getlength(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def _font(name: str, size: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(FONTS / f"{name}.ttf", size)
