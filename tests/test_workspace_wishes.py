"""What a chat is asked with beside its question: instructions, parameters and several collections
reach the models and the searches, and come again when it is asked or gone on with once more.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentkit.errors import NotFound, WrongArgument
from agentkit.events import ParameterRefused, Retrieved
from agentkit.ledger import queries
from agentkit.llm.calls import wishes
from agentkit.llm.calls.wishes import Parameters
from agentkit.retrieval import FakeEmbedder, SearchOptions, Source
from agentkit.settings import Settings
from agentkit.teams import Question
from agentkit.workspace import Workspace, chat_settings
from agentkit.workspace.chat_settings import UNSET, ChatSettings
from tests.servers.openai_server import Answer, OpenAIServer, answer_from_passages

RIVER = "The Danube is 2,850 kilometres long and ends in the Black Sea."
PUMP = "The pump at the Danube has a warranty of three years."
WISHED = Parameters(temperature=0.2, seed=7)


@pytest.fixture
def server(shared_server: OpenAIServer) -> Iterator[OpenAIServer]:
    shared_server.script = answer_from_passages
    shared_server.requests.clear()
    wishes._refused.clear()
    yield shared_server
    wishes._refused.clear()


@pytest.fixture
def workspace(tmp_path: Path, owner: str, server: OpenAIServer) -> Iterator[Workspace]:
    settings = Settings(
        data=tmp_path / "data",
        owner=owner,
        openai_base_url=server.base_url,
        openai_model="test-model",
    )
    opened = Workspace(settings, FakeEmbedder())
    for collection, text in {"Rivers": RIVER, "Pumps": PUMP}.items():
        path = tmp_path / f"{collection}.txt"
        path.write_text(text)
        source = Source(path.name, path, f"upload:{path.name}")
        opened.ingest(owner, collection, [source]).result()
    yield opened
    opened.close()


def question(**facts: Any) -> Question:
    given = {"collection": "Rivers", "instructions": "Answer in French.", "parameters": WISHED}
    return Question("How long is the Danube?", **{**given, **facts})


def wished_in(body: dict[str, Any]) -> tuple[Any, ...]:
    return body.get("temperature"), body.get("seed"), "French" in str(body["messages"][0])


def test_the_request_holds_what_the_question_wishes_for_and_so_does_the_same_again(
    workspace: Workspace, owner: str, server: OpenAIServer
) -> None:
    first = workspace.ask(owner, question())
    first.result()
    asked, *_ = workspace.ledger.thread(owner, first.chat_id or "")
    assert Question.from_message(asked).instructions == "Answer in French."
    assert Question.from_message(asked).parameters == WISHED
    workspace.ask_again(owner, first.chat_id or "", asked.id).result()
    one, other = server.chats
    assert one == other
    assert wished_in(one) == (0.2, 7, True)


def test_every_agent_of_a_team_is_told_and_nobody_else(
    workspace: Workspace, owner: str, server: OpenAIServer
) -> None:
    first = workspace.ask(owner, question(team_id="research"))
    first.result()
    workspace.ask(owner, question(team_id="answer", chat_id=first.chat_id)).result()
    told = {wished_in(body) for body in server.chats if "Rewrite" not in str(body["messages"][0])}
    helper = [body for body in server.chats if "Rewrite" in str(body["messages"][0])]
    assert told == {(0.2, 7, True)}
    assert [wished_in(body) for body in helper] == [(None, None, False)]


def test_a_refusal_is_told_once_in_a_chat_and_stands_with_the_answer(
    workspace: Workspace, owner: str, server: OpenAIServer
) -> None:
    def refuse(body: dict[str, Any]) -> Answer:
        if "seed" in body:
            return Answer(status=400, error={"message": "Unsupported parameter: 'seed'"})
        return answer_from_passages(body)

    server.script = refuse
    first = workspace.ask(owner, question())
    first.result()
    wishes._refused.clear()  # as after a restart
    second = workspace.ask(owner, question(chat_id=first.chat_id))
    second.result()
    told = list(queries.told(workspace.ledger, owner, [first.id, second.id], ParameterRefused))
    assert [(run_id, event.parameter) for run_id, event in told] == [(first.id, "seed")]
    answers = [
        said
        for said in workspace.ledger.thread(owner, first.chat_id or "")
        if said.role == "assistant"
    ]
    assert [len(said.extra.get("refused", ())) for said in answers] == [1, 0]
    assert sum("seed" in body for body in server.chats) == 1


def test_several_collections_are_searched_each_by_its_own_settings_and_cited_by_name(
    workspace: Workspace, owner: str, server: OpenAIServer
) -> None:
    workspace.library.set_options(owner, "Pumps", SearchOptions(mode="lexical", top_k=1))
    run = workspace.ask(owner, question(also=("Pumps",)))
    answer = run.result()
    (search,) = [one.event for one in run if isinstance(one.event, Retrieved)]
    assert search.collection == "Rivers, Pumps"
    by_name = {hit["collection"]: hit["scores"] for hit in search.hits}
    assert "dense" in by_name["Rivers"]
    assert "dense" not in by_name["Pumps"]
    assert [hit["rank"] for hit in search.hits] == [1, 2]
    assert {one.collection for one in answer.citations} <= {"Rivers", "Pumps"}
    assert "Pumps: Pumps.txt" in str(server.chats[-1]["messages"])


def test_one_collection_is_searched_as_ever(workspace: Workspace, owner: str) -> None:
    answer = workspace.ask(owner, question()).result()
    assert {one.collection for one in answer.citations} == {""}


def test_a_collection_that_is_gone_is_told_and_passed_over_when_it_is_asked_again(
    workspace: Workspace, owner: str
) -> None:
    first = workspace.ask(owner, question(also=("Pumps",)))
    first.result()
    workspace.library.delete_collection(owner, "Pumps")
    with pytest.raises(NotFound, match="Pumps"):
        workspace.ask(owner, question(also=("Pumps",)))
    asked, *_ = workspace.ledger.thread(owner, first.chat_id or "")
    again = workspace.ask_again(owner, first.chat_id or "", asked.id)
    assert again.result().text


def test_a_question_keeps_what_it_wishes_for_as_json() -> None:
    made = question(also=("Pumps",))
    assert Question.from_json(made.to_json()) == made
    assert "instructions" not in Question("?").to_json()
    with pytest.raises(WrongArgument):
        question(instructions="a" * 1_000_000)


def test_a_new_chat_keeps_what_its_first_question_was_asked_with(
    workspace: Workspace, owner: str
) -> None:
    run = workspace.ask(owner, question(also=("Pumps",)))
    run.result()
    kept = chat_settings.read(workspace.ledger, owner, run.chat_id or "")
    assert kept == ChatSettings(("Pumps",), "Answer in French.", WISHED)
    workspace.ask(owner, Question("And now?", "Rivers", chat_id=run.chat_id)).result()
    assert chat_settings.read(workspace.ledger, owner, run.chat_id or "") == kept


@pytest.mark.parametrize("stored", [{}, {"also": 3}, {"parameters": {"seed": "abc"}}, {"x": 1}])
def test_nonsense_that_is_stored_sets_nothing(stored: dict[str, Any]) -> None:
    assert chat_settings.from_json(stored) == UNSET
