"""When a chat ends and when a person is asked: input modes, termination, the number of automatic
replies.
"""

from __future__ import annotations

from typing import Any

from tests.differential.kit import SYNC, Kit, scenario

ONCE = (
    "defect 1: an async chat checks termination once a turn; the oracle does it twice, and counts"
    " and asks twice"
)


def _contents(agent: Any, other: Any) -> list[Any]:
    return [message["content"] for message in agent.chat_messages[other]]


def _counters(*agents: Any) -> list[dict[str, int]]:
    return [
        {other.name: n for other, n in agent._consecutive_auto_reply_counter.items()}
        for agent in agents
    ]


def _chat(kit: Kit, mode: str, answers: list[str], right: str = "r", **options: Any) -> Any:
    """A chat of a person's agent with one that always says `right`: contents, answers, counters."""
    left, other = (
        kit.agent("left", human_input_mode=mode, **options),
        kit.agent("right", default_auto_reply=right),
    )
    given = kit.human(left, answers)
    kit.call(left, "initiate_chat", other, message="m", max_turns=4)
    return [_contents(left, other), given, *_counters(left, other)]


@scenario(both=True, better=ONCE, expected=SYNC)
def always_with_answers(kit: Kit) -> Any:
    return _chat(kit, "ALWAYS", ["one", "two", "three"])


@scenario(both=True, better=ONCE, expected=SYNC)
def always_with_exit(kit: Kit) -> Any:
    return _chat(kit, "ALWAYS", ["one", "exit"])


@scenario(both=True, better=ONCE, expected=SYNC)
def always_with_empty_answers(kit: Kit) -> Any:
    return _chat(kit, "ALWAYS", ["", "", "exit"], default_auto_reply="auto")


@scenario(both=True, better=ONCE, expected=SYNC)
def always_with_a_termination_message(kit: Kit) -> Any:
    return [
        _chat(kit, "ALWAYS", answers, "TERMINATE") for answers in ([""], ["go on", ""], ["exit"])
    ]


@scenario(both=True, better=ONCE, expected=SYNC)
def terminate_asks_at_a_termination_message(kit: Kit) -> Any:
    return [
        _chat(kit, "TERMINATE", answers, "TERMINATE") for answers in ([""], ["go on", ""], ["exit"])
    ]


@scenario(both=True, better=ONCE, expected=SYNC)
def terminate_asks_at_the_limit(kit: Kit) -> Any:
    cases = (["", "exit"], ["go on", "exit"], ["exit"])
    return [
        _chat(kit, "TERMINATE", answers, max_consecutive_auto_reply=1, default_auto_reply="auto")
        for answers in cases
    ]


@scenario(both=True, better=ONCE, expected=SYNC)
def never_counts_and_ends_at_the_limit(kit: Kit) -> Any:
    return [
        _chat(kit, "NEVER", [], max_consecutive_auto_reply=limit, default_auto_reply="auto")
        for limit in (0, 1, 2)
    ]


@scenario(both=True, better=ONCE, expected=SYNC)
def never_ends_at_a_termination_message(kit: Kit) -> Any:
    return _chat(kit, "NEVER", [], "TERMINATE")


@scenario(both=True, better=ONCE, expected=SYNC)
def no_automatic_reply_allowed(kit: Kit) -> Any:
    return [
        _chat(kit, mode, ["typed", "exit", "exit"], max_consecutive_auto_reply=0)
        for mode in ("NEVER", "TERMINATE")
    ]


@scenario(both=True)
def the_default_termination_message(kit: Kit) -> Any:
    found = []
    for text in ("TERMINATE", "TERMINATE.", " TERMINATE", "terminate", "done TERMINATE", ""):
        left, right = (
            kit.agent("left", default_auto_reply="l"),
            kit.agent("right", default_auto_reply=text),
        )
        kit.call(left, "initiate_chat", right, message="m", max_turns=2)
        found.append(len(left.chat_messages[right]))
    return found


@scenario(both=True)
def termination_by_a_function(kit: Kit) -> Any:
    seen: list[dict[str, Any]] = []

    def over(message: dict[str, Any]) -> bool:
        seen.append(dict(message))
        return "stop" in (message.get("content") or "")

    left = kit.agent("left", is_termination_msg=over, default_auto_reply="l")
    right = kit.agent("right")
    texts = iter(["on", "stop now", "never"])
    right.register_reply(kit.Agent, lambda recipient, messages, sender, config: (True, next(texts)))
    kit.call(left, "initiate_chat", right, message="m", max_turns=5)
    return [_contents(left, right), [sorted(one) for one in seen[:1]]]


@scenario(both=True)
def termination_is_a_matter_of_the_receiver(kit: Kit) -> Any:
    left = kit.agent("left", default_auto_reply="TERMINATE")
    right = kit.agent("right", default_auto_reply="r", is_termination_msg=lambda message: False)
    kit.call(left, "initiate_chat", right, message="TERMINATE", max_turns=2)
    return _contents(left, right)


