"""Answers that were cut short: what was written, found and said stays, and can be gone on with."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

from agentkit.errors import ConfigError, ModelError, ModelUnreachable
from agentkit.events import (
    Event,
    MessageSent,
    ModelCalled,
    ModelReplied,
    Recorded,
    Retrieved,
    RunStarted,
    TokenDelta,
)
from agentkit.ledger import RunKey, StoredMessage, queries
from agentkit.messages import new_id, text_of
from agentkit.retrieval import FakeEmbedder, Source
from agentkit.retrieval.types import Scope
from agentkit.settings import Settings
from agentkit.teams import Question
from agentkit.teams.continuing import GO_ON
from agentkit.teams.drafts import drop_broken_word, join_parts
from agentkit.workspace import Workspace
from tests.kill_child import OWNER, QUESTION
from tests.servers.openai_server import Answer, OpenAIServer, words

TEA = "Green tea is steeped at 80 degrees. Black tea is steeped at 95 degrees."
BEGUN = "Green tea is steeped at 80 degrees [1]. The pot is"
WHOLE = f"{BEGUN} warmed first [1]."


def script(body: dict[str, Any]) -> Answer:
    """The answer halts in the middle; asked to go on, the rest comes."""
    if body["messages"][-1]["content"] == GO_ON:
        return Answer(WHOLE.removeprefix(body["messages"][-2]["content"]))
    return Answer(f"{BEGUN} never said", halt_after=len(words(BEGUN)))


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(script) as running:
        yield running


@pytest.fixture
def settings(tmp_path: Path, server: OpenAIServer) -> Settings:
    return Settings(
        data=tmp_path / "data", openai_base_url=server.base_url, openai_model="test-model"
    )


@pytest.fixture
def workspace(settings: Settings, tmp_path: Path) -> Iterator[Workspace]:
    opened = Workspace(settings, FakeEmbedder())
    opened.ingest(OWNER, "Kitchen", [tea(tmp_path)]).result()
    yield opened
    opened.close()


def tea(folder: Path) -> Source:
    path = folder / "tea.txt"
    path.write_text(TEA)
    return Source("tea.txt", path, "upload:tea.txt")


def shown(thread: list[StoredMessage]) -> list[tuple[str, str, str]]:
    return [(one.sender, one.content, one.status) for one in thread]


def test_what_a_killed_process_had_written_is_there_again_and_can_be_gone_on_with(
    settings: Settings, server: OpenAIServer, tmp_path: Path
) -> None:
    given = [str(settings.data), server.base_url, str(tea(tmp_path).path), "pot is"]
    command = [sys.executable, "-m", "tests.kill_child", *given]
    killed = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert killed.returncode == -9, killed.stderr
    workspace = Workspace(settings, FakeEmbedder())
    try:
        (chat,) = workspace.ledger.chats(OWNER)
        question, answer = workspace.ledger.thread(OWNER, chat.id)
        assert (question.content, answer.content) == (QUESTION, BEGUN)
        assert (answer.status, answer.sender) == ("interrupted", "Assistant")
        assert [one["document"] for one in answer.extra["citations"]] == ["tea.txt"]
        took = workspace.figures.of_messages(OWNER, [answer.id])[answer.id]
        assert (took.calls, took.estimated) == (2, True)
        assert took.prompt_tokens > took.completion_tokens > 5
        (run,) = workspace.figures.runs(OWNER, kind="chat")
        assert run.state == "interrupted"
        heard = [type(one.event) for one in workspace.figures.events(OWNER, run.id)]
        assert Retrieved in heard
        assert ModelReplied in heard
        again = workspace.ask_again(OWNER, chat.id, question.id, go_on=True).result()
        assert again.text == WHOLE
        assert [one.document for one in again.citations] == ["tea.txt"]
        assert [one.content for one in workspace.ledger.thread(OWNER, chat.id)] == [QUESTION, WHOLE]
        assert workspace.database.value("select count(*) from streamed") == 0
    finally:
        workspace.close()
    reopened = Workspace(settings, FakeEmbedder())  # marks nothing twice
    assert [one.status for one in reopened.ledger.thread(OWNER, chat.id)] == ["complete"] * 2
    reopened.close()


def leave_open(settings: Settings, *events: Event, **wants: str) -> RunKey:
    """A run of which a process that has died had stored these events, five seconds apart; the
    question may say what it wants, whatever the chat is set to by now.
    """
    workspace = Workspace(settings, FakeEmbedder())
    chat = workspace.ledger.create_chat(OWNER, "Tea", "answer", "", "Documents")
    run = RunKey(new_id(), OWNER, chat.id, new_id())
    asked = MessageSent(new_id(), None, "user", "team", "user", QUESTION, extra=wants)
    told = [RunStarted("chat", QUESTION, team="answer"), asked, *events]
    for seq, event in enumerate(told, start=1):
        workspace.ledger.keep(run, [Recorded(seq, NOON + 5 * seq, event)])
    workspace.close()
    return run


NOON = 1_772_366_400.0
CALLED = ModelCalled("call", "Assistant", "api.openai.com", "gpt-4o")
REFUSED = ModelReplied(
    "call", "Assistant", "api.openai.com", "gpt-4o", status="failed", cost=0.0, error="busy"
)


@pytest.mark.parametrize("before", [(), (CALLED, REFUSED)])
def test_what_a_killed_process_had_written_is_kept_of_any_attempt(
    settings: Settings, before: tuple[Event, ...]
) -> None:
    run = leave_open(settings, *before, CALLED, TokenDelta(BEGUN, "Assistant", "call"))
    workspace = Workspace(settings, FakeEmbedder())
    assert workspace.ledger.thread(OWNER, run.chat_id or "")[-1].content == BEGUN
    calls = workspace.database.rows("select attempt, status, cost > 0 as cost from llm_calls")
    last = {"attempt": 2 if before else 1, "status": "stopped", "cost": True}
    assert max(calls, key=itemgetter("attempt")) == last
    workspace.close()


@pytest.mark.parametrize(
    ("team", "writer"), [("research", "Writer"), ("group:auto", "Writer"), ("gone", "Poet")]
)
def test_what_a_killed_process_had_written_is_kept_though_the_chat_asks_another_team_by_now(
    settings: Settings, team: str, writer: str
) -> None:
    called = replace(CALLED, agent=writer)
    wants = {"team_id": team, "model_id": "theirs"}
    run = leave_open(settings, called, TokenDelta(BEGUN, writer, "call"), **wants)
    workspace = Workspace(settings, FakeEmbedder())
    answer = workspace.ledger.thread(OWNER, run.chat_id or "")[-1]
    assert (answer.id, answer.sender, answer.content) == (run.message_id, writer, BEGUN)
    assert (answer.status, answer.extra["model"]) == ("interrupted", "theirs")
    assert not answer.extra["inner"]
    workspace.close()


@pytest.mark.parametrize(
    ("events", "seconds"), [((), 5.0), ((CALLED, TokenDelta(BEGUN, "Assistant", "call")), 15.0)]
)
def test_a_run_of_a_process_that_died_lasted_until_then(
    settings: Settings, events: tuple[Event, ...], seconds: float
) -> None:
    leave_open(settings, *events)
    workspace = Workspace(settings, FakeEmbedder())
    (run,) = workspace.figures.runs(OWNER)
    assert run.seconds == seconds
    workspace.close()


def test_a_connection_that_is_cut_keeps_the_text_its_sources_and_its_tokens(
    workspace: Workspace, server: OpenAIServer
) -> None:
    cut = Answer(f"{BEGUN} never said", drop_after=len(words(BEGUN)))
    server.script = lambda body: cut
    run = workspace.ask(OWNER, QUESTION, collection="Kitchen")
    with pytest.raises(ModelUnreachable):
        run.result()
    question, answer = workspace.ledger.thread(OWNER, run.chat_id or "")
    assert (answer.content, answer.status) == (BEGUN, "failed")
    assert answer.extra["error_type"] == "ModelUnreachable"
    assert [one["document"] for one in answer.extra["citations"]] == ["tea.txt"]
    took = workspace.figures.of_messages(OWNER, [answer.id])[answer.id]
    assert took.completion_tokens > 5
    server.script = lambda body: replace(script(body), drop_after=2)
    with pytest.raises(ModelUnreachable):  # cut once more: nothing of either part is lost
        workspace.ask_again(OWNER, run.chat_id or "", question.id, go_on=True).result()
    question, answer = workspace.ledger.thread(OWNER, run.chat_id or "")
    assert answer.content == f"{BEGUN} warmed"
    server.script = script
    done = workspace.ask_again(OWNER, run.chat_id or "", question.id, go_on=True).result()
    assert done.text == WHOLE
    assert [one.document for one in done.citations] == ["tea.txt"]
    question = workspace.ledger.thread(OWNER, run.chat_id or "")[0]
    server.script = lambda body: Answer("From the beginning.")
    anew = workspace.ask_again(OWNER, run.chat_id or "", question.id)
    assert anew.result().text == "From the beginning."
    server.script = lambda body: cut
    with pytest.raises(ModelUnreachable):  # what had been begun then is not of this try
        workspace.ask_again(OWNER, run.chat_id or "", question.id).result()
    assert workspace.ledger.thread(OWNER, run.chat_id or "")[-1].content == BEGUN


def in_the_group(body: dict[str, Any]) -> Answer:
    """The researcher and the critic speak; the writer's server is down."""
    system = text_of(body["messages"][0]["content"])
    if "you are the researcher" in system:
        if body["messages"][-1]["role"] == "tool":
            return Answer("It takes 80 degrees [1].")
        function = {"name": "search_documents", "arguments": '{"query": "green tea"}'}
        return Answer(tool_calls=[{"id": "1", "type": "function", "function": function}])
    if "you are the critic" in system:
        return Answer("Nothing is missing.")
    return Answer(status=500, error={"message": "out of memory"})


