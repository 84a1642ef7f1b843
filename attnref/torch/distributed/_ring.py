"""Keys and queries split over ranks: the keys go round until every query has seen them all."""

from functools import reduce
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.autograd.function import once_differentiable

from attnref._rules import Rule
from attnref.torch import _backward, _blocks
from attnref.torch._blocks import ARRAYS, Call
from attnref.torch._forward import State, average, joined, state
from attnref.torch._gradients import folded
from attnref.torch.distributed._ranks import Checked, Ranks
from attnref.torch.distributed._rounds import Ring


def ring_attention(
    query_shard: Tensor,
    key_shard: Tensor,
    value_shard: Tensor,
    *,
    group: dist.ProcessGroup | None = None,
    block_size: int | None = None,
    mask: Tensor | Rule | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    sink: Tensor | float | None = None,
) -> Tensor:
    """Attend to keys that are split over ranks, as the queries are; every rank gets its own rows.

    y_t = Σ_r exp(m_tr − m_t) n_tr / Σ_r exp(m_tr − m_t) z_tr,   m_t = max_r m_tr

    Every rank calls it with its own queries, keys and values, as many as it has. The keys and
    values go round, each rank passing on what it got, so that no rank holds more than two shards of
    them beside its own; backward they go round once more, with their gradients. Keys count in the
    order of ranks. The loss of a rank is that of its own rows, and gradients are those of the sum.

    Arguments:
        query_shard: the queries of this rank, (…, L_r, d_k), floating.
        key_shard: the keys of this rank, (…, S_r, d_k), of the query's dtype; heads as elsewhere.
        value_shard: the values of this rank, (…, S_r, d_v), of the query's dtype.
        group: processes of torch.distributed; all of them unless given.
        block_size: number of keys of a block, 1 or more; 512 unless given.
        mask: True where a query of this rank may attend to a key of any, broadcasts to (…, L_r, S)
            with S = Σ_r S_r; or a `masks.Rule` for L_r queries and S keys.
        bias: added to the scores of this rank's queries, of their dtype; broadcasts to (…, L_r, S).
        scale: β, any finite number, the same on every rank; 1/√d_k unless given.
        softcap: c, positive and finite, the same on every rank.
        sink: the score of one more key, without a value, of this rank's queries.

    Returns:
        y, (…, L_r, d_v), of the query's dtype.

    Raises:
        TypeError: a tensor of another kind or dtype, or a number that is none.
        ValueError: shapes that do not fit, here or between ranks; no process group.
        RuntimeError: a rank that fails, or keeps silent for longer than the group's timeout.

    Source: Liu, Zaharia and Abbeel 2023, arXiv:2310.01889; derivations MSHF and MASS.

    >>> store = dist.HashStore()
    >>> dist.init_process_group("gloo", rank=0, world_size=1, store=store)
    >>> query, key = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0], [0.0, -1.0]])
    >>> ring_attention(query, key, torch.tensor([[10.0], [30.0]]))
    tensor([[20.]])
    >>> dist.destroy_process_group()
    """
    ranks = Ranks(group)

    def check() -> Checked[Call]:
        call = _blocks.checked(
            query_shard, key_shard, value_shard, None, None, scale, softcap, sink, block_size
        )
        return Checked(call, _words(call, key_shard, value_shard), key_shard.shape[-2])

    call, sizes = ranks.agree(check)

    def check_pairs() -> Checked[None]:
        shape = (*call.shape[:-1], sum(sizes))
        _blocks.require_pairs(query_shard, shape, mask, bias)
        return Checked(None, {})

    ranks.agree(check_pairs)
    ring = Ring(ranks, sizes, mask, scale, softcap, block_size)
    arrays = query_shard, key_shard, value_shard, bias, call.sink
    output: Tensor = _Ringed.apply(ring, *arrays)  # type: ignore[no-untyped-call]  # Torch leaves it untyped
    return output


def _words(call: Call, key: Tensor, value: Tensor) -> dict[str, object]:
    """Return what must be the same on every rank."""
    arrays = call.query, key, value
    graded = torch.is_grad_enabled() and any(array.requires_grad for array in arrays)
    return {
        "the query's dtype": str(key.dtype),
        "the axes of key but S": (*key.shape[:-2], key.shape[-1]),
        "the axes of value but S": (*value.shape[:-2], value.shape[-1]),
        "scale": call.scale,
        "softcap": call.softcap,
        "requires_grad of any": graded,
    }


class _Ringed(torch.autograd.Function):
    """The output of this rank's queries; backward, keys go round with their gradients."""

    @staticmethod
    def forward(ctx: Any, ring: Ring, *arrays: Tensor | None) -> Tensor:
        query, key, value, *options = arrays
        assert query is not None
        assert key is not None
        assert value is not None

        def visit(rank: int, k: Tensor, v: Tensor) -> State:
            return state(ring.call(rank, query, k, v, *options))

        m, z, n = reduce(joined, (found for _, found in ring.rounds(key, value, visit)))
        ctx.save_for_backward(m, z, n, *arrays)
        ctx.ring = ring
        return average(n, z).to(query.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:
        m, z, n, *arrays = ctx.saved_tensors
        query, key, value, *options = arrays
        ring: Ring = ctx.ring

        def visit(rank: int, k: Tensor, v: Tensor) -> dict[str, Tensor]:
            call = ring.call(rank, query, k, v, *options)
            found = _backward.gradients(call, (m, z, n), g, torch.zeros_like(z))
            return found | {"key": folded(found["key"], k), "value": folded(found["value"], v)}

        given = {name: x for name, x in zip(ARRAYS, arrays, strict=True) if x is not None}
        sums = {name: torch.zeros_like(x, dtype=m.dtype) for name, x in given.items()}
        for rank, found in ring.rounds(key, value, visit):
            ring.add(rank, sums, found)
            moved = ring.pass_on(rank, [sums["key"], sums["value"]])
            sums["key"], sums["value"] = moved
        return None, *_backward.as_given(map(sums.get, ARRAYS), arrays)
