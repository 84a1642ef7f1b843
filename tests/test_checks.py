"""What may not enter: every raise on the NumPy side is read, message and all."""

import ast
import inspect
import re
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from attnref import (
    Partial,
    _attention,
    _backward,
    _call,
    _checks,
    _drop_in,
    _expanded,
    _gradients,
    _heads,
    _integers,
    _partial,
    _rules,
    _shapes,
    _softmax,
    _streaming,
    _workers,
    attention,
    attention_gradients,
    attention_weights,
    expanded_attention,
    log_partition,
    masks,
    merge,
    partial_attention,
    scaled_dot_product_attention,
    scores,
    softmax,
    streaming_attention,
)
from attnref.masks import _alibi, _boolean
from samples import D_K, D_V, B, H, L, S, normal, random_mask

Call = Callable[[], object]

q, k, v = normal(L, D_K), normal(S, D_K), normal(S, D_V)
g = normal(L, D_V)
FLOATS = re.escape("('float16', 'bfloat16', 'float32', 'float64')")


def of_kind(wrong: Any, **options: Any) -> dict[str, Call]:
    """Return the calls that take a wrong query, by the function's name."""
    return {
        "scores": lambda: scores(wrong, k, **options),
        "attention_weights": lambda: attention_weights(wrong, k, **options),
        "attention": lambda: attention(wrong, k, v, **options),
        "expanded_attention": lambda: expanded_attention(wrong, k, v, **options),
        "partial_attention": lambda: partial_attention(wrong, k, v, **options),
        "streaming_attention": lambda: streaming_attention(wrong, k, v, **options),
        "attention_gradients": lambda: attention_gradients(wrong, k, v, g, **options),
    }


def of_key(wrong: Any) -> dict[str, Call]:
    """Return the calls that take a wrong key, by the function's name."""
    return {
        "scores": lambda: scores(q, wrong),
        "attention_weights": lambda: attention_weights(q, wrong),
        "attention": lambda: attention(q, wrong, v),
        "expanded_attention": lambda: expanded_attention(q, wrong, v),
        "partial_attention": lambda: partial_attention(q, wrong, v),
        "streaming_attention": lambda: streaming_attention(q, wrong, v),
        "attention_gradients": lambda: attention_gradients(q, wrong, v, g),
    }


def of_value(wrong: Any) -> dict[str, Call]:
    """Return the calls that take a wrong value, by the function's name."""
    return {
        "attention": lambda: attention(q, k, wrong),
        "expanded_attention": lambda: expanded_attention(q, k, wrong),
        "partial_attention": lambda: partial_attention(q, k, wrong),
        "streaming_attention": lambda: streaming_attention(q, k, wrong),
        "attention_gradients": lambda: attention_gradients(q, k, wrong, g),
    }


def of_mask(wrong: Any) -> dict[str, Call]:
    """Return the calls that take a wrong mask, by the function's name."""
    return {
        "softmax": lambda: softmax(normal(L, S), mask=wrong),
        "log_partition": lambda: log_partition(normal(L, S), mask=wrong),
        "attention_weights": lambda: attention_weights(q, k, mask=wrong),
        "attention": lambda: attention(q, k, v, mask=wrong),
        "expanded_attention": lambda: expanded_attention(q, k, v, mask=wrong),
        "partial_attention": lambda: partial_attention(q, k, v, mask=wrong),
        "streaming_attention": lambda: streaming_attention(q, k, v, mask=wrong),
        "attention_gradients": lambda: attention_gradients(q, k, v, g, mask=wrong),
    }


def of_scores(wrong: Any) -> dict[str, Call]:
    """Return the calls that take wrong scores, by the function's name."""
    return {"softmax": lambda: softmax(wrong), "log_partition": lambda: log_partition(wrong)}


def of_scale(wrong: Any) -> dict[str, Call]:
    """Return the calls that take a wrong scale, by the function's name."""
    return of_kind(q, scale=wrong)


def of_bias(wrong: Any) -> dict[str, Call]:
    """Return the calls that take a wrong bias, by the function's name."""
    return of_kind(q, bias=wrong)


def of_sink(wrong: Any) -> dict[str, Call]:
    """Return the calls that take a wrong sink, by the function's name."""
    calls = of_kind(q, sink=wrong)
    del calls["scores"]
    return calls | {
        "softmax": lambda: softmax(normal(L, S), sink=wrong),
        "log_partition": lambda: log_partition(normal(L, S), sink=wrong),
    }


def of_heads(hq: int, hkv: int) -> dict[str, Call]:
    """Return the calls with that many heads of the query, and of the key or the value."""
    many, few = normal(hq, L, D_K), normal(hkv, S, D_K)
    return of_kind(many) | {
        "scores": lambda: scores(many, few),
        "attention_weights": lambda: attention_weights(many, few),
        "attention": lambda: attention(many, few, v),
        "expanded_attention": lambda: expanded_attention(many, k, few),
        "partial_attention": lambda: partial_attention(many, few, v),
        "streaming_attention": lambda: streaming_attention(many, k, few),
        "attention_gradients": lambda: attention_gradients(many, few, v, g),
    }


def drop_in(*given: Any, **options: Any) -> dict[str, Call]:
    """Return the call of the drop-in."""
    arrays = (q, k, v)[len(given) :] if len(given) < 3 else ()
    return {"drop_in": lambda: scaled_dot_product_attention(*given, *arrays, **options)}


