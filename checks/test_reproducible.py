"""Two builds give the same bytes, wherever, whenever and on whatever CPU they run."""

import filecmp
import os
import shutil
import sys
from pathlib import Path

import pytest

import building

ROOT = Path(__file__).resolve().parents[1]
LEFT_OUT = (".venv", ".cache", "site", "site.building", "__pycache__", ".*_cache", ".hypothesis")

# Another place, day and language; other hashes and threads; arithmetic with other instructions.
ELSEWHERE = {
    "TZ": "Asia/Kathmandu",
    "LC_ALL": "C",
    "LANG": "C",
    "PYTHONHASHSEED": "7",
    "OMP_NUM_THREADS": "2",
    "OPENBLAS_NUM_THREADS": "2",
    "OPENBLAS_CORETYPE": "Haswell",
    "ATEN_CPU_CAPABILITY": "avx2",
    "NPY_DISABLE_CPU_FEATURES": "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL",
}


@pytest.fixture(scope="module")
def rebuilt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a copy of the project elsewhere; nothing that was remembered comes along."""
    copy = tmp_path_factory.mktemp("elsewhere") / "a copy"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*LEFT_OUT), symlinks=True)
    built = copy / "built"
    assert not (copy / ".cache").exists()
    variables = os.environ | ELSEWHERE | {"PYTHONPATH": str(copy)}
    assert building.whole(copy, Path(sys.executable), built, variables) == 0
    return built


def files(folder: Path) -> list[str]:
    """Return the files of a site, each by its place."""
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


def test_rebuilt_site_is_the_same_byte_for_byte(site: Path, rebuilt: Path) -> None:
    """Every file, the compressed sitemap and the pictures too."""
    names = files(site)
    assert files(rebuilt) == names
    assert len(names) > 300
    assert filecmp.cmpfiles(site, rebuilt, names, shallow=False) == (names, [], [])
