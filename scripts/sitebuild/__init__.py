"""From a page that is a program to Markdown with what it printed, and on to the finished site.

    script.py      reads a page: cells of prose and of code
    worker.py      runs one page in a process of its own and records what it shows
    reading.py     notes which files a page reads
    process.py     starts and ends the process of a page, with its children
    execute.py     runs all pages, two at a time, within a time limit
    memory.py      remembers what unchanged pages showed
    rules.py       says what a page may show
    convert.py     page + record → Markdown
    describe.py    what a page is called, and what it is for
    colophon.py    how to run a page, what it ran with, how to cite it
    provenance.py  what a page was made from
    history.py     the commit, and when each page was last changed
    register.py    how a derivation is cited, and what stands where a tag was withdrawn
    registrar.py   asks the package for both, in a process of its own
    relations.py   what stands around a derivation
    head.py        what a page's head tells programs
    docstrings.py  the package's docstrings → what mkdocstrings reads
    equations.py   LaTeX in HTML → MathML with numbers and links
    quiet.py       drops what a page weighs and nobody sees
    policy.py      lets a page run and load this site's files alone
    font.py        the mathematical font, cut to the characters in use
    plain.py       the Markdown that stands by itself
    llms.py        the list of pages for programs
    feed.py        the changelog as RSS
    cards.py       the pictures that links are shown with
    places.py      keeps the places of equations, for another builder
    afterwards.py  sets the formulas of a site that another builder made

Nothing here knows MkDocs: `scripts/mkdocs_site/` brings it into MkDocs, and `python -m sitebuild`
writes a plain Markdown tree.
"""
