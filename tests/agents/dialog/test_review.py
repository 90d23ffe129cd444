"""What must not get out (thoughts, by summaries, calls, streams), and replies that no well-behaved
model gives.
"""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from pydantic import BaseModel

import agentkit
from agentkit import (
    ConversableAgent,
    DialogAgent,
    GroupChat,
    GroupChatManager,
    JsonParsingError,
    MarkdownJsonDictParser,
    Msg,
    initiate_chats,
    msghub,
    register_function,
)
from agentkit.agentscope import AgentBase, TemporaryMemory
from agentkit.errors import BadModelReply, WrongArgument, WrongType
from agentkit.llm.calls.scripted import ScriptedClient, scripted_model
from agentkit.teams.extraction import extract, from_text
from tests.agents.dialog.cast import asked_last, fenced, hearing, says, thinker, turn
from tests.conversation.cast import Console
from tests.teams.extraction.papers import Typed
from tests.timing import processor_time

CALL = {"id": "1", "type": "function", "function": {"name": "double", "arguments": '{"n": 21}'}}


def double(n: int) -> int:
    return 2 * n


def plain(name: str, **options: Any) -> ConversableAgent:
    return ConversableAgent(name, human_input_mode="NEVER", **options)


# Thoughts stay with the agent


def test_a_summary_and_what_is_carried_over_have_no_thoughts() -> None:
    ann, _ = thinker("Ann", [turn("secret", "hello")])
    bob, client = thinker("Bob", [turn("t", "hi")])
    user = plain("user")
    with hearing():
        first, _ = initiate_chats(
            [
                {"sender": user, "recipient": ann, "message": "One.", "max_turns": 1},
                {"sender": user, "recipient": bob, "message": "Two.", "max_turns": 1},
            ]
        )
    assert first.summary == "hello"
    assert "hello" in str(client.requests)
    assert "secret" not in str(client.requests)
    assert "secret" in ann.chat_messages[user][-1]["content"]


def test_a_model_that_reflects_on_the_chat_reads_no_thoughts() -> None:
    ann, client = thinker("Ann", [turn("secret", "hello"), "They greeted."])
    with hearing():
        result = plain("user").initiate_chat(
            ann, message="Hi.", max_turns=1, summary_method="reflection_with_llm"
        )
    assert result.summary == "They greeted."
    assert "hello" in str(client.requests[-1])
    assert "secret" not in str(client.requests[-1])


def test_a_nested_chat_answers_with_what_was_said() -> None:
    ann, _ = thinker("Ann", [turn("secret", "hello")])
    outer = plain("outer")
    outer.register_nested_chats(
        [{"recipient": ann, "max_turns": 1, "message": "Ask."}], trigger=lambda sender: True
    )
    with hearing():
        assert plain("user").initiate_chat(outer, message="Hi.", max_turns=1).summary == "hello"


def test_the_last_message_is_what_the_other_knows_and_the_history_can_be_copied() -> None:
    ann, _ = thinker("Ann", [turn("secret", "hello", end=True)])
    user = plain("user")
    with hearing():
        user.initiate_chat(ann, message="Hi.", max_turns=1)
    last = ann.last_message(user)
    assert last is not None
    assert (last["content"], last["metadata"]) == ("hello", {"end_discussion": True})
    kept = copy.deepcopy(ann.chat_messages[user][-1])
    assert (json.loads(kept["content"])["thought"], kept.told) == ("secret", "hello")  # type: ignore[attr-defined]
    assert ann.last_message(user) == last


@pytest.mark.parametrize(
    ("beside", "heard"),
    [
        (turn("secret", "one moment"), "one moment"),
        (fenced('{"thought": "secret"'), ""),
        (None, ""),
    ],
)
def test_what_stands_beside_a_call_is_filtered_too(beside: str | None, heard: str | None) -> None:
    ann, _ = thinker("Ann", [{"content": beside, "tool_calls": [CALL]}, turn("t", "It is 42.")])
    bob, client = thinker("Bob", [turn("t", "I see.")])
    host = plain("host")
    register_function(double, caller=ann, executor=host, description="Twice the number.")
    group = GroupChat([host, ann, bob], [], max_round=5, speaker_selection_method="round_robin")
    with hearing():
        host.initiate_chat(GroupChatManager(group), message="Twice 21?")
    contents = [message["content"] for message in group.messages]
    assert contents[:2] == ["Twice 21?", heard]
    assert "secret" not in str(client.requests)
    assert "secret" not in str(group.messages)


def test_in_a_call_the_agent_knows_what_it_thought_beside_its_calls() -> None:
    ann, client = thinker(
        "Ann", [{"content": turn("secret", "wait"), "tool_calls": [CALL]}, turn("t", "It is 42.")]
    )
    register_function(double, caller=ann, executor=ann, description="Twice the number.")
    with hearing():
        assert ann(Msg("user", "Twice 21?", "user")).content == "It is 42."
    called = next(
        message for message in client.requests[-1]["messages"] if message.get("tool_calls")
    )
    assert "secret" in called["content"]


