"""What the chat templates of models demand of the order of messages, and requests that keep to it.

OpenAI takes messages in any order. The templates of Gemma, Mistral, Llama 2 and others, which
servers such as vLLM and llama.cpp run, refuse what they do not know: a second system message, two
users in a row, a result without its call.
"""

from __future__ import annotations

import hashlib
import re
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import chain, dropwhile, filterfalse, repeat, takewhile
from typing import Any, Literal, cast

from agentkit.core.given import coalesce, find_value, is_list_of
from agentkit.errors import ModelError, ModelUnreachable
from agentkit.llm.model import Model
from agentkit.messages import (
    CALLS,
    ContentPart,
    Message,
    ToolCall,
    as_calls,
    has_calls,
    interrupt_calls,
    is_result,
    message,
    text_of,
    tool_calls_of,
    without_keys,
)

Form = Literal["any", "in_turn", "without_system"]
"""`any`: as it comes. `in_turn`: one system message in front, then user and assistant in turn, each
result after its call. `without_system`: the same, with the system's words in the first question.
"""
_STRICTER: dict[Form, tuple[Form, ...]] = {
    "any": ("in_turn", "without_system"),
    "in_turn": ("without_system",),
    "without_system": (),
}
_KNOWN: tuple[tuple[re.Pattern[str], Form], ...] = (
    (re.compile(r"gemma-?[12]?(?![\d.])(?!-?3)|codegemma", re.I), "without_system"),
    (re.compile(r"(^|[/_-])(mis|mix|minis|codes|devs|mags)tral|llama-?2|gemma", re.I), "in_turn"),
)
"""Families whose own templates refuse other requests, by the name of the model."""
_REFUSALS = (ModelError, ModelUnreachable)
"""As what a refusal comes: llama.cpp calls it a problem of its own."""
_WORDS = re.compile(
    r"\b(roles?|alternat\w*|jinja|chat.?template|system (message|prompt)s?|user (message|query)"
    r"|assistant message|tool (call|message|result)s?)\b",
    re.I,
)
_learned: dict[tuple[str, str], Form] = {}
"""By server and model: the form that it took after it had refused another."""
_VOICES = {"developer": "system"}
"""Roles that are the same to a template, by the newer name."""
_UNANSWERED = message("assistant", "(I gave no answer to this.)")
_BETWEEN: dict[tuple[object, object], tuple[Message, ...]] = {
    (None, "assistant"): (message("user", "(This conversation began earlier.)"),),
    ("tool", "user"): (_UNANSWERED,),
    ("function", "user"): (_UNANSWERED,),
    ("assistant", None): (message("user", "Go on."),),
}
"""What is said between two roles that no template lets follow each other; None is either end."""
_SAYING = ("content", *CALLS)
_NOT_RUN = "This call was not run."
_NOT_IN_NAMES = re.compile(r"[\s<|\\/>]")
"""What OpenAI refuses in the name of a speaker."""
_LONGEST_NAME = 64
_ID = re.compile(r"[A-Za-z0-9]{9}")
"""What Mistral's template takes for the id of a call."""


def find_form(model: Model) -> Form:
    """The form that this model takes, as far as it is known; not every server says."""
    of_family = find_value(_KNOWN, lambda name: name.search(model.name), "any")
    return _learned.get((model.provider, model.name), of_family)


def find_stricter(form: Form, error: ModelError, messages: Sequence[Message]) -> Form | None:
    """The next form to try after a refusal; None when the messages are not what is refused, or
    when no other form would change them.
    """
    if type(error) not in _REFUSALS or not _WORDS.search(str(error)):
        return None
    refused = to_form(messages, form)
    changed = dropwhile(lambda other: to_form(messages, other) == refused, _STRICTER[form])
    return next(changed, None)


def learn(model: Model, form: Form) -> None:
    """Note that the model took this form, for as long as the process lives."""
    _learned[(model.provider, model.name)] = form


def to_form(messages: Sequence[Message], form: Form) -> list[Message]:
    """The messages in this form; those that have it already stay as they are.

    Names of speakers go from the fields, which templates refuse or leave out, into the texts where
    several others speak. Whatever is said stays.
    """
    if form == "any":
        return list(map(_name_plainly, _answer_all(messages)))
    system: list[Message] = []
    rest = _merge(_name_speakers(messages))
    # Where nobody else has said anything, what there is, is the question.
    if len(rest) > 1 and _is_system(rest[0]):
        system.append(rest.pop(0))
    turns = _put_in_turn(list(map(_give_role, rest, repeat("user"))))
    if form == "without_system":
        return _merge([*map(_give_role, system, repeat("user")), *turns])
    return [*map(_give_role, system, repeat("system")), *turns]


def _answer_all(messages: Iterable[Message]) -> Iterable[Message]:
    """The messages with a result for each call: a chat may have ended, or been cut, before one."""
    missing: list[Message] = []
    for each in messages:
        if not _is_of_tool(each):
            yield from missing
            missing = _make_missing(each)
        else:
            missing = [one for one in missing if not _is_for_same(one, each)]
        yield each
    yield from missing


def _make_missing(caller: Message) -> list[Message]:
    """A result for each call of a tool, as if there were none."""
    return list(filter(_is_of_tool, cast("list[Message]", interrupt_calls(caller, _NOT_RUN))))


