"""Attention over several machines: keys, or keys and queries, are split over the ranks of a group.

Each rank attends to its own keys; (m, z, n) are added up over all of them, and nothing else is
exchanged but, in a ring, the keys themselves. The group is one of torch.distributed, of any
backend, and its timeout is the one that holds: where a rank fails or keeps silent, the others
raise an error that says so.
"""

from attnref.torch.distributed._ring import ring_attention
from attnref.torch.distributed._sharded import sharded_attention

__all__ = ["ring_attention", "sharded_attention"]