def test_a_stream_shows_no_thoughts_on_the_console() -> None:
    config, _ = says([turn("secret", "hello")])
    ann, _ = thinker("Ann", [])
    talker = agentkit.DictDialogAgent("Ann", "You are Ann.", llm_config={**config, "stream": True})
    talker.set_parser(ann.parser)  # type: ignore[arg-type]
    console = Console()
    with agentkit.IOStream.set_default(console):
        talker(Msg("user", "Hi.", "user"))
    assert "hello" in console.text
    assert "secret" not in console.text


def test_others_do_not_hear_the_reasoning_of_a_dialog_agent() -> None:
    config, _ = says(["<think>secret</think>\n\nHello.", "<think>only thoughts"])
    ann, bob = DialogAgent("Ann", "You are Ann.", llm_config=config), AgentBase("Bob")
    with hearing(), msghub([ann, bob]):
        assert ann(Msg("user", "Hi.", "user")).content == "Hello."
        with pytest.raises(BadModelReply, match="empty reply"):
            ann(Msg("user", "Again.", "user"))
    assert bob.memory is not None
    assert [message.content for message in bob.memory.get_memory()] == ["Hello."]


# Hubs and memories


def test_an_announcement_that_is_none_opens_no_hub() -> None:
    ann, bob = AgentBase("Ann"), AgentBase("Bob")
    with pytest.raises(WrongArgument, match="must be a Msg"), msghub([ann, bob], "Hello."):  # type: ignore[arg-type]
        pass
    assert (ann.audience, bob.audience) == (None, None)


def test_who_is_named_twice_takes_part_once() -> None:
    ann, bob = AgentBase("Ann"), AgentBase("Bob")
    with msghub([ann, ann, bob]) as hub:
        hub.delete(ann)
        assert hub.participants == [bob]
    assert bob.audience is None


def test_a_long_memory_takes_linear_time_and_forgets_what_it_knew() -> None:
    memory, messages = (
        TemporaryMemory(),
        [Msg("Ann", str(number), "user") for number in range(20_000)],
    )
    with processor_time(5):
        for message in messages:
            memory.add(message)
    memory.add(messages[0])
    assert memory.size() == 20_000
    memory.delete(0)
    memory.add(messages[0])
    assert (memory.size(), memory.get_memory(1)) == (20_000, [messages[0]])
    memory.clear()
    memory.add(messages[:2])
    assert memory.size() == 2


# Replies out of the ordinary


@pytest.mark.parametrize("content", [None, "I use a tool."])
@pytest.mark.parametrize("is_old", [False, True])
def test_a_call_that_nobody_offered_is_read_as_a_reply(content: str | None, is_old: bool) -> None:
    function = {"name": "answer", "arguments": '{"thought": "t", "speak": "hi"}'}
    calls = (
        {"function_call": function}
        if is_old
        else {"tool_calls": [{"id": "1", "type": "function", "function": function}]}
    )
    ann, client = thinker("Ann", [{"content": content, **calls}, turn("t", "fine")])
    with hearing():
        assert ann(Msg("user", "Hi.", "user")).content == "fine"
    assert client.requests[1]["messages"][-2]["content"] == (content or function["arguments"])


def test_the_result_of_an_old_style_function_is_not_what_the_agent_says() -> None:
    ann, client = thinker(
        "Ann", [{"content": None, "function_call": CALL["function"]}, turn("t", "It is 42.")]
    )
    ann.register_function({"double": double})
    with hearing():
        assert ann(Msg("user", "Twice 21?", "user")).content == "It is 42."
    assert [message["role"] for message in client.requests[-1]["messages"]] == [
        "system",
        "user",
        "assistant",
        "function",
        "user",
    ]


def test_of_a_very_long_reply_the_model_sees_both_ends() -> None:
    ann, client = thinker("Ann", ["begin " + "x" * 1_000_000 + " end", turn("t", "fine")])
    with hearing():
        assert ann(Msg("user", "Hi.", "user")).content == "fine"
    shown = client.requests[-1]["messages"][-2]["content"]
    assert (shown[:6], shown[-4:]) == ("begin ", " end")
    assert len(shown) < 21_000


class Node(BaseModel):
    """A tree with an optional branch."""

    name: str
    big: bool | None = None
    kids: list[Node] = []
    up: Node | None = None


def test_small_mistakes_are_mended_in_every_depth_of_a_recursive_class() -> None:
    parser = MarkdownJsonDictParser(content_hint=Node)
    parsed = parser.parse(
        '{"Name": "a", "kids": [{"NAME": "b", "kids": [{"Name": "c"}]}], "up": {"NAME": "d", "Big":'
        ' "True"}}'
    ).parsed
    assert parsed["kids"][0]["kids"][0]["name"] == "c"
    assert (parsed["up"]["name"], parsed["up"]["big"]) == ("d", True)


