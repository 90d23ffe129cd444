"""How the tests are spread over processes: a file goes to one, and so do all tests with a browser, which slow each other down."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadFileScheduling

BROWSER = "tests/browser/"

# A busy machine is slow, which is no fault of what is tested.
settings.register_profile("any machine", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


class OneBrowser(LoadFileScheduling):  # type: ignore[misc]  # xdist has no types
    """By file, the browser tests together."""

    def _split_scope(self, nodeid: str) -> str:
        scope: str = super()._split_scope(nodeid)
        return BROWSER if scope.startswith(BROWSER) else scope


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> OneBrowser:
    return OneBrowser(config, log)
