"""Chats of two agents and queues of chats: how they begin, how long they last, what they leave
behind.
"""

from __future__ import annotations

from typing import Any

from tests.differential.kit import SYNC, Kit, scenario

ONCE = (
    "defect 1: an async chat checks termination once a turn; the oracle does it twice, and counts"
    " and asks twice"
)


def _pair(kit: Kit) -> tuple[Any, Any]:
    return kit.agent("left", default_auto_reply="l"), kit.agent("right", default_auto_reply="r")


def _counters(*agents: Any) -> list[dict[str, int]]:
    return [
        {other.name: n for other, n in agent._consecutive_auto_reply_counter.items()}
        for agent in agents
    ]


@scenario(both=True)
def two_turns_of_default_replies(kit: Kit) -> Any:
    left, right = _pair(kit)
    result = kit.call(left, "initiate_chat", right, message="start", max_turns=2)
    return [
        kit.transcript(left, right),
        kit.transcript(right, left),
        result.summary,
        result.cost,
        result.human_input,
    ]


@scenario(both=True, better=ONCE, expected=SYNC)
def one_turn(kit: Kit) -> Any:
    left, right = _pair(kit)
    result = kit.call(left, "initiate_chat", right, message="start", max_turns=1)
    return [kit.transcript(left, right), result.summary, _counters(left, right)]


@scenario(both=True)
def no_turn_at_all(kit: Kit) -> Any:
    left, right = _pair(kit)
    result = kit.call(left, "initiate_chat", right, message="start", max_turns=0)
    return [kit.rows(result.chat_history), result.summary]


@scenario(both=True, better=ONCE, expected=SYNC)
def max_turns_ends_early_when_a_reply_is_missing(kit: Kit) -> Any:
    left, right = (
        kit.agent("left", max_consecutive_auto_reply=1, default_auto_reply="l"),
        kit.agent("right", default_auto_reply="r"),
    )
    result = kit.call(left, "initiate_chat", right, message="start", max_turns=5)
    return [kit.rows(result.chat_history), _counters(left, right)]


@scenario(both=True, better=ONCE, expected=SYNC)
def an_empty_default_reply_is_still_sent(kit: Kit) -> Any:
    left, right = (
        kit.agent("left", max_consecutive_auto_reply=1),
        kit.agent("right", max_consecutive_auto_reply=1),
    )
    result = kit.call(left, "initiate_chat", right, message="start")
    return [kit.transcript(left, right), result.summary]


@scenario(both=True)
def a_second_chat_clears_the_first(kit: Kit) -> Any:
    left, right = _pair(kit)
    for text in ("one", "two"):
        kit.call(left, "initiate_chat", right, message=text, max_turns=1)
    return [kit.transcript(left, right), kit.transcript(right, left)]


@scenario(both=True)
def a_second_chat_goes_on_with_clear_history_false(kit: Kit) -> Any:
    left, right = _pair(kit)
    for text in ("one", "two"):
        result = kit.call(
            left, "initiate_chat", right, message=text, max_turns=1, clear_history=False
        )
    return [kit.transcript(left, right), kit.transcript(right, left), kit.rows(result.chat_history)]


@scenario(
    both=True,
    better="defect 4: a result's chat_history is a snapshot; a later chat does not change it",
    expected=[["assistant", "left", "one"], ["user", "right", "r"]],
)
def a_result_is_a_snapshot(kit: Kit) -> Any:
    left, right = _pair(kit)
    result = kit.call(left, "initiate_chat", right, message="one", max_turns=1)
    kit.call(left, "initiate_chat", right, message="two", max_turns=1, clear_history=False)
    return kit.rows(result.chat_history)


@scenario(both=True)
def a_chat_with_a_dict_as_message(kit: Kit) -> Any:
    left, right = _pair(kit)
    kit.call(
        left,
        "initiate_chat",
        right,
        message={"content": "start", "context": {"k": 1}, "other": 2},
        max_turns=1,
    )
    return [kit.transcript(left, right), kit.transcript(right, left)]


@scenario(both=True)
def a_callable_message_gets_sender_recipient_and_context(kit: Kit) -> Any:
    left, right = _pair(kit)
    seen = []

    def first(sender: Any, recipient: Any, context: dict[str, Any]) -> str:
        seen.append([sender.name, recipient.name, sorted(context)])
        return f"about {context['topic']}"

    kit.call(left, "initiate_chat", right, message=first, max_turns=1, topic="stars", carryover="c")
    return [seen, kit.transcript(left, right)]


@scenario(both=True)
def a_callable_message_may_give_a_dict(kit: Kit) -> Any:
    left, right = _pair(kit)
    kit.call(
        left,
        "initiate_chat",
        right,
        message=lambda sender, recipient, context: {"content": "d", "name": "n"},
        max_turns=1,
    )
    return kit.transcript(left, right)


@scenario
def a_callable_message_of_a_wrong_type(kit: Kit) -> Any:
    left, right = _pair(kit)
    return kit.raised(
        left.initiate_chat, right, message=lambda sender, recipient, context: 3, max_turns=1
    )


