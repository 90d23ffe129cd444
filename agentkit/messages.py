"""A message is an OpenAI chat dict everywhere; its rules are here.

It comes in three forms: as anybody may give it (`AnyMessage`), as agents keep it (`Stored`, which
is AutoGen's form), and as the chat API takes it (`Message`). What is called in it, and what came of
that, is read by the functions below: `tool_calls` and the older `function_call` are one there.
`agentkit.llm.calls.replies` reads the same keys out of what a server sent; no other module names
them, which a test holds.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import filterfalse
from typing import Any, Literal, TypedDict, TypeGuard, TypeVar, cast

from agentkit.errors import BadModelReply, WrongType

Role = Literal["system", "user", "assistant", "tool", "function"]


class FunctionCall(TypedDict, total=False):
    """Which function is called, and with what: the arguments are JSON text."""

    name: str
    arguments: str


class ToolCall(TypedDict, total=False):
    """One call of a reply; a call in the form that OpenAI had before tools has no id."""

    id: str
    type: str
    function: FunctionCall
    extra_content: Mapping[str, Any]
    """What its server sent beside it, such as Gemini's signature, and may want back."""


class ToolResponse(TypedDict, total=False):
    """What came of one call; `name` is that of the function where there is no id."""

    tool_call_id: str
    role: str
    name: str
    content: object


class ContentPart(TypedDict, total=False):
    """One part of a content: a text, or something else under the name of its `type`."""

    type: str
    text: str
    refusal: str
    image_url: Mapping[str, object]


class Calls(TypedDict, total=False):
    """The keys of a message under which calls stand."""

    tool_calls: list[ToolCall]
    function_call: FunctionCall


class _Said(Calls, total=False):
    role: str
    name: str
    tool_call_id: str
    reasoning_content: str
    """What was thought before; it is sent where a model wants it back, with calls alone."""


class Message(_Said, total=False):
    """One message as the chat API takes it; servers may know further keys."""

    content: str | list[ContentPart] | None


class Stored(_Said, total=False):
    """One message as an agent keeps it; users may add keys of their own.

    `content` may also be a function of the `context`, or whatever a function gave back.
    """

    content: Any
    tool_responses: list[ToolResponse]
    """The results of all calls of one reply."""
    context: Mapping[str, Any]
    metadata: Any
    override_role: str


AnyMessage = Mapping[str, Any]
"""A message as it may be given, with any keys."""
Given = dict[str, Any]
"""The same as AutoGen's protocols hand it on."""
_M = TypeVar("_M", Message, Stored)
_R = TypeVar("_R", Stored, ToolResponse)

THINKING = "reasoning_content"
"""Where a message of ours keeps what was thought before."""
EXTRA = "extra_content"  # where a call keeps what its server sent beside it
THINKING_FIELDS = (THINKING, "reasoning", "thinking")
"""Where servers put it."""
_THOUGHTS = frozenset((*THINKING_FIELDS, "reasoning_details"))
_RESULTS = ("tool", "function")
MAPPING, LIST = (dict, Mapping), (list, tuple)
"""What a message and a list of them may be; nearly all are dicts, which is found out faster."""
_TEXT = (str, type(None))
CALLS = ("tool_calls", "function_call")
"""The keys under which calls stand."""
_CALLED = frozenset((*CALLS, "tool_responses", "function"))
SAID = ("content", *CALLS, "tool_responses")  # the keys under which anything is said
_KEPT = frozenset((*SAID, "tool_call_id", "name", "context", "metadata"))
_UNSENT = _THOUGHTS | {"tool_responses", "context", "metadata", "id", "timestamp"}


def new_id() -> str:
    """A fresh identifier: 32 hexadecimal digits that sort roughly by time of creation."""
    return f"{time.time_ns() // 1_000_000:012x}{uuid.uuid4().hex[:20]}"


def message(role: Role, content: str, name: str = "") -> Message:
    """A plain text message."""
    made: Message = {"role": role, "content": content}
    if name:
        made["name"] = name
    return made


def without_keys(values: Mapping[str, Any], keys: Collection[str]) -> dict[str, Any]:
    """A copy of a message, or of another mapping, without these keys."""
    return {key: value for key, value in values.items() if key not in keys}


