"""The workspace over real documents, the stand-in embedder and a real local model server."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentkit import runs
from agentkit.errors import AgentkitError, ConfigError, ModelError, NotFound, Stopped
from agentkit.events import DocumentDone, Event, MessageSent, ModelReplied, RunStopped, TokenDelta
from agentkit.ledger import queries
from agentkit.ledger.store import utc_now
from agentkit.retrieval import FakeEmbedder, Scope, Source
from agentkit.runs import Run
from agentkit.settings import Settings
from agentkit.teams import Question
from agentkit.teams.question import EVERYTHING
from agentkit.workspace import Workspace, attachment_collection
from tests.api.doors import WHERE, opened
from tests.servers.openai_server import Answer, OpenAIServer, answer_from_passages

DANUBE = "The Danube is 2,850 kilometres long and ends in the Black Sea."
PUMP = "The warranty of the pump lasts three years."


@pytest.fixture
def settings(tmp_path: Path, owner: str, server: OpenAIServer) -> Settings:
    return Settings(
        data=tmp_path / "data",
        owner=owner,
        openai_base_url=server.base_url,
        openai_model="test-model",
    )


@pytest.fixture(params=WHERE)
def workspace(
    settings: Settings, owner: str, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Workspace]:
    with opened(settings, FakeEmbedder(), request.param) as workspace:
        rivers = source(tmp_path, "rivers.txt", DANUBE)
        workspace.ingest(owner, "Documents", [rivers]).result()
        yield workspace


def source(folder: Path, name: str, text: str) -> Source:
    path = folder / name
    path.write_text(text)
    return Source(name, path, f"upload:{name}")


def events(run: Run[Any], kind: type[Event]) -> list[Any]:
    return [recorded.event for recorded in run if isinstance(recorded.event, kind)]


def thread(workspace: Workspace, owner: str, run: Run[Any]) -> list[tuple[str, str, str]]:
    assert run.chat_id
    return [
        (one.role, one.content, one.status) for one in workspace.ledger.thread(owner, run.chat_id)
    ]


def test_an_ingest_is_a_run_and_is_in_the_ledger(
    workspace: Workspace, owner: str, tmp_path: Path
) -> None:
    run = workspace.ingest(
        owner,
        "Documents",
        [source(tmp_path, "pump.md", PUMP), source(tmp_path, "bad.pdf", "no pdf at all\x00")],
    )
    done = run.result()
    assert {one.document: one.status for one in done} == {"pump.md": "indexed", "bad.pdf": "failed"}
    assert sorted(one.document for one in events(run, DocumentDone)) == ["bad.pdf", "pump.md"]
    latest = workspace.figures.runs(owner, kind="ingest")[0]
    assert (latest.title, latest.state, latest.id) == (
        "2 documents into Documents",
        "finished",
        run.id,
    )
    assert workspace.figures.events(owner, run.id)


def test_a_question_is_answered_cited_and_counted(workspace: Workspace, owner: str) -> None:
    run = workspace.ask(owner, "How long is the Danube?", collection="Documents")
    answer = run.result()
    assert answer.text == f"{DANUBE} [1]"
    (citation,) = answer.citations
    assert (citation.document, citation.text) == ("rivers.txt", DANUBE)
    text = workspace.library.text(owner, citation.document_id)
    assert text[citation.start : citation.end] == DANUBE
    assert run.chat_id
    assert workspace.ledger.chat(owner, run.chat_id).title == "How long is the Danube?"
    assert thread(workspace, owner, run) == [
        ("user", "How long is the Danube?", "complete"),
        ("assistant", answer.text, "complete"),
    ]
    asked, answered = workspace.ledger.thread(owner, run.chat_id)
    assert answered.id == run.message_id
    assert answered.parent_id == asked.id
    assert "".join(event.text for event in events(run, TokenDelta)) == answer.text


def test_a_long_question_names_its_chat_and_its_run_by_whole_words(
    workspace: Workspace, owner: str
) -> None:
    long = "How long is the Danube from its two sources in the Black Forest to the Black Sea?"
    run = workspace.ask(owner, long, collection="Documents")
    run.result()
    (listed,) = workspace.figures.runs(owner, kind="chat")
    assert listed.title == "How long is the Danube from its two sources in the Black…"
    assert run.chat_id
    assert workspace.ledger.chat(owner, run.chat_id).title == listed.title


def test_a_question_is_given_whole_or_by_name_and_stored_as_it_was(
    workspace: Workspace, owner: str
) -> None:
    narrow = Scope(tags=["none of these"])
    question = Question(
        "How long is the Danube?", "Documents", "research", scope=narrow, max_tokens=9_000
    )
    run = workspace.ask(owner, question, team_id="answer", scope=EVERYTHING)
    assert run.result().text == f"{DANUBE} [1]"
    asked = workspace.ledger.thread(owner, run.chat_id or "")[0]
    assert Question.from_message(asked) == replace(question, team_id="answer", scope=EVERYTHING)
    with pytest.raises(TypeError, match="unexpected keyword argument 'colection'"):
        workspace.ask(owner, "How long?", colection="Documents")  # type: ignore[call-arg]


def test_the_figures_of_an_answer_are_those_of_its_chat_and_its_run(
    workspace: Workspace, owner: str
) -> None:
    run = workspace.ask(owner, "How long is the Danube?", collection="Documents")
    run.result()
    replied: list[ModelReplied] = events(run, ModelReplied)
    assert {one.purpose for one in replied} == {"chat", "embedding"}
    assert run.chat_id
    of_message = workspace.figures.of_messages(owner, [run.message_id])[run.message_id]
    assert of_message.calls == len(replied)
    assert of_message.prompt_tokens == sum(one.usage.prompt for one in replied)
    grouped: dict[queries.Group, str] = {"chat": run.chat_id, "run": run.id}
    for by, key in grouped.items():
        groups = workspace.figures.groups(queries.CallFilter(owner), by)
        (found,) = [one.totals for one in groups if one.key == key]
        for figure in ("calls", "prompt_tokens", "completion_tokens", "seconds", "unpriced"):
            assert getattr(found, figure) == getattr(of_message, figure)


def test_a_chat_goes_on_and_its_history_goes_along(
    workspace: Workspace, owner: str, server: OpenAIServer
) -> None:
    first = workspace.ask(owner, "How long is the Danube?", collection="Documents")
    first.result()
    second = workspace.ask(
        owner, "And where does it end?", collection="Documents", chat_id=first.chat_id
    )
    second.result()
    assert second.chat_id == first.chat_id
    assert [role for role, _, _ in thread(workspace, owner, second)] == ["user", "assistant"] * 2
    told = [turn["content"] for turn in server.requests[-1].body["messages"]]
    assert told[1:3] == ["How long is the Danube?", f"{DANUBE} "], "its passages have other numbers"
    assert "Black Sea" in told[0]


def test_going_on_from_an_earlier_message_makes_a_branch(workspace: Workspace, owner: str) -> None:
    runs_made = [workspace.ask(owner, "How long is the Danube?", collection="Documents")]
    runs_made[0].result()
    assert runs_made[0].chat_id
    first_answer = workspace.ledger.thread(owner, runs_made[0].chat_id)[-1].id
    for question in ("Where does it end?", "Where does it begin?"):
        runs_made.append(
            workspace.ask(
                owner,
                question,
                collection="Documents",
                chat_id=runs_made[0].chat_id,
                parent_id=first_answer,
            )
        )
        runs_made[-1].result()
    assert [
        content for role, content, _ in thread(workspace, owner, runs_made[0]) if role == "user"
    ] == [
        "How long is the Danube?",
        "Where does it begin?",
    ]
    assert [
        one.content
        for one in workspace.ledger.thread(owner, runs_made[0].chat_id, runs_made[1].message_id)
    ][2] == "Where does it end?"


def test_the_team_of_two_says_what_it_looked_up(
    workspace: Workspace, owner: str, server: OpenAIServer
) -> None:
    server.script = lambda body: (
        Answer("length of the Danube")
        if "Break the" in body["messages"][0]["content"]
        else answer_from_passages(body)
    )
    run = workspace.ask(
        owner, "How long is the Danube?", collection="Documents", team_id="research"
    )
    assert run.result().citations
    messages: list[MessageSent] = events(run, MessageSent)
    assert [(one.sender, bool(one.extra.get("inner"))) for one in messages] == [
        ("user", False),
        ("Researcher", True),
        ("Writer", False),
    ]
    follow_up = workspace.ask(
        owner, "And where does it end?", collection="Documents", chat_id=run.chat_id
    )
    follow_up.result()
    assert "Looked up" not in str(server.requests[-1].body)


def test_what_was_attached_answers_in_its_chat_alone(
    workspace: Workspace, owner: str, server: OpenAIServer, tmp_path: Path
) -> None:
    server.script = lambda body: (
        Answer("warranty of the pump")
        if "Rewrite the" in body["messages"][0]["content"]
        else answer_from_passages(body)
    )
    attached = [source(tmp_path, "pump.md", PUMP)]
    run = workspace.ask(
        owner,
        "How long does the warranty of the pump last?",
        collection="Documents",
        attachments=attached,
    )
    assert run.result().citations[0].document == "pump.md"
    asked: MessageSent = events(run, MessageSent)[0]
    assert [one.name for one in Question.from_message(asked).attachments] == ["pump.md"]
    again = workspace.ask(
        owner, "And what warranty has the pump?", collection="Documents", chat_id=run.chat_id
    )
    assert again.result().citations[0].document == "pump.md"
    other = workspace.ask(
        owner, "How long does the warranty of the pump last?", collection="Documents"
    )
    assert [citation.document for citation in other.result().citations] == ["rivers.txt"]
    assert [collection.name for collection in workspace.library.collections(owner)] == ["Documents"]
    assert [one.name for one in workspace.library.documents(owner, "Documents")] == ["rivers.txt"]


def test_what_was_attached_to_be_kept_is_in_the_collection(
    workspace: Workspace, owner: str, tmp_path: Path
) -> None:
    attached = [source(tmp_path, "pump.md", PUMP)]
    workspace.ask(
        owner,
        "Which warranty?",
        collection="Documents",
        attachments=attached,
        keep_attachments=True,
    ).result()
    assert {one.name for one in workspace.library.documents(owner, "Documents")} == {
        "pump.md",
        "rivers.txt",
    }
    assert workspace.library.collections(owner, hidden=True) == []


def test_attachments_that_cannot_be_read_are_told_in_the_chat(
    workspace: Workspace, owner: str, tmp_path: Path
) -> None:
    run = workspace.ask(
        owner,
        "What is in it?",
        collection="Documents",
        attachments=[source(tmp_path, "bad.pdf", "no pdf\x00")],
    )
    with pytest.raises(AgentkitError, match=r"None of the attached files could be read. bad.pdf: "):
        run.result()
    assert [(role, status) for role, _, status in thread(workspace, owner, run)] == [
        ("user", "complete"),
        ("assistant", "failed"),
    ]


def test_a_deleted_chat_takes_its_attachments_with_it(
    workspace: Workspace, owner: str, tmp_path: Path
) -> None:
    run = workspace.ask(
        owner,
        "Which warranty?",
        collection="Documents",
        attachments=[source(tmp_path, "pump.md", PUMP)],
    )
    run.result()
    assert run.chat_id
    assert [one.name for one in workspace.library.collections(owner, hidden=True)] == [
        attachment_collection(run.chat_id)
    ]
    with pytest.raises(NotFound):
        workspace.delete_chat("somebody else", run.chat_id)
    workspace.delete_chat(owner, run.chat_id)
    assert workspace.library.collections(owner, hidden=True) == []
    assert workspace.ledger.chats(owner) == []
    assert (
        workspace.library.retrieve(owner, "Documents", "warranty of the pump")[0].document
        == "rivers.txt"
    )


def test_a_model_that_fails_leaves_its_reason_in_the_chat_and_the_chat_goes_on(
    workspace: Workspace, owner: str, server: OpenAIServer
) -> None:
    server.script = lambda body: Answer(
        status=401, error={"message": "wrong key", "code": "invalid_api_key"}
    )
    run = workspace.ask(owner, "How long is the Danube?", collection="Documents")
    with pytest.raises(ModelError) as caught:
        run.result()
    assert run.chat_id
    failed = workspace.ledger.thread(owner, run.chat_id)[-1]
    assert (failed.id, failed.status, failed.content) == (run.message_id, "failed", "")
    why = {"error": str(caught.value), "error_type": type(caught.value).__name__}
    assert failed.extra == {**why, "model": workspace.model().id, "inner": False}
    assert workspace.figures.of_messages(owner, [run.message_id])[run.message_id].failed == 1
    server.script = answer_from_passages
    again = workspace.ask(
        owner, "How long is the Danube, please?", collection="Documents", chat_id=run.chat_id
    )
    assert again.result().citations


def stop_after_the_first_word(run: Run[Any]) -> None:
    for recorded in run:
        if isinstance(recorded.event, TokenDelta):
            run.stop()
            break


def test_a_stopped_answer_stays_in_the_chat_with_what_it_took(
    workspace: Workspace, owner: str, server: OpenAIServer
) -> None:
    server.script = lambda body: Answer("one " * 2_000, delay_s=0.02)
    run = workspace.ask(owner, "How long is the Danube?", collection="Documents")
    stop_after_the_first_word(run)
    answer = run.result()
    assert answer.stopped_because == "stopped"
    assert answer.text.startswith("one")
    assert thread(workspace, owner, run)[-1] == ("assistant", answer.text, "stopped")
    assert events(run, RunStopped) == [RunStopped()]
    took = workspace.figures.of_messages(owner, [run.message_id])[run.message_id]
    assert took.completion_tokens > 0
    assert workspace.figures.runs(owner)[0].state == "stopped"


class WaitingEmbedder(FakeEmbedder):
    """Stops the run that embeds, as a person would who stops during the search."""

    stop_on = ""

    def embed(self, texts: Any) -> Any:
        run = runs.current()
        if run and self.stop_on and any(self.stop_on in text for text in texts):
            run.stop()
        return super().embed(texts)


def test_stopped_before_the_answer_the_chat_shows_it(
    settings: Settings, owner: str, tmp_path: Path
) -> None:
    embedder = WaitingEmbedder()
    workspace = Workspace(settings, embedder)
    workspace.ingest(owner, "Documents", [source(tmp_path, "rivers.txt", DANUBE)]).result()
    embedder.stop_on = "How long"
    run = workspace.ask(owner, "How long is the Danube?", collection="Documents")
    with pytest.raises(Stopped):
        run.result()
    assert thread(workspace, owner, run)[-1] == ("assistant", "", "stopped")
    workspace.close()


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"question": "  "}, ConfigError, "question is empty"),
        ({"team_id": "nobody"}, NotFound, "no team 'nobody'"),
        ({"model_id": "nothing"}, NotFound, "no model 'nothing'"),
        ({"collection": "nowhere"}, NotFound, "no collection 'nowhere'"),
        ({"chat_id": "none"}, NotFound, "no chat 'none'"),
        ({"owner": "somebody else"}, NotFound, "no collection 'Documents'"),
    ],
)
def test_what_cannot_be_asked_is_told_at_once_and_leaves_no_chat(
    workspace: Workspace, owner: str, change: dict[str, Any], error: type[Exception], message: str
) -> None:
    asked: dict[str, Any] = {
        "owner": owner,
        "question": "Why?",
        "collection": "Documents",
        **change,
    }
    ask: Callable[..., Any] = workspace.ask
    with pytest.raises(error, match=message):
        ask(**asked)
    assert workspace.ledger.chats(owner) == []


def test_discarded_chats_come_back_whole_or_go_for_good_with_what_belongs_to_them(
    workspace: Workspace, owner: str, tmp_path: Path
) -> None:
    attached = [source(tmp_path, "pump.md", PUMP)]
    run = workspace.ask(owner, "Which warranty?", collection="Documents", attachments=attached)
    run.result()
    chat_id = str(run.chat_id)
    said = [one.id for one in workspace.ledger.thread(owner, chat_id)]
    assert workspace.discard_chats(owner, [chat_id, "gone"]) == [chat_id]
    assert workspace.remove_discarded() == 0, "a week has not gone by"
    with pytest.raises(NotFound):
        workspace.ask(owner, "And now?", collection="Documents", chat_id=chat_id)
    assert workspace.bring_back_chats(owner, [chat_id]) == [chat_id]
    assert [one.id for one in workspace.ledger.thread(owner, chat_id)] == said
    assert workspace.remove_discarded(utc_now()) == 0, "it is there"
    workspace.discard_chats(owner, [chat_id])
    assert len(workspace.library.collections(owner, hidden=True)) == 1
    assert workspace.remove_discarded(utc_now()) == 1
    assert workspace.bring_back_chats(owner, [chat_id]) == []
    assert workspace.library.collections(owner, hidden=True) == []


def test_a_discarded_chat_stops_answering(
    workspace: Workspace, owner: str, server: OpenAIServer
) -> None:
    server.script = lambda body: Answer("one " * 2_000, delay_s=0.02)
    run = workspace.ask(owner, "How long is the Danube?", collection="Documents")
    workspace.discard_chats(owner, [str(run.chat_id)])
    assert run.wait(60)
    assert workspace.ledger.chats(owner) == []


def test_a_chat_answers_one_question_at_a_time(
    workspace: Workspace, owner: str, server: OpenAIServer
) -> None:
    server.script = lambda body: Answer("one " * 2_000, delay_s=0.02)
    run = workspace.ask(owner, "How long is the Danube?", collection="Documents")
    with pytest.raises(ConfigError, match="still answering"):
        workspace.ask(
            owner, "And now?", collection="Documents", chat_id=run.chat_id, team_id="research"
        )
    assert run.chat_id
    assert workspace.ledger.chat(owner, run.chat_id).team == "answer"
    workspace.delete_chat(owner, run.chat_id)
    assert run.wait(60)
    assert workspace.ledger.count_chats(owner) == 0


def test_of_two_questions_to_a_chat_at_the_same_moment_one_is_refused(
    workspace: Workspace, owner: str, server: OpenAIServer
) -> None:
    first = workspace.ask(owner, "How long is the Danube?", collection="Documents")
    first.result()
    server.script = lambda body: Answer("one " * 2_000, delay_s=0.02)
    ready = threading.Barrier(2, timeout=30)

    def ask(question: str) -> Run[Any] | None:
        ready.wait()
        try:
            return workspace.ask(owner, question, collection="Documents", chat_id=first.chat_id)
        except ConfigError:
            return None

    with ThreadPoolExecutor(2) as pool:
        started = [run for run in pool.map(ask, ("And then?", "And now?")) if run]
    for run in started:
        run.stop()
        run.wait(120)
    assert len(started) == 1


def test_closing_ends_what_goes_on_and_opening_finds_it(
    settings: Settings, owner: str, server: OpenAIServer, tmp_path: Path
) -> None:
    workspace = Workspace(settings, FakeEmbedder())
    workspace.ingest(owner, "Documents", [source(tmp_path, "rivers.txt", DANUBE)]).result()
    server.script = lambda body: Answer("one " * 2_000, delay_s=0.02)
    run = workspace.ask(owner, "How long is the Danube?", collection="Documents")
    next(recorded for recorded in run if isinstance(recorded.event, TokenDelta))
    workspace.close()
    assert run.ended
    reopened = Workspace(settings, FakeEmbedder())
    assert thread(reopened, owner, run)[-1][2] == "interrupted"  # and can be gone on with
    assert reopened.library.retrieve(owner, "Documents", "Danube")[0].text == DANUBE
    reopened.close()


def test_a_workspace_can_be_opened_without_any_model_server(
    settings: Settings, owner: str, tmp_path: Path
) -> None:
    workspace = Workspace(replace(settings, openai_base_url="", openai_model=""), FakeEmbedder())
    assert [model.id for model in workspace.models()] == ["offline"]
    assert workspace.model().id == "offline"
    workspace.close()