def _is_for_same(one: Message, other: Message) -> bool:
    return one.get("tool_call_id", "") == other.get("tool_call_id", "")


def _name_plainly(message: Message) -> Message:
    """The message under a name that OpenAI takes; those of functions are so already."""
    name = message.get("name", "")
    if is_result(message) or not isinstance(name, str):
        return message
    plain = _NOT_IN_NAMES.sub("_", name)[:_LONGEST_NAME]
    return message if plain == name else cast(Message, {**message, "name": plain})


def _find_voice(message: Message) -> str:
    """Who speaks, as a template tells them apart."""
    role = message.get("role", "")
    return _VOICES.get(role, role)


def _is_system(message: Message) -> bool:
    return _find_voice(message) == "system"


def _give_role(message: Message, role: str) -> Message:
    """A system message with this role; any other as it is."""
    if not _is_system(message):
        return message
    return cast(Message, {**message, "role": role})


def _name_speakers(messages: Sequence[Message]) -> list[Message]:
    """The messages without names; where several others speak, their texts begin with them."""
    speakers = set(filter(None, map(_find_speaker, messages)))
    return list(map(_name_speaker, messages, repeat(len(speakers) > 1)))


def _find_speaker(message: Message) -> str:
    """The name of a user; empty for everybody else."""
    if message.get("role") != "user":
        return ""
    return message.get("name", "")


def _name_speaker(message: Message, several: bool) -> Message:
    """The message without a name; with the user's in its text where `several` speak."""
    if is_result(message):
        return message
    plain = cast(Message, without_keys(message, ["name"]))
    speaker = _find_speaker(message)
    if several and speaker:
        plain["content"] = _join(f"{speaker}:", message.get("content"), "\n")
    return plain


def _merge(messages: Iterable[Message]) -> list[Message]:
    """One message where the same role speaks several times in a row; results stay apart."""
    made: list[Message] = []
    for each in filterfalse(_is_empty, messages):
        if made and _speaks_on(made[-1], each):
            made[-1] = _merge_two(made[-1], each)
        else:
            made.append(each)
    return made


def _is_empty(message: Message) -> bool:
    if is_result(message):
        return False
    return not any(map(message.get, _SAYING))


def _speaks_on(before: Message, after: Message) -> bool:
    """Whether what comes after can be one message with what was before."""
    if is_result(after) or has_calls(before):
        return False
    return _find_voice(before) == _find_voice(after)


def _merge_two(before: Message, after: Message) -> Message:
    content = _join(before.get("content"), after.get("content"), "\n\n")
    return cast(Message, {**before, **after, "role": before.get("role"), "content": content})


def _join(one: Any, other: Any, between: str) -> str | list[ContentPart]:
    """Two contents as one: a text, or parts where one of them has parts."""
    said = list(filter(None, (one, other)))
    if is_list_of(said, str):
        return between.join(said)
    return list(chain.from_iterable(map(_to_parts, said)))


def _to_parts(content: Any) -> list[ContentPart]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return cast("list[ContentPart]", content)


def _put_in_turn(messages: Sequence[Message]) -> list[Message]:
    """User and assistant by turns, from a user on to a user or a result."""
    turns = _merge(_pair_results(messages))
    made: list[Message] = []
    before = None
    for each in turns:
        role = each.get("role")
        made += _BETWEEN.get((before, role), ())
        made.append(each)
        before = role
    made += _BETWEEN.get((before, None), ())
    return list(map(_shorten_ids, made))


def _pair_results(messages: Sequence[Message]) -> Iterable[Message]:
    """Each result right after its call; a call without one gets one, one without a call is told."""
    left = deque(messages)
    yield from map(_tell_result, _take_results(left))
    while left:
        each = left.popleft()
        yield each
        yield from _answer_calls(each, _take_results(left))


def _take_results(left: deque[Message]) -> list[Message]:
    """Take the results off the front."""
    results = list(takewhile(_is_of_tool, left))
    for _ in results:
        left.popleft()
    return results


def _is_of_tool(message: Message) -> bool:
    return message.get("role") == "tool"


def _answer_calls(caller: Message, results: Sequence[Message]) -> Iterable[Message]:
    """A result for each call, in their order; then the results that belong to none."""
    calls = tool_calls_of(caller)
    own = {result.get("tool_call_id"): result for result in reversed(results)}
    used = set()
    for call, none in zip(calls, _make_missing(caller), strict=True):
        result = own.pop(call.get("id"), none)
        used.add(id(result))
        yield result
    for result in results:
        if id(result) not in used:
            yield _tell_result(result)


def _tell_result(result: Message) -> Message:
    return message("user", f"A tool gave:\n{text_of(result.get('content'))}")


def _shorten_ids(one: Message) -> Message:
    made = cast(Message, dict(one))
    if isinstance(given := one.get("tool_call_id"), str):
        made["tool_call_id"] = _shorten_id(given)
    calls = as_calls(list(map(_shorten_id_of, tool_calls_of(one))), None)
    return cast(Message, {**made, **calls})


def _shorten_id_of(call: ToolCall) -> ToolCall:
    return {**call, "id": _shorten_id(coalesce(call.get("id"), ""))}


def _shorten_id(given: str) -> str:
    if _ID.fullmatch(given):
        return given
    return hashlib.sha256(given.encode()).hexdigest()[:9]
