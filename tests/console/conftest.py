"""A real Chromium for the tests of the console: Debian's, driven by Playwright. One a module, with one page, which each test finds
blank: a page of its own costs as much processor time as the rest of the test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page
from support.browser import chromium, clear, watched, watched_page

_WIDTH, _HEIGHT = 1280, 720


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Ends with the module: Playwright's loop runs as long as it, and tests of other folders have loops of their own."""
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[Page]:
    """The page that tests share, each after the other. Nothing moves on it by itself: what moves is drawn sixty times a second."""
    with watched_page(browser, reduced_motion="reduce") as page:
        yield page


@pytest.fixture
def page(tab: Page) -> Iterator[Page]:
    """The page, blank. Each console has an address of its own, with what a browser keeps for it."""
    clear(tab, _WIDTH, _HEIGHT)
    with watched(tab):
        yield tab
        # Within: what the document does as it ends must not go wrong either.
        tab.goto("about:blank")
