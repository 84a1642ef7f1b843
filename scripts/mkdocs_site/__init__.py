"""What `scripts/mkdocs_hook.py` has MkDocs do, a module for each concern.

faults.py     ends a build at a page that is wrong; lets a server go on, and the page say so
pages.py      runs the pages and hands them to MkDocs' Markdown
reference.py  lets mkdocstrings read our docstrings, in our templates
finish.py     makes formulas, head and scripts of a page what they are on the site
search.py     makes the search index readable and light
beside.py     puts beside each page its Markdown, its program and its provenance
publish.py    what only a site with an address has: cards, the feed, llms.txt
"""
