"""Formulas: MathML with numbers and links, and bad LaTeX as an error."""

import html
import io
from pathlib import Path

import pytest
from fontTools.ttLib import TTFont

from sitebuild import font
from sitebuild.equations import EquationError, Equations, as_text
from sitebuild.quiet import quiet


def _block(tex: str) -> str:
    return f'<div class="arithmatex">\\[\n{html.escape(tex, quote=False)}\n\\]</div>'


def _inline(tex: str) -> str:
    return f'<span class="arithmatex">\\({html.escape(tex, quote=False)}\\)</span>'


def test_displayed_equation_has_its_label_as_id_and_a_visible_link() -> None:
    """The id is the label, the number is a link to it, the formula is a block of MathML."""
    page = Equations().render(_block(r"Z_t = \sum_s e^{a_{ts}} \label{normaliser}"))
    assert '<div class="equation" id="normaliser">' in page
    assert '<a class="equation-number" href="#normaliser"' in page
    assert ">(1)</a>" in page
    assert '<math display="block">' in page


def test_equations_are_numbered_in_reading_order() -> None:
    """Numbers count up the page; the ids do not depend on them."""
    equations = Equations()
    equations.render(_block(r"a \label{first}") + _inline("x") + _block(r"b \label{second}"))
    assert equations.numbers == {"first": 1, "second": 2}


def test_reference_links_to_its_equation_forward_and_backward() -> None:
    r"""\eqref becomes a link that shows the number, in prose and as a formula of its own."""
    page = Equations().render(
        r"<p>See \eqref{a}.</p>" + _block(r"x \label{a}") + _inline(r"\eqref{a}")
    )
    assert page.count('<a class="equation-reference" href="#a">(1)</a>') == 2


@pytest.mark.parametrize("around", ["<a href='#x'>{}</a>", "<title>{}</title>", "<img alt='{}'>"])
def test_reference_where_no_link_can_be_is_a_number(around: str) -> None:
    """Inside a link, a title or an attribute, the number stands alone."""
    page = around.format(r"\eqref{a}")
    assert Equations().render(_block(r"x \label{a}") + page).endswith(around.format("(1)"))


def test_reference_in_code_is_left_as_it_is_written() -> None:
    """A page may show the source of a reference."""
    code = r"<pre><code>\eqref{nowhere}</code></pre>"
    assert Equations().render(code) == code


def test_source_is_kept_as_annotation() -> None:
    """The LaTeX stays with the formula, without its label."""
    page = Equations().render(_block(r"a < b \label{x}"))
    assert '<annotation encoding="application/x-tex">a &lt; b</annotation>' in page


@pytest.mark.parametrize(
    ("page", "message"),
    [
        (_block(r"\foo{x} \label{a}"), r'bad LaTeX .*Unknown command "\\foo"'),
        (_block(r"\frac{a \label{a}"), "bad LaTeX"),
        (_inline(r"\sqrt{"), "bad LaTeX"),
        (_block(r"x \label{a}") + _block(r"y \label{a}"), "the label 'a' stands twice"),
        (_block("x"), r"needs one \\label, not 0"),
        (_block(r"x \label{a} \label{b}"), r"needs one \\label, not 2"),
        (_block(r"x \label{eq:1}"), "is not made of letters, digits and hyphens"),
        (r"<p>\eqref{nowhere}</p>", "no equation of this page has this label"),
        (_block(r"\begin{align} a &= b \label{a} \end{align}"), "numbers its lines itself"),
        (_block(r"\boxed{a} \label{a}"), "boxes and strokes"),
        (_block(r"a \label{a}") + _inline(r"\eqref{a} + x"), "stands in prose, never in a formula"),
        (_block(r"a \label{a}") + '<h2 id="a">A</h2>', "the id of something else as well"),
        (r"<p>$$ x = 1</p>", "LaTeX that is no formula"),
        (r"<nav>\(\sqrt{d_k}\)</nav>", "LaTeX that is no formula"),
    ],
)
def test_bad_latex_is_an_error_that_shows_it(page: str, message: str) -> None:
    """An unknown command, an open brace, a label missing, doubled, misspelt or not there at all."""
    with pytest.raises(EquationError, match=message):
        Equations().render(page)


def test_font_has_the_glyphs_that_formulas_need() -> None:
    """Letters, their italics, brackets and the root, each with its stretched forms."""
    equations = Equations()
    equations.render(_inline(r"\left(\frac{q}{\sqrt{d_k}}\right) \sum \beta"))
    cut = TTFont(io.BytesIO(font.cut(equations.characters)))
    covered = set(cut.getBestCmap())
    assert {ord(c) for c in "q𝑞𝑑𝑘(∑√𝛽"} <= covered
    stretched = cut["MATH"].table.MathVariants.VertGlyphCoverage.glyphs
    assert {cut.getBestCmap()[ord(c)] for c in "(√∑"} <= set(stretched)


def test_font_is_the_same_bytes_for_the_same_characters() -> None:
    """No date and no order of a set gets into the file."""
    assert font.cut(set("abc∑")) == font.cut(set("∑cba"))


def test_quiet_page_shows_the_same_text() -> None:
    """Spans without a colour and indentation go; code keeps its lines, and a name a colour."""
    page = (
        '<div>\n\n    <p>one\n  <span class="red">two</span></p>\n</div>\n'
        '<pre><span></span><code><span class="kn">import</span><span class="w"> </span>'
        '<span class="nn">numpy</span>\n\n  <span class="s2">"a"</span>, '
        '<span class="mf">1.0</span></code></pre>'
    )
    assert quiet(page) == (
        '<div>\n<p>one\n<span class="red">two</span></p>\n</div>\n'
        '<pre><code><span class="k">import</span> numpy\n\n'
        '  <span class="s">"a"</span>, 1.0</code></pre>'
    )


def test_font_reserves_no_more_for_a_root_than_its_sign_is_wide() -> None:
    """All signs of a root share one width: a browser that reserves the widest leaves no gap."""
    cut = TTFont(io.BytesIO(font.cut(set("d"))))
    name = cut.getBestCmap()[ord("√")]
    variants = cut["MATH"].table.MathVariants
    root = variants.VertGlyphConstruction[variants.VertGlyphCoverage.glyphs.index(name)]
    signs = [record.VariantGlyph for record in root.MathGlyphVariantRecord]
    assert root.GlyphAssembly is None
    assert len(signs) > 5
    assert {cut["hmtx"][sign][0] for sign in signs} == {cut["hmtx"][name][0]}


def test_remembered_font_is_the_one_that_would_be_cut(tmp_path: Path) -> None:
    """What is remembered depends on the characters; another set is another file."""
    assert font.cut(set("ab"), tmp_path) == font.cut(set("ab"), tmp_path) == font.cut(set("ab"))
    assert font.cut(set("abc"), tmp_path) == font.cut(set("abc"))


@pytest.mark.parametrize(
    ("indexed", "seen"),
    [
        (r"Divide by \(\sqrt{d_k}\).", "Divide by √dk."),
        (r"\[ Z_t = e^{a} \label{z} \] it is", "Zt=ea it is"),
        (r"a \(x &lt; 1\) b", "a x&lt;1 b"),
        (r"See \eqref{z-form}, and \(\eqref{z}\).", r"See (z-form), and \((z)\)."),
        ("No formula (at all) [here].", "No formula (at all) [here]."),
    ],
)
def test_search_finds_what_is_seen_of_a_formula(indexed: str, seen: str) -> None:
    """The index holds letters and signs, and no LaTeX."""
    assert as_text(indexed) == seen
