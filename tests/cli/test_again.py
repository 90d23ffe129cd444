"""`runs again`: a finished answer run again from one of its steps, at the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentkit.messages import text_of
from tests.cli.conftest import Cli
from tests.servers.openai_server import Answer, OpenAIServer

QUESTION = "How long is the Danube?"


@pytest.fixture
def asked(
    shared_server: OpenAIServer,
    data: Path,
    monkeypatch: pytest.MonkeyPatch,
    filled: Cli,
) -> str:
    """The run of an answer of a model that says what it was told."""
    monkeypatch.setenv("OPENAI_BASE_URL", shared_server.base_url)
    monkeypatch.setenv("OPENAI_MODEL", "test-model")
    shared_server.script = _play
    run: str = filled("ask", QUESTION, "--json").json["run"]
    return run


def _play(body: dict[str, Any]) -> Answer:
    is_brief = "Be brief" in text_of(body["messages"][0]["content"])
    return Answer("2,850 km [1]." if is_brief else "It is 2,850 kilometres long [1].")


def test_an_answer_is_run_again_from_a_call(asked: str, cli: Cli, tmp_path: Path) -> None:
    spans = cli("trace", asked, "--json").json["spans"]
    call = next(str(span["seq"]) for span in spans if span["kind"] == "model")
    again = cli("runs", "again", asked, "--from", call, "--instructions", "Be brief", "--json").json
    assert again["answer"] == "2,850 km [1]."
    assert again["run"] != asked
    reply = tmp_path / "reply.txt"
    reply.write_text("Nobody knows [1].")
    told = cli("runs", "again", asked, "--reply", reply)
    assert "Nobody knows [1]." in told.out
    assert "rivers.md" in told.out
    assert len(cli("runs", "--kind", "chat", "--json").json["runs"]) == 3
    compared = cli("trace", asked, "--with", again["run"]).out
    assert "is told" in compared


PROBLEMS = (
    (["--from", "2"], "is not a call of a model"),
    (["--from", "4711"], "has no step '4711'"),
    (["--from", "#E1"], "The run did no step #E1"),
    (["--model", "lost"], "lost"),
    (["--team", "lost"], "lost"),
    (["--reply", "nowhere.txt"], "could not be read from nowhere.txt"),
)


@pytest.mark.parametrize("held", [False], indirect=True)
def test_what_cannot_be_is_told(asked: str, cli: Cli) -> None:
    for options, told in PROBLEMS:
        failed = cli("runs", "again", asked, *options)
        assert (failed.code, told in failed.err) == (1, True), failed.err
    (ingest,) = cli("runs", "--kind", "ingest", "--json").json["runs"]
    assert "is not an answer that has ended" in cli("runs", "again", ingest["id"]).err
    assert "There is no run 'nowhere'" in cli("runs", "again", "nowhere").err
