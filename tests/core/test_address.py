"""No login is shown."""

from __future__ import annotations

import pytest

from agentkit.core.address import without_login


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://api.openai.com/v1/", "https://api.openai.com/v1"),
        ("http://me:secret@host:8000/v1?key=secret", "http://host:8000/v1"),
        ("redis://:secret@host/0", "redis://host/0"),
        ("me:secret@host/v1", "host/v1"),
        ("localhost:11434/v1", "localhost:11434/v1"),
        ("http://host/a@b", "http://host/a@b"),
    ],
)
def test_an_address_is_shown_without_its_login(url: str, shown: str) -> None:
    assert without_login(url) == shown