def test_what_the_members_of_a_group_had_done_is_not_done_again(
    workspace: Workspace, server: OpenAIServer
) -> None:
    server.script = in_the_group
    run = workspace.ask(OWNER, QUESTION, collection="Kitchen", team_id="group:round_robin")
    with pytest.raises(ModelError, match="out of memory"):
        run.result()
    thread = workspace.ledger.thread(OWNER, run.chat_id or "")
    said = [one for one in shown(thread) if one[1]]
    assert ("Researcher", "It takes 80 degrees [1].", "complete") in said
    assert ("Critic", "Nothing is missing.", "complete") in said
    assert (thread[-1].sender, thread[-1].status) == ("Writer", "failed")
    asked = len(server.chats)
    server.script = lambda body: Answer("80 degrees [1].")
    again = workspace.ask_again(OWNER, run.chat_id or "", thread[0].id, go_on=True)
    assert again.result().text == "80 degrees [1]."
    assert [one.document for one in again.result().citations] == ["tea.txt"]
    assert len(server.chats) == asked + 1
    prompt = text_of(server.chats[-1]["messages"][-1]["content"])
    assert "Researcher: It takes 80 degrees [1]." in prompt
    assert "Critic: Nothing is missing." in prompt
    now = shown(workspace.ledger.thread(OWNER, run.chat_id or ""))
    assert ("Researcher", "It takes 80 degrees [1].", "complete") in now
    assert now[-1] == ("Writer", "80 degrees [1].", "complete")


