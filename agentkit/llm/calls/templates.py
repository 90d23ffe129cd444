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
from itertools import dropwhile, takewhile
from typing import Any, Literal, cast

from agentkit.errors import ModelError, ModelUnreachable
from agentkit.llm.model import Model
from agentkit.messages import (
    ContentPart,
    Message,
    ToolCall,
    as_calls,
    has_calls,
    interrupted,
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
_STRICTER: dict[Form, Form | None] = {
    "any": "in_turn",
    "in_turn": "without_system",
    "without_system": None,
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
_SYSTEM = ("system", "developer")
_BEFORE = "(This conversation began earlier.)"
_UNANSWERED = "(I gave no answer to this.)"
_GO_ON = "Go on."
_NOT_RUN = "This call was not run."
_ID = re.compile(r"[A-Za-z0-9]{9}")
"""What Mistral's template takes for the id of a call."""


def find_form(model: Model) -> Form:
    """The form that this model takes, as far as it is known; not every server says."""
    key = (model.provider, model.name)
    if key in _learned:
        return _learned[key]
    return next((form for name, form in _KNOWN if name.search(model.name)), "any")


def find_stricter(form: Form, error: ModelError, messages: Sequence[Message]) -> Form | None:
    """The next form to try after a refusal; None when the messages are not what is refused, or
    when no other form would change them.
    """
    if type(error) not in _REFUSALS or not _WORDS.search(str(error)):
        return None
    refused, other = to_form(messages, form), _STRICTER[form]
    while other and to_form(messages, other) == refused:
        other = _STRICTER[other]
    return other


def learn(model: Model, form: Form) -> None:
    """Note that the model took this form, for as long as the process lives."""
    _learned[(model.provider, model.name)] = form


def to_form(messages: Sequence[Message], form: Form) -> list[Message]:
    """The messages in this form; those that have it already stay as they are.

    Names of speakers go from the fields, which templates refuse or leave out, into the texts where
    several others speak. Whatever is said stays.
    """
    if form == "any":
        return list(messages)
    heard = _merge(_name_speakers(messages))
    system = [_with_role(each, "system") for each in takewhile(_is_system, heard)]
    rest = list(dropwhile(_is_system, heard))
    if not rest:  # nobody has said anything: what there is, is the question
        system, rest = [], system
    turns = _in_turn([_with_role(each, "user") if _is_system(each) else each for each in rest])
    if form == "without_system" and system:
        return _merge([_with_role(system[0], "user"), *turns])
    return [*system, *turns]


def _is_system(message: Message) -> bool:
    return message.get("role") in _SYSTEM


def _with_role(message: Message, role: str) -> Message:
    return cast(Message, {**message, "role": role})


def _name_speakers(messages: Sequence[Message]) -> list[Message]:
    """The messages without names; where several others speak, their texts begin with them."""
    speakers = {each.get("name") for each in messages if each.get("role") == "user"} - {None}
    made: list[Message] = []
    for each in messages:
        name = each.get("name")
        if is_result(each) or not name:
            made.append(each)
            continue
        plain = cast(Message, without_keys(each, ["name"]))
        if each.get("role") == "user" and len(speakers) > 1:
            plain["content"] = _join(f"{name}:", each.get("content"), "\n")
        made.append(plain)
    return made


def _merge(messages: Iterable[Message]) -> list[Message]:
    """One message where the same role speaks several times in a row; results stay apart."""
    made: list[Message] = []
    for each in messages:
        if _says_nothing(each):
            continue
        before = made[-1] if made else None
        if before is not None and _speaks_on(before, each):
            made[-1] = _merged(before, each)
        else:
            made.append(each)
    return made


def _says_nothing(message: Message) -> bool:
    return not message.get("content") and not has_calls(message) and not is_result(message)


def _speaks_on(before: Message, after: Message) -> bool:
    if is_result(after) or has_calls(before):
        return False
    roles = ["system" if _is_system(each) else each.get("role") for each in (before, after)]
    return roles[0] == roles[1]


def _merged(before: Message, after: Message) -> Message:
    content = _join(before.get("content"), after.get("content"), "\n\n")
    return cast(Message, {**before, **after, "role": before.get("role"), "content": content})


def _join(one: Any, other: Any, between: str) -> str | list[ContentPart] | None:
    if not one or not other:
        return cast("str | None", one or other)
    if isinstance(one, str) and isinstance(other, str):
        return f"{one}{between}{other}"
    return [*_parts(one), *_parts(other)]


def _parts(content: Any) -> list[ContentPart]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _in_turn(messages: Sequence[Message]) -> list[Message]:
    """User and assistant by turns, from a user on to a user or a result."""
    made: list[Message] = []
    for each in _merge(_pair_results(messages)):
        role = each.get("role")
        if role == "assistant" and not made:
            made.append(message("user", _BEFORE))
        if role == "user" and made and is_result(made[-1]):
            made.append(message("assistant", _UNANSWERED))
        made.append(each)
    if made and made[-1].get("role") == "assistant":
        made.append(message("user", _GO_ON))
    return _with_short_ids(made)


def _pair_results(messages: Sequence[Message]) -> Iterable[Message]:
    """Each result right after its call; a call without one gets one, one without a call is told."""
    left = deque(messages)
    while left:
        each = left.popleft()
        if each.get("role") == "tool":
            yield _tell_result(each)
            continue
        yield each
        calls = tool_calls_of(each)
        results, others = _take_results(left if calls else deque())
        for call, missing in zip(calls, interrupted(each, _NOT_RUN)[-len(calls) :], strict=False):
            yield results.pop(call.get("id"), cast(Message, missing))
        yield from map(_tell_result, [*results.values(), *others])


def _take_results(left: deque[Message]) -> tuple[dict[object, Message], list[Message]]:
    """The results at the front, by the id of their call, and those of an id that had one."""
    results: dict[object, Message] = {}
    others: list[Message] = []
    while left and left[0].get("role") == "tool":
        result = left.popleft()
        given = result.get("tool_call_id")
        if given in results:
            others.append(result)
        else:
            results[given] = result
    return results, others


def _tell_result(result: Message) -> Message:
    return message("user", f"A tool gave:\n{text_of(result.get('content'))}")


def _with_short_ids(messages: Sequence[Message]) -> list[Message]:
    """Calls and results with ids that every template takes."""
    return [_shorten_ids(each) for each in messages]


def _shorten_ids(one: Message) -> Message:
    if isinstance(given := one.get("tool_call_id"), str):
        return cast(Message, {**one, "tool_call_id": _shorten_id(given)})
    if not (calls := tool_calls_of(one)):
        return one
    short = [{**call, "id": _shorten_id(call.get("id") or "")} for call in calls]
    return cast(Message, {**one, **as_calls(cast("list[ToolCall]", short), None)})


def _shorten_id(given: str) -> str:
    return given if _ID.fullmatch(given) else hashlib.sha256(given.encode()).hexdigest()[:9]
