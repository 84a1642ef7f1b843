"""The mathematical font, cut to the characters that the site's formulas use."""

import hashlib
import importlib.util
import io
import unicodedata
from functools import cache
from pathlib import Path

from fontTools import subset
from fontTools.pens.transformPen import TransformPen
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.ttLib import TTFont
from fontTools.ttLib.tables.otTables import MathGlyphVariantRecord

from sitebuild import memory

# Found, not imported: all that is wanted of ziamath is the font file in its wheel.
_ZIAMATH = importlib.util.find_spec("ziamath")
SOURCE = (
    Path(_ZIAMATH.origin or "" if _ZIAMATH else "").parent / "fonts" / "STIXTwoMath-Regular.ttf"
)
FEATURES = ["math", "ssty", "kern", "dtls"]
ALWAYS = "0123456789 √"  # a root is drawn by its element, without a character in the text
CREDITS = [0, 1, 2, 4, 6, 13, 14]  # copyright, names and the licence stay inside the file


def cut(characters: set[str], folder: Path | None = None) -> bytes:
    """Return the font as WOFF2: these characters, their italics and all their stretched forms."""
    wanted = "".join(sorted(characters | {_italic(c) for c in characters} | set(ALWAYS)))
    if folder is None:
        return _cut(wanted)
    parts = (wanted.encode(), SOURCE.read_bytes(), Path(__file__).read_bytes())
    entry = folder / f"{hashlib.sha256(b''.join(parts)).hexdigest()}.woff2"
    return memory.load_or_make(entry, lambda: _cut(wanted))


def _cut(wanted: str) -> bytes:
    options = subset.Options()
    options.layout_features, options.name_IDs = FEATURES, CREDITS
    options.hinting, options.notdef_outline = False, True
    font = TTFont(SOURCE, recalcTimestamp=False)
    cutter = subset.Subsetter(options)
    cutter.populate(text=wanted)
    cutter.subset(font)
    _keep_roots_narrow(font)
    # Without this drop the index of a letter that reaches below the line, q or y, hangs no lower.
    font["MATH"].table.MathConstants.SubscriptBaselineDropMin.Value = 0
    font.flavor = "woff2"
    file = io.BytesIO()
    font.save(file)
    return file.getvalue()


def _keep_roots_narrow(font: TTFont) -> None:
    """Give the taller root signs the width of the smallest, by stretching it upwards.

    Chromium reserves for every root the width of the widest sign the font could need: a gap of 0.4
    em after each √d_k. The signs differ in width by design, so the taller ones are drawn anew.
    """
    variants = font["MATH"].table.MathVariants
    name = font.getBestCmap()[ord("√")]
    root = variants.VertGlyphConstruction[variants.VertGlyphCoverage.glyphs.index(name)]
    # The pieces that the tallest sign was put together from become three signs, in 1/1000 em.
    parts = [record.glyph for record in root.GlyphAssembly.PartRecords]
    root.GlyphAssembly = None
    small, *taller = root.MathGlyphVariantRecord
    for part, height in zip(parts, (4000, 6000, 8000), strict=True):
        taller.append(MathGlyphVariantRecord())
        taller[-1].VariantGlyph, taller[-1].AdvanceMeasurement = part, height
    for record in taller:
        _stretch(
            font, name, record.VariantGlyph, record.AdvanceMeasurement / small.AdvanceMeasurement
        )
    root.MathGlyphVariantRecord = [small, *taller]
    root.VariantCount = len(root.MathGlyphVariantRecord)


def _stretch(font: TTFont, source: str, target: str, factor: float) -> None:
    """Draw the target glyph as the source, this much taller, hanging from the same line."""
    glyphs, widths = font["glyf"], font["hmtx"]
    pen = TTGlyphPen(None)
    top = glyphs[source].yMax
    glyphs[source].draw(TransformPen(pen, (1, 0, 0, factor, 0, top - factor * top)), glyphs)
    glyphs[target], widths[target] = pen.glyph(), widths[source]


def _italic(character: str) -> str:
    """Return the letter that a browser draws for a single-letter <mi>: its mathematical italic."""
    return _italics().get(character, character)


@cache
def _italics() -> dict[str, str]:
    block = map(chr, range(0x1D434, 0x1D7CC))
    italic = (c for c in block if unicodedata.name(c, "").startswith("MATHEMATICAL ITALIC "))
    return {unicodedata.normalize("NFKC", c): c for c in italic} | {"h": "ℎ"}
