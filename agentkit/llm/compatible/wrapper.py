"""OpenAIWrapper: one call over a list of model configurations, with failover, templates, a cache
and sums, as in AutoGen.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import filterfalse, repeat
from operator import attrgetter
from typing import Any, ClassVar

from agentkit.core import bus
from agentkit.core.given import find_first
from agentkit.core.io import IOStream, is_quiet
from agentkit.errors import ClientNotRegistered, LimitReached, Stopped, WrongArgument, WrongType
from agentkit.events import Event, Noted, TokenDelta
from agentkit.llm.cache import AbstractCache, Cache
from agentkit.llm.calls.client import call, recall
from agentkit.llm.calls.retrieved import read_content, to_message
from agentkit.llm.compatible.entries import (
    CLIENT_KEYS,
    Entry,
    is_made_by,
    make_custom_model,
    make_entry,
)
from agentkit.llm.compatible.usage_summary import UsageSummary, print_summaries
from agentkit.llm.model import Model, Reply
from agentkit.messages import Message, has_calls, without_keys, without_thinking

Template = str | list[Any] | Callable[[dict[str, Any]], Any] | None


def instantiate(
    template: Template,
    context: Mapping[str, Any] | None = None,
    allow_format_str_template: bool = False,
) -> Any:
    """The text of a template: a function is called with the context, `{name}` is filled in where
    that is allowed.

    Without a context texts stay as they are. Raises WrongArgument for a function without a context,
    and for a name that the context lacks.
    """
    if callable(template):
        return _fill_by_call(template, context)
    if not context or not allow_format_str_template:
        return template
    return _FILLING.get(type(template), _leave)(template, context)


def _fill_by_call(
    template: Callable[[dict[str, Any]], Any], context: Mapping[str, Any] | None
) -> Any:
    if context is None:
        raise WrongArgument(
            f"The content {template!r} is a function of the context, but no context is given;"
            " pass context=."
        )
    return template(dict(context))


def _leave(template: object, context: Mapping[str, object]) -> object:
    return template


def _fill_parts(parts: list[Any], context: Mapping[str, object]) -> list[Any]:
    return list(map(_fill_part, parts, repeat(context)))


def fill_messages(
    messages: Sequence[Mapping[str, Any]],
    context: Mapping[str, Any] | None,
    allow_format_str_template: bool,
) -> list[Message]:
    """Copies of the messages with their content filled in."""
    made: list[Any] = []
    for message in messages:
        copied = dict(message)
        content = instantiate(message.get("content"), context, allow_format_str_template)
        if content is not message.get("content"):
            copied["content"] = content
        made.append(copied)
    return made


def _fill_part(part: object, context: Mapping[str, object]) -> Any:
    if isinstance(part, Mapping) and isinstance(part.get("text"), str):
        return {**part, "text": _fill(part["text"], context)}
    return part


def _fill(template: str, context: Mapping[str, object]) -> str:
    try:
        return template.format(**context)
    except (KeyError, IndexError, ValueError) as error:
        raise WrongArgument(
            f"The template {template!r} cannot be filled from a context with the keys"
            f" {sorted(map(str, context))} ({type(error).__name__}: {error}); add what is missing,"
            " or write {{ and }} for plain braces."
        ) from error


_FILLING: Mapping[type, Callable[[Any, Mapping[str, object]], Any]] = {
    list: _fill_parts,
    str: _fill,
}
log = logging.getLogger(__name__)

DEFAULT_CACHE_SEED = 41
"""The cache on disk of configurations that name none; AutoGen's number."""
_NOT_IN_KEY = frozenset({"stream", "stream_options", "extra_headers", "timeout"})
"""How it is asked, and what may be secret."""
_FORMATTING = frozenset({"format", "model_validate_json"})
"""What a `response_format` has that turns replies into texts."""


