"""Measure the site's budgets: build times as ratios in one run, and what each page weighs.

    .venv/bin/python scripts/benchmarks/site.py [--rounds 3]

Ours and stock mkdocs-jupyter build the same pages in turn, from a copy of docs/, each in a process
of its own. A cold build remembers nothing; a warm one has everything; in between, one page is
edited.
"""

import argparse
import gzip
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MEMORY = ROOT / ".cache"


def main() -> None:
    """Build in turn, then print the ratios and the weights."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3, help="builds of each kind")
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        times = [bench.round() for _ in range(rounds)]
        medians = {kind: statistics.median(t[kind] for t in times) for kind in times[0]}
        _print_times(times, medians)
        _print_weights(Path(folder))


class Bench:
    """A copy of the pages, and a configuration for each way to build them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.docs = shutil.copytree(ROOT / "docs", folder / "docs")
        self._name_files()
        self._configure("ours", [str(ROOT / "scripts" / "mkdocs_hook.py")])
        self._configure("stock", [])

    def round(self) -> dict[str, float]:
        """Return the seconds of one build of each kind."""
        shutil.rmtree(MEMORY, ignore_errors=True)
        seconds = {"cold": self._build("ours"), "warm": self._build("ours")}
        page = self.docs / "guide" / "z-form.py"
        page.write_text(page.read_text(encoding="utf-8") + "\n# %%\nprint()\n", encoding="utf-8")
        return seconds | {"one page": self._build("ours"), "stock": self._build("stock")}

    def _name_files(self) -> None:
        """Write into each page that asks where it stands: a notebook knows no `__file__`."""
        for page in self.docs.rglob("*.py"):
            code = page.read_text(encoding="utf-8")
            if "__file__" in code and not _is_imported(page):
                page.write_text(code.replace("__file__", repr(str(page))), encoding="utf-8")

    def _configure(self, name: str, hooks: list[str]) -> None:
        settings = {
            "INHERIT": str(ROOT / "mkdocs.yml"),
            "docs_dir": str(self.docs),
            "site_dir": str(self.folder / name),
            "hooks": hooks,
            "strict": name == "ours",
        }
        (self.folder / f"{name}.yml").write_text(json.dumps(settings), encoding="utf-8")

    def _build(self, name: str) -> float:
        packages = {str(package.parents[1]) for package in self.docs.rglob("__init__.py")}
        beside = {"PYTHONPATH": os.pathsep.join(sorted(packages))}  # a notebook does not look there
        start = time.monotonic()
        subprocess.run(
            [sys.executable, "-m", "mkdocs", "build", "-f", self.folder / f"{name}.yml"],
            check=True,
            capture_output=True,
            cwd=ROOT,
            env=os.environ | beside | {"NO_MKDOCS_2_WARNING": "1"},
        )
        return time.monotonic() - start


def _print_times(times: list[dict[str, float]], medians: dict[str, float]) -> None:
    ratios = {
        "cold build / stock mkdocs-jupyter": ("cold", "stock", 0.5),
        "rebuild, nothing changed / cold": ("warm", "cold", 0.15),
        "rebuild, one page changed / cold": ("one page", "cold", 0.3),
    }
    print("| what | median ratio | of each round | budget |\n|---|---|---|---|")
    for what, (a, b, budget) in ratios.items():
        each = [t[a] / t[b] for t in times]
        rounds = " ".join(f"{ratio:.2f}" for ratio in each)
        print(f"| {what} | {statistics.median(each):.2f} | {rounds} | {budget} |")
    print(
        "\nseconds, medians: " + ", ".join(f"{kind} {s:.1f}" for kind, s in medians.items()) + "\n"
    )


def _print_weights(folder: Path) -> None:
    print("| page | bytes | gzipped | stock | gzipped |\n|---|---|---|---|---|")
    for page in sorted((folder / "docs").rglob("*.py")):
        if _is_imported(page):
            continue
        name = page.relative_to(folder / "docs").with_suffix("")
        place = "index.html" if name.name == "index" else f"{name.as_posix()}/index.html"
        cells = [f"{n:,}" for kind in ("ours", "stock") for n in _weights(folder / kind / place)]
        print(f"| {place} | {' | '.join(cells)} |")


def _is_imported(file: Path) -> bool:
    """Say whether a file is of a package that pages import."""
    return (file.parent / "__init__.py").exists()


def _weights(page: Path) -> tuple[int, int]:
    text = page.read_bytes()
    return len(text), len(gzip.compress(text, 9, mtime=0))


if __name__ == "__main__":
    main()
