"""Every team, and agents of Python, for ten questions on servers that refuse what chat templates
refuse.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

import agentkit.autogen as autogen
from agentkit import runs
from agentkit.core.io import quietly
from agentkit.errors import AgentkitError
from agentkit.events import Compressed, ModelReplied
from agentkit.llm import Model
from agentkit.llm.calls.openai_client import OpenAIClient
from agentkit.messages import Message, message
from agentkit.retrieval import Hit
from agentkit.teams import Question, Task, team
from tests.servers.openai_server import Answer, OpenAIServer
from tests.servers.strict import refuse_as_gemma, refuse_as_mistral, strict
from tests.teams.stage import Played, hit

WINDOW = 3_000
LONG = "The river flows from the mountains to the sea, past many towns. " * 12
TEAMS = [
    "answer",
    "research",
    "assistant",
    "group:round_robin",
    "group:auto",
    "group:random",
    "plan",
    "tools",
]
TEMPLATES = pytest.mark.parametrize("template", [refuse_as_mistral, refuse_as_gemma])


def _replies(body: Mapping[str, Any]) -> Answer:
    """A model that plans when it is to, searches where it can, and answers at length."""
    last = body["messages"][-1]
    said = " ".join(str(each.get("content")) for each in body["messages"])
    if "You moderate" in said:
        return Answer("Writer" if "Critic:" in said else "Critic")
    if "#E1" in said and "Plan:" in said and "solve" not in said.lower():
        return Answer("Plan: look\n#E1 = search_documents[river]")
    if "tools" in body and last["role"] != "tool":
        function = {"name": "search_documents", "arguments": '{"query": "river"}'}
        return Answer(tool_calls=[{"id": "123456789", "type": "function", "function": function}])
    return Answer(f"It is long [1]. {LONG} TERMINATE")


def _look_up(query: str) -> list[Hit]:
    return [hit(1, f"River 1. {LONG}")]


class _Chat:
    """Question after question to a team, with what was said before."""

    def __init__(self, team_id: str, model: Model) -> None:
        self._team, self._model = team(team_id), model
        self._history: list[Message] = []
        self._told: list[tuple[int, Compressed]] = []

    def ask(self, question: str) -> Played:
        task = Task(
            Question(question),
            self._model,
            _look_up,
            list(self._history),
            "answer",
            "question",
            shortened=lambda: self._told[::-1],
        )
        run = runs.start(lambda: self._team.work(task), kind="chat", owner="o", chat_id="chat")
        played = Played([one.event for one in run], result=run.result())
        self._told += [(len(self._history), event) for event in played.of(Compressed)]
        self._history += [message("user", question), message("assistant", played.final.content)]
        return played


@TEMPLATES
@pytest.mark.parametrize("team_id", TEAMS)
def test_a_team_answers_ten_questions(team_id: str, template: Callable[..., str]) -> None:
    with OpenAIServer(strict(template, _replies)) as server:
        client = OpenAIClient(server.base_url, "")
        model = Model("m", "m", client, "test-model", server.base_url, WINDOW)
        chat = _Chat(team_id, model)
        played = [chat.ask(f"How long is river {number}?") for number in range(10)]
    assert all("It is long" in one.final.content for one in played)
    failed = [event for one in played for event in one.of(ModelReplied) if event.status == "failed"]
    assert len(failed) <= 2, "only what had to be learned was refused"
    if team_id == "assistant":
        assert any(event.ok for one in played for event in one.of(Compressed))


@TEMPLATES
def test_agents_of_python_talk_in_a_group_and_sum_up(template: Callable[..., str]) -> None:
    def replies(body: dict[str, Any]) -> Answer:
        said = str(body["messages"][-1]["content"])
        if "Read the above conversation" in said:
            return Answer("Ann" if len(body["messages"]) % 2 else "Bob")
        return Answer("They talked." if "Sum it up" in said else "I have said so.")

    with OpenAIServer(strict(template, replies)) as server, quietly(True):
        entry = {"model": "test-model", "base_url": server.base_url, "api_key": "none"}
        config = {"config_list": [entry], "cache_seed": None}
        ann, bob = (autogen.ConversableAgent(name, llm_config=config) for name in ("Ann", "Bob"))
        group = autogen.GroupChat([ann, bob], [], max_round=8)
        manager = autogen.GroupChatManager(group, llm_config=config)
        user = autogen.UserProxyAgent("User", human_input_mode="NEVER", code_execution_config=False)
        ended = user.initiate_chat(
            manager,
            message="Talk.",
            summary_method="reflection_with_llm",
            summary_args={"summary_prompt": "Sum it up."},
        )
        refused = sum(bool(template(body["messages"])) for body in server.chats)
    assert ended.summary == "They talked."
    assert len(group.messages) == 8
    assert refused <= 2


def test_without_another_order_the_team_would_fail() -> None:
    """That the servers of these tests refuse what teams send."""
    with OpenAIServer(strict(refuse_as_mistral, _replies)) as server:
        client = OpenAIClient(server.base_url, "")
        said = [message("user", "One", "User"), message("user", "Two", "Writer")]
        with pytest.raises(AgentkitError, match="rejects the request"):
            client.create({"model": "test-model", "messages": said})