def alibi(*sizes: Any, **options: Any) -> dict[str, Call]:
    """Return the call of ALiBi's bias."""
    return {"alibi": lambda: masks.alibi(*sizes, **options)}


def causal(*sizes: Any, **options: Any) -> dict[str, Call]:
    """Return the calls that make a causal mask."""
    return {
        "causal": lambda: masks.causal(*sizes, **options),
        "rule": lambda: masks.Rule.causal(*sizes, **options),
    }


def window(*sizes: Any, left: Any = 1, right: Any = 1, **options: Any) -> dict[str, Call]:
    """Return the calls that make a window."""
    options = {"left": left, "right": right, **options}
    return {
        "window": lambda: masks.window(*sizes, **options),
        "rule": lambda: masks.Rule.window(*sizes, **options),
    }


def of_integers(wrong: Any) -> dict[str, Call]:
    """Return the calls that take a wrong row of integers."""
    return {"documents": lambda: masks.documents(wrong), "padding": lambda: masks.padding(wrong, S)}


def padding(*given: Any) -> dict[str, Call]:
    """Return the call of the padding mask."""
    return {"padding": lambda: masks.padding(*given)}


# What goes wrong: the calls, the error, and what its message must say.
WRONG: dict[str, tuple[dict[str, Call], type[Exception], str]] = {
    # kinds
    "query a list": (
        of_kind([[1.0]]),
        TypeError,
        r"^query must be a numpy\.ndarray, not builtins\.list$",
    ),
    "query a NumPy number": (
        of_kind(np.float64(1)),
        TypeError,
        r"^query must be a numpy\.ndarray, not numpy\.float64$",
    ),
    "key None": (
        of_key(None),
        TypeError,
        r"^key must be a numpy\.ndarray, not builtins\.NoneType$",
    ),
    "value a tuple": (
        of_value(((1.0,),)),
        TypeError,
        r"^value must be a numpy\.ndarray, not builtins\.tuple$",
    ),
    "scores a list": (
        of_scores([1.0]),
        TypeError,
        r"^scores must be a numpy\.ndarray, not builtins\.list$",
    ),
    "mask a list": (
        of_mask([[True] * S] * L),
        TypeError,
        r"^mask must be a numpy\.ndarray, not builtins\.list$",
    ),
    "mask True": (of_mask(True), TypeError, r"^mask must be a numpy\.ndarray, not builtins\.bool$"),
    "query masked": (
        of_kind(np.ma.array(q)),
        TypeError,
        r"^query carries a mask of its own \(MaskedArray\).*pass its data, and its mask as mask",
    ),
    "value masked": (
        of_value(np.ma.array(v)),
        TypeError,
        r"^value carries a mask of its own \(MaskedArray\)",
    ),
    "mask masked": (
        of_mask(np.ma.array(random_mask(L, S))),
        TypeError,
        r"^mask carries a mask of its own \(MaskedArray\)",
    ),
    # dtypes
    "query of integers": (
        of_kind(q.astype("int64")),
        TypeError,
        rf"^query must have a floating dtype {FLOATS}, not int64$",
    ),
    "key of complex numbers": (
        of_key(k.astype("complex128")),
        TypeError,
        rf"^key must have a floating dtype {FLOATS}, not complex128$",
    ),
    "value of booleans": (
        of_value(v > 0),
        TypeError,
        rf"^value must have a floating dtype {FLOATS}, not bool$",
    ),
    "query of objects": (
        of_kind(q.astype(object)),
        TypeError,
        rf"^query must have a floating dtype {FLOATS}, not object$",
    ),
    "scores of integers": (
        of_scores(np.zeros((L, S), dtype="int32")),
        TypeError,
        rf"^scores must have a floating dtype {FLOATS}, not int32$",
    ),
    "query and key of two dtypes": (
        {
            "scores": lambda: scores(q, k.astype("float32")),
            "attention_weights": lambda: attention_weights(q, k.astype("float32")),
        },
        TypeError,
        r"^query, key must share one dtype: query float64, key float32$",
    ),
    "value of another dtype": (
        of_value(v.astype("float16")),
        TypeError,
        r"^query, key, value must share one dtype: query float64, key float64, value float16$",
    ),
    "mask of integers": (
        of_mask(random_mask(L, S).astype("int8")),
        TypeError,
        r"^mask must be boolean, True where a query may attend, not int8; "
        r"numbers to add to the scores are a bias, not a mask$",
    ),
    "mask of floats": (
        of_mask(np.where(random_mask(L, S), 0.0, -np.inf)),
        TypeError,
        r"^mask must be boolean.*not float64; numbers to add to the scores are a bias",
    ),
    # bias
    "bias a list": (
        of_bias([[0.0] * S] * L),
        TypeError,
        r"^bias must be a numpy\.ndarray, not builtins\.list$",
    ),
    "bias a number": (
        of_bias(0.0),
        TypeError,
        r"^bias must be a numpy\.ndarray, not builtins\.float$",
    ),
    "bias of booleans": (
        of_bias(random_mask(L, S)),
        TypeError,
        rf"^bias must have a floating dtype {FLOATS}, not bool$",
    ),
    "bias of another dtype": (
        of_bias(normal(L, S, dtype="float32")),
        TypeError,
        r"^query, key,( value,)? bias must share one dtype: .*bias float32$",
    ),
    "bias transposed": (
        of_bias(normal(S, L)),
        ValueError,
        rf"^bias must broadcast to the scores \(…, L, S\): bias \({S}, {L}\), "
        rf"scores \({L}, {S}\)$",
    ),
    "bias with an axis too many": (
        of_bias(normal(B, L, S)),
        ValueError,
        rf"^bias must broadcast to .*: bias \({B}, {L}, {S}\), scores \({L}, {S}\)$",
    ),
    # softcap
    "softcap a string": (
        of_kind(q, softcap="1"),
        TypeError,
        r"^softcap must be a real number or None, not str$",
    ),
    "softcap False": (
        of_kind(q, softcap=False),
        TypeError,
        r"^softcap must be a real number or None, not bool$",
    ),
    "softcap zero": (
        of_kind(q, softcap=0),
        ValueError,
        r"^softcap must be positive, or None for no cap: 0\.0$",
    ),
    "softcap negative": (
        of_kind(q, softcap=-2.0),
        ValueError,
        r"^softcap must be positive, or None for no cap: -2\.0$",
    ),
    "softcap NaN": (
        of_kind(q, softcap=float("nan")),
        ValueError,
        r"^softcap must be finite, not nan$",
    ),
    "softcap infinite": (
        of_kind(q, softcap=float("inf")),
        ValueError,
        r"^softcap must be finite, not inf$",
    ),
    # sink
    "sink a list": (
        of_sink([0.0]),
        TypeError,
        r"^sink must be a numpy\.ndarray or a real number, not list$",
    ),
    "sink True": (
        of_sink(True),
        TypeError,
        r"^sink must be a numpy\.ndarray or a real number, not bool$",
    ),
    "sink of integers": (
        of_sink(np.zeros(L, dtype="int64")),
        TypeError,
        rf"^sink must have a floating dtype {FLOATS}, not int64$",
    ),
    "sink of another dtype": (
        of_sink(normal(L, dtype="float16")),
        TypeError,
        r"must share one dtype: .*sink float16$",
    ),
    "sink of the keys": (
        of_sink(normal(S)),
        ValueError,
        rf"^sink must broadcast to the rows \(…, L\): sink \({S},\), rows \({L},\)$",
    ),
    "sink with an axis too many": (
        of_sink(normal(H, L)),
        ValueError,
        rf"^sink must broadcast to .*: sink \({H}, {L}\), rows \({L},\)$",
    ),
    # heads
    "four heads over three": (
        of_heads(4, 3),
        ValueError,
        r"^the leading axes of query, key(, value)? must broadcast, or the heads of the query "
        r"\(axis −3\) be a multiple of theirs: query \(4, ",
    ),
    "two heads over four": (
        of_heads(2, 4),
        ValueError,
        r"be a multiple of theirs: query \(2, .*\(4, ",
    ),
    # the drop-in
    "attn_mask a list": (
        drop_in(attn_mask=[True]),
        TypeError,
        r"^attn_mask must be a numpy\.ndarray, not builtins\.list$",
    ),
    "attn_mask of integers": (
        drop_in(attn_mask=np.ones((L, S), dtype="int64")),
        TypeError,
        r"^attn_mask must be boolean, True where a query may attend, or floating, of the query's "
        r"dtype float64 or float32, to be added: int64$",
    ),
    "attn_mask of half numbers": (
        drop_in(attn_mask=np.ones((L, S), dtype="float16")),
        TypeError,
        r"^attn_mask must be boolean.*: float16$",
    ),
    "attn_mask transposed": (
        drop_in(attn_mask=random_mask(S, L)),
        ValueError,
        rf"^attn_mask must broadcast to the scores \(…, L, S\): attn_mask \({S}, {L}\), ",
    ),
    "attn_mask and is_causal": (
        drop_in(attn_mask=random_mask(L, S), is_causal=True),
        ValueError,
        r"^give attn_mask or is_causal, not both: a boolean attn_mask joins a causal mask by &$",
    ),
    "is_causal an array": (
        drop_in(is_causal=random_mask(L, S)),
        TypeError,
        r"^is_causal must be True or False, not ndarray$",
    ),
    "enable_gqa a number": (
        drop_in(enable_gqa=1),
        TypeError,
        r"^enable_gqa must be True or False, not int$",
    ),
    "heads shared unasked": (
        drop_in(normal(6, L, D_K), normal(2, S, D_K), normal(2, S, D_V)),
        ValueError,
        rf"^the leading axes of query, key, value must broadcast: query \(6, {L}, {D_K}\), ",
    ),
    "dropout_p above 1": (
        drop_in(dropout_p=1.5),
        ValueError,
        r"^dropout_p must be from 0 to 1: 1\.5$",
    ),
    "dropout_p negative": (
        drop_in(dropout_p=-0.1),
        ValueError,
        r"^dropout_p must be from 0 to 1: -0\.1$",
    ),
    "dropout_p NaN": (
        drop_in(dropout_p=float("nan")),
        ValueError,
        r"^dropout_p must be finite, not nan$",
    ),
    "dropout_p None": (
        drop_in(dropout_p=None),
        TypeError,
        r"^dropout_p must be a real number, not NoneType$",
    ),
    # ALiBi
    "alibi heads a float": (
        alibi(2.0, L, S),
        TypeError,
        r"^num_heads must be an integer, not float$",
    ),
    "alibi heads negative": (
        alibi(-1, L, S),
        ValueError,
        r"^num_heads must not be negative: -1$",
    ),
    "alibi S None": (alibi(2, L, None), TypeError, r"^S must be an integer, not NoneType$"),
    "alibi offset a float": (
        alibi(2, L, S, offset=1.0),
        TypeError,
        r"^offset must be an integer, not float$",
    ),
    "alibi offset beyond floats": (
        alibi(2, L, S, offset=10**400),
        ValueError,
        r"^offset must be finite, not inf$",
    ),
    "alibi dtype of integers": (
        alibi(2, L, S, dtype="int32"),
        TypeError,
        rf"^dtype must have a floating dtype {FLOATS}, not int32$",
    ),
    # scale
    "scale a string": (of_scale("1"), TypeError, r"^scale must be a real number or None, not str$"),
    "scale True": (of_scale(True), TypeError, r"^scale must be a real number or None, not bool$"),
    "scale NumPy's True": (
        of_scale(np.True_),
        TypeError,
        r"^scale must be a real number or None, not bool$",
    ),
    "scale complex": (
        of_scale(1j),
        TypeError,
        r"^scale must be a real number or None, not complex$",
    ),
    "scale an array": (
        of_scale(np.ones(1)),
        TypeError,
        r"^scale must be a real number or None, not ndarray$",
    ),
    "scale NaN": (of_scale(float("nan")), ValueError, r"^scale must be finite, not nan$"),
    "scale +∞": (of_scale(np.float32("inf")), ValueError, r"^scale must be finite, not inf$"),
    "scale −∞": (of_scale(float("-inf")), ValueError, r"^scale must be finite, not -inf$"),
    "scale beyond floats": (of_scale(10**9999), ValueError, r"^scale must be finite, not inf$"),
    "scale below floats": (of_scale(-(10**9999)), ValueError, r"^scale must be finite, not -inf$"),
    "no scale at d_k = 0": (
        {
            "scores": lambda: scores(q[:, :0], k[:, :0]),
            "attention_weights": lambda: attention_weights(q[:, :0], k[:, :0]),
            "attention": lambda: attention(q[:, :0], k[:, :0], v),
            "expanded_attention": lambda: expanded_attention(q[:, :0], k[:, :0], v),
            "streaming_attention": lambda: streaming_attention(q[:, :0], k[:, :0], v),
            "attention_gradients": lambda: attention_gradients(q[:, :0], k[:, :0], v, g),
        },
        ValueError,
        rf"^query has d_k = 0, where 1/√d_k is undefined: give scale \(query \({L}, 0\)\)$",
    ),
    # shapes
    "query of one axis": (
        of_kind(q[0]),
        ValueError,
        rf"^query must have at least 2 axes \(…, rows, depth\), not 1: \({D_K},\)$",
    ),
    "key of no axis": (
        of_key(np.array(1.0)),
        ValueError,
        r"^key must have at least 2 axes \(…, rows, depth\), not 0: \(\)$",
    ),
    "value of one axis": (
        of_value(v[:, 0]),
        ValueError,
        rf"^value must have at least 2 axes \(…, rows, depth\), not 1: \({S},\)$",
    ),
    "scores of no axis": (
        of_scores(np.array(1.0)),
        ValueError,
        r"^scores must have at least 1 axis \(…, S\), not 0: \(\)$",
    ),
    "query and key of two depths": (
        of_key(normal(S, D_V)),
        ValueError,
        rf"^query and key must share their last axis d_k: {D_K} ≠ {D_V} "
        rf"\(query \({L}, {D_K}\), key \({S}, {D_V}\)\)$",
    ),
    "key and value of two lengths": (
        of_value(normal(L, D_V)),
        ValueError,
        rf"^key and value must share their second-last axis S: {S} ≠ {L} "
        rf"\(key \({S}, {D_K}\), value \({L}, {D_V}\)\)$",
    ),
    "one value for all keys": (
        of_value(v[:1]),
        ValueError,
        rf"^key and value must share their second-last axis S: {S} ≠ 1 ",
    ),
    "leading axes of query and key": (
        {
            "scores": lambda: scores(normal(B, L, D_K), normal(H, S, D_K)),
            "attention_weights": lambda: attention_weights(normal(B, L, D_K), normal(H, S, D_K)),
        },
        ValueError,
        rf"^the leading axes of query, key must broadcast, or .*: "
        rf"query \({B}, {L}, {D_K}\), key \({H}, {S}, {D_K}\)$",
    ),
    "leading axes of the value": (
        {
            "attention": lambda: attention(normal(B, L, D_K), k, normal(H, S, D_V)),
            "expanded_attention": lambda: expanded_attention(
                normal(B, L, D_K), k, normal(H, S, D_V)
            ),
        },
        ValueError,
        rf"^the leading axes of query, key, value must broadcast, or .*: "
        rf"query \({B}, {L}, {D_K}\), key \({S}, {D_K}\), value \({H}, {S}, {D_V}\)$",
    ),
    "leading axis of size 0": (
        {"scores": lambda: scores(normal(0, L, D_K), normal(B, S, D_K))},
        ValueError,
        rf"^the leading axes of query, key must broadcast, or .*: query \(0, {L}, {D_K}\), "
        rf"key \({B}, {S}, {D_K}\)$",
    ),
    "mask transposed": (
        of_mask(random_mask(S, L)),
        ValueError,
        rf"^mask must broadcast to the scores \(…, L, S\): mask \({S}, {L}\), scores \({L}, {S}\)$",
    ),
    "mask with an axis too many": (
        of_mask(random_mask(B, L, S)),
        ValueError,
        rf"^mask must broadcast to .*: mask \({B}, {L}, {S}\), scores \({L}, {S}\)$",
    ),
    "mask with an axis of size 1 too many": (
        of_mask(random_mask(1, L, S)),
        ValueError,
        rf"^mask must broadcast to .*: mask \(1, {L}, {S}\), scores \({L}, {S}\)$",
    ),
    "mask of size 0": (
        of_mask(np.ones((L, 0), dtype=bool)),
        ValueError,
        rf"^mask must broadcast to .*: mask \({L}, 0\), scores \({L}, {S}\)$",
    ),
    "mask that would widen one key": (
        {"softmax": lambda: softmax(normal(L, 1), mask=random_mask(L, S))},
        ValueError,
        rf"^mask must broadcast to .*: mask \({L}, {S}\), scores \({L}, 1\)$",
    ),
    # causal masks
    "L a float": (causal(2.0, 3), TypeError, r"^L must be an integer, not float$"),
    "S True": (causal(2, True), TypeError, r"^S must be an integer, not bool$"),
    "S None": (causal(2, None), TypeError, r"^S must be an integer, not NoneType$"),
    "L negative": (causal(-1, 3), ValueError, r"^L must not be negative: -1$"),
    "S negative": (causal(3, np.int8(-2)), ValueError, r"^S must not be negative: -2$"),
    "offset a float": (
        causal(2, 3, offset=1.0),
        TypeError,
        r"^offset must be an integer, not float$",
    ),
    "offset True": (
        causal(2, 3, offset=True),
        TypeError,
        r"^offset must be an integer, not bool$",
    ),
    "align and offset": (
        causal(2, 3, align="upper-left", offset=1),
        ValueError,
        r"^give align or offset, not both: align 'upper-left', offset 1$",
    ),
    "neither align nor offset": (
        causal(2, 3),
        ValueError,
        r"^align must be 'upper-left' or 'lower-right' \(or give offset\) where L ≠ S: 2 ≠ 3$",
    ),
    "align unknown": (
        causal(2, 3, align="top-left"),
        ValueError,
        r"^align must be 'upper-left' or 'lower-right', not 'top-left'$",
    ),
    "align unknown in a square": (
        causal(3, 3, align="right"),
        ValueError,
        r"^align must be 'upper-left' or 'lower-right', not 'right'$",
    ),
    "align a list": (
        causal(3, 3, align=["upper-left"]),
        ValueError,
        r"^align must be 'upper-left' or 'lower-right', not \['upper-left'\]$",
    ),
    # windows
    "window L None": (window(None, 3), TypeError, r"^L must be an integer, not NoneType$"),
    "window S a list": (window(2, [3]), TypeError, r"^S must be an integer, not list$"),
    "window S negative": (window(2, -3), ValueError, r"^S must not be negative: -3$"),
    "window offset None": (
        window(2, 3, offset=None),
        TypeError,
        r"^offset must be an integer, not NoneType$",
    ),
    "left a float": (window(2, 3, left=1.0), TypeError, r"^left must be an integer, not float$"),
    "left negative": (window(2, 3, left=-1), ValueError, r"^left must not be negative: -1$"),
    "right True": (window(2, 3, right=True), TypeError, r"^right must be an integer, not bool$"),
    "right negative": (
        window(2, 3, left=None, right=np.int8(-128)),
        ValueError,
        r"^right must not be negative: -128$",
    ),
    # rows of integers: lengths and ids
    "integers an array of floats": (
        of_integers(np.array([1.0, 2.0])),
        TypeError,
        r"^(lengths|ids) must have an integer dtype, not float64$",
    ),
    "integers an empty array of floats": (
        of_integers(np.array([])),
        TypeError,
        r"^(lengths|ids) must have an integer dtype, not float64$",
    ),
    "integers an array of booleans": (
        of_integers(np.array([True, False])),
        TypeError,
        r"^(lengths|ids) must have an integer dtype, not bool$",
    ),
    "integers an array of times": (
        of_integers(np.array([1, 2], dtype="m8[ns]")),
        TypeError,
        r"^(lengths|ids) must have an integer dtype, not timedelta64\[ns\]$",
    ),
    "integers masked": (
        of_integers(np.ma.array([1, 2], mask=[False, True])),
        TypeError,
        r"^(lengths|ids)\[1\] must be an integer, not NoneType$",
    ),
    "integers of two axes": (
        of_integers(np.ones((B, 1), dtype=int)),
        ValueError,
        rf"^(lengths|ids) must have 1 axis, not 2: \({B}, 1\)$",
    ),
    "integers of no axis": (
        of_integers(np.array(1)),
        ValueError,
        r"^(lengths|ids) must have 1 axis, not 0: \(\)$",
    ),
    "integers in lists": (
        of_integers([1, [1, 2]]),
        ValueError,
        r"^(lengths|ids) must have 1 axis, but (lengths|ids)\[1\] is a list$",
    ),
    "integers but one a float": (
        of_integers([1, 2.0]),
        TypeError,
        r"^(lengths|ids)\[1\] must be an integer, not float$",
    ),
    "integers but one True": (
        of_integers((1, 2, True)),
        TypeError,
        r"^(lengths|ids)\[2\] must be an integer, not bool$",
    ),
    "integers but one NumPy's True": (
        of_integers([np.True_]),
        TypeError,
        r"^(lengths|ids)\[0\] must be an integer, not bool$",
    ),
    "integers only one": (
        of_integers(3),
        TypeError,
        r"^(lengths|ids) must be an array or a sequence, not int$",
    ),
    "integers a set": (
        of_integers({1, 2}),
        TypeError,
        r"^(lengths|ids) must be an array or a sequence, not set$",
    ),
    "integers a string": (
        of_integers("12"),
        TypeError,
        r"^(lengths|ids)\[0\] must be an integer, not str$",
    ),
    "padding S a float": (padding([1], 2.0), TypeError, r"^S must be an integer, not float$"),
    "padding S negative": (padding([0], -1), ValueError, r"^S must not be negative: -1$"),
    "length above S": (
        padding([2, 3, 4], 3),
        ValueError,
        r"^lengths\[2\] must be from 0 to S: 4, S 3$",
    ),
    "length far above S": (
        padding(np.array([2**64 - 1], dtype="uint64"), np.int8(3)),
        ValueError,
        r"^lengths\[0\] must be from 0 to S: 18446744073709551615, S 3$",
    ),
    "length negative": (
        padding(np.array([0, -1], dtype="int8"), 3),
        ValueError,
        r"^lengths\[1\] must be from 0 to S: -1, S 3$",
    ),
}

