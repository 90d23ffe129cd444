"""What agents ask their models is in the ledger once, under the agent that asked."""

from __future__ import annotations

from typing import Any

import pytest

from agentkit import ConversableAgent, GroupChat, GroupChatManager, runs
from agentkit.core.io import IOStream
from agentkit.ledger import Ledger
from tests.conversation.cast import Console, agent, call, modelled

BOTH = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


def rows(ledger: Ledger, work: Any) -> list[tuple[str, int]]:
    """(agent, tokens) of each call in the order in which they ended."""

    def quiet() -> Any:
        with IOStream.set_default(Console()):
            return work()

    run = runs.start(quiet, kind="chat", ledger=ledger)
    run.result()
    sql = (
        "select agent, input_tokens + output_tokens as tokens from llm_calls where run_id = ? order"
        " by finished_at, id"
    )
    return [(row["agent"], row["tokens"]) for row in ledger.database.rows(sql, [run.id])]


def total(one: ConversableAgent) -> int:
    usage = one.get_total_usage()
    assert usage is not None
    return int(usage["scripted"]["total_tokens"])


@BOTH
def test_nested_chats_and_summaries(ledger: Ledger, is_async: bool) -> None:
    (bob, _), (cid, _) = modelled("bob", "in short"), modelled("cid", "from inside")
    bob.register_nested_chats([{"recipient": cid, "max_turns": 1}], trigger=lambda sender: True)
    settings = {"message": "hi", "max_turns": 1, "summary_method": "reflection_with_llm"}
    found = rows(ledger, lambda: call(is_async, agent("ann"), "initiate_chat", bob, **settings))
    assert found == [("cid", total(cid)), ("bob", total(bob))]


@BOTH
def test_the_choice_of_speakers(ledger: Ledger, is_async: bool) -> None:
    (ann, _), (bob, _) = modelled("ann", "a"), modelled("bob", "b")
    group = GroupChat([ann, bob, agent("cid")], [], max_round=3)
    chief, _ = modelled("chief", "nobody", "ann", "bob")
    manager = GroupChatManager(group, "manager", llm_config=chief.llm_config)
    found = rows(
        ledger, lambda: call(is_async, agent("dan"), "initiate_chat", manager, message="hi")
    )
    choices = ["speaker_selection_agent"] * 2
    assert [name for name, _ in found] == [*choices, "ann", choices[0], "bob"]
    assert sum(tokens for name, tokens in found if name in choices) == total(manager)
    assert [tokens for name, tokens in found if name not in choices] == [total(ann), total(bob)]