def mappings_in(values: object) -> list[Mapping[str, Any]]:
    """The dicts in a list; what else is in it is left out, and anything but a list has none."""
    return list(filter(_is_mapping, values)) if isinstance(values, LIST) else []


def _is_mapping(value: object) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(value, MAPPING)


def text_or_empty(value: object) -> str:
    """The value if it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


# Text


def text_of(content: object) -> str:
    """The text of a content: text parts joined by line breaks, other parts as `<type>`."""
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    if isinstance(content, LIST):
        return "\n".join(map(_text_of_part, content))
    return str(content)


def _text_of_part(part: AnyMessage) -> str:
    kind = part.get("type", "?")
    return str(part.get("text", "")) if kind == "text" else f"<{kind}>"


def content_of(message: AnyMessage) -> Any:
    """The content of a message; of one that is a function, what it gives for the `context`."""
    content = message.get("content")
    if not callable(content):
        return content
    return content(message.get("context") or {})


def read_given(said: Any) -> Any:
    """The content of what is said: that of a message, or what is given in place of one."""
    return said.get("content") if isinstance(said, dict) else said


# Calls


def has_calls(message: object) -> bool:
    """Whether functions are called; the message may also be an object of a model's client."""
    return bool(field_of(message, "tool_calls") or field_of(message, "function_call"))


def field_of(message: object, key: str) -> Any:
    """What a message has by this name; it may be a dict, or an object of a model's client."""
    return message.get(key) if isinstance(message, MAPPING) else getattr(message, key, None)


def tool_calls_of(message: AnyMessage) -> list[ToolCall]:
    """The calls of tools; values other than dicts are left out."""
    return cast("list[ToolCall]", mappings_in(message.get("tool_calls")))


def function_call_of(message: AnyMessage) -> FunctionCall | None:
    """The only call, in the form that OpenAI had before tools."""
    return _as_function(message.get("function_call"))


def calls_of(message: AnyMessage) -> list[ToolCall]:
    """All calls of both forms, those of tools first."""
    calls = tool_calls_of(message)
    if older := function_call_of(message):
        calls.append(ToolCall(function=older))
    return calls


def functions_of(message: AnyMessage) -> list[FunctionCall]:
    """Name and arguments of every call; empty where a call has neither."""
    return [_as_function(call.get("function")) or {} for call in calls_of(message)]


def _as_function(value: object) -> FunctionCall | None:
    return cast(FunctionCall, value) if isinstance(value, MAPPING) else None


def call_fields(message: object) -> Calls:
    """The keys of a message that hold calls, with what they hold; empty without calls."""
    return cast(Calls, {key: made for key in CALLS if (made := field_of(message, key))})


def as_calls(tools: Sequence[ToolCall], function: FunctionCall | None) -> Calls:
    """Calls as the keys of a message that hold them."""
    return call_fields({"tool_calls": list(tools), "function_call": function})


def with_functions(message: AnyMessage, change: Callable[[FunctionCall], FunctionCall]) -> Stored:
    """A copy of the message with other functions called.

    Calls lose an `id` and a `type` of None.
    """
    made = copy_message(message)
    tools, older = made.get("tool_calls"), made.get("function_call")
    if tools:
        made["tool_calls"] = [_with_function(call, change(call["function"])) for call in tools]
    if older:
        made["function_call"] = change(older)
    return made


def _with_function(call: ToolCall, function: FunctionCall) -> ToolCall:
    empty = [key for key in ("id", "type") if call.get(key, "") is None]
    return cast(ToolCall, {**without_keys(call, empty), "function": function})


# Results of calls


def is_result(message: AnyMessage) -> bool:
    """Whether a message is, by its role, what a tool or a function gave."""
    return message.get("role") in _RESULTS


def answers_calls(message: AnyMessage) -> bool:
    """Whether there are results of calls in it, perhaps beside what a person says."""
    return "tool_responses" in message or is_result(message)


def tool_responses_of(message: AnyMessage) -> list[ToolResponse]:
    """The results that AutoGen keeps in one message, whoever says it."""
    return list(message.get("tool_responses") or ())