class OpenAIWrapper:
    """Asks the models of `config_list` in turn until one answers and its answer passes; usable by
    several threads.

    `base_config` is what all configurations have in common; alone, it is the only one. A
    configuration's `model` may be a `Model`. Raises WrongType, WrongArgument and ConfigError for
    configurations that cannot be.
    """

    extra_kwargs: ClassVar[set[str]] = {
        "agent",
        "allow_format_str_template",
        "api_type",
        "api_version",
        "cache",
        "cache_seed",
        "context",
        "context_window",
        "filter_func",
        "price",
        "tags",
    }
    """Keys that are for the wrapper and not sent to a server."""
    openai_kwargs: ClassVar[set[str]] = set(CLIENT_KEYS)
    """Keys that clients are built from."""
    aopenai_kwargs: ClassVar[set[str]] = set(CLIENT_KEYS)
    """The same, for Azure."""

    def __init__(
        self, *, config_list: Sequence[Mapping[str, Any]] | None = None, **base_config: Any
    ) -> None:
        if not isinstance(config_list, (list, tuple, type(None))):
            kind = type(config_list).__name__  # not the value, in which keys may stand
            raise WrongType(
                f"config_list is a {kind}; it must be a list of dicts, such as [{{'model': ...,"
                " 'api_key': ...}]."
            )
        self._entries = [
            make_entry(given, base_config, DEFAULT_CACHE_SEED) for given in config_list or [{}]
        ]
        self._actual, self._total = UsageSummary(), UsageSummary()

    @property
    def models(self) -> list[Model | None]:
        """The models of the configurations, in order; None for one that awaits its client."""
        return list(map(attrgetter("model"), self._entries))

    @property
    def actual_usage_summary(self) -> dict[str, Any] | None:
        """What the calls took that reached a model, see `UsageSummary.as_dict`."""
        return self._actual.as_dict()

    @property
    def total_usage_summary(self) -> dict[str, Any] | None:
        """The same with the calls that a cache answered, at the price of the model."""
        return self._total.as_dict()

    def register_model_client(self, model_client_cls: type[Any], **kwargs: Any) -> None:
        """Make a client of a script's own class for the next entry that names it in
        `model_client_cls`.

        The class gets the entry's dict and `kwargs`. Once more the same class changes nothing.
        Raises WrongArgument when no entry names it, or all that do have another.
        """
        name = model_client_cls.__name__
        named = [entry for entry in self._entries if entry.client_class == name]
        if not named:
            raise WrongArgument(
                f"The model client {name!r} is in no entry of the config_list; add"
                f' "model_client_cls": "{name}" to one.'
            )
        waiting = find_first(named, lambda entry: entry.model is None)
        if waiting is not None:
            config = dict(waiting.config)
            client = model_client_cls(config, **kwargs)
            waiting.model = make_custom_model(client, {**waiting.params, **config})
            return
        # The same class once more, as when a notebook's cell is run again, changes nothing.
        models = map(attrgetter("model"), named)
        if not any(map(is_made_by, models, repeat(model_client_cls))):
            raise WrongArgument(
                f"The model client {name!r} is registered for all its entries; add one to use"
                " another of them."
            )

    def create(self, **config: Any) -> Any:
        """Ask with `messages` (or a `prompt`) and further parameters of the chat API; an entry's
        own keys win.

        Beside those: `context` and `allow_format_str_template` for templates,
        `filter_func(context=, response=)` that says whether an answer is good enough, `cache` or
        `cache_seed` (None for no cache), `agent` (who asks), and `price` (US dollars for 1,000
        prompt and completion tokens). The response is the client's, with `cost`, `config_id`
        (index of the entry), `pass_filter` and `message_retrieval_function`. A failing entry is
        told as Noted and the next one asked; raises the last one's error, LimitReached at once,
        ClientNotRegistered, WrongArgument, and Stopped with the `partial` text.
        """
        self._check_clients()
        last = len(self._entries) - 1
        for index, entry in enumerate(self._entries):
            request = _Request.of(entry, {**config, **entry.params})
            try:
                response = self._ask(request)
            except (Stopped, LimitReached):
                raise  # a limit is not the model's failure, and holds for the next one, too
            except Exception as error:  # clients of scripts raise anything
                if index == last:
                    raise
                bus.emit(
                    Noted(
                        request.agent,
                        f"{request.name} failed ({error}); asking the next model of the"
                        " config_list.",
                    )
                )
                continue
            response.config_id = index
            response.pass_filter = request.accepts(response)
            if response.pass_filter or index == last:
                return response
        raise AssertionError("unreachable: the last entry returns or raises")

    @staticmethod
    def extract_text_or_completion_object(response: Any) -> list[Any]:
        """The answers in a response of `create`: texts, or the message objects where functions are
        called.
        """
        extracted: list[Any] = response.message_retrieval_function(response)
        return extracted

    @staticmethod
    def instantiate(
        template: Any,
        context: Mapping[str, Any] | None = None,
        allow_format_str_template: bool = False,
    ) -> Any:
        """A template filled in, see `instantiate` of this module."""
        return instantiate(template, context, allow_format_str_template)

    def print_usage_summary(self, mode: str | Sequence[str] = ("actual", "total")) -> None:
        """Print the sums to the agents' console; raises WrongArgument for another mode than
        "actual" and "total".
        """
        print_summaries(self.actual_usage_summary, self.total_usage_summary, mode)

    def clear_usage_summary(self) -> None:
        """Begin the sums anew."""
        self._actual.clear()
        self._total.clear()

    def _check_clients(self) -> None:
        if waiting := sorted(set(map(attrgetter("awaits"), self._entries)) - {""}):
            raise ClientNotRegistered(
                f"The model clients {waiting} of the config_list are not activated; call"
                " register_model_client for each, or take those entries out."
            )

    def _ask(self, request: _Request) -> Any:
        """The response to a request, with what callers of AutoGen look for in it."""
        with request.open_cache() as cache:
            reply = self._ask_cache(request, cache)
        self._count(self._total, request, reply)
        if reply.stopped:
            stopped = Stopped("stopped by the user")
            stopped.partial = reply.text
            raise stopped
        response = reply.raw
        response.cost = reply.cost or 0
        response.message_retrieval_function = functools.partial(_extract, request)
        return response

    def _ask_cache(self, request: _Request, cache: AbstractCache | None) -> Reply:
        """The reply that a cache keeps; else the model's, which is kept when it is whole."""
        if cache is None:
            return self._ask_model(request)
        key = request.key()
        kept = cache.get(key)
        if kept is not None:
            return request.recall(kept)
        reply = self._ask_model(request)
        if not reply.stopped and reply.end != "broken_off":
            cache.set(key, reply.raw)
        return reply

    def _ask_model(self, request: _Request) -> Reply:
        reply = request.ask()
        self._count(self._actual, request, reply)
        return reply

    @staticmethod
    def _count(summary: UsageSummary, request: _Request, reply: Reply) -> None:
        if request.model.provider == "custom" and reply.usage.estimated:
            return  # as in AutoGen, a client that counts nothing is in no sum
        if reply.cost is None:
            _warn_unpriced(reply.model)
        summary.add(reply.model, reply.cost, reply.usage)


