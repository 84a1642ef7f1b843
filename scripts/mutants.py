"""Mistakes that one could make in the reference: the file, what stands there, and the mistake."""

SOFTMAX, HALL, DROP_IN = "attnref/_softmax.py", "attnref/_attention.py", "attnref/_drop_in.py"
MASKS, ALIBI = "attnref/masks/_boolean.py", "attnref/masks/_alibi.py"
CHECKS, SHAPES = "attnref/_checks.py", "attnref/_shapes.py"
INTEGERS, LOOPS, BOUND = "attnref/_integers.py", "attnref/_expanded.py", "attnref/testing/_bound.py"
T_HALL, T_ROW, T_DROP_IN = (
    f"attnref/torch/{room}.py" for room in ("_attention", "_softmax", "_drop_in")
)
PARTIAL, T_PARTIAL = "attnref/_partial.py", "attnref/torch/_partial.py"
RULES, HEADS, CALL, WORKERS, STREAMING, BACKWARD, GRADIENTS = (
    f"attnref/{room}.py"
    for room in (
        "_rules",
        "_heads",
        "_call",
        "_workers",
        "_streaming",
        "_backward",
        "_gradients",
    )
)
T_GUARDED, T_ALIBI = "attnref/torch/_guarded.py", "attnref/torch/masks/_alibi.py"
T_BLOCKS, T_FORWARD, T_BACKWARD, T_STREAMING, T_BY_HAND = (
    f"attnref/torch/{room}.py"
    for room in ("_blocks", "_forward", "_backward", "_streaming", "_gradients")
)
T_RANKS, T_RING, T_ROUNDS, T_SHARDED = (
    f"attnref/torch/distributed/{room}.py" for room in ("_ranks", "_ring", "_rounds", "_sharded")
)

