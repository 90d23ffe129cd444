"""Transforms: shorter and annotated histories for the model, the kept history unchanged.

To record them the oracle needs tiktoken's `cl100k_base`, by the network or from TIKTOKEN_CACHE_DIR.
"""

from __future__ import annotations

import copy
from typing import Any

from tests.differential.kit import Kit, scenario

SYSTEM = {"role": "system", "content": "Be brief."}
TALK: list[dict[str, Any]] = [
    {"role": "user", "content": "one", "name": "Ann"},
    {"role": "assistant", "content": "two", "name": "Bob"},
    {"role": "user", "content": "three", "name": "Ann"},
    {"role": "assistant", "content": "four", "name": "Bob"},
    {"role": "user", "content": "five", "name": "Ann"},
]
CALL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CALLING: list[dict[str, Any]] = [
    TALK[0],
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "content": "r", "tool_call_id": "1"},
    TALK[3],
]
LONG = {"role": "user", "content": " ".join(["word"] * 200), "name": "Ann"}


def contents(messages: list[dict[str, Any]]) -> list[Any]:
    return [message["content"] for message in messages]


def applied(transform: Any, messages: list[dict[str, Any]]) -> list[Any]:
    """The transformed contents, and whether the given messages are as they were."""
    before = copy.deepcopy(messages)
    after = transform.apply_transform(messages)
    return [contents(after), messages == before]


# --- number of messages


@scenario
def history_of_the_last_messages(kit: Kit) -> Any:
    return [applied(kit.MessageHistoryLimiter(max_messages=n), TALK) for n in (1, 5, 9, None)]


@scenario(
    better=(
        "the messages that are kept stay in their order; the oracle put the oldest of them second"
    ),
    expected=[[["four", "five"], True], [["three", "four", "five"], True]],
)
def history_keeps_the_order(kit: Kit) -> Any:
    return [applied(kit.MessageHistoryLimiter(max_messages=n), TALK) for n in (2, 3)]


@scenario(
    better="a system message at the head stays and counts; the oracle dropped it with the oldest",
    expected=[[["Be brief.", "five"], True], [["Be brief.", "four", "five"], True]],
)
def history_keeps_the_system_message(kit: Kit) -> Any:
    return [applied(kit.MessageHistoryLimiter(max_messages=n), [SYSTEM, *TALK]) for n in (2, 3)]


@scenario
def history_keeps_the_first_message(kit: Kit) -> Any:
    limiters = [
        kit.MessageHistoryLimiter(max_messages=n, keep_first_message=True) for n in (2, 3, 9)
    ]
    return [applied(limiter, TALK) for limiter in limiters]


@scenario
def history_does_not_begin_with_a_tool_result(kit: Kit) -> Any:
    return [
        contents(kit.MessageHistoryLimiter(max_messages=n).apply_transform(CALLING))
        for n in (1, 2, 4)
    ]


@scenario(
    better="a tool's result follows its call; the oracle put the result first",
    expected=[None, "r", "four"],
)
def history_keeps_a_tool_result_behind_its_call(kit: Kit) -> Any:
    return contents(kit.MessageHistoryLimiter(max_messages=3).apply_transform(CALLING))


@scenario
def history_of_nothing_and_wrong_limits(kit: Kit) -> Any:
    empty = kit.MessageHistoryLimiter(max_messages=3).apply_transform([])
    return [empty, [kit.raised(kit.MessageHistoryLimiter, max_messages=n) for n in (0, -1)]]


@scenario
def history_logs(kit: Kit) -> Any:
    limiter = kit.MessageHistoryLimiter(max_messages=2)
    return [
        limiter.get_logs(TALK, limiter.apply_transform(TALK))[1],
        limiter.get_logs(TALK[:1], TALK[:1])[1],
    ]


# --- number of tokens


@scenario
def tokens_of_each_message(kit: Kit) -> Any:
    limiter = kit.MessageTokenLimiter(max_tokens_per_message=3)
    return applied(
        limiter,
        [
            {"role": "user", "content": "one two three four five six"},
            {"role": "user", "content": "one"},
        ],
    )


@scenario(
    better="what fits is kept; without a limit for each message the oracle kept the last one only",
    expected=[["five"], ["three", "four", "five"], ["one", "two", "three", "four", "five"]],
)
def tokens_of_all_messages(kit: Kit) -> Any:
    return [
        contents(kit.MessageTokenLimiter(max_tokens=n).apply_transform(TALK)) for n in (1, 3, 100)
    ]


@scenario
def tokens_of_each_and_all(kit: Kit) -> Any:
    limiter = kit.MessageTokenLimiter(max_tokens_per_message=2, max_tokens=5)
    return applied(
        limiter,
        [
            {"role": "user", "content": text}
            for text in ("one two three", "four five six", "seven eight nine")
        ],
    )


@scenario
def tokens_below_the_threshold_are_left(kit: Kit) -> Any:
    limiter = kit.MessageTokenLimiter(max_tokens_per_message=2, min_tokens=50)
    return [applied(limiter, TALK), applied(limiter, [LONG])]


