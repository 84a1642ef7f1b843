"""A plugin for pytest: Keras's tests, with attnref in the place of Keras's dot_product_attention.

Which attnref follows from the backend: KERAS_BACKEND=numpy takes the NumPy side, torch the Torch
side. What came of the tests, and how often attnref was called, is written to ATTNREF_REPORT.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

# Keras's NumPy backend imports these for transforms and convolutions, which no test here needs.
ABSENT = (
    "jax",
    "jax.experimental",
    "jax.experimental.sparse",
    "keras.src.backend.jax",
    "keras.src.backend.jax.math",
    "scipy",
    "scipy.linalg",
)
calls = 0


def dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    bias: Any = None,
    mask: Any = None,
    scale: float | None = None,
    is_causal: bool = False,
    flash_attention: bool | None = None,
    attn_logits_soft_cap: float | None = None,
) -> Any:
    """Translate Keras's conventions: heads on axis 2, dtypes that are promoted, upper-left causal.

    flash_attention asks for a kernel, not for another result, and is not passed on.
    """
    global calls
    calls += 1
    attnref, backend = sides()
    arrays = [backend.convert_to_tensor(array) for array in (query, key, value)]
    dtype = backend.result_type(*(array.dtype for array in arrays))
    # NumPy's own arithmetic has no bfloat16: attnref's NumPy side takes such numbers as float32.
    held = "float32" if (dtype, attnref.__name__) == ("bfloat16", "attnref") else dtype
    query, key, value = (backend.cast(array, held).swapaxes(1, 2) for array in arrays)
    if mask is not None:
        mask = backend.convert_to_tensor(mask, dtype="bool")
    if bias is not None:
        bias = backend.convert_to_tensor(bias, dtype=held)
    if is_causal:
        diagonal = attnref.masks.causal(query.shape[2], key.shape[2], align="upper-left")
        mask = diagonal if mask is None else mask & diagonal
    output = attnref.attention(
        query, key, value, mask=mask, bias=bias, scale=scale, softcap=attn_logits_soft_cap
    )
    return backend.cast(output.swapaxes(1, 2), dtype)


def sides() -> tuple[Any, Any]:
    """Return the side of attnref that goes with Keras's backend, and that backend."""
    from keras.src import backend  # type: ignore[import-untyped]  # Keras ships no types

    import attnref

    if backend.backend() == "numpy":
        return attnref, backend
    import attnref.torch

    return attnref.torch, backend


def pytest_configure() -> None:
    """Put attnref into Keras before any of its tests is read."""
    if os.environ["KERAS_BACKEND"] == "numpy":
        sys.modules.update((name, MagicMock()) for name in ABSENT)
    _, backend = sides()
    backend.nn.dot_product_attention = dot_product_attention


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Write down the names of the tests by outcome, and the number of calls."""
    outcomes = {
        outcome: [
            report.nodeid.split("::")[-1] for report in terminalreporter.stats.get(outcome, [])
        ]
        for outcome in ("passed", "skipped", "failed", "error")
    }
    Path(os.environ["ATTNREF_REPORT"]).write_text(json.dumps({"calls": calls, **outcomes}))
