"""Transforms keep limits, keep calls with their results, and leave what they are given as it is."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from agentkit.conversation import ConversableAgent
from agentkit.conversation.transforms import (
    AgentCapability,
    MessageHistoryLimiter,
    MessageTokenLimiter,
    MessageTransform,
    TextMessageContentName,
    TransformMessages,
)
from agentkit.core import bus
from agentkit.core.io import IOStream
from agentkit.errors import WrongArgument, WrongType
from agentkit.events import Event, Noted
from agentkit.llm.tokens.counting import count_text

Messages = list[dict[str, Any]]

TEN = "one two three four five six seven eight nine ten"
SYSTEM = {"role": "system", "content": "sys"}
CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{}"}}],
}
RESULT = {"role": "tool", "tool_call_id": "1", "content": "r"}
PICTURE = {"type": "image_url", "image_url": {"url": "http://x"}}


def user(content: Any = TEN, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": content, **more}


def assistant(content: Any = TEN, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


U = [user(f"m{number}") for number in range(5)]


# ---- number of messages


@pytest.mark.parametrize(
    ("most", "keep_first", "messages", "expected"),
    [
        (None, False, U, U),
        (5, False, U, U),
        (3, False, U, U[2:]),
        (1, False, U, U[4:]),
        (3, True, U, [U[0], *U[3:]]),
        (1, True, U, U[:1]),
        (2, False, [SYSTEM, *U], [SYSTEM, U[4]]),
        (3, True, [SYSTEM, *U], [SYSTEM, *U[3:]]),
        (2, False, [U[0], SYSTEM, U[1]], [SYSTEM, U[1]]),
        (3, False, [U[0], CALL, RESULT, U[1]], [CALL, RESULT, U[1]]),
        (2, False, [U[0], CALL, RESULT, U[1]], [U[1]]),
        (2, True, [U[0], CALL, RESULT, U[1]], [U[0], U[1]]),
        (2, False, [U[0], CALL, RESULT], [CALL, RESULT]),
        (1, False, [U[0], CALL, RESULT, RESULT], [CALL, RESULT, RESULT]),
        (2, True, [CALL, RESULT, RESULT, *U], U[3:]),
        (3, False, [], []),
    ],
)
def test_the_newest_messages_stay_in_their_order(
    most: int | None, keep_first: bool, messages: Messages, expected: Messages
) -> None:
    assert MessageHistoryLimiter(most, keep_first).apply_transform(messages) == expected


def test_calls_in_the_old_form_stay_with_their_results_too() -> None:
    call = assistant(None, function_call={"name": "f", "arguments": "{}"})
    result = {"role": "function", "name": "f", "content": "r"}
    assert MessageHistoryLimiter(2).apply_transform([U[0], call, result, U[1]]) == [U[1]]
    assert MessageHistoryLimiter(3).apply_transform([U[0], call, result, U[1]]) == [
        call,
        result,
        U[1],
    ]


def test_what_was_removed_is_said() -> None:
    limiter = MessageHistoryLimiter(2)
    assert limiter.get_logs(U, U[:3]) == (
        "Removed 2 messages. Number of messages reduced from 5 to 3.",
        True,
    )
    assert limiter.get_logs(U, U) == ("No messages were removed.", False)


# ---- tokens


def contents(messages: Messages) -> list[Any]:
    return [message.get("content") for message in messages]


@pytest.mark.parametrize(
    ("limits", "messages", "expected"),
    [
        ({}, [user(), assistant(), user("last")], [TEN, TEN, "last"]),
        (
            {"max_tokens_per_message": 3},
            [user(), assistant(), user("last")],
            ["one two three", "one two three", "last"],
        ),
        ({"max_tokens": 25}, [user(), assistant(), user("last")], [TEN, TEN, "last"]),
        (
            {"max_tokens": 15},
            [user(), assistant(), user("last")],
            ["one two three four", TEN, "last"],
        ),
        ({"max_tokens": 11}, [user(), assistant(), user("last")], [TEN, "last"]),
        ({"max_tokens": 0}, [user(), assistant()], [""]),
        (
            {"max_tokens": 20, "max_tokens_per_message": 8},
            [user(), user(), assistant()],
            [
                "one two three four",
                "one two three four five six seven eight",
                "one two three four five six seven eight",
            ],
        ),
        ({"max_tokens": 12}, [SYSTEM, user(), user()], ["sys", "one", TEN]),
        ({"max_tokens": 11}, [SYSTEM, user(), user()], ["sys", TEN]),
        (
            {"max_tokens": 20, "min_tokens": 20, "max_tokens_per_message": 3},
            [user(), user("x")],
            [TEN, "x"],
        ),
        (
            {"max_tokens": 20, "min_tokens": 20, "max_tokens_per_message": 3},
            [user(), user()],
            ["one two three"] * 2,
        ),
        ({"max_tokens_per_message": 3}, [user(None), user(""), {"role": "user"}], [None, "", None]),
        (
            {"max_tokens_per_message": 3, "filter_dict": {"role": "user"}},
            [user(), assistant()],
            [TEN, "one two three"],
        ),
        (
            {
                "max_tokens_per_message": 3,
                "filter_dict": {"role": ["user"]},
                "exclude_filter": False,
            },
            [user(), assistant()],
            ["one two three", TEN],
        ),
        (
            {"max_tokens": 25, "filter_dict": {"role": "assistant"}},
            [assistant(), user(), user()],
            [TEN, TEN],
        ),
        ({"max_tokens": 5}, [], []),
    ],
)
def test_long_messages_are_cut_and_old_ones_dropped(
    limits: dict[str, Any], messages: Messages, expected: list[Any]
) -> None:
    assert contents(MessageTokenLimiter(**limits).apply_transform(messages)) == expected


def test_the_texts_of_a_message_of_parts_share_its_limit() -> None:
    parts = [{"type": "text", "text": TEN}, PICTURE, {"type": "text", "text": TEN}]
    (cut,) = MessageTokenLimiter(max_tokens_per_message=12).apply_transform([user(parts)])
    assert cut["content"] == [
        {"type": "text", "text": TEN},
        PICTURE,
        {"type": "text", "text": "one two"},
    ]


def test_results_in_one_message_are_cut_where_the_model_reads_them() -> None:
    responses = [{"role": "tool", "tool_call_id": number, "content": TEN} for number in "12"]
    (_, cut) = MessageTokenLimiter(max_tokens_per_message=12).apply_transform(
        [CALL, {"role": "tool", "content": f"{TEN}\n\n{TEN}", "tool_responses": responses}]
    )
    assert contents(cut["tool_responses"]) == [TEN, "one two"]


def test_a_call_and_its_results_are_dropped_or_cut_together() -> None:
    history = [user(), CALL, {**RESULT, "content": TEN}, user()]
    cost = MessageTokenLimiter()._count([CALL])
    assert MessageTokenLimiter(max_tokens=10 + cost).apply_transform(history) == [history[3]]
    assert MessageTokenLimiter(max_tokens=12 + cost).apply_transform(history) == [
        CALL,
        {**RESULT, "content": "one two"},
        history[3],
    ]
    assert MessageTokenLimiter(max_tokens=20 + cost).apply_transform(history) == history[1:]


def test_the_newest_call_stays_even_where_it_alone_is_too_long() -> None:
    assert contents(MessageTokenLimiter(max_tokens=2).apply_transform([user(), CALL, RESULT])) == [
        None,
        "",
    ]


def test_what_was_cut_is_said() -> None:
    limiter = MessageTokenLimiter(max_tokens=10)
    assert limiter.get_logs([user()] * 3, [user()]) == (
        "Truncated 20 tokens. Number of tokens reduced from 30 to 10",
        True,
    )
    assert limiter.get_logs([user()], [user()]) == ("No tokens were truncated.", False)


def test_limits_above_the_window_are_lowered_and_unknown_models_have_none(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    long = [user("word " * 9000)]
    (cut,) = MessageTokenLimiter(max_tokens=10**6, model="gpt-4").apply_transform(long)
    assert count_text(cut["content"], "gpt-4")[0] == 8192
    assert "max_tokens=1000000 is lowered to 8192, the window of gpt-4" in caplog.text
    assert MessageTokenLimiter(max_tokens=10**6, model="my-own").apply_transform(long) == long


# ---- names

NAMED = [
    user("hi", name="bob"),
    user("bob:\nhi", name="bob"),
    user("nameless"),
    user(None, name="bob"),
    user("", name="bob"),
    user("x", name=""),
    {"role": "tool", "name": "t", "content": "r"},
    {"role": "user", "name": "al"},
]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, ["bob:\nhi", "bob:\nhi", "nameless", None, "", "x", "t:\nr", None]),
        (
            {"deduplicate": False},
            ["bob:\nhi", "bob:\nbob:\nhi", "nameless", None, "", "x", "t:\nr", None],
        ),
        (
            {"position": "end", "format_string": " ({name})"},
            ["hi (bob)", "bob:\nhi (bob)", "nameless", None, "", "x", "r (t)", None],
        ),
        (
            {"format_string": "{name} {name}: "},
            ["bob bob: hi", "bob bob: bob:\nhi", "nameless", None, "", "x", "t t: r", None],
        ),
        (
            {"filter_dict": {"role": "user"}},
            ["hi", "bob:\nhi", "nameless", None, "", "x", "t:\nr", None],
        ),
        (
            {"filter_dict": {"name": ["bob"]}, "exclude_filter": False},
            ["bob:\nhi", "bob:\nhi", "nameless", None, "", "x", "r", None],
        ),
    ],
)
def test_names_are_put_into_texts(arguments: dict[str, Any], expected: list[Any]) -> None:
    transform = TextMessageContentName(**arguments)
    named = transform.apply_transform(NAMED)
    assert contents(named) == expected
    assert contents(transform.apply_transform(named)) == expected or not arguments.get(
        "deduplicate", True
    )


def test_names_go_into_the_first_or_last_text_of_a_message_of_parts() -> None:
    parts = [PICTURE, {"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    (first,) = TextMessageContentName().apply_transform([user(parts, name="al")])
    (last,) = TextMessageContentName(position="end", format_string="/{name}").apply_transform(
        [user(parts, name="al")]
    )
    assert first["content"] == [PICTURE, {"type": "text", "text": "al:\na"}, parts[2]]
    assert last["content"] == [*parts[:2], {"type": "text", "text": "b/al"}]
    assert TextMessageContentName().apply_transform([user([PICTURE], name="al")]) == [
        user([PICTURE], name="al")
    ]


def test_how_many_got_a_name_is_said() -> None:
    transform = TextMessageContentName()
    assert transform.get_logs(NAMED, transform.apply_transform(NAMED)) == (
        "2 message(s) changed to incorporate name.",
        True,
    )
    assert transform.get_logs(NAMED, NAMED) == ("No messages changed to incorporate name.", False)


# ---- arguments


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (
            lambda: MessageHistoryLimiter(0),
            WrongArgument,
            "max_messages=0 must be None or at least 1",
        ),
        (lambda: MessageHistoryLimiter("3"), WrongType, "max_messages must be a whole"),  # type: ignore[arg-type]
        (lambda: MessageTokenLimiter(max_tokens=-1), WrongArgument, "max_tokens=-1 must be"),
        (
            lambda: MessageTokenLimiter(max_tokens_per_message=-2),
            WrongArgument,
            "max_tokens_per_message=-2 must be",
        ),
        (
            lambda: MessageTokenLimiter(min_tokens=-5, max_tokens=10),
            WrongArgument,
            "min_tokens=-5 must be",
        ),
        (
            lambda: MessageTokenLimiter(min_tokens=16, max_tokens=15),
            WrongArgument,
            "min_tokens=16 is above max_tokens=15",
        ),
        (lambda: MessageTokenLimiter(max_tokens=1.5), WrongType, "max_tokens must be a whole"),  # type: ignore[arg-type]
        (
            lambda: TextMessageContentName(position="mid"),
            WrongArgument,
            "position='mid' must be 'start' or 'end'",
        ),
        (
            lambda: TextMessageContentName(format_string="x"),
            WrongArgument,
            "format_string='x' must be a text with {name}",
        ),
        (
            lambda: TextMessageContentName(format_string="{name} {a}"),
            WrongArgument,
            "must be a text with {name}",
        ),
        (lambda: TextMessageContentName(format_string=5), WrongArgument, "format_string=5"),  # type: ignore[arg-type]
    ],
)
def test_impossible_arguments_are_named(
    make: Callable[[], object], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said.replace("(", r"\(")):
        make()


# ---- as a hook


class Talker:
    """An agent that only has hooks."""

    name = "talker"

    def __init__(self) -> None:
        self.hooks: list[Callable[[Messages], Messages]] = []

    def register_hook(self, hookable_method: str, hook: Callable[[Messages], Messages]) -> None:
        assert hookable_method == "process_all_messages_before_reply"
        assert hook not in self.hooks
        self.hooks.append(hook)


class Paper(IOStream):
    """A console that keeps what is printed."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def print(self, *objects: Any, sep: str = " ", end: str = "\n", flush: bool = False) -> None:
        self.lines.append(sep.join(map(str, objects)))

    def input(self, prompt: str = "", *, password: bool = False) -> str:
        raise AssertionError(prompt)


