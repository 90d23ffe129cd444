"""`ask --picture`: what the model is shown, and what is said of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from agentkit.llm import sight
from tests.cli.conftest import Cli
from tests.servers.openai_server import Answer, OpenAIServer


def test_the_model_is_shown_the_pictures_or_it_is_told_that_it_sees_none(
    filled: Cli,
    tmp_path: Path,
    shared_server: OpenAIServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", shared_server.base_url)
    monkeypatch.setenv("OPENAI_MODEL", "test-model")
    sight._blind.clear()
    shared_server.script = lambda body: Answer("A red field.")
    chart, drawing = tmp_path / "chart.png", tmp_path / "drawing.svg"
    Image.new("RGB", (30, 20), "red").save(chart)
    drawing.write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")

    ended = filled("ask", "What is this?", "--picture", chart)
    assert (ended.code, "A red field." in ended.out) == (0, True), ended.err
    assert "data:image/png;base64," in str(shared_server.chats[-1])

    asked = len(shared_server.chats)
    refused = filled("ask", "What is this?", "--picture", drawing)
    assert refused.code != 0
    assert "drawing.svg is not a picture" in refused.err
    assert len(shared_server.chats) == asked

    offline = filled("ask", "How long is the Danube?", "--picture", chart, "--model", "offline")
    assert offline.code == 0
    assert "does not see pictures" in offline.err
