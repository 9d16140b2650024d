"""A real Chromium for the tests of the console: Debian's, driven by Playwright. One a module, a page a test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page
from support.browser import chromium, watched_page


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Ends with the module: Playwright's loop runs as long as it, and tests of other folders have loops of their own."""
    with chromium() as browser:
        yield browser


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with watched_page(browser) as page:
        yield page