class Greedy:
    """A transform of the user's own that changes the list that it is given."""

    def apply_transform(self, messages: Messages) -> Messages:
        messages[0]["content"] = "changed"
        del messages[1:]
        return messages

    def get_logs(
        self, pre_transform_messages: Messages, post_transform_messages: Messages
    ) -> tuple[str, bool]:
        return f"{len(pre_transform_messages)} -> {len(post_transform_messages)}", True


def heard(
    transforms: list[MessageTransform], messages: Messages, **more: Any
) -> tuple[Messages, list[Event], list[str]]:
    """What the hook returns, the events meanwhile, and what was printed."""
    agent, events, paper = Talker(), list[Event](), Paper()
    TransformMessages(transforms=transforms, **more).add_to_agent(agent)
    with bus.listening(events.append), IOStream.set_default(paper):
        return agent.hooks[0](messages), events, paper.lines


def test_transforms_work_in_their_order_behind_the_system_message_and_say_so() -> None:
    limiters: list[MessageTransform] = [
        MessageHistoryLimiter(2),
        MessageTokenLimiter(max_tokens_per_message=99),
        Greedy(),
    ]
    result, events, lines = heard(limiters, [SYSTEM, *U])
    assert result == [SYSTEM, user("changed")]
    assert lines == ["Removed 3 messages. Number of messages reduced from 5 to 2.", "2 -> 1"]
    assert events == [Noted("talker", line) for line in lines]
    assert U[3] == user("m3")


