"""Playwright's `expect`, without what it notes for a failure at each look: as long as there is no
such element it tells the whole page as a tree, several times a second, which took a tenth of the
browser's time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast, overload

from playwright.sync_api import Locator, Page
from playwright.sync_api import TimeoutError as PlaywrightTimeout
from playwright.sync_api import expect as playwright_expect

if TYPE_CHECKING:
    from playwright.sync_api._generated import LocatorAssertions, PageAssertions

PATIENCE_MS = (
    120_000  # for machines with few and busy cores; nothing waits that long where all is well
)
playwright_expect.set_options(timeout=PATIENCE_MS)
_MAY_BE_ABSENT = {
    "not_to_be_attached",
    "not_to_be_in_viewport",
    "not_to_be_visible",
    "not_to_have_count",
    "to_be_hidden",
    "to_have_count",
}


@overload
def expect(found: Page) -> PageAssertions: ...
@overload
def expect(found: Locator) -> LocatorAssertions: ...


def expect(found: Page | Locator) -> PageAssertions | LocatorAssertions:
    """What is asserted of the page, or of what it shows, waits until it is so."""
    if isinstance(found, Page):
        return playwright_expect(found)
    return cast("LocatorAssertions", _Awaited(found))


class _Awaited:
    """First waits until there is such an element, for assertions that are about one."""

    def __init__(self, found: Locator) -> None:
        self._found = found
        self._expected = playwright_expect(found)

    def __getattr__(self, name: str) -> Any:
        assertion = getattr(self._expected, name)

        def once_there(*given: Any, **named: Any) -> None:
            if not (given and isinstance(given[0], list)):  # of how many there are
                timeout = named.get("timeout", PATIENCE_MS)
                try:
                    self._found.first.wait_for(state="attached", timeout=timeout)
                except PlaywrightTimeout:
                    named["timeout"] = 1  # it has been waited for; this tells of the page
            assertion(*given, **named)

        return assertion if name in _MAY_BE_ABSENT else once_there
