"""Keys split over ranks, the same queries on each: partial states, added up by the monoid."""

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from attnref._rules import Rule
from attnref.torch import _blocks, _saving
from attnref.torch._backward import gradients
from attnref.torch._blocks import Call
from attnref.torch._forward import State, average, of_keys, with_sink
from attnref.torch.distributed._ranks import Checked, Ranks, numbers


def sharded_attention(
    query: Tensor,
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
    """Attend to keys that are split over ranks; every rank gets the whole output.

    y_t = Σ_r exp(m_tr − m_t) n_tr / Σ_r exp(m_tr − m_t) z_tr,   m_t = max_r m_tr

    Every rank calls it with the same query and with its own keys, as many as it has, none among
    them. Exchanged are m and (z, n), and backward the gradient of the query; the loss must be the
    same on every rank, as the output is. Then what lies before the query, and the sink, has its
    whole gradient on every rank, and what lies before the keys the part of its shard.

    Arguments:
        query: q, (…, L, d_k), floating, the same on every rank.
        key_shard: the keys of this rank, (…, S_r, d_k), of the query's dtype; heads as elsewhere.
        value_shard: the values of this rank, (…, S_r, d_v), of the query's dtype.
        group: processes of torch.distributed; all of them unless given.
        block_size: number of keys of a block, 1 or more; 512 unless given.
        mask: True where query t may attend to a key of this rank, broadcasts to (…, L, S_r); or a
            `masks.Rule`, of which `part` cuts out the keys of a rank.
        bias: added to the scores of this rank, of the query's dtype; broadcasts to (…, L, S_r).
        scale: β, any finite number, the same on every rank; 1/√d_k unless given.
        softcap: c, positive and finite, the same on every rank.
        sink: the score of one more key, without a value: the same on every rank, counted once.

    Returns:
        y, (…, L, d_v), of the query's dtype, the same on every rank.

    Raises:
        TypeError: a tensor of another kind or dtype, or a number that is none.
        ValueError: shapes that do not fit, here or between ranks; no process group.
        RuntimeError: a rank that fails in the middle, or keeps silent for longer than the group's
            timeout; the group is of no use after that.

    Source: derivations MSHF, MASS and MSNK, `python -m attnref show MASS`.

    >>> store = dist.HashStore()
    >>> dist.init_process_group("gloo", rank=0, world_size=1, store=store)
    >>> query, key = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0], [0.0, -1.0]])
    >>> sharded_attention(query, key, torch.tensor([[10.0], [30.0]]))
    tensor([[20.]])
    >>> dist.destroy_process_group()
    """
    ranks = Ranks(group)

    def check() -> Checked[Call]:
        call = _blocks.checked(
            query, key_shard, value_shard, mask, bias, scale, softcap, sink, block_size
        )
        return Checked(call, _words(call))

    call, _ = ranks.agree(check)
    output: Tensor = _Sharded.apply(call, ranks, *call.arrays())  # type: ignore[no-untyped-call]  # Torch leaves it untyped
    return output


def _words(call: Call) -> dict[str, object]:
    """Return what must be the same on every rank."""
    return {
        "query": numbers(call.query),
        "the output's shape": (*call.shape[:-1], call.value.shape[-1]),
        "scale": call.scale,
        "softcap": call.softcap,
        "sink": None if call.sink is None else numbers(call.sink),
        "requires_grad of the query": torch.is_grad_enabled() and call.query.requires_grad,
    }


class _Sharded(torch.autograd.Function):
    """The output of all ranks' keys; backward, the queries' gradients are added up."""

    @staticmethod
    def forward(ctx: Any, call: Call, ranks: Ranks, *arrays: Tensor | None) -> Tensor:
        m, z, n = with_sink(call, *_of_all(ranks, *of_keys(call)))
        _saving.keep(ctx, call, (m, z, n))
        ctx.ranks = ranks
        return average(n, z).to(call.query.dtype)

    @staticmethod
    @_saving.once
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:
        call, known = _saving.kept(ctx)
        found = gradients(call, known, g, names=_saving.wanted(ctx))
        if "query" in found:
            ctx.ranks.add(found["query"])
        return None, None, *_saving.as_given(call, found)


def _of_all(ranks: Ranks, m: Tensor, z: Tensor, n: Tensor) -> State:
    """Return the state of the keys of all ranks."""
    largest = ranks.largest(m)
    share = (m - largest.masked_fill(largest == -torch.inf, 0.0)).exp()
    sums = share.unsqueeze(-1) * torch.cat([z.unsqueeze(-1), n], dim=-1)
    ranks.add(sums)
    return largest, sums[..., 0], sums[..., 1:]
