"""The measuring room: how far a right implementation may be from the truth, and a check of it.

Floating point moves every output a little, and how much follows from the formula, the sizes and the
data. A path that is right stays within the bound here, whatever the order of its sums; one that
shifts by the wrong maximum, adds up in half precision, or goes through log Z does not.
"""

from attnref.testing._assertion import assert_close
from attnref.testing._bound import error_bound

__all__ = ["assert_close", "error_bound"]
