"""Whether the site can leave its builder: `scripts/canary.py` asks, MOVING.md tells the answer.

configuration.py  mkdocs.yml as other builders are to read it
environments.py   an environment for each of them, with pinned versions
ways.py           the ways to build the site, today's first
built.py          what is in a built site, and what is wrong with it
__main__.py       builds in every way and prints the table
"""