@dataclass(frozen=True, slots=True)
class _Request:
    """What is asked of one entry."""

    model: Model
    messages: list[Message]
    params: dict[str, Any]
    extras: dict[str, Any]
    attempts: int
    cache_seed: int | None

    @classmethod
    def of(cls, entry: Entry, config: dict[str, Any]) -> _Request:
        """From an entry and the call's parameters with the entry's own in them."""
        assert entry.model is not None, "create has checked that all clients are there"
        if ("prompt" in config) == ("messages" in config):
            raise WrongArgument("create needs either messages or a prompt, and not both.")
        extras = {key: config[key] for key in config.keys() & OpenAIWrapper.extra_kwargs}
        empty = filterfalse(config.get, ("tools", "functions"))
        params = without_keys(config, {*extras, *empty, "messages"})
        context, fill = extras.get("context"), bool(extras.get("allow_format_str_template"))
        messages: list[Message]
        if "prompt" in config:
            params["prompt"] = instantiate(config["prompt"], context, fill)
            messages = [{"role": "user", "content": str(params["prompt"])}]
        else:
            messages = fill_messages(config["messages"], context, fill)
        model = entry.model
        if price := extras.get("price"):
            model = dataclasses.replace(model, price_1k=_read_price(price))
        return cls(model, messages, params, extras, entry.attempts, entry.cache_seed)

    @property
    def agent(self) -> str:
        """The name of who asks."""
        asking = self.extras.get("agent")
        return str(getattr(asking, "name", asking) or "")

    @property
    def name(self) -> str:
        """The model for people."""
        return f"The model {self.model.label or self.model.id}"

    def ask(self) -> Reply:
        """The model's reply; its streamed text goes to the agents' console."""
        with _show_stream() if self.params.get("stream") else nullcontext():
            return call(
                self.model,
                self.messages,
                agent=self.agent,
                stream=None,
                params=self.params,
                attempts=self.attempts,
                may_be_empty=True,
            )

    def recall(self, kept: Any) -> Reply:
        """The reply in a response of a cache, which may hand out the object that it keeps."""
        return recall(
            self.model, self.messages, copy.copy(kept), agent=self.agent, params=self.params
        )

    def accepts(self, response: object) -> bool:
        """Whether the caller's filter lets the response pass."""
        accept = self.extras.get("filter_func")
        return accept is None or bool(accept(context=self.extras.get("context"), response=response))

    @contextmanager
    def open_cache(self) -> Iterator[AbstractCache | None]:
        """The cache to use: the caller's, which stays open, one on disk, or None."""
        given, seed = self.extras.get("cache"), self.extras.get("cache_seed", self.cache_seed)
        if given is not None or seed is None:
            yield given
            return
        with Cache.disk(seed) as cache:
            yield cache

    def key(self) -> str:
        """What is asked of whom, as JSON; keys and addresses with logins are not in it."""
        asked = {
            "server": f"{self.model.provider} {self.model.id}",
            "messages": list(map(without_thinking, self.messages)),
            **without_keys(self.params, _NOT_IN_KEY),
        }
        return json.dumps(asked, sort_keys=True, default=_describe)