def test_a_question_asked_again_has_its_files_its_scope_and_its_collection(
    workspace: Workspace, server: OpenAIServer, tmp_path: Path
) -> None:
    server.script = lambda body: Answer(status=401, error={"message": "wrong key"})
    (document,) = workspace.library.documents(OWNER, "Kitchen")
    path = tmp_path / "coffee.txt"
    path.write_text("Cold brew coffee is brewed for a night.")
    files = [Source("coffee.txt", path, "upload:coffee.txt")]
    scope = Scope(document_ids=[document.id])
    run = workspace.ask(
        OWNER, "How is coffee brewed?", collection="Kitchen", attachments=files, scope=scope
    )
    with pytest.raises(ModelError):
        run.result()
    chat_id = run.chat_id or ""
    workspace.library.create_collection(OWNER, "Garden")
    workspace.ledger.update_chat(OWNER, chat_id, collection="Garden")
    first = workspace.ledger.thread(OWNER, chat_id)[0]
    again = workspace.ask_again(OWNER, chat_id, first.id, model_id="offline")
    assert [one.document for one in again.result().citations] == ["coffee.txt"]
    second = workspace.ledger.thread(OWNER, chat_id)[0]
    assert second.id != first.id
    same = ("attachments", "scope", "collection", "collection_id")
    assert {name: second.extra[name] for name in same} == {name: first.extra[name] for name in same}
    assert second.extra["missing"] == []
    found = [one.event for one in again if isinstance(one.event, Retrieved)]
    assert {one.collection.split(",")[0] for one in found} == {"Kitchen"}
    assert workspace.ledger.chat(OWNER, chat_id).collection == "Garden"


