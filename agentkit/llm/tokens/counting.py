"""Counting tokens: exact for models whose tokenizer is known, else an estimate that says so; never
asks the network.

In a conversation that grows, each message is counted once and remembered by what is in it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import NoneType
from typing import Any
from weakref import WeakKeyDictionary, WeakMethod

from agentkit.core.given import coalesce
from agentkit.llm.model import Model
from agentkit.llm.tokens.families import Family, TextCounter, family_of, register_token_counter
from agentkit.llm.tokens.messages import Counted, add_up, count_message
from agentkit.llm.tokens.tools import count_definitions, count_joining
from agentkit.messages import text_of

__all__ = [
    "TokenCounter",
    "count_messages",
    "count_text",
    "counter",
    "counter_of",
    "register_token_counter",
]

_NUMBERS = (NoneType, int, float)
_REMEMBERED = 8192
_PROMPTS = 8
_SHORT = 32  # messages; a shorter prompt is looked up message by message
_LONG = 10_000  # characters; of a longer text only its hash is kept


@dataclass(frozen=True, slots=True)
class _Prompt:
    """The messages of a prompt behind its first one, as they were when they were counted, and what
    they took together.
    """

    messages: list[Any]
    tokens: int
    is_estimate: bool
    system: str | None
    """What the first system message says; None without one."""


class TokenCounter:
    """Counts prompts for one model; a prompt that goes on where one of the last eight ended costs
    what is new in it.

    The first message may be another one each time. The result is the same as counting anew:
    messages are compared by what is in them, so that one that was changed in place is a new one.
    Those that moved are looked up: at least the latest 8,192 are remembered, at most twice as many.
    Several threads may count at once. `count_text` replaces the tokenizer.
    """

    def __init__(self, model: str, count_text: TextCounter | None = None) -> None:
        self.model = model
        family = family_of(model)
        if count_text is not None:
            family = replace(family, own=count_text, text_is_known=True, chat_is_known=False)
        self._family = family
        self._is_estimate = not (family.text_is_known and family.chat_is_known)
        self._nothing = _Prompt([], family.reply, self._is_estimate, None)
        self._prompts: tuple[_Prompt, ...] = ()
        # Two generations: the young one becomes the old one when it is full, and what is used moves
        # to the young one.
        self._young: dict[Hashable, Counted] = {}
        self._old: dict[Hashable, Counted] = {}

    def text(self, text: str) -> Counted:
        """Tokens of a text, and whether that is an estimate."""
        return self._family.count(text), not self._family.text_is_known

    def message(self, message: Mapping[str, Any]) -> Counted:
        """Tokens of one message, and whether that is an estimate."""
        tokens, is_estimate = self._count(message)
        return tokens, is_estimate or self._is_estimate

    def prompt(
        self, messages: Iterable[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] = ()
    ) -> Counted:
        """Tokens of a whole prompt with the definitions of tools (or functions), and whether that
        is an estimate.
        """
        asked = list(messages)
        opening, rest = asked[:1], asked[1:]
        counted = list(map(self._count, opening))
        system = _find_system(opening)

        known = self._find_known(rest)
        if len(rest) > len(known.messages):
            known = self._extend(known, rest[len(known.messages) :])
        counted.append((known.tokens, known.is_estimate))
        if tools:
            counted.append(self._count_tools(tools, coalesce(system, known.system)))
        return add_up(counted)

    def _find_known(self, rest: list[Mapping[str, Any]]) -> _Prompt:
        """The longest of the last prompts that this one begins with."""
        found = self._nothing
        for prompt in self._prompts:
            size = len(prompt.messages)
            if size > len(found.messages) and rest[:size] == prompt.messages:
                found = prompt
        return found

    def _extend(self, known: _Prompt, new: list[Mapping[str, Any]]) -> _Prompt:
        """A known prompt extended by further messages; long prompts are remembered."""
        counted = add_up(((known.tokens, known.is_estimate), *map(self._count, new)))
        system = known.system
        if system is None:
            system = _find_system(new)
        if len(known.messages) + len(new) < _SHORT:
            return _Prompt([], *counted, system)

        extended = _Prompt(known.messages + list(map(_copy, new)), *counted, system)
        others = [prompt for prompt in self._prompts if prompt is not known]
        self._prompts = (extended, *others[: _PROMPTS - 1])
        return extended

    def _count(self, message: Mapping[str, object]) -> Counted:
        try:
            return self._young[tuple(message.items())]
        except (KeyError, TypeError):  # not seen lately, or with lists in it
            return self._remember(
                _key(message), lambda: count_message(message, self._family, self.model)
            )

    def _count_tools(self, tools: Sequence[Mapping[str, object]], system: str | None) -> Counted:
        defined = self._remember(
            ("tools", _freeze(tools)), lambda: count_definitions(tools, self._family)
        )
        if system is None:
            return defined
        joined = self._remember(
            ("system", _freeze(system)), lambda: (count_joining(system, self._family), False)
        )
        return add_up((defined, joined))

    def _remember(self, key: Hashable, count: Callable[[], Counted]) -> Counted:
        """The remembered result for this key; it is counted now if there is none."""
        found = self._young.get(key)
        if found is None:
            found = self._old.get(key) or count()
            if len(self._young) >= _REMEMBERED:
                self._old, self._young = self._young, {}
            self._young[key] = found
        return found


def count_text(text: str, model: str) -> tuple[int, bool]:
    """Tokens of `text` for `model`, and whether that is an estimate."""
    family = family_of(model)
    return family.count(text), not family.text_is_known


def count_messages(
    messages: Iterable[Mapping[str, object]], model: str, tools: Sequence[Mapping[str, object]] = ()
) -> tuple[int, bool]:
    """Tokens of a prompt for `model` with the definitions of its tools or functions, and whether
    that is an estimate.

    Messages that were counted before are only looked up.
    """
    return counter(model).prompt(messages, tools)


def counter(model: str) -> TokenCounter:
    """The counter that all prompts for a model of this name share."""
    return _share_counter(model, family_of(model))


def counter_of(model: Model) -> TokenCounter:
    """A counter for a model: by its client's `count_tokens(text) -> int` where there is one, else
    the shared one of its name.
    """
    own = getattr(model.client, "count_tokens", None)
    if not callable(own):
        return counter(model.name)
    try:
        known = _of_clients.setdefault(model.client, {})
    except TypeError:  # a client that cannot be looked up by
        return TokenCounter(model.name, own)
    return known.setdefault(model.name, TokenCounter(model.name, _weaken(own)))


def _weaken(count: TextCounter) -> TextCounter:
    """The counter without a reference to the object it is a method of."""
    if getattr(count, "__self__", None) is None:
        return count
    method = WeakMethod(count)

    def counted(text: str) -> int:
        alive = method()
        assert alive is not None, "the client lives as long as its counter is asked for"
        return int(alive(text))

    return counted


_of_clients: WeakKeyDictionary[Any, dict[str, TokenCounter]] = WeakKeyDictionary()


@cache
def _share_counter(model: str, family: Family) -> TokenCounter:
    """One for each family too, so that a tokenizer registered later counts."""
    return TokenCounter(model, family.own)


def _find_system(messages: Iterable[Mapping[str, object]]) -> str | None:
    """What the first system message says; None without one."""
    for message in messages:
        if message.get("role") in ("system", "developer"):
            return text_of(message.get("content"))
    return None


def _copy(value: object) -> Any:
    """A copy that a change in place does not reach; texts are shared."""
    if isinstance(value, dict):
        return {key: inner if type(inner) is str else _copy(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return list(map(_copy, value))
    return value


def _key(message: Mapping[str, object]) -> Hashable:
    """A hashable equal of a message; its own items where they are hashable and short."""
    if all(map(_is_short, message.values())):
        return tuple(message.items())
    return _freeze(dict(message))


def _is_short(value: object) -> bool:
    """Whether it is a short text or None."""
    return value is None or (isinstance(value, str) and len(value) <= _LONG)


def _freeze(value: object) -> Hashable:
    """A hashable equal of JSON; `1`, `1.0` and `True`, which Python takes for equal, stay
    different.
    """
    if isinstance(value, str):
        if len(value) <= _LONG:
            return value
        return (len(value), hash(value))
    if isinstance(value, dict):
        return (dict, *((key, _freeze(inner)) for key, inner in value.items()))
    if isinstance(value, list | tuple):
        return (list, *map(_freeze, value))
    if isinstance(value, _NUMBERS):
        return (type(value), value)
    return (type(value), repr(value))