STATE = Partial(np.zeros(L), np.ones(L), np.ones((L, D_V)))


def of_state(wrong: Any) -> dict[str, Call]:
    """Return the call that merges a state with a wrong one."""
    return {"merge": lambda: merge(STATE, wrong)}


WRONG |= {
    "state of other rows": (
        {"Partial": lambda: Partial(STATE.m, STATE.z[1:], STATE.n)},
        ValueError,
        r"^m and z must have the shape \(…, L\) of the rows of n \(…, L, d_v\): "
        r"m \(5,\), z \(4,\), n \(5, 13\)$",
    ),
    "state of another class": (
        of_state(STATE.n),
        TypeError,
        r"^b must be a Partial, not ndarray$",
    ),
    "state of another dtype": (
        of_state(Partial(STATE.m, STATE.z, STATE.n, "float32")),
        TypeError,
        r"^a, b must share one dtype: a float64, b float32$",
    ),
    "state of another shape": (
        of_state(Partial(STATE.m, STATE.z, STATE.n[:, 1:])),
        ValueError,
        r"^a, b must share one shape \(…, L, d_v\): a \(5, 13\), b \(5, 12\)$",
    ),
}


def rule(*given: Any, **options: Any) -> dict[str, Call]:
    """Return the call that makes a rule."""
    return {"rule": lambda: masks.Rule(*given, **options)}


