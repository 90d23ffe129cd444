"""A chat is a session: agents remember what they said and found for earlier questions, also after
a restart, on their own branch, and as much as fits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentkit.llm import Model
from agentkit.llm.calls.scripted import ScriptedClient, scripted_model
from agentkit.messages import text_of
from agentkit.retrieval import FakeEmbedder
from agentkit.retrieval.store.originals import sources_from_paths
from agentkit.runs import Run
from agentkit.settings import Settings
from agentkit.workspace import Workspace
from tests.teams.stage import call

OWNER = "me"
DANUBE = "The Danube is 2,850 kilometres long, from the Black Forest to the Black Sea."
REMARK = "Nothing at all is missing here, as far as I can see."
VOLGA = "The Volga is the longest river in Europe, and flows into the Caspian Sea."


class Scripted(Workspace):
    """A workspace with one model, and two documents in a collection."""

    def __init__(self, folder: Path, model: Model) -> None:
        self._chosen = model
        super().__init__(Settings(data=folder / "data"), FakeEmbedder())
        if not self.library.collections(OWNER):
            self.library.create_collection(OWNER, "Rivers")
            for name, text in (("danube", DANUBE), ("volga", VOLGA)):
                (folder / f"{name}.txt").write_text(text)
            given = sources_from_paths([folder / "danube.txt", folder / "volga.txt"])
            self.ingest(OWNER, "Rivers", given).result()

    def model(self, model_id: str = "") -> Model:
        """That one."""
        return self._chosen


@contextmanager
def opened(folder: Path, model: Model) -> Iterator[Scripted]:
    workspace = Scripted(folder, model)
    try:
        yield workspace
    finally:
        workspace.close()


def looks_once(request: Mapping[str, Any]) -> Any:
    """Searches for a question about a river, answers all others from what it knows."""
    question = [each for each in request["messages"] if each.get("name") == "User"][-1]
    system = str(request["messages"][0]["content"])
    last = request["messages"][-1]
    if "you are the critic" in system:
        return "Nothing is missing."
    if "you are the writer" in system or last["role"] == "tool":
        cited = "101" if "again" in str(question["content"]) else "1"
        return f"It is 2,850 kilometres long [{cited}].\n\nTERMINATE"
    if "Danube" in str(question["content"]):
        return call("search_documents", query="How long is the Danube?")
    return "It is 2,850 kilometres long [101]."


def ask(workspace: Workspace, question: str, chat: str | None, team: str, parent: str = "") -> Any:
    run: Run[Any] = workspace.ask(
        OWNER,
        question,
        collection="Rivers",
        team_id=team,
        chat_id=chat,
        parent_id=parent or None,
    )
    return run, run.result()


def sent(model: Model) -> list[list[dict[str, Any]]]:
    assert isinstance(model.client, ScriptedClient)
    return [request["messages"] for request in model.client.requests]


def told(messages: list[dict[str, Any]]) -> str:
    return "\n".join(text_of(each.get("content")) for each in messages)


@pytest.mark.parametrize("team", ["group:round_robin", "assistant", "tools"])
def test_agents_remember_what_they_found_and_cite_it_again(tmp_path: Path, team: str) -> None:
    with opened(tmp_path, scripted_model(looks_once)) as workspace:
        run, first = ask(workspace, "How long is the Danube?", None, team)
        assert [one.text for one in first.citations] == [DANUBE]
        before = len(sent(workspace.model()))
        _, live = ask(workspace, "Tell me again?", run.chat_id, team)
        requests = sent(workspace.model())[before:]
        parent = workspace.ledger.thread(OWNER, run.chat_id)[-1].id
    assert f'<passage number="101" source="danube.txt, line 1">\n{DANUBE}' in told(requests[0])
    assert "It is 2,850 kilometres long [101]." in told(requests[0])
    assert VOLGA not in told(requests[0]), "what was found and not cited goes"
    assert [(one.marker, one.text) for one in live.citations] == [(101, DANUBE)]
    assert [one.verdict for one in live.checks] == ["supported"]
    with opened(tmp_path, scripted_model(looks_once)) as workspace:
        first = _find_answer(workspace, run)
        _, again = ask(workspace, "Tell me again?", run.chat_id, team, first)
        assert sent(workspace.model()) == requests, "the same after a restart, on the same branch"
        assert again.citations == live.citations
        _, later = ask(workspace, "And again?", run.chat_id, team, parent)
    assert [(one.marker, one.text) for one in later.citations] == [(101, DANUBE)], "and so on"


def _find_answer(workspace: Workspace, run: Run[Any]) -> str:
    thread = workspace.ledger.thread(OWNER, run.chat_id or "")
    return next(said.id for said in thread if said.run_id == run.id and said.recipient == "user")


def test_another_team_knows_the_answers_and_not_the_work(tmp_path: Path) -> None:
    with opened(tmp_path, scripted_model(looks_once)) as workspace:
        run, _ = ask(workspace, "How long is the Danube?", None, "group:round_robin")
        before = len(sent(workspace.model()))
        ask(workspace, "And now?", run.chat_id, "assistant")
        (request, *_) = sent(workspace.model())[before:]
        assert "How long is the Danube?" in told(request)
        assert "It is 2,850 kilometres long ." in told(request)
        assert "Nothing is missing." not in told(request)
        before = len(sent(workspace.model()))
        ask(workspace, "Go on?", run.chat_id, "group:random")
        (request, *_) = sent(workspace.model())[before:]
        assert "Nothing is missing." in told(request), "the group again, which knows both"
        assert "And now?" in told(request)


def test_of_much_work_the_newest_is_told_that_fits_into_the_window(tmp_path: Path) -> None:
    def wordy(request: Mapping[str, Any]) -> Any:
        system = str(request["messages"][0]["content"])
        if "you are the critic" in system:
            return f"{REMARK} " * 7 + REMARK
        return looks_once(request)

    model = replace(scripted_model(wordy), context_window=6_000)
    with opened(tmp_path, model) as workspace:
        chat = None
        for number in range(15):
            question = f"How long is the Danube, number {number}?"
            run, _ = ask(workspace, question, chat, "group:round_robin")
            chat = run.chat_id
        text = told(sent(model)[-1])
    remarks = text.count(f"{REMARK} " * 7 + REMARK)
    assert 2 <= remarks < 15
    assert "number 0?" in text, "the questions are told all the same"


def test_what_agents_said_of_a_deleted_document_is_still_known(tmp_path: Path) -> None:
    with opened(tmp_path, scripted_model(looks_once)) as workspace:
        run, _ = ask(workspace, "How long is the Danube?", None, "group:round_robin")
        for document in workspace.library.documents(OWNER, "Rivers"):
            workspace.library.delete_documents(OWNER, [document.id])
        _, answer = ask(workspace, "Tell me again?", run.chat_id, "group:round_robin")
    assert [one.text for one in answer.citations] == [DANUBE]