def responses_of(message: AnyMessage) -> list[ToolResponse]:
    """All results in a message: several, or the message itself where it is one."""
    if several := tool_responses_of(message):
        return several
    return [cast(ToolResponse, message)] if is_result(message) else []


def join_responses(responses: Sequence[ToolResponse]) -> Stored:
    """The one message with the results of several calls; its content repeats theirs as text."""
    content = "\n\n".join(str(each.get("content")) for each in responses)
    return {"role": "tool", "tool_responses": list(responses), "content": content}


def with_responses(message: AnyMessage, responses: Sequence[ToolResponse]) -> Stored:
    """A copy of the message with other results; what is said beside them stays."""
    return copy_message({**message, "tool_responses": list(responses)})


def with_contents(message: Stored, change: Callable[[object], object]) -> Stored:
    """The message with other contents of its results; a message without results stays as it is."""
    responses = tool_responses_of(message)
    if not responses:
        return _with_content(message, change) if is_result(message) else message
    changed = [_with_content(each, change) for each in responses]
    made = with_responses(message, changed)
    if is_result(message):
        made.update(join_responses(changed))
    return made


def _with_content(result: _R, change: Callable[[object], object]) -> _R:
    return cast(_R, {**result, "content": change(result.get("content"))})


def interrupt_calls(message: AnyMessage, said: str) -> list[ToolResponse]:
    """One result for each call that something came in the way of; it is `said` of each."""
    made: list[ToolResponse] = []
    if older := function_call_of(message):
        made.append({"role": "function", "name": older.get("name", ""), "content": said})
    made += [
        {"role": "tool", "tool_call_id": call.get("id", ""), "content": said}
        for call in tool_calls_of(message)
    ]
    return made


# The forms of a message


def as_dict(owner: str, message: object) -> dict[str, Any]:
    """A message given as text or mapping as a dict; raises WrongType for anything else."""
    if isinstance(message, dict):
        return message
    if isinstance(message, str):
        return {"content": message}
    if not isinstance(message, Mapping):
        raise WrongType(f"{owner}: message must be a text or a dict, not {message!r:.80}.")
    return dict(message)


def copy_message(message: AnyMessage) -> Stored:
    """A plain copy of a message that is stored."""
    return cast(Stored, dict(message))


def to_stored(message: AnyMessage, role: str, speaker: str) -> Stored | None:
    """The message as it is stored, or None when it has neither content nor a call.

    `role` is what it gets unless it is the result of a tool or says `override_role`; `speaker`
    names who said it. Raises WrongType for what no model could be told, and for calls that are
    not calls.
    """
    kept = {key: said for key, said in message.items() if said is not None and key in _KEPT}
    stored: Stored = kept  # type: ignore[assignment]  # a `cast` is a call for each message
    own: str = message.get("role", "")
    if own not in _RESULTS:
        own = message.get("override_role", role)
    if type(stored.get("content")) is str and len(stored) <= 1 + ("name" in stored):
        stored["role"] = own
        stored.setdefault("name", speaker)
        return stored
    return _store_calls(message, stored, own, speaker)


def _store_calls(message: AnyMessage, stored: Stored, role: str, speaker: str) -> Stored | None:
    """The stored form of a message that is not only text; None without content and calls."""
    _check_content(stored, message.get("role"), speaker)
    check_calls(speaker, stored)
    if "content" not in stored:
        if stored.keys().isdisjoint(CALLS):
            return None
        stored["content"] = None
    stored["role"] = role
    if "tool_responses" in stored and is_result(message):
        stored["tool_responses"] = list(map(_with_text, stored["tool_responses"]))
    if has_calls(stored):
        stored["role"] = "assistant"
    else:
        stored.setdefault("name", speaker)
    return stored


def _with_text(response: ToolResponse) -> ToolResponse:
    text = str(response.get("content", ""))
    return {**response, "content": text}


def sendable_form(messages: Iterable[AnyMessage]) -> list[Message]:
    """The messages as the chat API takes them: every result one message, no keys of agents."""
    sent: list[Message] = []
    for message in messages:
        if responses := message.get("tool_responses"):
            sent += responses
            # The content of a message of role tool only repeats the responses.
            if message.get("role") == "tool":
                continue
        sent.append(_pick_known_keys(message))
    return sent