def _extract(request: _Request, response: object) -> list[Any]:
    """The answers of a response: message objects where functions are called, else texts (formatted
    ones where asked for).
    """
    form = request.params.get("response_format")
    answers = map(_to_text_or_calls, request.model.client.message_retrieval(response))
    if not isinstance(form, type) or not _FORMATTING.issubset(dir(form)):
        return list(answers)
    return list(map(_format, repeat(form), answers))


def _format(form: Any, answer: object) -> Any:
    """A text by the form; calls of functions as they are."""
    if isinstance(answer, str):
        return form.model_validate_json(answer).format()
    return answer


def _to_text_or_calls(message: object) -> Any:
    if isinstance(message, str):
        return read_content(message)
    if isinstance(message, Mapping | None):
        return message
    if not has_calls(message):
        return read_content(message) or getattr(message, "refusal", None)
    if hasattr(message, "model_dump"):
        return message
    return to_message(message, "The model")


def _read_price(price: object) -> tuple[float, float]:
    match price:
        case [int() | float() as prompt, int() | float() as completion]:
            return float(prompt), float(completion)
    raise WrongArgument(
        f"price is {price!r}; it must be [dollars for 1,000 prompt tokens, dollars for 1,000"
        " completion tokens]."
    )


@functools.cache
def _warn_unpriced(model: str) -> None:
    """Once for each model."""
    log.warning(
        'The price of the model %s is unknown and counts as 0 in the sums; add "price": [dollars'
        " for 1,000 prompt tokens, dollars for 1,000 completion tokens] to its entry of the"
        " config_list.",
        model,
    )


def _describe(value: object) -> Any:
    """What stands in a cache's key for what JSON cannot hold; the same for the same thing in
    another process.
    """
    if not isinstance(value, type):
        if hasattr(value, "model_dump"):
            return value.model_dump()
        return repr(value)
    if hasattr(value, "model_json_schema"):
        return value.model_json_schema()
    return f"{value.__module__}.{value.__qualname__}"


@contextmanager
def _show_stream() -> Iterator[None]:
    """While the block runs, what is streamed goes to the agents' console, in green, unless the chat
    prints nothing.
    """
    if is_quiet():
        yield
        return
    out = IOStream.get_default()

    def show(event: Event) -> None:
        if isinstance(event, TokenDelta):
            out.print(event.text, end="", flush=True)

    out.print("\033[32m", end="")
    try:
        with bus.listening(show):
            yield
    finally:
        out.print("\033[0m\n")
