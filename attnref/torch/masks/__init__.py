"""Named masks, boolean, True where a query may attend to a key, and a named bias, alibi.

Rows are queries, columns keys. A `Rule` is a mask that is never built as a whole.
"""

from attnref._rules import Rule
from attnref.torch.masks._alibi import alibi
from attnref.torch.masks._boolean import causal, documents, padding, window

__all__ = ["Rule", "alibi", "causal", "documents", "padding", "window"]