@scenario(both=True, better=ONCE, expected=SYNC)
def the_limit_of_each_sender(kit: Kit) -> Any:
    agent = kit.agent("a", max_consecutive_auto_reply=1, default_auto_reply="r")
    others = [kit.agent("b", default_auto_reply="x"), kit.agent("c", default_auto_reply="x")]
    agent.update_max_consecutive_auto_reply(2, others[1])
    for other in others:
        kit.call(other, "initiate_chat", agent, message="m")
    limits = [agent.max_consecutive_auto_reply(other) for other in others]
    return [
        limits,
        agent.max_consecutive_auto_reply(),
        [len(agent.chat_messages[other]) for other in others],
    ]


@scenario
def updating_the_limit_for_all(kit: Kit) -> Any:
    agent, b, c = kit.agent("a", max_consecutive_auto_reply=1), kit.agent("b"), kit.agent("c")
    agent.update_max_consecutive_auto_reply(5, b)
    found = [agent.max_consecutive_auto_reply(one) for one in (b, c, None)]
    agent.update_max_consecutive_auto_reply(3)
    return [*found, *(agent.max_consecutive_auto_reply(one) for one in (b, c, None))]


@scenario
def resetting_counters(kit: Kit) -> Any:
    agent, b, c = kit.agent("a", default_auto_reply="r"), kit.agent("b"), kit.agent("c")
    for other in (b, c):
        other.send("m", agent, request_reply=True)
    found = _counters(agent)
    agent.reset_consecutive_auto_reply_counter(b)
    found += _counters(agent)
    agent.reset_consecutive_auto_reply_counter()
    return [*found, *_counters(agent)]


def _checked(kit: Kit, mode: str, text: str, answers: list[str], count: int = 0) -> Any:
    """What the check itself gives for one message, and what the counter is after it."""
    agent, other = (
        kit.agent("a", human_input_mode=mode, max_consecutive_auto_reply=2),
        kit.agent("b"),
    )
    given = kit.human(agent, answers)
    other.send(text, agent, request_reply=False)
    agent._consecutive_auto_reply_counter[other] = count
    result = kit.call(agent, "check_termination_and_human_reply", sender=other)
    return [result, given, agent._consecutive_auto_reply_counter[other], _contents(agent, other)]


@scenario(both=True)
def the_check_in_mode_always(kit: Kit) -> Any:
    cases = [
        ("m", ["typed"]),
        ("m", [""]),
        ("m", ["exit"]),
        ("TERMINATE", [""]),
        ("TERMINATE", ["typed"]),
    ]
    return [_checked(kit, "ALWAYS", text, answers, 1) for text, answers in cases]


@scenario(both=True)
def the_check_in_mode_terminate(kit: Kit) -> Any:
    cases = [
        ("m", [], 1),
        ("m", ["typed"], 2),
        ("m", [""], 2),
        ("m", ["exit"], 2),
        ("TERMINATE", [""], 0),
        ("TERMINATE", ["t"], 0),
    ]
    return [_checked(kit, "TERMINATE", *case) for case in cases]


@scenario(both=True)
def the_check_in_mode_never(kit: Kit) -> Any:
    return [
        _checked(kit, "NEVER", text, [], count)
        for text, count in (("m", 0), ("m", 1), ("m", 2), ("TERMINATE", 0))
    ]


@scenario(both=True)
def the_check_answers_open_tool_calls(kit: Kit) -> Any:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    agent, other = kit.agent("a", human_input_mode="ALWAYS"), kit.agent("b")
    kit.human(agent, ["no, do not"])
    other.send({"content": None, "tool_calls": [call]}, agent, request_reply=False)
    return kit.call(agent, "check_termination_and_human_reply", sender=other)


@scenario
def the_check_without_a_sender(kit: Kit) -> Any:
    agent = kit.agent("a")
    return [
        agent.check_termination_and_human_reply([{"role": "user", "content": text}])
        for text in ("m", "TERMINATE")
    ]


@scenario(both=True)
def an_overridden_question_is_honoured(kit: Kit) -> Any:
    base: Any = kit.ConversableAgent

    class Person(base):  # type: ignore[misc]  # a class of either system
        asked = 0

        def get_human_input(self, prompt: str) -> str:
            self.asked += 1
            return "typed" if self.asked == 1 else "exit"

        async def a_get_human_input(self, prompt: str) -> str:
            return self.get_human_input(prompt)

    person, other = (
        Person("person", human_input_mode="ALWAYS"),
        kit.agent("other", default_auto_reply="r"),
    )
    kit.call(other, "initiate_chat", person, message="m")
    return [_contents(person, other)[:2], person.asked > 1]


@scenario(both=True, better=ONCE, expected=SYNC)
def a_counter_starts_again_after_a_human_answer(kit: Kit) -> Any:
    left = kit.agent(
        "left",
        human_input_mode="TERMINATE",
        max_consecutive_auto_reply=1,
        default_auto_reply="auto",
    )
    right = kit.agent("right", default_auto_reply="r")
    given = kit.human(left, ["typed", "typed", "exit"])
    kit.call(left, "initiate_chat", right, message="m")
    return [_contents(left, right), given, *_counters(left)]
