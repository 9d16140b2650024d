"""A real Chromium: Debian's package, driven by Playwright, which downloads no browser itself.

with chromium() as browser, watched_page(browser) as page:
    page.goto(...)
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from playwright.sync_api import Browser, ConsoleMessage, Error, Page, expect, sync_playwright

from support.packages import require

#: Chromium's own messages about responses with an error status and about broken connections. Tests cause these on
#: purpose.
_EXPECTED: Final = ("Failed to load resource", "WebSocket connection to")


#: The timeout for something that must happen, in milliseconds; it is no statement about speed.
_PATIENCE_MS: Final = 60_000
expect.set_options(timeout=_PATIENCE_MS)


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start Chromium. Skips the test where it is not installed."""
    program = shutil.which("chromium")
    require(program)
    # Chromium's sandbox refuses to run for root.
    arguments = ["--no-sandbox"] if os.getuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=arguments)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def watched_page(browser: Browser, **options: Any) -> Iterator[Page]:
    """Open a new page on which no error may occur (`watched`)."""
    context = browser.new_context(**options)
    page = context.new_page()
    page.set_default_timeout(_PATIENCE_MS)
    try:
        with watched(page):
            yield page
    finally:
        context.close()


@contextmanager
def watched(page: Page) -> Iterator[None]:
    """Assert that no error occurs on the page: no exception in a script, and no request that the content security
    policy refuses.
    """
    wrong: list[str] = []

    def hear(message: ConsoleMessage) -> None:
        if message.type == "error" and not message.text.startswith(_EXPECTED):
            wrong.append(message.text)

    def catch(error: Error) -> None:
        wrong.append(str(error))

    page.on("console", hear)
    page.on("pageerror", catch)
    try:
        yield
    finally:
        page.remove_listener("console", hear)
        page.remove_listener("pageerror", catch)
    assert wrong == []


def clear(page: Page, width: int, height: int) -> None:
    """Reset a page to the state of a new one: no document, no connection and no cookie remains, and the size and
    colours are a new page's.
    """
    page.goto("about:blank")
    page.context.clear_cookies()
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme="light")