def parted(start: Any, stop: Any) -> dict[str, Call]:
    """Return the call that takes a part of a rule."""
    return {"part": lambda: masks.Rule(L, S).part(start, stop)}


def joined(rows: int, columns: int) -> dict[str, Call]:
    """Return the calls that join a rule with one of other sizes."""
    own, other = masks.Rule(L, S), masks.Rule(rows, columns)
    return {"left": lambda: own & other, "right": lambda: other & own}


def in_blocks(*given: Any, **options: Any) -> dict[str, Call]:
    """Return the calls that work in blocks, with options that both take."""
    query = given[0] if given else q
    return {
        "streaming_attention": lambda: streaming_attention(query, k, v, **options),
        "attention_gradients": lambda: attention_gradients(query, k, v, g, **options),
    }


def answering(answer: Any) -> dict[str, Call]:
    """Return the calls under a rule whose function answers so."""
    return in_blocks(mask=masks.Rule(L, S, lambda i, j: answer))


def asking(grad_output: Any = g, **options: Any) -> dict[str, Call]:
    """Return the call with gradients or a state that are wrong."""
    return {"gradients": lambda: attention_gradients(q, k, v, grad_output, **options)}


WRONG |= {
    # rules
    "visible a mask": (
        rule(L, S, random_mask(L, S)),
        TypeError,
        r"^visible must be a function or None, not ndarray$",
    ),
    "first a float": (rule(L, S, first=0.0), TypeError, r"^first must be an integer, not float$"),
    "last True": (rule(L, S, last=True), TypeError, r"^last must be an integer, not bool$"),
    "last a list": (rule(L, S, last=[1]), TypeError, r"^last must be an integer, not list$"),
    "rule L a float": (rule(5.0, S), TypeError, r"^L must be an integer, not float$"),
    "rule S negative": (rule(L, -1), ValueError, r"^S must not be negative: -1$"),
    "rule S negative in a band": (
        rule(L, -1, first=0),
        ValueError,
        r"^S must not be negative: -1$",
    ),
    "part from a float": (parted(0.0, S), TypeError, r"^start must be an integer, not float$"),
    "part to None": (parted(0, None), TypeError, r"^stop must be an integer, not NoneType$"),
    "part beyond the keys": (
        parted(2, S + 1),
        ValueError,
        rf"^start and stop must be in order, from 0 to S: 2, {S + 1}, S {S}$",
    ),
    "part backwards": (parted(3, 2), ValueError, r"^start and stop must be in order, .*: 3, 2, S"),
    "part from the end": (parted(-1, 2), ValueError, r"in order, from 0 to S: -1, 2, S "),
    "rules of other queries": (
        joined(S, S),
        ValueError,
        r"^rules joined by & must have one size \(L, S\): \(\d, 7\) and \(\d, 7\)$",
    ),
    "rules of other keys": (
        {"rule": joined(L, L)["left"]},
        ValueError,
        rf"^rules joined by & must have one size \(L, S\): \({L}, {S}\) and \({L}, {L}\)$",
    ),
    "rule transposed": (
        in_blocks(mask=masks.Rule(S, L)),
        ValueError,
        rf"^mask must be a rule for the L queries and S keys of the scores \(…, L, S\): "
        rf"rule \({S}, {L}\), scores \({L}, {S}\)$",
    ),
    "rule of one query": (
        in_blocks(normal(B, L, D_K), mask=masks.Rule(1, S)),
        ValueError,
        rf"^mask must be a rule .*: rule \(1, {S}\), scores \({B}, {L}, {S}\)$",
    ),
    "visible answers True": (
        answering(True),
        TypeError,
        r"^visible\(i, j\) must return an array of booleans, not bool$",
    ),
    "visible answers integers": (
        answering(np.ones((L, S), dtype="int64")),
        TypeError,
        r"^visible\(i, j\) must return an array of booleans, not int64$",
    ),
    "visible answers transposed": (
        answering(random_mask(S, L)),
        ValueError,
        rf"^visible\(i, j\) must broadcast to the block \(queries, keys\): "
        rf"visible\(i, j\) \({S}, {L}\), block \({L}, {S}\)$",
    ),
    # blocks
    "block_size 0": (in_blocks(block_size=0), ValueError, r"^block_size must be at least 1: 0$"),
    "block_size negative": (
        in_blocks(block_size=np.int8(-1)),
        ValueError,
        r"^block_size must be at least 1: -1$",
    ),
    "block_size a float": (
        in_blocks(block_size=2.0),
        TypeError,
        r"^block_size must be an integer, not float$",
    ),
    "block_size True": (
        in_blocks(block_size=True),
        TypeError,
        r"^block_size must be an integer, not bool$",
    ),
    # gradients
    "grad_output a list": (
        asking([[1.0]]),
        TypeError,
        r"^grad_output must be a numpy\.ndarray, not builtins\.list$",
    ),
    "grad_output of another dtype": (
        asking(g.astype("float32")),
        TypeError,
        r"^query, grad_output must share one dtype: query float64, grad_output float32$",
    ),
    "grad_output transposed": (
        asking(g.T),
        ValueError,
        rf"^grad_output must broadcast to the output \(…, L, d_v\): "
        rf"grad_output \({D_V}, {L}\), output \({L}, {D_V}\)$",
    ),
    "grad_output with an axis too many": (
        asking(normal(B, L, D_V)),
        ValueError,
        rf"^grad_output must broadcast to .*: grad_output \({B}, {L}, {D_V}\), output ",
    ),
    "grad_log_z a number": (
        asking(grad_log_z=1.0),
        TypeError,
        r"^grad_log_z must be a numpy\.ndarray, not builtins\.float$",
    ),
    "grad_log_z of another dtype": (
        asking(grad_log_z=normal(L, dtype="float16")),
        TypeError,
        r"^query, grad_log_z must share one dtype: query float64, grad_log_z float16$",
    ),
    "grad_log_z of the outputs": (
        asking(grad_log_z=g),
        ValueError,
        rf"^grad_log_z must broadcast to the rows \(…, L\): "
        rf"grad_log_z \({L}, {D_V}\), rows \({L},\)$",
    ),
    "state an array": (
        asking(state=STATE.n),
        TypeError,
        r"^state must be a Partial or None, not ndarray$",
    ),
    "state of other values": (
        asking(state=Partial(STATE.m, STATE.z, STATE.n[:, 1:])),
        ValueError,
        r"^state must be that of the queries, with n of the output's shape \(…, L, d_v\): "
        rf"n \({L}, {D_V - 1}\), output \({L}, {D_V}\)$",
    ),
    "state that would broadcast": (
        asking(state=Partial(STATE.m[:1], STATE.z[:1], STATE.n[:1])),
        ValueError,
        rf"^state must be that of the queries.*: n \(1, {D_V}\), output \({L}, {D_V}\)$",
    ),
}
CALLS = [
    pytest.param(call, error, says, id=f"{what}-{name}")
    for what, (calls, error, says) in WRONG.items()
    for name, call in calls.items()
]


