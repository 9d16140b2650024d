"""A real Chromium for the tests of the console: Debian's, driven by Playwright. Each module has one browser with one
page, which is blank when a test begins: a new page costs as much processor time as the rest of the test.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page
from support.browser import chromium, clear, watched, watched_page

_WIDTH, _HEIGHT = 1280, 720


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser that is closed at the end of the module: Playwright's event loop runs until then, and tests of other
    folders have their own loops.
    """
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[Page]:
    """The page that the tests use one after the other. It shows no animations, because those are drawn sixty times a
    second.
    """
    with watched_page(browser, reduced_motion="reduce") as page:
        yield page


@pytest.fixture
def page(tab: Page) -> Iterator[Page]:
    """The page, blank. Each console has its own address, and with it its own browser storage."""
    clear(tab, _WIDTH, _HEIGHT)
    with watched(tab):
        yield tab
        # Within: what the document does as it ends must not go wrong either.
        tab.goto("about:blank")
