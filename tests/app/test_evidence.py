"""What is told of an answer that nothing was found for, while documents come in and afterwards."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from agentkit.retrieval import FakeEmbedder, Source
from agentkit.retrieval.options import DEFAULT
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import OWNER, open_page, settle, texts

Ingest = Callable[[str, dict[str, str]], None]
ZEBRA = {"zebra.md": "The zebra stands by the door."}


@pytest.fixture
def asked(kitchen: ScriptableWorkspace) -> AppTest:
    """A chat whose question found nothing."""
    kitchen.library.set_options(OWNER, "Kitchen", replace(DEFAULT, mode="lexical"))
    app = open_page("chat")
    app.chat_input[0].set_value("Where is the zebra?").run()
    settle(app)
    assert "**No passage was found.** Ask in other words" in texts(app)
    assert not [one for one in app.button if one.label == "Ask again"]
    return app


def ask_again(app: AppTest) -> AppTest:
    [button] = [one for one in app.button if one.label == "Ask again"]
    button.click().run()
    return settle(app)


def test_what_came_in_since_is_told_and_found_when_asked_again(
    asked: AppTest, ingest: Ingest
) -> None:
    ingest("Kitchen", ZEBRA)
    app = settle(asked)
    assert "1 document has come in since: ask again." in texts(app)
    ask_again(app)
    assert "No passage was found." not in texts(app)
    assert "The zebra stands by the door" in texts(app)


def test_what_came_in_elsewhere_does_not_count(asked: AppTest, ingest: Ingest) -> None:
    ingest("Stable", ZEBRA)
    assert "Ask in other words" in texts(settle(asked))


def test_what_is_being_taken_in_is_told_with_how_far_it_is(
    kitchen: ScriptableWorkspace, asked: AppTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    embed = FakeEmbedder.embed

    def wait(embedder: FakeEmbedder, given: Sequence[str]) -> np.ndarray:
        begun.set()
        assert go_on.wait(60)
        return embed(embedder, given)

    monkeypatch.setattr(FakeEmbedder, "embed", wait)
    path = tmp_path / "zebra.md"
    path.write_text(ZEBRA[path.name], encoding="utf-8")
    run = kitchen.ingest(OWNER, "Kitchen", [Source(path.name, path, str(path))])
    try:
        assert begun.wait(60)
        asked.run()
        assert "Documents are still being taken in: ask again once they are there." in texts(asked)
        assert [str(bar.proto.text) for bar in asked.get("progress")] == ["0 of 1 document"]
    finally:
        go_on.set()
    assert run.wait(60)
    settle(asked)
    assert "1 document has come in since: ask again." in texts(asked)
    assert "The zebra stands by the door" in texts(ask_again(asked))