def test_without_verbose_nothing_is_said() -> None:
    assert heard([MessageHistoryLimiter(2)], U, verbose=False) == (U[3:], [], [])


def test_without_messages_or_transforms_nothing_happens() -> None:
    assert heard([], U) == (U, [], [])
    assert heard([MessageHistoryLimiter(1)], []) == ([], [], [])
    assert heard([MessageHistoryLimiter(1)], [SYSTEM]) == ([SYSTEM], [], [])


def test_the_same_transforms_are_added_to_an_agent_once() -> None:
    transforms, agent = TransformMessages(transforms=[MessageHistoryLimiter(2)]), Talker()
    transforms.add_to_agent(agent)
    transforms.add_to_agent(Talker())
    with pytest.raises(AssertionError):
        transforms.add_to_agent(agent)


# ---- any history

_texts = st.text(max_size=12) | st.sampled_from([TEN, "", "日本語 🙂"])
_plain = st.builds(
    lambda role, content: {"role": role, "content": content},
    st.sampled_from(["user", "assistant"]),
    _texts,
)


@st.composite
def _exchange(draw: st.DrawFn) -> Messages:
    ids = [f"id{number}" for number in range(draw(st.integers(1, 3)))]
    calls = [
        {"id": name, "type": "function", "function": {"name": "f", "arguments": draw(_texts)}}
        for name in ids
    ]
    call = assistant(draw(st.none() | _texts), tool_calls=calls)
    results: Messages = [
        {"role": "tool", "tool_call_id": name, "content": draw(_texts)} for name in ids
    ]
    if draw(st.booleans()):
        results = [
            {"role": "tool", "content": "\n\n".join(contents(results)), "tool_responses": results}
        ]
    return [call, *results]


