"""What the tests of OpenAIWrapper stand on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agentkit.core import bus
from agentkit.core.io import IOStream
from agentkit.events import Event
from tests.llm.wrapper_kit import Console, by_model
from tests.servers.openai_server import OpenAIServer


@pytest.fixture
def console(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Console]:
    """A console of our own, an empty folder for caches on disk, and no key in the environment."""
    monkeypatch.chdir(tmp_path)
    for name in (
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "OPENAI_API_VERSION",
        "AZURE_OPENAI_API_KEY",
        "AZURE_OPENAI_ENDPOINT",
    ):
        monkeypatch.delenv(name, raising=False)
    own = Console()
    with IOStream.set_default(own):
        yield own


@pytest.fixture(scope="module")
def running() -> Iterator[OpenAIServer]:
    """A server that answers by the name of the model."""
    with OpenAIServer(by_model) as server:
        yield server


@pytest.fixture
def server(running: OpenAIServer) -> OpenAIServer:
    """The same, with no request to it yet."""
    running.requests.clear()
    return running


@pytest.fixture
def heard() -> Iterator[list[Event]]:
    """The events of the test."""
    events: list[Event] = []
    with bus.listening(events.append):
        yield events
