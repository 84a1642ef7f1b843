"""From a page that is a program to Markdown with what it printed, and on to the finished site.

    script.py      reads a page: cells of prose and of code
    worker.py      runs one page in a process of its own and records what it shows
    execute.py     runs all pages, two at a time, within a time limit
    memory.py      remembers what unchanged pages showed
    rules.py       says what a page may show
    convert.py     page + record → Markdown
    colophon.py    how to run a page, what it ran with, how to cite it
    register.py    how a derivation is cited, and what stands where a tag was withdrawn
    registrar.py   asks the package for both, in a process of its own
    head.py        what a page's head tells programs
    docstrings.py  the package's docstrings → what mkdocstrings reads
    equations.py   LaTeX in HTML → MathML with numbers and links
    quiet.py       drops what a page weighs and nobody sees
    font.py        the mathematical font, cut to the characters in use

Nothing here knows MkDocs: `scripts/mkdocs_hook.py` drives it for the site, and `python -m
sitebuild` writes a plain Markdown tree.
"""
