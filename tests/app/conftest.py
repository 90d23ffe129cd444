"""The pages of the app, run without a browser on a real workspace in a folder of the test."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.state.session_state import WStates

from agentkit.core import stopping
from agentkit.errors import ModelUnreachable, Stopped
from agentkit.llm import Model
from agentkit.llm.calls.scripted import ScriptedClient, scripted_model
from agentkit.llm.calls.stream import delta
from agentkit.llm.response import Response
from agentkit.retrieval import FakeEmbedder, Source
from agentkit.runs import Run
from agentkit.settings import Settings
from agentkit.teams import Answer
from agentkit.ui.shared import state
from agentkit.workspace import Workspace
from tests.app.driver import OWNER


class HaltingClient(ScriptedClient):
    """Streams `first`, waits until `go_on` is set (or the run is stopped), then streams the
    rest.
    """

    def __init__(self, first: str, rest: str) -> None:
        super().__init__([first + rest])
        self.first, self.rest = first, rest
        self.halted, self.go_on = threading.Event(), threading.Event()

    def create(self, params: Mapping[str, Any]) -> Response:
        signal = stopping.current()
        delta(self.first)
        self.halted.set()
        while not self.go_on.is_set():
            if signal.wait(0.01):
                raise Stopped("stopped by the user")
        delta(self.rest)
        return super().create({**params, "stream": False})


class BreakingClient(ScriptedClient):
    """Streams `first` and fails, as when the connection is cut; once it is `whole`, it replies."""

    def __init__(self, first: str, reply: str) -> None:
        super().__init__(lambda request: reply)
        self.first, self.whole = first, False

    def create(self, params: Mapping[str, Any]) -> Response:
        if self.whole:
            return super().create(params)
        delta(self.first)
        raise ModelUnreachable("the server went away")


class ScriptableWorkspace(Workspace):
    """A workspace to which a test can add models of its own; the last one added is the default."""

    def __init__(self, settings: Settings) -> None:
        self.added: list[Model] = []
        self.looked_at: Callable[[], object] = lambda: None
        """Called when a page is about to look for the run of its chat."""
        super().__init__(settings, FakeEmbedder())

    def models(self) -> list[Model]:
        return [*self.added, *super().models()]

    def model(self, model_id: str = "") -> Model:
        known = {model.id: model for model in self.added}
        return known.get(model_id or next(iter(known), "")) or super().model(model_id)

    def wait_on(self, owner: str, chat_id: str = "") -> list[Run[Answer]]:
        self.looked_at()
        return super().wait_on(owner, chat_id)

    def script(self, *replies: str | Mapping[str, Any] | Exception) -> Model:
        """Add a model that gives these replies, one after the other."""
        self.added.insert(0, scripted_model(replies))
        return self.added[0]

    def breaking(self, first: str, reply: str) -> BreakingClient:
        """Add a model that fails in the middle of its answer."""
        client = BreakingClient(first, reply)
        self.added.insert(0, Model("breaking", "Breaking", client, "breaking", "scripted"))
        return client

    def halting(self, first: str, rest: str) -> HaltingClient:
        """Add a model that halts in the middle of its answer."""
        client = HaltingClient(first, rest)
        self.added.insert(0, Model("halting", "Halting", client, "halting", "scripted"))
        return client


@pytest.fixture(scope="session", autouse=True)
def components_are_looked_for_once() -> Iterator[None]:
    """Streamlit reads what all installed packages say of themselves for each page that a test
    opens, to find components, of which there are none.
    """
    with pytest.MonkeyPatch.context() as patch:
        found_once = cache(manifest_scanner.scan_component_manifests)
        patch.setattr(manifest_scanner, "scan_component_manifests", found_once)
        yield


@pytest.fixture
def workspace(settings: Settings) -> Iterator[ScriptableWorkspace]:
    """An empty workspace, served to the pages."""
    opened = ScriptableWorkspace(settings)
    state.use(opened)
    yield opened
    state.close()


@pytest.fixture
def ingest(workspace: ScriptableWorkspace, tmp_path: Path) -> Callable[[str, dict[str, str]], None]:
    """Take texts into a collection: `ingest("Kitchen", {"tea.txt": "..."})`."""

    def take_in(collection: str, texts: dict[str, str]) -> None:
        sources = []
        for name, text in texts.items():
            path = tmp_path / name
            path.write_text(text, encoding="utf-8")
            sources.append(Source(name, path, str(path)))
        done = workspace.ingest(OWNER, collection, sources).result()
        assert [one.status for one in done] == ["indexed"] * len(sources)

    return take_in


@pytest.fixture
def kitchen(
    workspace: ScriptableWorkspace, ingest: Callable[[str, dict[str, str]], None]
) -> ScriptableWorkspace:
    """The workspace with a collection of one document."""
    ingest("Kitchen", {"tea.txt": "Green tea is steeped at 80 degrees."})
    return workspace


@pytest.fixture
def double_clicks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each click is a double one."""
    call = WStates.call_callback

    def call_twice(states: WStates, widget_id: str) -> None:
        try:  # a callback may end with another look at the page
            call(states, widget_id)
        finally:
            call(states, widget_id)

    monkeypatch.setattr(WStates, "call_callback", call_twice)
