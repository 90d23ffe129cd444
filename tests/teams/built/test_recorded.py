"""What was recorded of pyautogen 0.6.0 comes of teams that stand in documents, too."""

from __future__ import annotations

from typing import Any

import pytest

from agentkit.llm.calls.scripted import scripted_model
from agentkit.teams.built.document import read_document
from agentkit.teams.built.team import build_team
from tests.differential.kit import recorded
from tests.teams.built import drafts
from tests.teams.stage import Played, asked, play


def expected(area: str, name: str) -> Any:
    return recorded(area)[name]["expected"]


def at_work(draft: dict[str, Any], replies: list[str], question: str) -> tuple[Played, list[Any]]:
    model = scripted_model(replies)
    played = play(build_team(read_document(draft), "my-team:1"), model, question)
    assert played.error is None
    return played, asked(model)


def speaking(**flow: Any) -> dict[str, Any]:
    """Ann begins as a person who says the same each time; Bob and Cid have models."""
    ann = drafts.agent("Ann", role="person", llm=None, default_auto_reply="Ann speaks")
    draft = drafts.group(**flow)
    return {**draft, "agents": [ann, *draft["agents"][1:]]}


def said(played: Played) -> list[list[str]]:
    return [[one.sender, one.content] for one in played.inner]


def test_round_robin() -> None:
    replies = ["Bob speaks", "Cid speaks"] * 2
    played, _ = at_work(speaking(max_round=7), replies, "start")
    assert said(played) == expected("group", "round_robin")


TRANSITIONS = {
    "allowed": {"Ann": ["Cid"], "Cid": ["Cid", "Bob"], "Bob": ["Ann"]},
    "disallowed": {"Ann": ["Bob", "Ann"], "Bob": ["Cid"]},
}


@pytest.mark.parametrize("kind", TRANSITIONS)
def test_transitions(kind: str) -> None:
    wanted = expected("group_members", f"{kind}_transitions")
    wanted = wanted[0] if kind == "allowed" else wanted
    order = [{"after": name, "speakers": next_} for name, next_ in TRANSITIONS[kind].items()]
    flow = {"transitions": order, "speaker_transitions_type": kind, "max_round": 8}
    replies = [text for name, text in wanted if name != "Ann"]
    played, _ = at_work(speaking(**flow), replies, "start")
    assert said(played) == wanted


def test_a_queue_carries_summaries_over() -> None:
    chats = [
        {"sender": "boss", "recipient": name, "message": message, "max_turns": 1}
        for name, message in (("b", "one"), ("c", "two"))
    ]
    agents = [drafts.agent("boss", llm=None), drafts.agent("b"), drafts.agent("c")]
    draft = {"name": "Line", "agents": agents, "flow": {"kind": "queue", "chats": chats}}
    played, requests = at_work(draft, ["from b", "from c"], "?")
    _, with_b, with_c = expected("queues", "a_queue_carries_summaries_over")
    assert [request[-1]["content"] for request in requests] == [with_b[0], with_c[0]]
    assert played.final.content == with_c[1]


def test_nested_chats_answer_with_the_last_summary() -> None:
    nested = [
        {"sender": "Helper", "recipient": name, "message": message, "max_turns": 1}
        for name, message in (("x", "one"), ("y", "two"))
    ]
    draft = drafts.pair(nested=nested, max_turns=1)
    draft["agents"] += [drafts.agent("x"), drafts.agent("y")]
    outer, with_x, with_y = expected("nested", "nested_chats_answer_with_the_last_summary")
    played, requests = at_work(draft, [with_x[1], with_y[1]], outer[0])
    assert [request[-1]["content"] for request in requests] == [with_x[0], with_y[0]]
    assert played.final.content == outer[1]
