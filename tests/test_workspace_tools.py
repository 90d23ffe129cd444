"""Tools of built teams in chats of a workspace: what was agreed to first is remembered, and what a
server does not take of an agent's own parameters is told once.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentkit.errors import ConfigError
from agentkit.events import HumanInputRequested, ParameterRefused, ToolReturned
from agentkit.ledger import queries
from agentkit.llm.calls import wishes
from agentkit.retrieval import FakeEmbedder, Source
from agentkit.runs import Run
from agentkit.settings import Settings
from agentkit.teams import Answer as TeamAnswer
from agentkit.teams import Question
from agentkit.workspace import Workspace
from tests.servers.openai_server import Answer, OpenAIServer, tool_call
from tests.teams.built import drafts

TOOLS = '''
def send(amount: int) -> str:
    """Send money."""
    return f"sent {amount}"
'''


@pytest.fixture
def server(shared_server: OpenAIServer) -> Iterator[OpenAIServer]:
    shared_server.requests.clear()
    wishes._refused.clear()
    yield shared_server
    wishes._refused.clear()


@pytest.fixture
def workspace(tmp_path: Path, owner: str, server: OpenAIServer) -> Iterator[Workspace]:
    (tmp_path / "tools.py").write_text(TOOLS)
    settings = Settings(
        data=tmp_path / "data",
        owner=owner,
        openai_base_url=server.base_url,
        openai_model="test-model",
        tools=str(tmp_path / "tools.py"),
    )
    opened = Workspace(settings, FakeEmbedder())
    path = tmp_path / "sales.csv"
    path.write_text("city,sold\nVienna,3\nLinz,4\n")
    opened.ingest(owner, "Documents", [Source(path.name, path, "upload:sales.csv")]).result()
    yield opened
    opened.close()


def follow(run: Run[TeamAnswer], *answers: str) -> list[HumanInputRequested]:
    """The questions of a run, each answered."""
    left, asked = list(answers), list[HumanInputRequested]()
    for recorded in run:
        if isinstance(event := recorded.event, HumanInputRequested):
            asked.append(event)
            run.answer(left.pop(0), event.request_id)
    run.result()
    return asked


def calling(*calls: Answer) -> Any:
    """A model that calls these tools, one for each question, and then is done."""
    left = list(calls)

    def reply(body: dict[str, Any]) -> Answer:
        if body["messages"][-1]["role"] == "tool":
            return Answer("Done.")
        return left.pop(0)

    return reply


def test_what_was_agreed_to_first_is_remembered_on_the_branch_of_the_chat(
    workspace: Workspace, owner: str, server: OpenAIServer
) -> None:
    server.script = calling(*[tool_call("send", amount=5)] * 4)
    kept = workspace.save_team(owner, drafts.single(tools=[{"name": "send", "approval": "first"}]))
    question = Question("Send it.", "Documents", kept.key)
    first = workspace.ask(owner, question)
    assert [one.tool for one in follow(first, "approve")] == ["send"]
    chat_id = first.chat_id or ""
    second = workspace.ask(owner, Question("More.", "Documents", kept.key, chat_id=chat_id))
    assert follow(second) == []
    began = workspace.ledger.thread(owner, chat_id)[0]
    beside = workspace.ask_again(owner, chat_id, began.id, team_id=kept.key)
    assert len(follow(beside, "approve")) == 1
    elsewhere = workspace.ask(owner, question)
    assert len(follow(elsewhere, "approve")) == 1


def test_a_rejected_first_call_is_asked_about_again(
    workspace: Workspace, owner: str, server: OpenAIServer
) -> None:
    server.script = calling(*[tool_call("send", amount=5)] * 2)
    kept = workspace.save_team(owner, drafts.single(tools=[{"name": "send", "approval": "first"}]))
    first = workspace.ask(owner, Question("Send it.", "Documents", kept.key))
    assert len(follow(first, "reject\nno")) == 1
    again = Question("Send it.", "Documents", kept.key, chat_id=first.chat_id)
    assert len(follow(workspace.ask(owner, again), "approve")) == 1


def test_spreadsheets_of_the_collection_are_asked_in_sql(
    workspace: Workspace, owner: str, server: OpenAIServer
) -> None:
    sql = "select sum(sold) as sold from sales_csv_1"
    server.script = calling(tool_call("query_tables", sql=sql))
    team = drafts.single(tools=[{"name": "query_tables"}])
    run = workspace.ask(owner, "How many?", collection="Documents", team=team)
    run.result()
    told = [one.event.content for one in run if isinstance(one.event, ToolReturned)]
    assert told == ["sold\n7"]


def test_pages_are_fetched_only_where_the_installation_allows_it(
    workspace: Workspace, owner: str, server: OpenAIServer
) -> None:
    team = drafts.single(tools=[{"name": "fetch_page"}])
    with pytest.raises(ConfigError, match="lets agents fetch no pages"):
        workspace.ask(owner, "What is new?", collection="Documents", team=team).result()
    settings = Settings(**{**vars(workspace.settings), "fetch_pages": True})
    server.script = calling(tool_call("fetch_page", url=f"{server.base_url}/models"))
    run = workspace.with_settings(settings).ask(owner, "Look.", collection="Documents", team=team)
    follow(run, "approve")
    [told] = [one.event.content for one in run if isinstance(one.event, ToolReturned)]
    assert "is not a public address" in told


def test_what_a_server_does_not_take_of_an_agent_is_told_once_in_a_chat(
    workspace: Workspace, owner: str, server: OpenAIServer
) -> None:
    def refuse(body: dict[str, Any]) -> Answer:
        for name in ("response_format", "temperature", "tool_choice"):
            if name in body:
                return Answer(status=400, error={"message": f"Unsupported parameter: '{name}'"})
        return Answer("Done.")

    server.script = refuse
    own = {"temperature": 0.3, "response_format": "json_object", "tool_choice": "auto", "seed": 4}
    kept = workspace.save_team(owner, drafts.single(llm=own))
    first = workspace.ask(owner, Question("Well?", "Documents", kept.key))
    assert first.result().text == "Done."
    wishes._refused.clear()  # as after a restart
    second = workspace.ask(owner, Question("And?", "Documents", kept.key, chat_id=first.chat_id))
    assert second.result().text == "Done."
    told = queries.told(workspace.ledger, owner, [first.id, second.id], ParameterRefused)
    refused = sorted((run_id == first.id, one.parameter) for run_id, one in told)
    names = ["response_format", "temperature", "tool_choice"]
    assert refused == [(True, name) for name in names]
    assert sum(name in body for body in server.chats for name in names) == 3 + 2 + 1
    assert all(body["seed"] == 4 for body in server.chats)


def test_an_agent_without_tools_is_not_asked_which_to_choose(
    workspace: Workspace, owner: str, server: OpenAIServer
) -> None:
    server.script = lambda body: Answer("Done.")
    draft = drafts.single(llm={"tool_choice": "auto"})
    del draft["agents"][0]["documents"]
    workspace.ask(owner, "Well?", collection="Documents", team=draft).result()
    assert "tool_choice" not in server.chats[-1]
