"""The content policy of the pages holds: a browser runs and loads nothing but the site's own."""

from pathlib import Path

import pytest

from checks.visitor import Visit

PUT = "document.body.append(Object.assign(document.createElement('{}'), {{{}}}))"
REFUSED = {
    "a script in the page": ("script-src-elem", PUT.format("script", "text: 'let a'")),
    "a script in an attribute": (
        "script-src-attr",
        "document.body.setAttribute('onclick', 'let a')",
    ),
    "code made of text": ("script-src", "setTimeout('let a')"),
    "a style in the page": ("style-src-elem", PUT.format("style", "textContent: 'a {}'")),
    "another's script": ("script-src-elem", PUT.format("script", "src: 'https://example.org/a'")),
    "another's picture": ("img-src", PUT.format("img", "src: 'https://example.org/a'")),
    "another's page": ("frame-src", PUT.format("iframe", "src: 'https://example.org/'")),
    "a message to another": ("connect-src", "fetch('https://example.org/').catch(() => {})"),
}


@pytest.mark.parametrize("where", ["served", "offline"])
@pytest.mark.parametrize("breach", REFUSED)
def test_policy_refuses(breach: str, where: str, address: str, offline: Path, visit: Visit) -> None:
    """Each is refused, by the rule that is there for it."""
    rule, code = REFUSED[breach]
    home = address if where == "served" else f"{offline.as_uri()}/"
    visitor = visit(home=home)
    visitor.page.goto(f"{home}index.html")
    refused = visitor.page.evaluate(
        f"""() => new Promise((resolve) => {{
          addEventListener("securitypolicyviolation", (e) => resolve(e.effectiveDirective));
          {code};
        }})"""
    )
    assert refused == rule
    outside = [request for request in visitor.asked if not request.url.startswith(home)]
    assert {request.failure for request in outside} <= {"csp"}
    assert visitor.wrong
    visitor.wrong.clear()
