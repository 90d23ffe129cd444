"""Asking a model for something that a parser can read: told how, checked, and asked again with what
was wrong.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from operator import attrgetter, itemgetter
from typing import Any, cast

from agentkit.conversation.compression.meter import model_asked_by
from agentkit.conversation.conversable import ConversableAgent
from agentkit.conversation.model import list_models, list_tools, model_reply
from agentkit.core import bus
from agentkit.core.given import coalesce
from agentkit.core.io import quietly
from agentkit.core.lenient import find_below
from agentkit.core.twin import Mode
from agentkit.errors import ModelError, ResponseParsingError, explain
from agentkit.events import Noted, ReplyParsed
from agentkit.messages import Stored, functions_of, read_given, text_of
from agentkit.parsers import ModelResponse

ParseFunction = Callable[[ModelResponse], Any]
"""Gives a ModelResponse whose `parsed` is filled, or what was parsed; raises ResponseParsingError,
ValueError or KeyError.
"""

_ANSWER = "answer"
_FORCED = "forced tool"
_LONGEST = 20_000  # characters of a refused reply that the model sees again
_REFUSAL = re.compile(
    r"response_format|json_schema|json_object|schema|grammar|guided|structured"
    r"|tool_choice|tools?\b",
    re.IGNORECASE,
)
_refused: set[tuple[Any, ...]] = set()
"""Models that take no `response_format`, or no forced tool, with the way that they refused."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What is wanted of a reply."""

    parse: ParseFunction
    name: str
    """Of the parser, for whoever watches."""
    instruction: str = ""
    """How the model is told to write; empty when the messages say so."""
    api_format: Mapping[str, Any] | None = None
    """The same for the chat API: a `response_format`."""
    max_retries: int = 3
    """How often it is asked again after a reply that cannot be read."""
    fault_handler: Callable[[ModelResponse], Any] | None = None
    """Gives what counts as parsed when no reply could be read."""
    heard: Callable[[Any], str] = lambda parsed: ""
    """What others will hear of it, for whoever watches."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Further ones of the chat API, for this call."""


async def ask(
    mode: Mode, agent: ConversableAgent, client: Any, messages: Sequence[Stored], wish: Wish
) -> ModelResponse | Stored:
    """The first reply that can be read, with `parsed`; or a message with calls, which are to be
    answered first.

    A reply that cannot be read is answered with what was wrong and how to write, at most
    `max_retries` times; each try emits ReplyParsed. After that the `fault_handler` decides, without
    one the last error is raised. Raises what the client raises.
    """
    told = add_instruction(messages, wish.instruction)
    asked = told
    for attempt in count(1):
        reply = await _ask_model(mode, agent, client, asked, wish)
        if isinstance(reply, dict):
            return reply
        response = ModelResponse(text=reply)
        try:
            return _parse(agent, wish, response, attempt)
        except (ResponseParsingError, ValueError, KeyError) as error:
            bus.emit(ReplyParsed(agent.name, wish.name, attempt, False, error=explain(error)))
            if attempt > wish.max_retries:
                return _give_up(agent, wish, response, error, attempt)
            refused: Stored = {"role": "assistant", "content": _shorten(reply, client)}
            asked = [*told, refused, _tell_problem(error, wish)]
    raise AssertionError("unreachable: the last attempt returns or raises")


def add_instruction(messages: Sequence[Stored], instruction: str) -> list[Stored]:
    """The messages with the instruction at their end: in the last one where a person or another
    agent speaks, else on its own.

    Many servers take no system message at the end, and no two messages of the same role in a row.
    """
    if not instruction:
        return list(messages)
    *_, last = [Stored(), *messages]
    text = last.get("content")
    if last.get("role") != "user" or not isinstance(text, str):
        return [*messages, {"role": "user", "content": instruction}]
    both = f"{text}\n\n{instruction}"
    return [*messages[:-1], {**last, "content": both}]


def _parse(
    agent: ConversableAgent, wish: Wish, response: ModelResponse, attempt: int
) -> ModelResponse:
    made = _with_parsed(response, wish.parse(response))
    shown = json.loads(json.dumps(made.parsed, default=str))
    heard = wish.heard(made.parsed)
    bus.emit(ReplyParsed(agent.name, wish.name, attempt, True, shown, heard))
    return made


def _with_parsed(response: ModelResponse, made: Any) -> ModelResponse:
    """What a parser gave: a response, or what is parsed of this one."""
    if isinstance(made, ModelResponse):
        return made
    response.parsed = made
    return response


