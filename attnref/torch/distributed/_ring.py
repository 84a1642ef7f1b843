"""Keys and queries split over ranks: the keys go round until every query has seen them all."""

from dataclasses import replace
from functools import reduce
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from attnref._rules import Rule
from attnref.torch import _blocks, _saving
from attnref.torch._backward import gradients
from attnref.torch._blocks import Call
from attnref.torch._forward import State, average, joined, of_keys, with_sink
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
        RuntimeError: a rank that fails in the middle, or keeps silent for longer than the group's
            timeout; the group is of no use after that.

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
        return Checked(call, _words(call, bias), key_shard.shape[-2])

    call, sizes = ranks.agree(check)
    shape = (*call.shape[:-1], sum(sizes))

    def check_pairs() -> Checked[None]:
        _blocks.require_pairs(query_shard, shape, mask, bias)
        return Checked(None, {})

    ranks.agree(check_pairs)
    seen = Rule(shape[-2], shape[-1]) if mask is None else mask
    whole = replace(call, mask=seen, bias=bias, shape=shape)
    output: Tensor = _Ringed.apply(whole, Ring(ranks, sizes), *whole.arrays())  # type: ignore[no-untyped-call]  # Torch leaves it untyped
    return output


def _words(call: Call, bias: Tensor | None) -> dict[str, object]:
    """Return what must be the same on every rank."""
    key, value = call.key, call.value
    given = (x for x in (*call.arrays(), bias) if x is not None)
    return {
        "the query's dtype": str(key.dtype),
        "the axes of key but S": (*key.shape[:-2], key.shape[-1]),
        "the axes of value but S": (*value.shape[:-2], value.shape[-1]),
        "scale": call.scale,
        "softcap": call.softcap,
        "requires_grad of any": torch.is_grad_enabled() and any(x.requires_grad for x in given),
    }


class _Ringed(torch.autograd.Function):
    """The output of this rank's queries; backward, keys go round with their gradients."""

    @staticmethod
    def forward(ctx: Any, call: Call, ring: Ring, *arrays: Tensor | None) -> Tensor:
        def visit(rank: int, k: Tensor, v: Tensor) -> State:
            return of_keys(ring.call(call, rank, k, v))

        found = (state for _, state in ring.rounds(call, visit))
        m, z, n = with_sink(call, *reduce(joined, found))
        _saving.keep(ctx, call, (m, z, n))
        ctx.ring = ring
        return average(n, z).to(call.query.dtype)

    @staticmethod
    @_saving.once
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:
        call, known = _saving.kept(ctx)
        names = _saving.wanted(ctx) | {"key", "value"}  # which another rank may want

        def visit(rank: int, k: Tensor, v: Tensor) -> dict[str, Tensor]:
            return gradients(ring.call(call, rank, k, v), known, g, names=names)

        ring: Ring = ctx.ring
        sums = call.sums(names)
        for rank, found in ring.rounds(call, visit):
            ring.add(rank, sums, found)
            sums["key"], sums["value"] = ring.pass_on(rank, [sums["key"], sums["value"]])
        return None, None, *_saving.as_given(call, sums)
