"""Keras's own tests of attention, from its wheel, with attnref in the place of its function.

What they can tell: the operation's tests have scores so far apart that one key takes all. They see
masks, and neither scale nor bias. The layers' tests see a scale and causal masks.
"""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parent
OPERATION = ("ops/nn_test.py", "-k", "dot_product_attention")
LAYERS = ("layers/attention",)


def keras_tests(home: Path, backend: str, where: str, *options: str) -> dict[str, Any]:
    """Run tests of Keras's in a process of their own, with the plugin; return its report."""
    spec = importlib.util.find_spec("keras")
    assert spec is not None
    assert spec.origin is not None
    (home / "pytest.ini").write_text("[pytest]\n")
    tests = Path(spec.origin).parent / "src" / where
    flags = ["-q", "-c", "pytest.ini", "-p", "no:cacheprovider", "-p", "keras_plugin"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *flags, str(tests), *options],
        env={
            **os.environ,
            "ATTNREF_REPORT": "report.json",
            "KERAS_BACKEND": backend,
            "KERAS_HOME": str(home / "keras"),
            "PYTEST_ADDOPTS": "",
            "PYTHONPATH": os.pathsep.join([str(TESTS.parent), str(TESTS)]),
        },
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (home / "report.json").exists(), done.stdout + done.stderr
    report: dict[str, Any] = json.loads((home / "report.json").read_text())
    return report


@pytest.mark.parametrize(
    ("backend", "suite", "calls", "passed", "skipped"),
    [
        # Skipped are flash attention, which asks for a GPU, and a scan of JAX's.
        ("numpy", OPERATION, 30, 32, 13),
        # And a mask together with a bias, which Torch's own function does not take.
        ("torch", OPERATION, 26, 28, 17),
        # The layers that return their weights, or are not fused, compute them on their own.
        ("torch", LAYERS, 74, 116, 0),
    ],
    ids=["numpy-operation", "torch-operation", "torch-layers"],
)
def test_keras_tests_pass_with_attnref(
    tmp_path: Path, backend: str, suite: tuple[str, ...], calls: int, passed: int, skipped: int
) -> None:
    """None fails, as many pass and are skipped as with Keras's own, and attnref was called."""
    report = keras_tests(tmp_path, backend, *suite)
    assert report["failed"] == report["error"] == []
    assert (len(report["passed"]), len(report["skipped"])) == (passed, skipped)
    assert report["calls"] == calls
