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
    shell = ipython.get_ipython() if ipython else None
    if shell is None:
        print(item)
    else:
        forms, metadata = shell.display_formatter.format(item)
        shell.display_pub.publish({**forms, "text/plain": str(item)}, metadata)