def _pick_known_keys(message: AnyMessage) -> Message:
    known = without_keys(message, _UNSENT)
    if THINKING in message and has_calls(message):
        known[THINKING] = message[THINKING]
    if message.get("role") == "function":
        known["content"] = str(message.get("content"))
    return cast(Message, known)


def without_thinking(message: _M) -> _M:
    """The message without what was thought before it; itself where nothing was."""
    if _THOUGHTS.isdisjoint(message):
        return message
    return cast(_M, without_keys(message, _THOUGHTS))


def says_same(one: AnyMessage, other: AnyMessage) -> bool:
    """Whether two messages have the same content, calls and results; roles and names aside."""
    return list(map(one.get, SAID)) == list(map(other.get, SAID))


# Checks


def check_calls(speaker: str, message: AnyMessage) -> None:
    """Raise WrongType for calls or results that have another form; `speaker` names who said it."""
    if _CALLED.isdisjoint(message):
        return
    _check_list(speaker, message, "tool_calls")
    _check_list(speaker, message, "tool_responses")
    _check_functions(speaker, message)
    for call in tool_calls_of(message):
        _check_functions(speaker, call)


def check_reply(who: str, message: AnyMessage) -> None:
    """Raise BadModelReply for a message that no history could take.

    Its content is neither text nor parts, or a call has no name; `who` names the model.
    """
    content, calls = message.get("content"), message.get("tool_calls") or []
    if not _is_text_or_parts(content):
        raise _bad_reply(who, content, "text")
    if not _are_dicts(calls):
        raise _bad_reply(who, calls, "tool calls")
    functions = [call.get("function") for call in calls]
    if older := message.get("function_call"):
        functions.append(older)
    unnamed = list(filterfalse(_has_name, functions))
    if unnamed:
        raise BadModelReply(
            f"{who} called a function without a name: {unnamed[0]!r:.200}; ask again."
        )


def _bad_reply(who: str, sent: object, what: str) -> BadModelReply:
    return BadModelReply(
        f"{who} sent {sent!r:.200} as its {what}; ask again, or choose another model."
    )


def _has_name(function: object) -> bool:
    return _is_mapping(function) and isinstance(function.get("name"), str)


def _check_content(stored: Stored, role: object, speaker: str) -> None:
    """Raise WrongType for what no model could be told; functions may return anything."""
    content = stored.get("content")
    can_be_told = _is_text_or_parts(content) or callable(content)
    if not can_be_told and role not in _RESULTS:
        raise WrongType(
            f"{speaker}: the content of a message must be a text, a list of parts or a callable, "
            f"not {content!r:.80}."
        )
    context: object = stored.get("context", {})
    if not isinstance(context, MAPPING):
        raise WrongType(f"{speaker}: the context of a message must be a dict, not {context!r:.80}.")


def _is_text_or_parts(content: object) -> bool:
    return isinstance(content, _TEXT) or _are_dicts(content)


def _are_dicts(values: object) -> bool:
    return isinstance(values, LIST) and all(map(_is_mapping, values))


def _check_list(speaker: str, message: AnyMessage, key: str) -> None:
    """The value of a key, where there is one, must be a list of dicts."""
    values = message.get(key)
    if values is None:
        return
    if not isinstance(values, LIST):
        raise WrongType(f"{speaker}: {key} must be a list, each of it a dict, not {values!r:.200}.")
    for value in values:
        _check_dict(speaker, f"each of {key}", value, "a dict")


def _check_functions(speaker: str, call: AnyMessage) -> None:
    """The functions that a message or a call names, where it does, must be dicts."""
    for key in ("function", "function_call"):
        function = call.get(key)
        if function is not None:
            _check_dict(speaker, key, function, "a dict with name and arguments")


def _check_dict(speaker: str, what: str, value: object, form: str) -> None:
    if not isinstance(value, MAPPING):
        raise WrongType(f"{speaker}: {what} must be {form}, not {value!r:.200}.")
