"""Named masks, boolean, True where a query may attend to a key, and a named bias, alibi.

Rows are queries, columns keys.
"""

from attnref.torch.masks._alibi import alibi
from attnref.torch.masks._boolean import causal, documents, padding, window

__all__ = ["alibi", "causal", "documents", "padding", "window"]
