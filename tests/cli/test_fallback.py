"""A collection whose embedding server has gone: `search` and `ask` go by words and say so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agentkit.llm import Connection, save_connection
from agentkit.retrieval import FakeEmbedder
from agentkit.settings import load_settings
from tests.cli.conftest import Cli
from tests.cli.program import open_with_fake
from tests.servers.openai_server import Answer, OpenAIServer

Unplug = Callable[[], None]


def hashed(body: dict[str, Any]) -> list[list[float]]:
    # Lists of numbers.
    return FakeEmbedder().embed(body["input"]).tolist()  # type: ignore[no-any-return]


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(embed=hashed) as running:
        yield running


@pytest.fixture
def filled(filled: Cli, server: OpenAIServer) -> Cli:
    """The collection Documents, with an embedding model on the server."""
    settings = load_settings()
    save_connection(settings, Connection("Ours", server.base_url, embedding_models=("nomic",)))
    workspace = open_with_fake(settings)
    versions, name = workspace.library.versions, f"nomic at {server.base_url}"
    made = versions.add(settings.owner, "Documents", embedder=name, max_tokens=100)
    versions.promote(settings.owner, made.id)
    workspace.close()
    return filled


def test_a_search_goes_by_words_and_says_so(filled: Cli, server: OpenAIServer) -> None:
    found = filled("search", "How long is the Danube?", "--json")
    assert (found.json["mode"], found.json["fallback"]) == ("hybrid", None)
    server.embed = lambda body: Answer(status=503)
    ended = filled("search", "How long is the Danube?", "--mode", "dense", "--json")
    assert ended.code == 0
    assert ended.json["hits"][0]["document"] == "rivers.md"
    assert ended.json["mode"] == "lexical"
    told = ended.json["fallback"]
    assert (told["wanted"], told["error_type"]) == ("dense", "ModelUnreachable")
    assert told["embedder"] == f"nomic at {server.base_url}"
    assert (
        ended.err
        == f"Passages are looked up by their words alone, not by meaning: {told['error']}\n"
    )
    ended = filled("search", "How long is the Danube?", "--mode", "lexical")
    assert ended.err == ""


def test_an_answer_says_what_it_was_found_by(filled: Cli, server: OpenAIServer) -> None:
    server.embed = lambda body: Answer(status=503)
    ended = filled("ask", "How long is the Danube?", "--model", "offline", "--json")
    assert ended.code == 0
    assert ended.json["citations"][0]["document"] == "rivers.md"
    assert ended.json["fallback"]["wanted"] == "hybrid"
    assert ended.err.count("by their words alone, not by meaning: nomic at") == 1
    server.embed = hashed
    ended = filled("ask", "How long is the Danube?", "--model", "offline", "--json")
    assert (ended.json["fallback"], ended.err) == (None, "")
