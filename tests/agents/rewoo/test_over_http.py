"""ReWOO over a real local model server: a wrong plan, a failed step and planning again, a changed
plan, a server that fails.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from agentkit.agents.rewoo import ActionExecutor, AgentStatusCode, Plan, ReWOO
from agentkit.llm.calls.openai_client import OpenAIClient
from agentkit.llm.model import Model
from tests.servers.openai_server import Answer, OpenAIServer

FAILING = "Plan: find Ann\n#E1 = search[Ann]\nPlan: find N\n#E2 = search[nobody]"


def search(query: str) -> str:
    """Looks a name up."""
    if query == "nobody":
        raise LookupError("no such person")
    return f"{query} is tall"


@contextmanager
def served(*replies: str | Answer, replans: int = 0) -> Iterator[tuple[ReWOO, OpenAIServer]]:
    """A ReWOO whose model gives these replies over HTTP, in turn."""
    queue = list(replies)

    def answer(_body: object) -> Answer:
        reply = queue.pop(0)
        return reply if isinstance(reply, Answer) else Answer(reply)

    with OpenAIServer(answer) as server:
        model = Model("x/test", "Test", OpenAIClient(server.base_url), "test-model", "test")
        yield ReWOO(model, ActionExecutor(search), replans=replans), server


def test_a_wrong_plan_a_failure_and_planning_again() -> None:
    replies = (
        "Plan: a\n#E1 = look[Ann]",
        FAILING,
        "Plan: find Bob\n#E3 = search[Bob, friend of #E1]",
        "Both are tall.",
    )
    with served(*replies, replans=1) as (agent, server):
        given = agent.chat("Who is tall?")
        asked = [body["messages"][-1] for body in server.chats]
    assert given.response == "Both are tall."
    assert [action.format_result() for action in given.actions] == [
        "Ann is tall",
        "Bob, friend of Ann is tall is tall",
    ]
    assert "unknown tool 'look'" in asked[1]["content"]
    assert "[failed: no such person]" in asked[2]["content"]
    assert "Bob, friend of Ann is tall is tall" in asked[3]["content"]


def test_a_changed_plan() -> None:
    with served(FAILING, "Both are tall.") as (agent, server):
        data = agent.plan("Who is tall?").to_json()
        data["steps"][1]["arguments"] = "Bob"
        given = agent.run(Plan.from_json(data), "Who is tall?")
        assert "Bob is tall" in server.chats[-1]["messages"][0]["content"]
    assert (given.response, [action.errmsg for action in given.actions]) == (
        "Both are tall.",
        [None, None],
    )


def test_a_server_that_refuses_is_a_result() -> None:
    with served(FAILING, Answer(status=401, error={"message": "wrong key"})) as (agent, _):
        given = agent.chat("Who is tall?")
    assert given.state == AgentStatusCode.SERVER_ERR
    assert "ModelAuthFailed" in str(given.errmsg)
    assert len(given.actions) == 2
