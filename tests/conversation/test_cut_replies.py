"""A chat tells which replies of its models were cut."""

from __future__ import annotations

import pytest

from agentkit.conversation.model import CutReply
from agentkit.llm.calls.scripted import scripted_model
from tests.conversation.cast import agent, chat

BOTH = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


def config(*replies: object) -> dict[str, object]:
    return {"config_list": [{"model": scripted_model(replies)}], "cache_seed": None}  # type: ignore[arg-type]


@BOTH
def test_cut_replies_are_in_the_result(is_async: bool) -> None:
    cut = {"content": "The list goes on with", "finish_reason": "length"}
    ann = agent("ann", llm_config=config("Go on.", "Thank you."))
    bob = agent("bob", llm_config=config(cut, {"content": "the end", "reply_end": "broken_off"}))
    result = chat(is_async, ann, bob, max_turns=2)
    assert result.cut_replies == [CutReply("bob", "token_limit"), CutReply("bob", "broken_off")]
    assert result.chat_history[1]["content"] == "The list goes on with"


@BOTH
def test_a_cut_summary_is_one_of_them_and_chats_do_not_share_them(is_async: bool) -> None:
    summary = {"content": "They talked about", "finish_reason": "length"}
    ann = agent("ann")
    bob = agent("bob", llm_config=config("Yes.", summary, "Yes."))
    first = chat(is_async, ann, bob, max_turns=1, summary_method="reflection_with_llm")
    assert first.cut_replies == [CutReply("bob", "token_limit")]
    assert chat(is_async, ann, bob, max_turns=1).cut_replies == []


def test_a_chat_tells_of_the_chats_within_it() -> None:
    expert = agent("expert", llm_config=config({"content": "Half an", "finish_reason": "length"}))
    bob = agent("bob")
    bob.register_nested_chats([{"recipient": expert, "max_turns": 1}], trigger=lambda _: True)
    result = chat(False, agent("ann"), bob, max_turns=1)
    assert [one.agent for one in result.cut_replies] == ["expert"]