def _give_up(
    agent: ConversableAgent, wish: Wish, response: ModelResponse, error: Exception, tries: int
) -> ModelResponse:
    after = "after 1 try" if tries == 1 else f"after {tries} tries"
    if wish.fault_handler is not None:
        bus.emit(Noted(agent.name, f"no reply could be read {after}"))
        handled = _with_parsed(response, wish.fault_handler(response))
        response.parsed = handled.parsed
        return response
    told = f"{agent.name}: the model's reply could not be read {after}. {explain(error)}"
    if not isinstance(error, ResponseParsingError):
        raise ResponseParsingError(told, response.text) from error
    error.message, error.raw_response, error.args = told, response.text, (told,)
    raise error


def _shorten(reply: str, client: Any) -> str:
    """A refused reply as the model sees it again; of a very long one the two ends, so that there is
    room for a better one.
    """
    _, window = model_asked_by(client)
    # As many characters as the window has tokens take about a quarter of it.
    longest = min(_LONGEST, window or _LONGEST)
    cut, end = len(reply) - longest, longest // 2
    if cut <= 0:
        return reply or "(nothing)"
    return f"{reply[:end]}\n({cut:,} characters)\n{reply[-end:]}"


def _tell_problem(error: Exception, wish: Wish) -> Stored:
    told = (
        f"Your reply could not be read: {explain(error)}\n"
        "Reply to the same message again, complete and in the right form."
        f"\n\n{wish.instruction}"
    )
    return {"role": "user", "content": told.removesuffix("\n\n")}


# How the API is told


async def _ask_model(
    mode: Mode, agent: ConversableAgent, client: Any, asked: Sequence[Stored], wish: Wish
) -> str | Stored:
    """A text, or a message with calls of functions."""
    offered = list_tools(agent.llm_config)
    models = _identify_models(client)
    for way in _list_ways(wish, has_tools=bool(offered)):
        if not way.is_open_to(models):
            continue
        given = {**offered, **wish.parameters, **way.parameters}
        try:
            reply = await mode.block(_reply_unseen, client, asked, agent.client_cache, agent, given)
        except ModelError as error:
            if not way.is_refused_by(error):
                raise
            _refused.add((way.name, models))
            text = (
                f"the model takes no {way.name}, so it is only told in words how to reply ({error})"
            )
            bus.emit(Noted(agent.name, text))
            continue
        return _read_reply(agent, reply, forced=way.name == _FORCED)
    raise AssertionError("unreachable: the last way returns or raises")


@dataclass(frozen=True, slots=True)
class _Way:
    """How the API holds the model to the form; without a name it does not."""

    name: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def is_open_to(self, models: tuple[Any, ...]) -> bool:
        """Whether these models take it, as far as is known."""
        if not self.name:
            return True
        if not models:
            return False
        return (self.name, models) not in _refused

    def is_refused_by(self, error: ModelError) -> bool:
        """Whether the error says that a model does not take it, rather than something else."""
        if not self.name:
            return False
        if error.retry_after_s is not None:
            return False
        return _REFUSAL.search(str(error)) is not None


def _list_ways(wish: Wish, *, has_tools: bool) -> Iterator[_Way]:
    """The ways, strictest first; the parser checks in any case."""
    if wish.api_format:
        yield _Way("response_format", {"response_format": dict(wish.api_format)})
    schema = find_below(wish.api_format, "json_schema", "schema")
    if schema and not has_tools:
        yield _Way(_FORCED, _force_tool(schema))
    yield _Way()


def _force_tool(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of the chat API with which the model must answer by calling a function."""
    function = {"name": _ANSWER, "description": "Give the answer.", "parameters": schema}
    return {
        "tools": [{"type": "function", "function": function}],
        "tool_choice": {"type": "function", "function": {"name": _ANSWER}},
    }


def _identify_models(client: Any) -> tuple[Any, ...]:
    """The models behind the client if all of them may be told a form, else nothing."""
    models = list_models(client)
    if not all(map(_takes_form, models)):
        return ()
    return tuple(map(attrgetter("provider", "name"), models))


def _takes_form(model: Any) -> bool:
    client = getattr(model, "client", None)
    return bool(getattr(client, "takes_response_format", False))


def _reply_unseen(*asked: Any) -> Any:
    """`model_reply` with nothing on the console, where a stream would show what only the parser may
    pass on.
    """
    with quietly(True):
        return model_reply(*asked)


def _read_reply(agent: ConversableAgent, reply: Any, *, forced: bool) -> str | Stored:
    """The text of a reply, or what a forced tool was called with; a message with other calls as it
    is.

    Calls of functions that nobody has offered are passed over: their text counts, else what the
    first was called with.
    """
    text = text_of(read_given(reply))
    if not isinstance(reply, dict):
        return text
    called = functions_of(reply)
    if not called:
        return text

    arguments = str(coalesce(called[0].get("arguments"), ""))
    if forced:
        return arguments
    names = map(itemgetter("name"), called)
    is_known = any(map(agent.can_execute_function, names))
    if is_known or list_tools(agent.llm_config):
        return cast(Stored, reply)
    return text or arguments