MUTANTS: dict[str, tuple[str, str, str]] = {
    # the row
    "no shift by the maximum": (
        SOFTMAX,
        "m = np.where(m == -np.inf, 0, m)",
        "m = np.zeros_like(largest)",
    ),
    "shift by the maximum of all scores, masked ones too": (
        SOFTMAX,
        "keepdims=True, where=here, initial",
        "keepdims=True, initial",
    ),
    "shift by the maximum of the keys alone": (
        SOFTMAX,
        "m = np.maximum(largest, last)",
        "m = largest",
    ),
    "empty rows not guarded": (
        SOFTMAX,
        "m = np.where(m == -np.inf, 0, m)",
        "m = m",
    ),
    "masked scores not taken out before exp": (
        SOFTMAX,
        "np.exp(np.where(here, a - m, -np.inf))",
        "np.exp(a - m)",
    ),
    "masked weights not zeroed": (
        SOFTMAX,
        "out=np.zeros_like(e), where=here)",
        "out=np.zeros_like(e))",
    ),
    "finite sentinel": (
        SOFTMAX,
        "np.exp(np.where(here, a - m, -np.inf))",
        "np.exp(np.where(here, a - m, -30.0))",
    ),
    "sink not shifted": (SOFTMAX, "+ np.exp(last - m)", "+ np.exp(last)"),
    "sink not counted": (SOFTMAX, "keepdims=True) + np.exp(last - m)", "keepdims=True)"),
    "sink counted twice": (SOFTMAX, "+ np.exp(last - m)", "+ 2 * np.exp(last - m)"),
    "log of base 2": (SOFTMAX, "(m + np.log(z))", "(m + np.log2(z))"),
    "log Z without its shift": (SOFTMAX, "(m + np.log(z))", "(np.log(z))"),
    "a score of −∞ is not masked": (
        SOFTMAX,
        "np.asarray(scores) != -np.inf",
        "np.asarray(scores) == np.asarray(scores)",
    ),
    "mask inverted": (SOFTMAX, "present & np.asarray(mask)", "present & ~np.asarray(mask)"),
    "mask ignored": (
        SOFTMAX,
        "return present if mask is None else present & np.asarray(mask)",
        "return present",
    ),
    "softmax over queries": (
        SOFTMAX,
        "e.sum(axis=-1, keepdims=True)",
        "e.sum(axis=0, keepdims=True)",
    ),
    # the hall
    "scale left out": (HALL, "a = beta * (wide", "a = (wide"),
    "scale squared": (HALL, "a = beta * (wide", "a = beta * beta * (wide"),
    "cap left out": (HALL, "a = cap * np.tanh(a / cap)", "a = a"),
    "cap of another formula": (HALL, "cap * np.tanh(a / cap)", "a / (1 + abs(a / cap))"),
    "cap after the bias": (
        HALL,
        "return np.where(b == -np.inf, -np.inf, a + b)",
        "return np.where(b == -np.inf, -np.inf, (cap or 1e9) * np.tanh((a + b) / (cap or 1e9)))",
    ),
    "cap before the scale": (
        HALL,
        "cap * np.tanh(a / cap)",
        "beta * cap * np.tanh(a / beta / cap)",
    ),
    "bias scaled": (HALL, "-np.inf, a + b)", "-np.inf, a + beta * b)"),
    "bias subtracted": (HALL, "-np.inf, a + b)", "-np.inf, a - b)"),
    "bias of −∞ added and not selected": (HALL, "np.where(b == -np.inf, -np.inf, a + b)", "a + b"),
    "bias rounded to single": (HALL, "b = wide(bias)", "b = np.asarray(bias, np.float32)"),
    "a low bias taken for a mask": (HALL, "np.where(b == -np.inf,", "np.where(b < -1e29,"),
    "heads tiled": (
        HALL,
        "np.repeat(wide(array), group, axis=-3)",
        "np.concatenate([wide(array)] * group, axis=-3)",
    ),
    "heads of the value not shared": (
        HALL,
        "weighted_sum(weights, for_heads_of(query, value), here)",
        "weighted_sum(weights, wide(value), here)",
    ),
    "sink lost on the way": (
        HALL,
        "mask=mask, sink=None if sink is None else wide(sink))",
        "mask=mask)",
    ),
    "mask lost on the way": (HALL, "return softmax(a, mask=mask,", "return softmax(a,"),
    "masked values leak": (
        HALL,
        "output = weights @ np.where(finite, value, 0)",
        "output = weights @ value",
    ),
    "values that are not finite are hidden": (
        HALL,
        "    for s in np.flatnonzero(~finite.all(axis=(*range(value.ndim - 2), -1))):",
        "    for s in ():",
    ),
    "a wild value reaches every row": (
        HALL,
        "np.where(allowed[..., [s]], weights",
        "np.where(True, weights",
    ),
    "weights of half precision": (
        HALL,
        "sink=None if sink is None else wide(sink)), here",
        "sink=None if sink is None else wide(sink)).astype(query.dtype), here",
    ),
    "scores of half precision": (
        HALL,
        "a = np.broadcast_to(_scores(query, key, scale, softcap, bias), shape)",
        "a = np.broadcast_to(_scores(query, key, scale, softcap, bias).astype(query.dtype), shape)",
    ),
    "default scale 1/d": (CHECKS, "return 1 / math.sqrt(d_k)", "return 1 / d_k"),
    "default scale from the value": (CHECKS, "d_k = query.shape[-1]", "d_k = query.shape[-2]"),
    "absolute scale": (
        CHECKS,
        'finite("scale", value, " or None")',
        'abs(finite("scale", value, " or None"))',
    ),
    # shapes
    "heads of any number shared": (
        SHAPES,
        "0 < theirs < ours and ours % theirs == 0",
        "0 < theirs < ours",
    ),
    "one head of many counts as shared": (
        SHAPES,
        "ours // theirs if shares else 1",
        "ours // theirs if shares else 2",
    ),
    "lengths of key and value not compared": (
        SHAPES,
        "if value.shape[-2] != key.shape[-2]:",
        "if False:",
    ),
    "depths not compared": (SHAPES, "if query.shape[-1] != key.shape[-1]:", "if False:"),
    "a mask may enlarge": (
        SHAPES,
        "smaller = len(array.shape) <= len(target) and all(",
        "smaller = all(",
    ),
    # masks
    "causal without the diagonal": (
        MASKS,
        "np.arange(int(S)) <= np.arange(int(L))[:, np.newaxis] + diagonal",
        "np.arange(int(S)) < np.arange(int(L))[:, np.newaxis] + diagonal",
    ),
    "causal transposed": (
        MASKS,
        "np.arange(int(S)) <= np.arange(int(L))[:, np.newaxis] + diagonal",
        "np.arange(int(S)) >= np.arange(int(L))[:, np.newaxis] + diagonal",
    ),
    "corners exchanged": (
        INTEGERS,
        'return S - L if align == "lower-right" else 0',
        'return S - L if align != "lower-right" else 0',
    ),
    "window without its left end": (MASKS, "(i + first <= j)", "(i + first < j)"),
    "window without its right end": (MASKS, "(j <= i + last)", "(j < i + last)"),
    "padding one too long": (MASKS, "np.arange(int(S)) < present", "np.arange(int(S)) <= present"),
    "documents see the ones before": (
        MASKS,
        "labels[:, np.newaxis] == labels",
        "labels[:, np.newaxis] >= labels",
    ),
    "ALiBi favours what is far": (ALIBI, "slopes * (0 - distance)", "slopes * distance"),
    "ALiBi starts at slope 1": (ALIBI, "for h in range(1, n + 1)]", "for h in range(n)]"),
    "ALiBi by one sequence": (
        ALIBI,
        "return _geometric(whole) + _geometric(2 * whole)[::2][: num_heads - whole]",
        "return _geometric(num_heads)",
    ),
    "ALiBi ignores the cache": (
        ALIBI,
        "places = first + np.arange",
        "places = 0 * first + np.arange",
    ),
    # the drop-in
    "causal from the lower right": (DROP_IN, 'align="upper-left"', 'align="lower-right"'),
    "causal lost": (DROP_IN, "if is_causal else None, None", "if False else None, None"),
    "a boolean mask added": (
        DROP_IN,
        "return attn_mask.astype(bool), None",
        "return None, attn_mask.astype(np.float64)",
    ),
    "a mask of numbers taken for truth": (
        DROP_IN,
        "return None, attn_mask.astype(np.float64)",
        "return attn_mask.astype(bool), None",
    ),
    "a mask of numbers rounded": (
        DROP_IN,
        "return None, attn_mask.astype(np.float64)",
        "return None, attn_mask.astype(query.dtype)",
    ),
    "heads shared unasked": (DROP_IN, "if not enable_gqa:", "if False:"),
    "dropout without its division": (DROP_IN, "np.divide(1, 1 - chance,", "np.divide(1, 1,"),
    "dropout keeps what it should drop": (
        DROP_IN,
        "source.random(shape) >= chance",
        "source.random(shape) < chance",
    ),
    "dropout of the outputs": (
        DROP_IN,
        "weights = weights * _kept(weights.shape, chance, source)",
        "weights = weights * _kept((*weights.shape[:-1], 1), chance, source)",
    ),
    "scale lost by the drop-in": (DROP_IN, "mask, bias, scale)", "mask, bias, None)"),
    # the loops
    "loops: keys of another head": (LOOPS, "h * own // batch[-1]", "h % own"),
    "loops: bias before the cap": (
        LOOPS,
        "_capped(beta * _inner(q[*i, t], k_s), cap) + b_s",
        "_capped(beta * _inner(q[*i, t], k_s) + b_s, cap)",
    ),
    "loops: sink not counted": (LOOPS, "+ math.exp(last - m)", ""),
    "loops: bias of −∞ added": (
        LOOPS,
        "here = may[*i, t] & (b[*i, t] != -math.inf)",
        "here = may[*i, t]",
    ),
    # the bound
    "bound without the spread of the scores": (
        BOUND,
        "p * (errors + (m - a) + 4)",
        "p * ((m - a) + 4)",
    ),
    "bound without the sums": (
        BOUND,
        "(2 * a.shape[-1] + 3) * magnitude",
        "0 * magnitude",
    ),
    "bound without the cap": (
        BOUND,
        "errors = slope + 9 * abs(a)",
        "errors = slope",
    ),
    "bound loosened by masked values": (
        BOUND,
        "here.astype(np.float64) @",
        "np.ones(here.shape) @",
    ),
    "bound a thousand times too large": (
        BOUND,
        "_UNITS[work] * units",
        "_UNITS[work] * 1000 * units",
    ),
    # in Torch
    "Torch: scale left out": (T_HALL, "a = beta * _guarded.inner(", "a = _guarded.inner("),
    "Torch: bias capped": (
        T_HALL,
        "return a if bias is None else (a + bias.double())",
        "return a if bias is None else (a + _guarded.tanh(bias.double()))",
    ),
    "Torch: a cap that NaN gets through": (
        T_HALL,
        "a = cap * _guarded.tanh(a / cap)",
        "a = cap * torch.tanh(a / cap)",
    ),
    "Torch: bias of −∞ added and not selected": (
        T_HALL,
        "(a + bias.double()).masked_fill(bias == -torch.inf, -torch.inf)",
        "a + bias.double()",
    ),
    "Torch: heads tiled": (
        T_HALL,
        "source.repeat_interleave(shared, dim=-3)",
        "torch.cat([source] * shared, dim=-3)",
    ),
    "Torch: a gradient reaches an empty row": (
        T_HALL,
        "return y.masked_fill(_softmax.empty(allowed), 0.0)",
        "return y",
    ),
    "Torch: a score of −∞ is not masked": (
        T_ROW,
        "present = scores != -torch.inf",
        "present = scores == scores",
    ),
    "Torch: masked weights not selected": (
        T_ROW,
        "return p.masked_fill(~allowed, 0.0)",
        "return p",
    ),
    "Torch: empty rows not guarded": (
        T_ROW,
        "return a.masked_fill(~allowed, -torch.inf).masked_fill(empty(allowed), 0.0)",
        "return a.masked_fill(~allowed, -torch.inf)",
    ),
    "Torch: sink without a gradient": (
        T_ROW,
        "column = _entry.tensor_of(sink, like=a)",
        "column = _entry.tensor_of(sink, like=a).detach()",
    ),
    "Torch: sink lost on the way": (
        T_HALL,
        "p = _softmax.weights(a, allowed, sink)\n    return rounded(averaged(",
        "p = _softmax.weights(a, allowed, None)\n    return rounded(averaged(",
    ),
    "Torch: causal from the lower right": (
        T_DROP_IN,
        'align="upper-left"',
        'align="lower-right"',
    ),
    "Torch: dropout without its division": (
        T_DROP_IN,
        "return thinned / (1 - chance) if chance < 1 else thinned",
        "return thinned",
    ),
    "Torch: dropout keeps what it should drop": (
        T_DROP_IN,
        "kept.bernoulli_(1 - chance,",
        "kept.bernoulli_(chance,",
    ),
    "Torch: ALiBi favours what is far": (T_ALIBI, "bias = 0.0 - slopes", "bias = 0.0 + slopes"),
    # partial states
    "exponents forgotten": (PARTIAL, "np.exp(m_a - common), np.exp(m_b - common)", "1.0, 1.0"),
    "exponents crossed": (
        PARTIAL,
        "np.exp(m_a - common), np.exp(m_b - common)",
        "np.exp(m_b - common), np.exp(m_a - common)",
    ),
    "merged at the smaller exponent": (PARTIAL, "np.maximum(m_a, m_b)", "np.minimum(m_a, m_b)"),
    "empty states keep their exponent": (
        PARTIAL,
        "np.where(wide(state.z) == 0, -np.inf, wide(state.m))",
        "wide(state.m)",
    ),
    "two empty states make NaN": (PARTIAL, "np.where(m == -np.inf, 0, m)", "m"),
    "sink left out of the state": (PARTIAL, "None if sink is None else wide(sink)", "None"),
    "merged numerators not rescaled": (PARTIAL, "share_b[..., np.newaxis] * b.n", "b.n"),
    "log Z without the exponent": (PARTIAL, "_exponent(self) + np.log", "np.log"),
    "output of the state's dtype": (PARTIAL, "where=z != 0).astype(self.dtype)", "where=z != 0)"),
    "Torch: exponents forgotten": (
        T_PARTIAL,
        "(_exponent(state) - common).exp()",
        "torch.ones_like(common)",
    ),
    "Torch: empty states keep their exponent": (
        T_PARTIAL,
        "state.m.double().masked_fill(state.z == 0, -torch.inf)",
        "state.m.double()",
    ),
    "Torch: two empty states make NaN": (
        T_PARTIAL,
        "m.masked_fill(m == -torch.inf, 0.0)\n    z, n",
        "m\n    z, n",
    ),
    "Torch: empty rows give NaN": (T_PARTIAL, "y.masked_fill(none.unsqueeze(-1), 0.0)", "y"),
    "Torch: exponents take no gradient": (
        T_PARTIAL,
        "share = (_exponent(state) - common)",
        "share = (_exponent(state).detach() - common)",
    ),
    # rules
    "rule without its first key": (RULES, "[i + self.first <= j]", "[i + self.first < j]"),
    "rule without its last key": (
        RULES,
        "seen.append(j <= i + self.last)",
        "seen.append(j < i + self.last)",
    ),
    "rule: whole from a key too early": (
        RULES,
        "max(rows.stop - 1 + first, start)",
        "max(rows.stop - 2 + first, start)",
    ),
    "rule: whole to a key too late": (
        RULES,
        "max(rows.start + 1 + last, whole)",
        "max(rows.start + 2 + last, whole)",
    ),
    "rule: no key beyond the first query's": (
        RULES,
        "max(rows.stop + last, start)",
        "max(rows.start + 1 + last, start)",
    ),
    "rule: a function is not asked inside the band": (
        RULES,
        "range(whole, end), self.visible is None",
        "range(whole, end), True",
    ),
    "rules joined to the wider band": (RULES, "first=max((r.first", "first=min((r.first"),
    "rules joined by a function where there is none": (
        RULES,
        "if asked else None,",
        "if True else None,",
    ),
    "rule of a window without its offset": (
        RULES,
        "else int(offset) - int(left)",
        "else -int(left)",
    ),
    "rule of a part asks for the first keys": (
        RULES,
        "visible(i, j + int(start))",
        "visible(i, j)",
    ),
    # blocks
    "blocks: the last key forgotten": (
        HEADS,
        "for start in span[::size]:",
        "for start in span[: max(len(span) - 1, 1) : size]:",
    ),
    "blocks of all keys": (
        HEADS,
        "self.head.block_size or max(room // (self.head.work.itemsize * numbers), 1)",
        "self.head.block_size or max(room, 1)",
    ),
    "blocks: the query scaled in its place": (
        HEADS,
        "].astype(np.float64)\n        return Queries(self, places, (self.scale * query)",
        "]\n        query *= self.scale\n        return Queries(self, places, query",
    ),
    "blocks that some see taken for whole": (
        HEADS,
        "here is None or here.all() else here",
        "here is None or here.any() else here",
    ),
    "blocks: a bias of −∞ is no mask": (
        HEADS,
        "self._pairs(bias, keys) != -np.inf",
        "self._pairs(bias, keys) != np.inf",
    ),
    "blocks: what is absent counts in sums": (
        HEADS,
        "np.where(x_counts[:, [b]] & y_counts[[b]], x[:, [b]] * y[[b]], 0)",
        "x[:, [b]] * y[[b]]",
    ),
    "blocks: heads tiled": (
        CALL,
        "tuple(i * size // n for i, size, n in axes)",
        "tuple(i % size for i, size, n in axes)",
    ),
    "blocks: heads that share parted": (
        CALL,
        "math.lcm(sharing[axis], axes[axis] // size)",
        "max(sharing[axis], axes[axis] // size)",
    ),
    "blocks: the last query forgotten": (
        CALL,
        "for t in range(0, L, QUERIES)]",
        "for t in range(0, max(L - 1, 1), QUERIES)]",
    ),
    "blocks: work in half precision": (
        CALL,
        "np.result_type(self.query.dtype, np.float32)",
        "self.query.dtype",
    ),
    "threads: BLAS not limited": (WORKERS, "limit(limits=1)", "limit(limits=2)"),
    "threads: errors lost": (WORKERS, "list(pool.map(work, queue))", "pool.map(work, queue)"),
    "threads: only one": (WORKERS, "else min(_threads(), len(queue))", "else 1"),
    # streaming
    "streaming: z not rescaled": (STREAMING, "z = share * z + np.ones", "z = z + np.ones"),
    "streaming: n not rescaled": (STREAMING, "n = share[:, np.newaxis] * n +", "n = n +"),
    "streaming: the block's own maximum": (
        STREAMING,
        "np.maximum(m, a.max(axis=0))",
        "a.max(axis=0)",
    ),
    "streaming: no key so far makes NaN": (
        STREAMING,
        "a.max(axis=0))\n    shift = np.where(larger == -np.inf, 0, larger)",
        "a.max(axis=0))\n    shift = larger",
    ),
    "streaming: sink rounded": (
        STREAMING,
        "np.exp(sink - shift)  #",
        "np.exp(sink.astype(m.dtype) - shift)  #",
    ),
    "streaming: masked values leak": (
        STREAMING,
        "counts = queries.scores(keys, here) != -np.inf",
        "counts = np.ones_like(e, bool)",
    ),
    "streaming: empty rows make NaN": (
        STREAMING,
        "out=np.zeros_like(n), where=(z != 0) & (n != 0))",
        "out=np.zeros_like(n))",
    ),
    # gradients
    "gradients: log Z with the wrong sign": (
        BACKWARD,
        ".sum(axis=-1) - gamma",
        ".sum(axis=-1) + gamma",
    ),
    "gradients: 0 asks for NaN": (BACKWARD, "np.where((g == 0) | (y == 0), 0, g * y)", "(g * y)"),
    "gradients: δ forgotten": (BACKWARD, "da -= asked.delta", "da -= 0"),
    "gradients: weights from log Z": (
        BACKWARD,
        "Asked(queries, np.where(z == 0, 0, m), g, delta,",
        "Asked(queries, np.where(z == 0, 0, m + np.log(z)).astype(m.dtype), "
        "g * z[:, np.newaxis], delta * z,",
    ),
    "gradients: slope of the cap not squared": (
        BACKWARD,
        "/ queries.head.softcap) ** 2",
        "/ queries.head.softcap)",
    ),
    "gradients: sink as a key with a value": (BACKWARD, "da = -np.exp(sink", "da = np.exp(sink"),
    "gradients: absent keys leak": (
        BACKWARD,
        "total(da, factor, da != 0,",
        "total(da, factor, da == da,",
    ),
    "gradients: dq without the scale": (GRADIENTS, "head.scale * dq", "dq"),
    "gradients: dk without the scale": (
        GRADIENTS,
        "of_factor(da, queries.scaled)",
        "of_factor(da, head.of(head.query, rows))",
    ),
    "gradients: bias under the cap": (
        GRADIENTS,
        '_add(sums["bias"], da.T, rows, keys)',
        '_add(sums["bias"], da.T * (_backward.slope(queries, keys).T if head.softcap else 1), '
        "rows, keys)",
    ),
    "gradients: a mean over what is repeated": (
        GRADIENTS,
        "block.sum(axis=ones, keepdims=True) if ones",
        "block.mean(axis=ones, keepdims=True) if ones",
    ),
    "gradients: a state rounded": (
        GRADIENTS,
        "np.where(z == 0, 0, np.exp(m - rounded))",
        "np.where(z == 0, 0, 1.0)",
    ),
    "gradients: a state not looked at": (
        GRADIENTS,
        "_streaming.state(queries) if self.state is None else",
        "_streaming.state(queries) if True else",
    ),
    "gradients: added up in half precision": (
        GRADIENTS,
        "np.zeros(array.shape, call.work)",
        "np.zeros(array.shape, call.query.dtype)",
    ),
    # Torch, in blocks
    "Torch blocks: half precision is worked in": (
        T_BLOCKS,
        "torch.promote_types(self.query.dtype, torch.float32)",
        "self.query.dtype",
    ),
    "Torch blocks: a bias of −∞ added and not selected": (
        T_BLOCKS,
        "self._pairs(self.bias, rows, keys) != -torch.inf)",
        "self._pairs(self.bias, rows, keys) != torch.nan)",
    ),
    "Torch blocks: a rule is asked the other way round": (
        T_BLOCKS,
        "self.mask(i.unsqueeze(-1), j)",
        "self.mask(j, i.unsqueeze(-1))",
    ),
    "Torch blocks: a block on the edge of the band is whole": (
        T_BLOCKS,
        "elif not whole:",
        "elif False:",
    ),
    "Torch blocks: what is wild enters wherever it stands": (
        T_BLOCKS,
        "term.masked_fill(~counted, 0.0)",
        "term",
    ),
    "Torch blocks: the queries are one block": (
        T_BLOCKS,
        "QUERIES, KEYS = 256, 512",
        "QUERIES, KEYS = 2**30, 512",
    ),
    "Torch blocks: the sink of the first block of queries for all": (
        T_BLOCKS,
        "return whole[..., rows.start : rows.stop]",
        "return whole[..., : len(rows)]",
    ),
    "Torch blocks: n keeps its old exponent": (
        T_FORWARD,
        "n = share.unsqueeze(-1) * n + _sum",
        "n = n + _sum",
    ),
    "Torch blocks: shift by the maximum of the block": (
        T_FORWARD,
        "larger = torch.maximum(m, a.amax(dim=-1))",
        "larger = a.amax(dim=-1)",
    ),
    "Torch blocks: the gradient of log Z subtracted": (
        T_BACKWARD,
        "products.sum(dim=-1) - gamma",
        "products.sum(dim=-1) + gamma",
    ),
    "Torch blocks: δ left out": (
        T_BACKWARD,
        "e * (g @ value.mT - queries.delta.unsqueeze(-1))",
        "e * (g @ value.mT)",
    ),
    "Torch blocks: the slope of the cap left out": (
        T_BACKWARD,
        "da = (da * slope).masked_fill(da == 0, 0.0)",
        "da = da",
    ),
    "Torch blocks: the sign of the sink's gradient": (
        T_BACKWARD,
        "(-weight * delta)",
        "(weight * delta)",
    ),
    "Torch blocks: the gradient of the key unscaled": (
        T_BACKWARD,
        "dk = _of_factor(da.mT, call.scaled(rows))",
        "dk = _of_factor(da.mT, call.of(call.query, rows))",
    ),
    "Torch blocks: what is not asked for meets NaN": (
        T_BACKWARD,
        "~seen | (excess == 0), 0.0)",
        "~seen, 0.0)",
    ),
    "Torch blocks: a gradient of 0 by da meets the factor": (
        T_BACKWARD,
        "lambda: (da != 0, everywhere(factor))",
        "lambda: (everywhere(da), everywhere(factor))",
    ),
    "Torch blocks: the output in the dtype of the work": (
        T_STREAMING,
        "average(n, z).to(call.query.dtype)",
        "average(n, z)",
    ),
    "Torch blocks: gradients of tiled heads": (
        T_BACKWARD,
        "reshape(*front, heads // group, group, rows, depth).sum(dim=-3)",
        "reshape(*front, group, heads // group, rows, depth).sum(dim=-4)",
    ),
    "Torch blocks: the state that is given ignored": (
        T_BY_HAND,
        "state_of(call) if state is None else _known(state, call.work)",
        "state_of(call)",
    ),
    "Torch blocks: z of a state whose exponent was rounded": (
        T_BY_HAND,
        "(share * state.z).to(work)",
        "state.z.to(work)",
    ),
    # several ranks
    "Torch ranks: exponents forgotten": (
        T_SHARDED,
        "share = (m - largest.masked_fill(largest == -torch.inf, 0.0)).exp()",
        "share = torch.ones_like(m)",
    ),
    "Torch ranks: a query that no rank has a key for gives NaN": (
        T_SHARDED,
        "(m - largest.masked_fill(largest == -torch.inf, 0.0))",
        "(m - largest)",
    ),
    "Torch ranks: the sink counted by every rank": (
        T_SHARDED,
        "with_sink(call, *_of_all(ranks, *of_keys(call)))",
        "_of_all(ranks, *with_sink(call, *of_keys(call)))",
    ),
    "Torch ranks: gradients of the query not added up": (
        T_SHARDED,
        '        if "query" in found:',
        "        if False:",
    ),
    "Torch ranks: gradients rounded before they are added up": (
        T_SHARDED,
        'ctx.ranks.add(found["query"])',
        'ctx.ranks.add(found["query"].copy_(found["query"].to(call.query.dtype)))',
    ),
    "Torch ranks: the state of own keys saved": (
        T_SHARDED,
        "_saving.keep(ctx, call, (m, z, n))",
        "_saving.keep(ctx, call, of_keys(call))",
    ),
    "Torch ring: the sink counted in every round": (
        T_RING,
        "return of_keys(ring.call(call, rank, k, v))",
        "return with_sink(call, *of_keys(ring.call(call, rank, k, v)))",
    ),
    "Torch ring: columns of the wrong keys": (
        T_ROUNDS,
        "        columns = self.columns(rank)\n",
        "        columns = slice(0, self.sizes[rank])\n",
    ),
    "Torch ring: keys of one rank counted for another": (
        T_ROUNDS,
        "return slice(stop - self.sizes[rank], stop)",
        "return slice(sum(self.sizes) - stop, sum(self.sizes) - stop + self.sizes[rank])",
    ),
    "Torch ring: gradients forgotten where a bias has one column for all": (
        T_ROUNDS,
        "            total += gradient\n",
        "            total.copy_(gradient)\n",
    ),
    "Torch ring: the gradient of a bias at the wrong keys": (
        T_ROUNDS,
        "_part(sums[name], self.columns(rank)) if",
        "_part(sums[name], slice(0, self.sizes[rank])) if",
    ),
    "Torch ring: gradients rounded in every round": (
        T_ROUNDS,
        "return coming, self.ranks.pass_on(moving, coming, tag)",
        "return coming, self.ranks.pass_on([x.bfloat16().to(x.dtype) if tag else x for x in "
        "moving], coming, tag)",
    ),
    "Torch ring: gradients of keys where none is wanted here not passed on": (
        T_RING,
        ' | {"key", "value"}  #',
        "  #",
    ),
    "Torch ring: a graph of one rank alone": (
        T_RING,
        "any(x.requires_grad for x in given)",
        "any(x.requires_grad for x in call.arrays()[:3])",
    ),
    "Torch ring: a mask refused by its own rank alone": (
        T_RING,
        "    ranks.agree(check_pairs)\n",
        "    check_pairs()\n",
    ),
    "Torch ranks: shapes compared, and no bits": (
        T_RANKS,
        "zlib.crc32(bits.numpy().data)",
        "zlib.crc32(bytes())",
    ),
    "Torch ranks: an error kept to itself": (
        T_RANKS,
        "            self._gather(str(error))\n            raise\n",
        "            raise error\n",
    ),
    "Torch ranks: only some errors told": (
        T_RANKS,
        "except Exception as error:",
        "except (TypeError, ValueError) as error:",
    ),
    "Torch ranks: a rank of the group taken for one of the world": (
        T_RANKS,
        "peer = dist.get_global_rank(self.group, (self.rank + ahead) % self.size)",
        "peer = (self.rank + ahead) % self.size",
    ),
    "Torch ranks: what comes is not waited for": (
        T_RANKS,
        "                    work.wait()\n",
        "                    pass\n",
    ),
    "Torch ranks: a failure without the rank that met it": (
        T_RANKS,
        'f"rank {self.rank} of {self.size}: another rank failed',
        'f"another rank failed',
    ),
    "Torch ranks: silence in the ring not named": (
        T_RANKS,
        "        def wait() -> None:\n"
        '            with self._together("passing on"):\n                for',
        "        def wait() -> None:\n            if True:\n                for",
    ),
    "Torch ranks: an outsider let in": (T_RANKS, "if self.rank < 0:", "if False:"),
    "Torch ranks: no group asked for": (
        T_RANKS,
        "if not (dist.is_available() and dist.is_initialized()):",
        "if False:",
    ),
}