@scenario(both=True)
def a_missing_message_is_asked_from_the_person(kit: Kit) -> Any:
    left, right = _pair(kit)
    given = kit.human(left, ["typed"])
    kit.call(left, "initiate_chat", right, max_turns=1)
    return [given, kit.transcript(left, right)]


@scenario(both=True)
def initial_messages(kit: Kit) -> Any:
    agent = kit.agent("a")
    kit.human(agent, ["typed", "typed again"])
    cases: list[tuple[Any, dict[str, Any]]] = [
        ("m", {}),
        ("m", {"carryover": "c"}),
        ("m", {"carryover": ["c", "d"]}),
        ("m", {"carryover": ""}),
        ("m", {"carryover": []}),
        ("m", {"carryover": ["c", 3]}),
        ("m", {"carryover": [{"content": "c", "role": "user"}, "d"]}),
        ({"content": "m", "role": "user"}, {"carryover": "c"}),
        ({"content": [{"type": "text", "text": "m"}]}, {"carryover": "c"}),
        ({"content": "m", "tool_calls": []}, {}),
        (None, {}),
        (None, {"carryover": "c"}),
    ]
    return [kit.call(agent, "generate_init_message", message, **more) for message, more in cases]


@scenario
def initial_messages_with_a_wrong_carryover(kit: Kit) -> Any:
    agent = kit.agent("a")
    cases: list[Any] = [3, {"a": 1}, ("c",)]
    return [
        kit.raised(agent.generate_init_message, "m", carryover=carryover) for carryover in cases
    ]


@scenario
def a_dict_message_is_not_changed_by_the_carryover(kit: Kit) -> Any:
    agent, message = kit.agent("a"), {"content": "m"}
    return [agent.generate_init_message(message, carryover="c"), message]


@scenario(both=True)
def a_carryover_that_is_no_text_in_a_chat(kit: Kit) -> Any:
    left, right = _pair(kit)
    raised = kit.raised(
        lambda: kit.call(left, "initiate_chat", right, message="m", max_turns=1, carryover=5)
    )
    return [raised, len(left.chat_messages.get(right, []))]


@scenario(both=True)
def verbose_changes_nothing_but_the_console(kit: Kit) -> Any:
    left, right = _pair(kit)
    result = kit.call(
        left, "initiate_chat", right, message="m", max_turns=1, carryover=["c", "d"], verbose=True
    )
    return [kit.transcript(left, right), result.summary]


@scenario(both=True, better=ONCE, expected=SYNC)
def a_chat_begins_with_fresh_counters(kit: Kit) -> Any:
    left, right = _pair(kit)
    right.update_max_consecutive_auto_reply(1)
    found = []
    for _ in range(2):
        kit.call(left, "initiate_chat", right, message="m")
        found.append([len(left.chat_messages[right]), *_counters(left, right)])
    return found


@scenario(
    better=(
        "defect 9: a sync chat is as long as its limits say; the oracle dies by recursion near 400"
        " replies"
    ),
    expected=901,
)
def a_long_sync_chat(kit: Kit) -> Any:
    left, right = (
        kit.agent(name, max_consecutive_auto_reply=450, default_auto_reply="r")
        for name in ("left", "right")
    )
    return len(left.initiate_chat(right, message="m", silent=True).chat_history)


# Summaries


@scenario(both=True)
def the_last_message_without_terminate(kit: Kit) -> Any:
    found = []
    for text in (
        "All done. TERMINATE",
        "TERMINATE",
        "a TERMINATE b TERMINATE",
        "terminate",
        "  spaced  ",
    ):
        left, right = kit.agent("left"), kit.agent("right", default_auto_reply=text)
        found.append(kit.call(left, "initiate_chat", right, message="m", max_turns=1).summary)
    return found


@scenario(both=True)
def the_last_message_as_a_list_of_parts(kit: Kit) -> Any:
    parts = [
        {"type": "text", "text": "one TERMINATE"},
        {"type": "image_url", "image_url": {"url": "u"}},
        {"type": "text", "text": "two"},
    ]
    left, right = kit.agent("left"), kit.agent("right", default_auto_reply={"content": parts})
    return kit.call(left, "initiate_chat", right, message="m", max_turns=1).summary


@scenario(both=True)
def the_last_message_without_content(kit: Kit) -> Any:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    left, right = (
        kit.agent("left"),
        kit.agent("right", default_auto_reply={"content": None, "tool_calls": [call]}),
    )
    return kit.call(left, "initiate_chat", right, message="m", max_turns=1).summary


@scenario(both=True)
def a_callable_makes_the_summary(kit: Kit) -> Any:
    left, right = _pair(kit)
    seen = []

    def summary(sender: Any, recipient: Any, summary_args: dict[str, Any]) -> str:
        seen.append([sender.name, recipient.name, dict(summary_args)])
        return f"{len(recipient.chat_messages[sender])} messages"

    result = kit.call(
        left,
        "initiate_chat",
        right,
        message="m",
        max_turns=1,
        summary_method=summary,
        summary_args={"k": 1},
    )
    return [seen, result.summary]