def test_definitions_that_all_refer_to_one_another_take_no_time() -> None:
    names = [f"T{number}" for number in range(30)]
    fields = {name.lower(): {"$ref": f"#/$defs/{name}"} for name in names}
    definitions = {name: {"type": "object", "properties": fields} for name in names}
    with processor_time(5):
        parser = MarkdownJsonDictParser(
            json_schema={"type": "object", "properties": fields, "$defs": definitions}
        )
        assert parser.parse('{"T3": {"T4": {}}}').parsed == {"t3": {"t4": {}}}


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
    ],
)
def test_a_schema_that_refers_to_itself_without_end(schema: dict[str, Any]) -> None:
    with pytest.raises(JsonParsingError, match="its schema refers to itself without end"):
        MarkdownJsonDictParser(json_schema=schema).parse('{"a": 1}')


def test_deep_nesting_under_a_recursive_schema_is_told_to_the_model() -> None:
    ann, client = thinker("Ann", ['{"k":' * 900 + "{}" + "}" * 900, '{"k": {}}'])
    ann.set_parser(
        MarkdownJsonDictParser(json_schema={"type": "object", "properties": {"k": {"$ref": "#"}}})
    )
    with hearing():
        assert ann(Msg("user", "Go.", "user")).content == '{"k": {}}'
    assert "nested too deeply" in client.requests[-1]["messages"][-1]["content"]


class Measured(BaseModel):
    """A number that pydantic reads out of a text."""

    size: float


@pytest.mark.parametrize("written", ["inf", "-Infinity", "nan"])
def test_numbers_that_json_does_not_have_are_refused(written: str) -> None:
    with pytest.raises(JsonParsingError, match="infinite"):
        MarkdownJsonDictParser(content_hint=Measured).parse(f'{{"size": "{written}"}}')
    with pytest.raises(WrongType, match="must be a JSON value"):
        Msg("Ann", "", "assistant", metadata=float(written))


# Tables out of documents


INVOICE = Typed("invoice.txt", "Vendor: Miller & Sons\nTotal: 1,250.00 EUR\nTags: red, blue\n")


def extracted(fields: str, reply: dict[str, Any]) -> tuple[dict[str, tuple[Any, bool]], int]:
    """The values with whether they are verified, and how often the model was asked."""
    model = scripted_model(lambda request: json.dumps(reply))
    (row,) = extract(from_text(fields), [INVOICE], model).rows
    assert isinstance(model.client, ScriptedClient)
    return {name: (cell.value, not cell.unverified) for name, cell in row.cells.items()}, len(
        model.client.requests
    )


@pytest.mark.parametrize(
    ("value", "verified"),
    [
        ("Miller & Sons", True),
        ("miller and sons", False),
        ("Miller", True),
        ("Sons, Miller", True),
        ("Evil Corp", False),
    ],
)
def test_a_quote_verifies_the_text_that_it_holds_and_no_other(value: str, verified: bool) -> None:
    found, _ = extracted("vendor", {"vendor": {"value": value, "quote": "Vendor: Miller & Sons"}})
    assert found == {"vendor": (value, verified)}


@pytest.mark.parametrize(
    ("value", "verified"), [(["red", "blue"], True), (["red", "green"], False)]
)
def test_a_quote_verifies_a_list_when_it_holds_all_of_it(value: list[str], verified: bool) -> None:
    found, _ = extracted("tags (list)", {"tags": {"value": value, "quote": "Tags: red, blue"}})
    assert found == {"tags": (value, verified)}


def test_numbers_in_texts_and_remarks_are_no_reason_to_ask_again() -> None:
    total = {"value": "1,250.00", "quote": "Total: 1,250.00 EUR"}
    assert extracted("total (integer)", {"Total": total, "notes": "Fine."}) == (
        {"total": (1250, True)},
        1,
    )
    assert extracted("total (number)", {"total": {**total, "value": "10 to 15 EUR"}}) == (
        {"total": (None, True)},
        3,
    )


@pytest.mark.parametrize("method", ["all", "reflection_with_llm"])
def test_a_chat_within_a_reply_is_not_told_thoughts(method: str) -> None:
    ann, client = thinker(
        "Ann", lambda request: turn("a secret", "Words."), max_consecutive_auto_reply=3
    )
    inner = plain("Inner", default_auto_reply="Noted.")
    with hearing():
        plain("User", default_auto_reply="Go on.", max_consecutive_auto_reply=3).initiate_chat(
            ann, message="Begin."
        )
        ann.register_nested_chats(
            [
                {
                    "recipient": inner,
                    "message": "Note this.",
                    "max_turns": 1,
                    "carryover_config": {"summary_method": method},
                }
            ],
            trigger=lambda sender: True,
        )
        user = next(iter(ann.chat_messages))
        ann.generate_reply(sender=user)
    given = (
        asked_last(client)[:-1]
        if method == "reflection_with_llm"
        else [("user", inner.chat_messages[ann][0]["content"])]
    )
    assert "Words." in str(given)
    assert "a secret" not in str(given)