def test_files_that_were_never_taken_in_are_and_those_that_are_gone_are_named(
    workspace: Workspace, server: OpenAIServer, tmp_path: Path
) -> None:
    server.script = lambda body: Answer(status=401, error={"message": "wrong key"})
    names = ["coffee.txt", "milk.txt"]
    files = []
    for name in names:
        (tmp_path / name).write_text(f"All about {name.removesuffix('.txt')}, boiled twice.")
        files.append(Source(name, tmp_path / name, f"upload:{name}"))
    run = workspace.ask(OWNER, "What of coffee?", collection="Kitchen", attachments=files)
    with pytest.raises(ModelError):
        run.result()
    chat_id = run.chat_id or ""
    own = workspace.library.documents(OWNER, f"chat:{chat_id}")
    workspace.library.delete_documents(OWNER, [one.id for one in own])
    (tmp_path / "milk.txt").unlink()
    first = workspace.ledger.thread(OWNER, chat_id)[0]
    workspace.ask_again(OWNER, chat_id, first.id, model_id="offline").result()
    second = workspace.ledger.thread(OWNER, chat_id)[0]
    assert [one.name for one in Question.from_message(second).attachments] == names
    assert second.extra["missing"] == ["milk.txt"]
    there = workspace.library.documents(OWNER, f"chat:{chat_id}")
    assert [one.name for one in there] == ["coffee.txt"]


def test_with_nothing_written_there_is_nothing_to_go_on_with(
    workspace: Workspace, server: OpenAIServer
) -> None:
    server.script = lambda body: Answer(status=401, error={"message": "wrong key"})
    run = workspace.ask(OWNER, QUESTION, collection="Kitchen")
    with pytest.raises(ModelError):
        run.result()
    question = workspace.ledger.thread(OWNER, run.chat_id or "")[0]
    with pytest.raises(ConfigError, match="Nothing of that answer"):
        workspace.ask_again(OWNER, run.chat_id or "", question.id, go_on=True)


@pytest.mark.parametrize(
    ("begun", "more", "whole"),
    [
        ("The pot is", " warm.", "The pot is warm."),
        ("It is hot.", "The pot too.", "It is hot. The pot too."),
        ("It is hot. ", " The pot", "It is hot. The pot"),
        ("one\n", "two", "one\ntwo"),
        (
            "The pot is warmed first",
            "is warmed first, then filled.",
            "The pot is warmed first, then filled.",
        ),
        ("", "All", "All"),
        ("All", "", "All"),
    ],
)
def test_two_parts_become_one_text(begun: str, more: str, whole: str) -> None:
    assert join_parts(begun, more) == whole


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("The pot i", "The pot "),
        ("It is hot.", "It is hot."),
        ("Tea", "Tea"),
        ("", ""),
        ("cite [1", "cite "),
    ],
)
def test_the_last_word_may_be_half_a_word(text: str, kept: str) -> None:
    assert drop_broken_word(text) == kept


def test_calls_of_a_stopped_answer_are_counted_once(workspace: Workspace) -> None:
    run = workspace.ask(OWNER, QUESTION, collection="Kitchen")
    for recorded in run:
        if getattr(recorded.event, "text", "").endswith("pot"):
            run.stop()
    run.result()
    where = queries.CallFilter(OWNER, purpose="chat", chat=run.chat_id or "")
    assert queries.totals(workspace.ledger, where).calls == 1
    assert workspace.ledger.open_runs() == []
