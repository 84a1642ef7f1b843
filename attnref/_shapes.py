"""The foundation: which shapes fit together, and what shape comes out of them."""

from typing import Any

from attnref._checks import Array, Shape, dtype_name, shape


def scores_shape(query: Array, key: Array) -> Shape:
    """Return (…, L, S), the shape of the scores of query (…, L, d_k) and key (…, S, d_k)."""
    _comparable(query, key)
    return (*_front(query, key=key), query.shape[-2], key.shape[-2])


def attention_shape(query: Array, key: Array, value: Array) -> Shape:
    """Return (…, L, S) with the leading axes of query, key and value broadcast together."""
    _comparable(query, key)
    matrices(value=value)
    if value.shape[-2] != key.shape[-2]:
        raise ValueError(
            "key and value must share their second-last axis S: "
            f"{key.shape[-2]} ≠ {value.shape[-2]} (key {shape(key)}, value {shape(value)})"
        )
    return (*_front(query, key=key, value=value), query.shape[-2], key.shape[-2])


def group(query: Array, key: Array) -> int:
    """Return how many heads of the query read one head of the key: Hq / Hkv.

    The heads are axis −3. Query head h reads head h // (Hq / Hkv) of the key, and of the value.
    Where either has one head, or none, they broadcast.
    """
    if query.ndim < 3 or key.ndim < 3:
        return 1
    ours, theirs = query.shape[-3], key.shape[-3]
    shares = 1 not in (ours, theirs) and 0 < theirs < ours and ours % theirs == 0
    return ours // theirs if shares else 1


def fits(name: str, array: Array, target: Shape, meaning: str) -> None:
    """Require an array that broadcasts to the target without enlarging it."""
    smaller = len(array.shape) <= len(target) and all(
        size in (1, wanted) for size, wanted in zip(array.shape[::-1], target[::-1], strict=False)
    )
    if not smaller:
        whole, axes = meaning.split(maxsplit=1)
        raise ValueError(
            f"{name} must broadcast to the {whole} {axes}: {name} {shape(array)}, {whole} {target}"
        )


def matrices(**arrays: Array) -> None:
    """Require at least two axes: rows of vectors."""
    for name, array in arrays.items():
        if array.ndim < 2:
            raise ValueError(
                f"{name} must have at least 2 axes (…, rows, depth), "
                f"not {array.ndim}: {shape(array)}"
            )


def state(m: Array, z: Array, n: Array) -> None:
    """Require m (…, L) and z (…, L) to be the rows of n (…, L, d_v)."""
    matrices(n=n)
    if not shape(m) == shape(z) == shape(n)[:-1]:
        raise ValueError(
            f"m and z must have the shape (…, L) of the rows of n (…, L, d_v): "
            f"m {shape(m)}, z {shape(z)}, n {shape(n)}"
        )


def state_fits(kind: type[Any], state: Any, outputs: Shape) -> None:
    """Require a state of the queries that give these outputs, or None."""
    if state is None:
        return
    if not isinstance(state, kind):
        raise TypeError(f"state must be a {kind.__name__} or None, not {type(state).__name__}")
    if shape(state.n) != outputs:
        raise ValueError(
            "state must be that of the queries, with n of the output's shape (…, L, d_v): "
            f"n {shape(state.n)}, output {outputs}"
        )


def alike(kind: type, a: Any, b: Any) -> None:
    """Require two states of one class, of one dtype and one shape."""
    for name, state in (("a", a), ("b", b)):
        if not isinstance(state, kind):
            raise TypeError(f"{name} must be a {kind.__name__}, not {type(state).__name__}")
    if a.dtype != b.dtype:
        found = f"a {dtype_name(a)}, b {dtype_name(b)}"
        raise TypeError(f"a, b must share one dtype: {found}")
    if shape(a.n) != shape(b.n):
        found = f"a {shape(a.n)}, b {shape(b.n)}"
        raise ValueError(f"a, b must share one shape (…, L, d_v): {found}")


def same(a: Any, b: Any) -> None:
    """Require two rules for as many queries and as many keys."""
    if (a.L, a.S) != (b.L, b.S):
        raise ValueError(
            f"rules joined by & must have one size (L, S): {(a.L, a.S)} and {(b.L, b.S)}"
        )


def rule_fits(rule: Any, target: Shape) -> None:
    """Require a rule for the last two axes of the scores."""
    if tuple(target[-2:]) != (rule.L, rule.S):
        raise ValueError(
            "mask must be a rule for the L queries and S keys of the scores (…, L, S): "
            f"rule {(rule.L, rule.S)}, scores {target}"
        )


def answer(array: Any, block: Shape) -> None:
    """Require what a rule returns to be booleans that fit the places that were asked."""
    found = dtype_name(array) if hasattr(array, "dtype") else type(array).__name__
    if not hasattr(array, "dtype") or found != "bool":
        raise TypeError(f"visible(i, j) must return an array of booleans, not {found}")
    fits("visible(i, j)", array, block, "block (queries, keys)")


def rows(**arrays: Array) -> None:
    """Require at least one axis: a row to normalise along."""
    for name, array in arrays.items():
        if array.ndim < 1:
            raise ValueError(f"{name} must have at least 1 axis (…, S), not 0: {shape(array)}")


def leading(**arrays: Array) -> Shape:
    """Return the leading axes, all but the last two, broadcast with no heads shared."""
    front = _broadcast([tuple(array.shape[:-2]) for array in arrays.values()])
    if front is None:
        found = ", ".join(f"{name} {shape(array)}" for name, array in arrays.items())
        raise ValueError(f"the leading axes of {', '.join(arrays)} must broadcast: {found}")
    return front


def _comparable(query: Array, key: Array) -> None:
    matrices(query=query, key=key)
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(
            "query and key must share their last axis d_k: "
            f"{query.shape[-1]} ≠ {key.shape[-1]} (query {shape(query)}, key {shape(key)})"
        )


def _front(query: Array, **sources: Array) -> Shape:
    """Return the leading axes of the scores: broadcast, but for heads that queries share."""
    spread = [_spread(query, source) for source in sources.values()]
    front = _broadcast([tuple(query.shape[:-2]), *spread])
    if front is None:
        names, found = ["query", *sources], {"query": query, **sources}
        raise ValueError(
            f"the leading axes of {', '.join(names)} must broadcast, or the heads of the query "
            "(axis −3) be a multiple of theirs: "
            + ", ".join(f"{name} {shape(array)}" for name, array in found.items())
        )
    return front


def _spread(query: Array, source: Array) -> Shape:
    """Return the leading axes of a key or value once each head is repeated for its queries."""
    *front, _, _ = source.shape
    if front:
        front[-1] *= group(query, source)
    return tuple(front)


def _broadcast(fronts: list[Shape]) -> Shape | None:
    length = max(map(len, fronts))
    aligned = [(1,) * (length - len(front)) + front for front in fronts]
    sizes = [set(column) - {1} for column in zip(*aligned, strict=True)]
    if any(len(different) > 1 for different in sizes):
        return None
    return tuple(different.pop() if different else 1 for different in sizes)