@pytest.mark.parametrize(("call", "error", "says"), CALLS)
def test_checks_name_the_argument_the_rule_and_what_came(
    call: Call, error: type[Exception], says: str
) -> None:
    """A wrong kind is a TypeError, a wrong value a ValueError, and the message says which."""
    with pytest.raises(error, match=says) as caught:
        call()
    assert caught.type is error


def raises(module: types.ModuleType) -> set[int]:
    """Return the lines on which a module's raise statements begin."""
    tree = ast.parse(inspect.getsource(module))
    return {node.lineno for node in ast.walk(tree) if isinstance(node, ast.Raise)}


RULES = (_checks, _integers, _shapes)


def place_that_raised(call: Call) -> tuple[str, int]:
    """Return the file and the line that raises in this call."""
    try:
        call()
    except (TypeError, ValueError) as error:
        frames = inspect.getinnerframes(error.__traceback__) if error.__traceback__ else []
        positions = frames[-1].positions
        assert positions is not None
        assert positions.lineno is not None
        return frames[-1].filename, positions.lineno
    raise AssertionError("nothing was raised")


def test_checks_leave_no_raise_unread() -> None:
    """The calls above reach every raise of the rules: a new one needs a new row."""
    reached = {place_that_raised(call) for calls, _, _ in WRONG.values() for call in calls.values()}
    assert reached == {(str(rule.__file__), line) for rule in RULES for line in raises(rule)}


