"""What several files of tests share: the site, built once."""

from pathlib import Path

import pytest

import pages


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the whole site once, strictly."""
    folder = tmp_path_factory.mktemp("site")
    build = pages.mkdocs("build", "--strict", "--site-dir", folder)
    assert build.returncode == 0, build.stderr
    return folder
