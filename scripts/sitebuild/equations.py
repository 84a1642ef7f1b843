"""LaTeX in finished HTML → MathML Core, each displayed equation with a number and a link.

Works on the HTML that arithmatex writes (`generic: true`), after the search index has been
collected, and so on any builder's output. A label is the equation's id in the page's address and
never its position; the number is for reading only.
"""

import html
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from math_core import LatexError, LatexToMathML

BLOCK = re.compile(r'<div class="arithmatex">\\\[(?P<tex>.*?)\\\]</div>', re.DOTALL)
INLINE = re.compile(r'<span class="arithmatex">\\\((?P<tex>.*?)\\\)</span>', re.DOTALL)
TEX = re.compile(r"\\(?:\((?!\s*\\eqref)|\[)(?P<tex>.*?)\\[)\]]", re.DOTALL)
LABEL = re.compile(r"\s*\\label\{(?P<label>[^}]*)\}\s*")
REFERENCE = re.compile(r"\\eqref\{(?P<label>[^}]*)\}")
WORD = re.compile(r"[A-Za-z][A-Za-z0-9-]*")
NUMBERED = re.compile(r"\\begin\{(equation|align|alignat|flalign|gather|multline|eqnarray)\}")
VERBATIM = re.compile(r"<(pre|code|script|style|textarea|annotation)\b.*?</\1>", re.DOTALL)
UNLINKED = re.compile(r"<(a|title)\b.*?</\1>|<[^>]*>", re.DOTALL)
LEFT_RAW = re.compile(r"\$\$|\\[()\[\]]|\\(begin|end|label|frac|sqrt)\{|class=\"arithmatex\"")


class EquationError(Exception):
    """A formula that may not be published, and its LaTeX as it stands in the page."""

    def __init__(self, message: str, tex: str) -> None:
        super().__init__(f"{message}: {' '.join(tex.split())}")
        self.tex = tex


@dataclass
class Equations:
    """The equations of one page: labels in reading order, and the characters its formulas need."""

    numbers: dict[str, int] = field(default_factory=dict)
    characters: set[str] = field(default_factory=set)

    def render(self, page: str) -> str:
        """Return the page with every formula as MathML and every reference as a link."""
        page = BLOCK.sub(lambda match: self._block(html.unescape(match["tex"])), page)
        page = INLINE.sub(lambda match: self._inline(html.unescape(match["tex"])), page)
        page = outside_code(page, self._link)
        outside_code(page, _refuse_source)
        for label in self.numbers:
            if page.count(f' id="{label}"') > 1:
                raise EquationError("the label is the id of something else as well", label)
        return page

    def _link(self, text: str) -> str:
        """Put the number for each reference, and a link to it where there can be one."""
        text = UNLINKED.sub(lambda part: REFERENCE.sub(self._number, part[0]), text)
        return REFERENCE.sub(self._reference, text)

    def _block(self, tex: str) -> str:
        labels = LABEL.findall(tex)
        if len(labels) != 1:
            raise EquationError(f"a displayed equation needs one \\label, not {len(labels)}", tex)
        label = labels[0]
        if not WORD.fullmatch(label):
            raise EquationError(
                f"the label {label!r} is not made of letters, digits and hyphens", tex
            )
        if label in self.numbers:
            raise EquationError(f"the label {label!r} stands twice on this page", tex)
        number = self.numbers[label] = len(self.numbers) + 1
        formula = self._mathml(LABEL.sub(" ", tex).strip(), display=True)
        return (
            f'<div class="equation" id="{label}"><div class="equation-body">{formula}</div>'
            f'<a class="equation-number" href="#{label}">({number})</a></div>'
        )

    def _inline(self, tex: str) -> str:
        return tex if REFERENCE.fullmatch(tex.strip()) else self._mathml(tex, display=False)

    def _mathml(self, tex: str, *, display: bool) -> str:
        if REFERENCE.search(tex):
            raise EquationError("\\eqref stands in prose, never in a formula", tex)
        if numbered := NUMBERED.search(tex):
            raise EquationError(
                f"{numbered[1]} numbers its lines itself: take aligned or gathered", tex
            )
        try:
            converter = _ANNOTATING if len(tex.strip()) > 1 else _PLAIN
            formula = converter.convert_with_local_state(tex, displaystyle=display)
        except LatexError as error:
            reason = " ".join(str(error).split())
            raise EquationError(f"bad LaTeX ({reason})", tex) from None
        if "<menclose" in formula:
            raise EquationError("browsers don't draw boxes and strokes around formulas", tex)
        self.characters.update(
            html.unescape(re.sub(r"<annotation.*?</annotation>|<[^>]*>", "", formula))
        )
        return formula

    def _reference(self, match: re.Match[str]) -> str:
        number = self._number(match)
        return f'<a class="equation-reference" href="#{match["label"]}">{number}</a>'

    def _number(self, match: re.Match[str]) -> str:
        if match["label"] not in self.numbers:
            raise EquationError("no equation of this page has this label", match[0])
        return f"({self.numbers[match['label']]})"


def as_text(indexed: str) -> str:
    """Return text for a search index: of a formula, what is seen and not its source."""
    seen = TEX.sub(lambda match: html.escape(_seen(html.unescape(match["tex"]))), indexed)
    return REFERENCE.sub(lambda match: f"({match['label']})", seen)


def _seen(tex: str) -> str:
    try:
        formula = _PLAIN.convert_with_local_state(LABEL.sub(" ", tex), displaystyle=False)
    except LatexError:  # its page is refused for it, with the place; a text is still to be had
        return tex
    return html.unescape(re.sub(r"<[^>]*>", "", formula.replace("<msqrt>", "√")))


# The LaTeX stays with the formula as an annotation, unless it is the one letter that is shown.
_ANNOTATING = LatexToMathML(annotation=True, fancy_error=False)
_PLAIN = LatexToMathML(fancy_error=False)


def _refuse_source(text: str) -> str:
    if raw := LEFT_RAW.search(text):
        around = html.unescape(text[max(0, raw.start() - 40) : raw.end() + 40])
        raise EquationError(
            "LaTeX that is no formula (a $$ without its pair, a formula in a heading)", around
        )
    return text


def outside_code(page: str, change: Callable[[str], str]) -> str:
    """Change a page but for its code and scripts, which stay as they are written."""
    parts, start = [], 0
    for code in VERBATIM.finditer(page):
        parts += [change(page[start : code.start()]), code[0]]
        start = code.end()
    return "".join([*parts, change(page[start:])])
