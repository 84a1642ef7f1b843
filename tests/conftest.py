"""What several files of tests share: the site, built once, and how tests run side by side."""

import os
from pathlib import Path

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")  # the processes share the cores, not the threads

import pages
from lock import lock
from sitebuild import script
from sitebuild.execute import execute
from sitebuild.memory import Record


def pytest_configure(config: pytest.Config) -> None:
    """Let marks for processes side by side stand where there is one process."""
    if not config.pluginmanager.hasplugin("xdist"):
        config.addinivalue_line("markers", "xdist_group(name): run in one process")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Send all that looks at the site to one process, so that it is built once there too."""
    if config.pluginmanager.hasplugin("xdist"):
        for item in items:
            if "site" in getattr(item, "fixturenames", ()):
                item.add_marker(pytest.mark.xdist_group("site"))


@pytest.fixture(scope="session")
def records() -> dict[Path, Record]:
    """Return what each page showed when the site's chain ran it."""
    with lock(pages.ROOT, "pages"):  # one process runs them, the next finds them unchanged
        every = script.pages(pages.ROOT / "docs")
        return execute(every, say=lambda _: None, folder=pages.ROOT / ".cache" / "pages")


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the whole site once, strictly."""
    folder = tmp_path_factory.mktemp("site")
    with lock(pages.ROOT, "pages"):
        build = pages.mkdocs("build", "--strict", "--site-dir", folder)
    assert build.returncode == 0, build.stderr
    return folder