SILENT = (
    _attention,
    _backward,
    _call,
    _drop_in,
    _expanded,
    _gradients,
    _heads,
    _partial,
    _rules,
    _softmax,
    _streaming,
    _workers,
    masks,
    _alibi,
    _boolean,
)


@pytest.mark.parametrize("module", SILENT, ids=lambda m: m.__name__)
def test_checks_are_the_only_place_that_raises(module: types.ModuleType) -> None:
    """What may not enter is said in one place, for every function and both array libraries."""
    assert raises(module) == set()


def test_leading_broadcasts_as_numpy_does() -> None:
    """The broadcast of leading axes is NumPy's, for every pair of small shapes."""
    sizes = (0, 1, 2, 3)
    shapes = [(), *((a,) for a in sizes), *((a, b) for a in sizes for b in sizes)]
    for one in shapes:
        for other in shapes:
            arrays = np.empty((*one, 1, 1)), np.empty((*other, 1, 1))
            try:
                together = np.broadcast_shapes(one, other)
            except ValueError:
                with pytest.raises(ValueError, match="leading axes of x, y"):
                    _shapes.leading(x=arrays[0], y=arrays[1])
            else:
                assert _shapes.leading(x=arrays[0], y=arrays[1]) == together


def test_fits_takes_what_broadcasts_without_enlarging() -> None:
    """A mask fits where NumPy would broadcast it to the very shape of the scores."""
    sizes = (0, 1, 2, 3)
    shapes = [(), *((a,) for a in sizes), *((a, b) for a in sizes for b in sizes)]
    for target in shapes[len(sizes) + 1 :]:
        for shape in (*shapes, (1, *target)):
            mask = np.empty(shape, dtype=bool)
            try:
                np.broadcast_to(mask, target)
            except ValueError:
                with pytest.raises(ValueError, match="mask must broadcast"):
                    _shapes.fits("mask", mask, target, "scores (…, L, S)")
            else:
                _shapes.fits("mask", mask, target, "scores (…, L, S)")