_histories = st.tuples(
    st.sampled_from([[], [SYSTEM]]),
    st.lists(_exchange() | _plain.map(lambda message: [message]), max_size=8),
).map(lambda parts: parts[0] + [message for group in parts[1] for message in group])


def exchanges(messages: Messages) -> list[Messages]:
    """The groups of a well-formed history; fails where a result has no call before it."""
    found: list[Messages] = []
    for message in messages:
        if message["role"] == "tool":
            assert found, "a result comes first"
            assert found[-1][0].get("tool_calls"), "a result without its call"
            found[-1].append(message)
        else:
            found.append([message])
    return found


def answered(messages: Messages) -> list[tuple[list[str], list[str]]]:
    """For each call the ids that it asks for and those that are answered."""
    return [
        (
            [call["id"] for call in group[0]["tool_calls"]],
            [
                part["tool_call_id"]
                for result in group[1:]
                for part in result.get("tool_responses", [result])
            ],
        )
        for group in exchanges(messages)
        if group[0].get("tool_calls")
    ]


def check(before: Messages, transform: MessageTransform) -> Messages:
    """Apply it and check what holds for every transform."""
    untouched = copy.deepcopy(before)
    after = transform.apply_transform(before)
    assert before == untouched, "the input was changed"
    assert all(asked == got for asked, got in answered(after)), "a call lost results"
    assert after[:1] == before[:1] or SYSTEM not in before
    assert bool(after) == bool(before)
    return after


