"""Attention over several machines: keys, or keys and queries, are split over the ranks of a group.

Each rank attends to keys that it holds. Either the states (m, z, n) are added up over all ranks, or
the keys go round, and each rank adds up what its own queries meet. The group is one of
torch.distributed, of any backend, and its timeout is the one that holds: where a rank fails or
keeps silent, the others raise an error that says so.
"""

from attnref.torch.distributed._ring import ring_attention
from attnref.torch.distributed._sharded import sharded_attention

__all__ = ["ring_attention", "sharded_attention"]