@scenario(both=True)
def reflection_by_the_recipients_model(kit: Kit) -> Any:
    left, right = kit.agent("left"), kit.agent("right", llm_config=kit.llm_config())
    seen = kit.scripted(right, ["answer", "the summary"])
    options = {
        "summary_method": "reflection_with_llm",
        "summary_args": {"summary_prompt": "Sum up.", "summary_role": "user"},
    }
    result = kit.call(left, "initiate_chat", right, message="m", max_turns=1, **options)
    return [result.summary, seen, kit.rows(result.chat_history)]


@scenario(both=True)
def reflection_by_the_senders_model(kit: Kit) -> Any:
    left, right = (
        kit.agent("left", llm_config=kit.llm_config()),
        kit.agent("right", default_auto_reply="r"),
    )
    seen = kit.scripted(left, ["the summary"])
    options = {
        "summary_method": "reflection_with_llm",
        "summary_args": {"summary_prompt": "Sum up."},
    }
    result = kit.call(
        left, "initiate_chat", right, message="m", max_turns=1, carryover="c", **options
    )
    return [result.summary, seen]


@scenario(both=True)
def reflection_without_a_model(kit: Kit) -> Any:
    left, right = _pair(kit)
    return kit.raised(
        kit.call,
        left,
        "initiate_chat",
        right,
        message="m",
        max_turns=1,
        summary_method="reflection_with_llm",
    )


@scenario(both=True)
def reflection_leaves_tool_messages_as_they_are(kit: Kit) -> Any:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    left = kit.agent("left", function_map={"f": lambda: "out"})
    right = kit.agent("right", llm_config=kit.llm_config())
    seen = kit.scripted(right, [{"content": None, "tool_calls": [call]}, "seen", "the summary"])
    options = {
        "summary_method": "reflection_with_llm",
        "summary_args": {"summary_prompt": "Sum up."},
    }
    result = kit.call(left, "initiate_chat", right, message="m", max_turns=2, **options)
    return [result.summary, seen[-1]]


@scenario(both=True)
def wrong_summary_arguments(kit: Kit) -> Any:
    left, right = kit.agent("left"), kit.speaker("right", ["r"] * 9)
    cases: list[dict[str, Any]] = [
        {"summary_method": "unknown"},
        {"summary_method": 3},
        {"summary_method": "reflection_with_llm", "summary_args": {"summary_prompt": 3}},
        {"summary_method": "reflection_with_llm", "summary_args": {"summary_role": 3}},
    ]
    call = lambda more: kit.call(left, "initiate_chat", right, message="m", max_turns=1, **more)  # noqa: E731
    return [kit.raised(call, more) for more in cases]


@scenario(both=True)
def no_summary_method(kit: Kit) -> Any:
    left, right = _pair(kit)
    return kit.call(
        left, "initiate_chat", right, message="m", max_turns=1, summary_method=None
    ).summary


@scenario(both=True)
def a_summary_method_of_the_agent_is_replaced_by_the_argument(kit: Kit) -> Any:
    left, right = _pair(kit)
    right.summary_method = lambda sender, recipient, summary_args: "right's"
    return kit.call(left, "initiate_chat", right, message="m", max_turns=1).summary


@scenario
def the_fields_of_a_result(kit: Kit) -> Any:
    result = kit.ChatResult()
    full = kit.ChatResult(
        chat_id=3, chat_history=[{"content": "x"}], summary="s", cost={}, human_input=["h"]
    )
    fields = ("chat_id", "chat_history", "summary", "cost", "human_input")
    return [[getattr(one, field) for field in fields] for one in (result, full)]


@scenario(both=True)
def the_cost_of_a_chat(kit: Kit) -> Any:
    left, right = (
        kit.agent("left", llm_config=kit.llm_config()),
        kit.agent("right", llm_config=kit.llm_config()),
    )
    kit.scripted(left, ["l"], cost=0.25)
    kit.scripted(right, ["r", "s"], cost=0.5)
    return kit.call(left, "initiate_chat", right, message="m", max_turns=2).cost


@scenario(
    both=True,
    better=(
        "the async face asks the stream that is set, and once a turn (defect 1); the oracle asks"
        " the terminal, twice"
    ),
    expected=SYNC,
)
def the_human_input_of_a_chat(kit: Kit) -> Any:
    left, right = (
        kit.agent("left", human_input_mode="ALWAYS"),
        kit.agent("right", default_auto_reply="r"),
    )
    answers = ["first", "", "second", "exit"]

    base: Any = kit.IOConsole

    class Typed(base):  # type: ignore[misc]  # a class of either system
        def input(self, prompt: str = "", *, password: bool = False) -> str:
            return answers.pop(0)

    with kit.IOStream.set_default(Typed()):
        result = kit.call(left, "initiate_chat", right, message="m")
    return [result.human_input, kit.rows(result.chat_history)]
