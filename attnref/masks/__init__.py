"""Named masks, True where a query may attend to a key, and a named bias, added to the scores.

Rows are queries, columns keys. Masks combine by &, and a mask with a bias by giving both. A `Rule`
is a mask that is never built as a whole.
"""

from attnref._rules import Rule
from attnref.masks._alibi import alibi
from attnref.masks._boolean import causal, documents, padding, window

__all__ = ["Rule", "alibi", "causal", "documents", "padding", "window"]
