"""A wrong address, at any depth: the site's own page answers, and leads on."""

import pytest

from checks.visitor import Visit, Visitor

ADDRESSES = ["nowhere", "d/zfrm/", "guide/z-form/what/ever.html"]


def _lost(visit: Visit, place: str) -> Visitor:
    """Ask for a page that is not there, which alone may go wrong."""
    visitor = visit()
    answer = visitor.page.goto(place, wait_until="networkidle")
    assert answer
    assert answer.status == 404
    assert f"404: {answer.url}" in visitor.wrong
    visitor.wrong = [what for what in visitor.wrong if "404" not in what]
    return visitor


@pytest.mark.parametrize("place", ADDRESSES)
def test_a_wrong_address_is_answered_in_style(place: str, visit: Visit) -> None:
    """The page says what it is, and stands in the site's own type, with search and navigation."""
    page = _lost(visit, place).page
    assert page.title().startswith("Nothing stands at this address")
    assert page.locator("h1").inner_text() == "Nothing stands at this address"
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == "rgb(253, 252, 248)"
    assert page.locator(".md-nav__link", has_text="Derivations").is_visible()
    page.locator(".md-search__input").fill("ZFRM")
    page.keyboard.press("End")
    page.locator(".md-search-result__link").first.wait_for()


@pytest.mark.parametrize("place", ADDRESSES)
def test_its_links_lead_on(place: str, visit: Visit, address: str) -> None:
    """Each link of the text and of the navigation opens a page of the site."""
    visitor = _lost(visit, place)
    links = visitor.page.evaluate("[...document.links].map((link) => link.href.split('#')[0])")
    found = {link for link in links if link != visitor.page.url}
    assert len(found) >= 8
    for link in found:
        assert link.startswith(address)
        assert visitor.page.request.get(link).ok
    visitor.page.locator("main a", has_text="d/ZFRM/").click()
    visitor.page.locator("h1#zfrm-the-z-form").wait_for()