@given(_histories, st.integers(1, 12), st.booleans())
def test_any_history_keeps_to_the_number_of_messages(
    history: Messages, most: int, keep_first: bool
) -> None:
    limiter = MessageHistoryLimiter(most, keep_first)
    after = check(history, limiter)
    assert limiter.get_logs(history, after)[1] == (len(after) < len(history))
    if len(after) > most:
        head = after[:1] if history[:1] == [SYSTEM] else exchanges(history)[0] if keep_first else []
        assert after in (head + exchanges(history)[-1], exchanges(history)[-1]), (
            "above the limit without need"
        )
    if keep_first and len(exchanges(history)[0] if history else []) <= most:
        assert after[:1] == history[:1]
    places = [next(i for i, m in enumerate(history) if m is message) for message in after]
    assert places == sorted(places), "out of order"


@given(_histories, st.integers(0, 60), st.none() | st.integers(0, 15))
def test_any_history_keeps_to_the_number_of_tokens(
    history: Messages, most: int, each: int | None
) -> None:
    limiter = MessageTokenLimiter(each, most)
    system = [message for message in history if message["role"] == "system"]
    assume(limiter._count(system) <= min(most, most if each is None else each))
    after = check(history, limiter)
    rest = exchanges(after[len(system) :])
    assert limiter._count(after) <= most or (len(rest) == 1 and rest[0][0].get("tool_calls"))
    if each is not None:
        texts = [{**message, "tool_calls": None} for message in after]
        assert all(limiter._count([message]) <= each for message in texts)
    if limiter._count(history) <= most and each is None:
        assert after == history


@given(_histories, st.booleans())
def test_any_history_keeps_its_messages_when_names_are_added(
    history: Messages, at_start: bool
) -> None:
    named = [{**message, "name": "al"} for message in history if message != SYSTEM]
    transform = TextMessageContentName("start" if at_start else "end")
    after = check(named, transform)
    assert len(after) == len(named)
    assert transform.apply_transform(after) == after


def test_a_capability_says_how_it_is_added() -> None:
    class Named(AgentCapability):
        def add_to_agent(self, agent: ConversableAgent) -> None:
            agent.description = "capable"

    agent = ConversableAgent("agent", llm_config=False)
    Named().add_to_agent(agent)
    assert agent.description == "capable"
    assert issubclass(TransformMessages, AgentCapability)
    with pytest.raises(NotImplementedError, match="AgentCapability does not say"):
        AgentCapability().add_to_agent(agent)


def test_what_deduplicate_cannot_be() -> None:
    with pytest.raises(WrongArgument, match="deduplicate='yes' must be True or False"):
        TextMessageContentName(deduplicate="yes")  # type: ignore[arg-type]


def test_a_transform_that_tells_nothing_is_applied_all_the_same() -> None:
    class Louder:  # as early versions of AutoGen's documentation have them
        def apply_transform(self, messages: Messages) -> Messages:
            return [{**message, "content": str(message["content"]).upper()} for message in messages]

    quiet: Any = Louder()
    assert TransformMessages(transforms=[quiet]).apply([{"role": "user", "content": "hi"}]) == [
        {"role": "user", "content": "HI"}
    ]