@scenario
def tokens_with_a_filter(kit: Kit) -> Any:
    long = [{**LONG, "role": role} for role in ("system", "user", "assistant")]
    results = []
    for exclude in (True, False):
        limiter = kit.MessageTokenLimiter(
            max_tokens_per_message=2, filter_dict={"role": "system"}, exclude_filter=exclude
        )
        results.append([len(text.split()) for text in contents(limiter.apply_transform(long))])
    return results


@scenario
def tokens_of_contents_that_are_no_text(kit: Kit) -> Any:
    image = {"type": "image_url", "image_url": {"url": "data:,"}}
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "one two three"}, image]},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "user", "content": ""},
    ]
    return contents(kit.MessageTokenLimiter(max_tokens_per_message=2).apply_transform(messages))


@scenario
def tokens_wrong_limits(kit: Kit) -> Any:
    wrong: list[dict[str, Any]] = [
        {"max_tokens": -1},
        {"min_tokens": 9, "max_tokens": 3},
        {"max_tokens": "x"},
    ]
    return [kit.raised(kit.MessageTokenLimiter, **options) for options in wrong]


# --- names in the contents


@scenario
def names_before_and_after(kit: Kit) -> Any:
    makers: list[dict[str, Any]] = [
        {},
        {"position": "end", "format_string": " (by {name})"},
        {"format_string": "{name} says: "},
    ]
    return [applied(kit.TextMessageContentName(**options), TALK[:2]) for options in makers]


@scenario
def names_are_not_written_twice(kit: Kit) -> Any:
    results = []
    for deduplicate in (True, False):
        transform = kit.TextMessageContentName(deduplicate=deduplicate)
        results.append(contents(transform.apply_transform(transform.apply_transform(TALK[:1]))))
    return results


@scenario
def names_where_there_is_none(kit: Kit) -> Any:
    messages = [
        SYSTEM,
        {"role": "user", "content": "x"},
        {"role": "user", "content": "", "name": "Ann"},
        *CALLING[1:3],
    ]
    return contents(kit.TextMessageContentName().apply_transform(messages))


@scenario
def names_with_a_filter(kit: Kit) -> Any:
    some = kit.TextMessageContentName(filter_dict={"role": ["user"]}, exclude_filter=False)
    others = kit.TextMessageContentName(filter_dict={"role": ["user"]})
    return [contents(transform.apply_transform(TALK[:2])) for transform in (some, others)]


@scenario(
    better="the name goes into the first text of a list of parts; the oracle raised AttributeError",
    expected=[[{"type": "text", "text": "Ann:\nhi"}]],
)
def names_in_a_list_of_parts(kit: Kit) -> Any:
    listed = [{"role": "user", "name": "Ann", "content": [{"type": "text", "text": "hi"}]}]
    return contents(kit.TextMessageContentName().apply_transform(listed))


@scenario
def names_wrong_options(kit: Kit) -> Any:
    wrong: list[dict[str, Any]] = [
        {"position": "middle"},
        {"position": None},
        {"format_string": "no name"},
        {"format_string": None},
    ]
    return [kit.raised(kit.TextMessageContentName, **options) for options in wrong]


# --- in an agent


def _shortened(kit: Kit, limit: int) -> Any:
    """The contents of each request of a model behind a limiter, and what the chat keeps."""
    thinker = kit.agent("thinker", llm_config=kit.llm_config(), system_message="Be brief.")
    seen = kit.scripted(thinker, ["first", "second", "third"])
    chain = [
        kit.MessageHistoryLimiter(max_messages=limit),
        kit.TextMessageContentName(format_string="{name}: "),
    ]
    kit.TransformMessages(transforms=chain, verbose=False).add_to_agent(thinker)
    asker = kit.agent("asker", default_auto_reply="go on")
    result = kit.call(asker, "initiate_chat", thinker, message="start", max_turns=3, silent=True)
    return [[contents(request) for request in seen], contents(result.chat_history)]


@scenario(both=True)
def transforms_change_what_the_model_reads_only(kit: Kit) -> Any:
    return _shortened(kit, 9)


@scenario(both=True)
def transforms_leave_only_the_newest(kit: Kit) -> Any:
    return _shortened(kit, 1)


@scenario
def transforms_of_ones_own(kit: Kit) -> Any:
    class Shout:
        def apply_transform(self, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
            return [{**message, "content": message["content"].upper()} for message in messages]

        def get_logs(self, before: Any, after: Any) -> tuple[str, bool]:
            return "shouted", True

    thinker = kit.agent("thinker", llm_config=kit.llm_config(), system_message="Be brief.")
    seen = kit.scripted(thinker, ["ok"])
    kit.TransformMessages(transforms=[Shout()], verbose=False).add_to_agent(thinker)
    thinker.generate_reply(messages=[{"role": "user", "content": "hi"}], sender=kit.agent("asker"))
    return contents(seen[0])


@scenario
def transforms_none_at_all(kit: Kit) -> Any:
    return kit.raised(
        lambda: kit.TransformMessages(transforms=[], verbose=False).add_to_agent(kit.agent("x"))
    )
