"""Measure with Lighthouse, as a phone, what readers wait for: our pages and stock mkdocs-jupyter's.

    .venv/bin/python scripts/benchmarks/lighthouse.py [--rounds 3]

Both build the same three pages; both are served by the same server, which compresses nothing. npx
fetches Lighthouse, and CHROME_PATH may name the browser.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import building
import check
from terminal import ROOT

LIGHTHOUSE = "lighthouse@12.8.2"
PAGES = ("guide/z-form", "guide/softmax", "d/ZFRM")
FLAGS = "--headless=new --no-sandbox --disable-gpu --disable-background-networking"
FIGURES = {
    "LCP, s": ("largest-contentful-paint", 1000),
    "layout shift": ("cumulative-layout-shift", 1),
    "kB loaded": ("total-byte-weight", 1000),
}


def main() -> None:
    """Build both sites, judge each page in turn, print the medians."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3, help="runs of each page")
    rounds = parser.parse_args().rounds
    print("| page | site | performance | accessibility | " + " | ".join(FIGURES) + " |")
    print("|---" * (4 + len(FIGURES)) + "|")
    with tempfile.TemporaryDirectory() as folder, check.served(Path(folder)) as origin:
        build(Path(folder), origin)
        for page in PAGES:
            for site in ("ours", "stock"):
                reports = [judge(f"{origin}/{site}/{page}/") for _ in range(rounds)]
                print(f"| {page} | {site} | {' | '.join(medians(reports))} |", flush=True)


def build(folder: Path, origin: str) -> None:
    """Build our whole site, as published, and the three pages as mkdocs-jupyter does alone."""
    variables = building.settings(ROOT)
    ours = dict(variables, ATTNREF_SITE_URL=f"{origin}/ours/")
    if building.mkdocs(ROOT, Path(sys.executable), folder / "ours", ours):
        raise SystemExit("our site can't be built")
    docs = folder / "docs"
    for page in PAGES:
        (docs / page).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "docs" / f"{page}.py", docs / f"{page}.py")
    settings: dict[str, Any] = {
        "INHERIT": str(ROOT / "mkdocs.yml"),
        "docs_dir": str(docs),
        "site_dir": str(folder / "stock"),
        "extra_css": [],
        "hooks": [],
        "nav": None,
        "strict": False,
    }
    (folder / "stock.yml").write_text(json.dumps(settings), encoding="utf-8")
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "-q",
        "-f",
        folder / "stock.yml",
    ]
    subprocess.run(command, check=True, cwd=ROOT, env=variables, stderr=subprocess.DEVNULL)


def judge(address: str) -> dict[str, Any]:
    """Return Lighthouse's report on a page; it is a phone's unless told otherwise."""
    categories = "--only-categories=performance,accessibility"
    options = ["--quiet", "--output=json", categories, f"--chrome-flags={FLAGS}"]
    command = [shutil.which("npx") or "npx", "--yes", LIGHTHOUSE, address, *options]
    chrome = {"CHROME_PATH": os.environ.get("CHROME_PATH") or shutil.which("chromium") or ""}
    done = subprocess.run(
        command, check=True, capture_output=True, encoding="utf-8", env=os.environ | chrome
    )
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def medians(reports: list[dict[str, Any]]) -> list[str]:
    """Return the medians of the scores and of the figures."""
    scores = [
        f"{statistics.median(r['categories'][name]['score'] for r in reports):.2f}"
        for name in ("performance", "accessibility")
    ]
    figures = [
        f"{statistics.median(r['audits'][audit]['numericValue'] for r in reports) / unit:.2f}"
        for audit, unit in FIGURES.values()
    ]
    return scores + figures


if __name__ == "__main__":
    main()
