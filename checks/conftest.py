"""What the checks share: the site as `scripts/check.py` built and serves it, and a browser."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ["--disable-background-networking", "--disable-component-update", "--disable-sync"]


def _given(name: str) -> str:
    if name not in os.environ:
        pytest.exit("these checks look at a built site: run python3 scripts/check.py", 2)
    return os.environ[name]


FOLDER = Path(_given("ATTNREF_CHECKED"))
SITE = FOLDER / "attnref"
ADDRESS = _given("ATTNREF_SITE_URL")
PAGES = sorted(
    path.relative_to(SITE).as_posix().removesuffix("index.html")
    for path in SITE.rglob("index.html")
)


@pytest.fixture(scope="session")
def site() -> Path:
    """Return the folder of the site as it is published."""
    return SITE


@pytest.fixture(scope="session")
def address() -> str:
    """Return the address that the site was built for and is served at; it ends with a slash."""
    return ADDRESS


@pytest.fixture(scope="session")
def offline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the site that is read without a server, out of its zip."""
    folder = tmp_path_factory.mktemp("offline")
    shutil.unpack_archive(SITE / "attnref-offline.zip", folder)
    return folder / "attnref"


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Start the Chromium of this machine."""
    found = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if not found:
        pytest.fail(f"needs Chromium, under one of the names {', '.join(CHROMIUM)}")
    root = ["--no-sandbox"] if os.name == "posix" and os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=[*FLAGS, *root])
        yield browser
        browser.close()
