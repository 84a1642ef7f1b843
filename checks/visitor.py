"""A visitor of the site: a browser window of their own, and whatever goes wrong in it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, ConsoleMessage, Request, Response, ViewportSize

LOOK = (Path(__file__).parent / "look.js").read_text(encoding="utf-8")
PATIENCE = 120_000  # milliseconds, for whatever else the machine is at
PHONE: ViewportSize = {"width": 360, "height": 740}
DESKTOP: ViewportSize = {"width": 1280, "height": 800}


class Visitor:
    """Someone with a fresh browser; `home` is where the site starts, and ends with a slash."""

    def __init__(self, browser: Browser, home: str, **window: Any) -> None:
        self.home = home
        self.asked: list[Request] = []
        self.wrong: list[str] = []
        self.context = browser.new_context(base_url=home, **window)
        self.context.set_default_timeout(PATIENCE)
        self.context.on("request", self._ask)
        self.context.on("requestfailed", lambda request: self._note("no answer", request.url))
        self.context.on("response", self._answer)
        self.context.on("console", self._hear)
        self.context.on("weberror", lambda error: self._note("an exception", str(error.error)))
        self.page = self.context.new_page()

    def arrived(self) -> None:
        """Wait until the theme has set up the page that is in the window now."""
        self.page.evaluate("new Promise((resolve) => document$.subscribe(resolve))")

    def unfold(self) -> None:
        """Open whatever the page folds away."""
        self.page.evaluate(
            "for (const one of document.querySelectorAll('details')) one.open = true"
        )

    def drawn(self) -> None:
        """Wait until the page is drawn as it now is, and scripts have seen its sizes."""
        self.page.evaluate("new Promise((seen) => requestAnimationFrame(() => setTimeout(seen)))")

    def addresses(self) -> list[str]:
        """Return what was asked of the site, from its start on."""
        return [request.url.removeprefix(self.home) for request in self.asked]

    def _ask(self, request: Request) -> None:
        self.asked.append(request)
        if not request.url.startswith((self.home, "data:")):
            self._note("asked elsewhere", request.url)

    def _answer(self, response: Response) -> None:
        if response.status >= 400:
            self._note(str(response.status), response.url)

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self._note(f"console {message.type}", message.text)

    def _note(self, kind: str, what: str) -> None:
        self.wrong.append(f"{kind}: {what}")


Visit = Callable[..., Visitor]
