"""Looking at things: one call that is rich on a page and plain in a terminal."""

import sys


def show(item: object) -> None:
    """Show an object to the reader, the same thing in each place that can show it.

    On a page and in a notebook the object's own rich form is shown (Markdown, HTML, SVG); in a
    terminal, what print would write.

    Arguments:
        item: any object; derivations and figures have a rich form.

    Source: IPython's display protocol.

    >>> show("plain text in a terminal")
    plain text in a terminal
    """
    ipython = sys.modules.get("IPython")
    if ipython is not None and ipython.get_ipython() is not None:
        ipython.display.display(item)
    else:
        print(item)
