"""What the checks share: the site as `scripts/check.py` built and serves it, and a browser."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright

from checks.visitor import Visit, Visitor

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


@pytest.fixture
def visit(browser: Browser, address: str) -> Iterator[Visit]:
    """Let visitors in, and fail if anything has gone wrong for one of them.

    What is asked elsewhere, gets no answer or 404, or is complained about in the console, where a
    breach of the content policy is named too: all of that is wrong on any page, at any time.
    """
    visitors = []

    def visit(home: str = address, **window: Any) -> Visitor:
        visitors.append(Visitor(browser, home, **window))
        return visitors[-1]

    yield visit
    wrong = [what for visitor in visitors for what in visitor.wrong]
    for visitor in visitors:
        visitor.context.close()
    assert wrong == []