def test_group_is_the_number_of_query_heads_that_read_a_head() -> None:
    """Hq / Hkv where that is a whole number above 1, and 1 where heads broadcast or fail to."""
    for ours in range(7):
        for theirs in range(7):
            query, key = np.empty((ours, 1, 1)), np.empty((theirs, 1, 1))
            shared = 1 < theirs < ours and ours % theirs == 0
            assert _shapes.group(query, key) == (ours // theirs if shared else 1)
            assert _shapes.group(query[0] if ours else np.empty((1, 1)), key) == 1
            assert _shapes.group(query, np.empty((1, 1))) == 1


def test_scale_is_a_plain_float() -> None:
    """Any real number comes back as Python's float; none as 1/√d_k."""
    values: list[Any] = [2, np.float16(2), np.int8(2), 2.0]
    for value in values:
        beta = _checks.scale(value, q)
        assert type(beta) is float
        assert beta == 2.0
    assert _checks.scale(None, normal(L, 16)) == 1 / 4


def test_diagonal_is_a_plain_int() -> None:
    """Whatever integers come in, the offset is Python's int: no sum with it wraps around."""
    for kind in (int, np.uint8, np.int64):
        offset = _integers.diagonal(kind(5), kind(3), "lower-right", None)  # type: ignore[arg-type]  # on purpose
        assert type(offset) is int
        assert offset == -2
        assert type(_integers.diagonal(kind(5), kind(3), None, kind(2))) is int  # type: ignore[arg-type]  # on purpose


@pytest.mark.parametrize("kind", [int, np.uint8, np.int64])
def test_integers_are_plain_ints(kind: type) -> None:
    """Whatever integers come in, a sequence's or an array's, the list holds Python's."""
    rows: list[Any] = [[kind(3), kind(0)], (kind(3), kind(0)), np.array([3, 0], dtype=kind)]
    for given in rows:
        row = _integers.integers("ids", given)
        assert row == [3, 0]
        assert {type(n) for n in row} == {int}


@pytest.mark.parametrize("code", ["<f2", ">f2", "<f4", ">f4", "<f8", ">f8"])
def test_dtype_name_is_bare(code: str) -> None:
    """Byte order is no part of a dtype's name."""
    name = {"2": "float16", "4": "float32", "8": "float64"}[code[-1]]
    assert _checks.dtype_name(np.empty(1, dtype=code)) == name
